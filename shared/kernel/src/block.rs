//! One pair of blocks: gather what other blocks offer, then pass over the pair's own rows.
//!
//! The block of a shared configuration w holds the chances of the player who just moved, rows by
//! that player's private configuration. Seen by a mover x, w's own block (x just moved) is what x
//! reads when the turn passes to the opponent; what x computes is written, transposed, to the block
//! of the swapped configuration (the opponent just moved, x is to move). So the two blocks of a
//! pair w, swap(w) read and write each other:
//!
//! ```text
//! V[p][q]        = sum over rolls of P(roll) * max( best of other blocks [roll][p][q],
//!                                                   rows p' of block(w), rows p' of V )
//! block(swap(w))[q][p] = 1 - V[p][q]
//! ```
//!
//! The first kind of candidates, from other blocks, is gathered once per sweep. Then a few *passes*
//! go back and forth between the two blocks, which are in cache by then: this removes the lag
//! between the two orientations.

use ziggurat_encoding::SharedConfiguration;

use crate::{
    context::{Context, Stored},
    gather::gather,
    occupancy::Occupancy,
    pass::Pass,
    rows,
    scratch::Scratch,
    simd::Instructions,
    value::{Value, groups},
};

/// How often a sweep passes over both blocks of a pair.
pub const PASSES: usize = 2;

/// A block as a mover sees it.
#[derive(Clone, Copy)]
pub struct View {
    /// The shared squares, "own" being the mover.
    pub w: SharedConfiguration,
    /// Which orientation of the step the mover's own block is in.
    pub orientation: usize,
    /// The most private pieces of the mover, and of the opponent.
    pub left: (u8, u8),
    /// Who stands where.
    pub occupancy: Occupancy,
    /// Rows: the mover's private configurations; columns: the opponent's.
    pub rows: usize,
    pub columns: usize,
    /// Where the block starts in its tier.
    pub offset: u64,
}

impl View {
    /// The view of a configuration whose player just moved, in an orientation of the step.
    #[inline(always)]
    pub fn new<T: Value>(
        context: &Context<'_, T>,
        w: SharedConfiguration,
        orientation: usize,
    ) -> Self {
        let encoding = context.encoding;
        let tier = context.tiers[orientation];
        let (own, opponent) = encoding.shared().pieces(&w);
        let left = (tier.just_moved - own, tier.to_move - opponent);
        Self {
            w,
            orientation,
            left,
            occupancy: context.occupancies.of(&w),
            rows: encoding.private().count(left.0) as usize,
            columns: encoding.private().count(left.1) as usize,
            offset: encoding.shared().offset(tier, &w),
        }
    }

    /// Groups per scratch row.
    #[inline(always)]
    pub fn stride<T: Value>(&self) -> usize {
        groups::<T>(self.columns)
    }

    /// Groups of a scratch matrix, its rows padded too, so that it can be transposed in squares.
    #[inline(always)]
    pub fn area<T: Value>(&self) -> usize {
        groups::<T>(self.rows) * T::LANES * self.stride::<T>()
    }
}

/// Computes both blocks of a pair from `stored` and the blocks themselves; afterwards
/// [`Scratch::own`] holds them.
#[inline(always)]
pub fn sweep_pair<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    stored: &impl Stored<T>,
    scratch: &mut Scratch<T>,
    views: [&View; 2],
) {
    for (view, best) in views.into_iter().zip(&mut scratch.best) {
        gather(instructions, context, stored, view, best, &mut scratch.turned);
    }
    let [view, swapped] = views;
    let Scratch { best: [best, best_swapped], own: [own, own_swapped], value, .. } = scratch;
    rows::load(own, view.rows, view.columns, stored.values(view.orientation, view.offset));
    for _ in 0..PASSES {
        pass(context, view, best, own, value);
        rows::transpose_complement::<T, I>(
            instructions,
            value,
            view.rows,
            view.columns,
            own_swapped,
        );
        pass(context, swapped, best_swapped, own_swapped, value);
        rows::transpose_complement::<T, I>(instructions, value, swapped.rows, swapped.columns, own);
    }
}

/// Computes a block that is its own swap; afterwards the first of [`Scratch::own`] holds it.
#[inline(always)]
pub fn sweep_single<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    stored: &impl Stored<T>,
    scratch: &mut Scratch<T>,
    view: &View,
) {
    let Scratch { best: [best, _], own: [own, _], value, turned } = scratch;
    gather(instructions, context, stored, view, best, turned);
    rows::load(own, view.rows, view.columns, stored.values(view.orientation, view.offset));
    for _ in 0..PASSES {
        pass(context, view, best, own, value);
        rows::transpose_complement::<T, I>(instructions, value, view.rows, view.columns, own);
    }
}

#[inline(always)]
fn pass<T: Value>(
    context: &Context<'_, T>,
    view: &View,
    best: &[T::Group],
    own: &[T::Group],
    value: &mut [T::Group],
) {
    let pass = Pass {
        inner: &context.rules.inner[view.left.0 as usize],
        zero: context.zero,
        chances: &context.chances,
        best,
        area: view.area::<T>(),
        own,
        rows: view.rows,
        stride: view.stride::<T>(),
    };
    pass.run(value);
}
