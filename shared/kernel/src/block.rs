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

use crate::{
    candidates::Candidates,
    context::Context,
    gather::gather,
    occupancy::Occupancy,
    pass::Pass,
    rows,
    scratch::Scratch,
    slab::{Slab, Sources},
    value::{Value, groups},
    vector::Instructions,
};

/// How often a sweep passes over both blocks of a pair.
pub const PASSES: usize = 2;

/// A block as a mover sees it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The slab it is in.
    pub slab: &'a Slab,
    /// The inner squares.
    pub x: u16,
    /// The most private pieces of the mover, and of the opponent.
    pub left: (u8, u8),
    /// Who stands where.
    pub occupancy: Occupancy,
    /// Rows: the mover's private configurations.
    pub rows: usize,
    /// Columns: the opponent's private configurations.
    pub columns: usize,
    /// Where the block starts in its slab.
    pub offset: usize,
}

impl<'a> View<'a> {
    /// The block of a slab with these inner squares, which the slab's budgets allow.
    #[inline(always)]
    pub fn new<T: Value>(context: &Context<'_, T>, slab: &'a Slab, x: u16) -> Self {
        let (a, b) = context.encoding.shared().inner_pieces()[x as usize];
        let block = context.tables.inner_block(context.tables.blocks_of(slab.budgets), x);
        Self {
            slab,
            x,
            left: (slab.budgets.0 - a, slab.budgets.1 - b),
            occupancy: slab.occupancy.and(&context.tables.occupancies.inner()[x as usize]),
            rows: block.rows as usize,
            columns: block.columns as usize,
            offset: block.offset,
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

/// A pair of blocks, or a block that is its own swap.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// Both views; the same one twice if the block is its own swap.
    pub views: [View<'a>; 2],
    /// Whether the block is its own swap.
    pub is_own_swap: bool,
}

impl Pair<'_> {
    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        if self.is_own_swap { 1 } else { 2 }
    }
}

/// Computes the blocks of a pair from the sources; afterwards [`Scratch::own`] holds them.
#[inline(always)]
pub fn sweep<T: Value, I: Instructions>(
    context: &Context<'_, T>,
    sources: &Sources<'_, T>,
    candidates: &[Candidates; 2],
    scratch: &mut Scratch<T>,
    pair: &Pair<'_>,
) {
    let Scratch { best: [best, best_swapped], own: [own, own_swapped], value, turned, .. } =
        scratch;
    let [view, swapped] = &pair.views;
    gather::<T, I>(context, &mut &*sources, &candidates[0], view, best, turned);
    rows::load::<T, I>(own, view.rows, view.columns, sources.at(view.slab.own, view.offset));
    if pair.is_own_swap {
        for _ in 0..PASSES {
            pass::<T, I>(context, view, best, own, value);
            rows::transpose_complement::<T, I>(value, view.rows, view.columns, own);
        }
        return;
    }
    gather::<T, I>(context, &mut &*sources, &candidates[1], swapped, best_swapped, turned);
    for _ in 0..PASSES {
        pass::<T, I>(context, view, best, own, value);
        rows::transpose_complement::<T, I>(value, view.rows, view.columns, own_swapped);
        pass::<T, I>(context, swapped, best_swapped, own_swapped, value);
        rows::transpose_complement::<T, I>(value, swapped.rows, swapped.columns, own);
    }
}

/// Computes the chances of the mover from the best of other blocks and the block's own rows.
#[inline(always)]
pub fn pass<T: Value, I: Instructions>(
    context: &Context<'_, T>,
    view: &View<'_>,
    best: &[T::Group],
    own: &[T::Group],
    value: &mut [T::Group],
) {
    let pass = Pass {
        inner: &context.tables.rules.inner[view.left.0 as usize],
        zero: context.zero,
        chances: &context.chances,
        best,
        area: view.area::<T>(),
        own,
        rows: view.rows,
        stride: view.stride::<T>(),
    };
    pass.run::<I>(value);
}
