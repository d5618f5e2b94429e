//! One pair of blocks: what other blocks of the slab offer, then passes over the pair's own rows.
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
//! What other slabs offer is there already, for the whole slab; the best of other blocks of the slab is
//! added when the block's turn comes, after theirs. Then a few *passes* go back and forth between
//! the two blocks, which are in cache by then: this removes the lag between the two orientations.
//! Where few pieces are left off the shared squares there is little lag.

use ziggurat_encoding::shared::Budgets;

use crate::{
    context::Context,
    dense::{self, DenseSlab},
    layout::{Block, Layout},
    pass::Pass,
    rows,
    shortlist::Reader,
    turn,
    value::Value,
    vector::Instructions,
};

/// How often a sweep passes over both blocks of a pair.
pub const PASSES: usize = 2;

/// From so many pieces on shared squares on, once is enough for the values themselves, of blocks that are not their
/// own swaps, as measured (docs/ARCHITECTURE.md, "What was tried to make fewer supersteps"). Intervals are passed over
/// as often as any.
const CROWDED: u8 = 6;

/// A block as a mover sees it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The pieces that the outer squares of its slab leave.
    pub budgets: Budgets,
    /// The inner squares.
    pub x: u16,
    /// The block.
    pub block: &'a Block,
    /// Where the slab starts in scratch memory.
    pub slab: usize,
    /// The slab, if it is dense; the block is all of it.
    pub dense: Option<&'a DenseSlab>,
}

/// A slab as a mover sees it.
#[derive(Clone, Copy)]
pub struct SlabView<'a> {
    budgets: Budgets,
    start: usize,
    layout: &'a Layout,
    dense: Option<&'a DenseSlab>,
}

impl<'a> SlabView<'a> {
    /// The slab whose outer squares leave so many pieces, and where it starts in scratch memory.
    #[inline(always)]
    pub fn new<T: Value>(context: &Context<'a, T>, budgets: Budgets, start: usize) -> Self {
        let routes = &context.tables.routes;
        Self { budgets, start, layout: routes.layout(budgets), dense: routes.dense(budgets) }
    }

    /// The block with these inner squares, which the slab's budgets allow.
    #[inline(always)]
    pub fn block(&self, x: u16) -> View<'a> {
        let Self { budgets, start: slab, layout, dense } = *self;
        View { budgets, x, block: layout.block(x), slab, dense }
    }
}

impl View<'_> {
    /// Where the chances of the mover are in scratch memory.
    fn value(&self) -> usize {
        self.slab + self.block.value()
    }

    /// Where the block is in scratch memory.
    fn own(&self) -> usize {
        self.slab + self.block.own()
    }

    /// The pieces that are not on shared squares, (mover, opponent).
    #[inline(always)]
    pub fn left<T: Value>(&self, context: &Context<'_, T>) -> Budgets {
        let (a, b) = context.encoding.shared().inner_pieces()[self.x as usize];
        (self.budgets.0 - a, self.budgets.1 - b)
    }

    /// Takes what other blocks of the slab offer: all of it, or what is on a shortlist.
    #[inline(always)]
    fn gather_within<T: Value, I: Instructions>(
        &self,
        context: &Context<'_, T>,
        scratch: &mut [T::Group],
        shortlist: Option<&mut Reader<'_>>,
    ) {
        let within = context.tables.routes.within(self.budgets);
        let ([rows, values], end) = (within.of(self.x), within.end());
        let (slab, stride) = (&mut scratch[self.slab..], self.block.stride);
        if let Some(shortlist) = shortlist {
            let [some_rows, some_values] = shortlist.within();
            let rows = some_rows.iter().map(|&number| &rows[number as usize]);
            rows::raise_within::<T, I>(slab, stride, rows, end);
            let values = some_values.iter().map(|&number| &values[number as usize]);
            rows::raise_values_within::<T>(slab, values, end);
        } else {
            rows::raise_within::<T, I>(slab, stride, rows.iter(), end);
            rows::raise_values_within::<T>(slab, values.iter(), end);
        }
    }

    /// Computes the chances of the mover, and if they are to be `SHIFTED` by some amount, keeps
    /// them between 0 and 1.
    #[inline(always)]
    fn pass<T: Value, I: Instructions, const SHIFTED: bool>(
        &self,
        context: &Context<'_, T>,
        scratch: &mut [T::Group],
        shift: T,
    ) {
        let pass = Pass {
            inner: &context.tables.inner[self.left(context).0 as usize],
            zero: context.zero,
            chances: &context.chances,
            block: self.block,
            shift,
        };
        pass.run::<I, SHIFTED>(&mut scratch[self.slab..]);
    }
}

/// Sweeps a pair of blocks, or a block that is its own swap. If they are to be `SHIFTED`, every chance
/// of the first mover is by that much larger and every one of the other that much smaller. What they take from other
/// blocks of their slabs may be on a shortlist.
#[inline(always)]
pub fn sweep<T: Value, I: Instructions, const SHIFTED: bool>(
    context: &Context<'_, T>,
    scratch: &mut [T::Group],
    view: &View<'_>,
    swapped: Option<&View<'_>>,
    shift: T,
    mut shortlist: Option<&mut Reader<'_>>,
) {
    if let Some(slab) = view.dense {
        let swapped = swapped.and_then(|swapped| Some((swapped, swapped.dense?)));
        let view = (view, slab);
        return match context.chances.len() {
            3 => dense::sweep::<T, SHIFTED, 3>(context, scratch, view, swapped, shift),
            4 => dense::sweep::<T, SHIFTED, 4>(context, scratch, view, swapped, shift),
            _ => dense::sweep::<T, SHIFTED, 0>(context, scratch, view, swapped, shift),
        };
    }
    view.gather_within::<T, I>(context, scratch, shortlist.as_deref_mut());
    let Some(swapped) = swapped else {
        for _ in 0..PASSES {
            view.pass::<T, I, SHIFTED>(context, scratch, shift);
            turn::transpose_complement::<T, I>(scratch, view.block, view.value(), view.own());
        }
        return;
    };
    swapped.gather_within::<T, I>(context, scratch, shortlist);
    let (own, opponent) = view.left(context);
    let tier = context.tiers[0];
    let on_shared = tier.just_moved + tier.to_move - own - opponent;
    let passes = if SHIFTED || on_shared < CROWDED { PASSES } else { 1 };
    // Whoever has fewer pieces left has fewer moves that wait for the other's chances.
    let (first, second, shift) = match opponent < own {
        true => (swapped, view, T::default().minus(shift)),
        false => (view, swapped, shift),
    };
    for _ in 0..passes {
        first.pass::<T, I, SHIFTED>(context, scratch, shift);
        turn::transpose_complement::<T, I>(scratch, first.block, first.value(), second.own());
        second.pass::<T, I, SHIFTED>(context, scratch, T::default().minus(shift));
        turn::transpose_complement::<T, I>(scratch, second.block, second.value(), first.own());
    }
}

/// Makes the chances of the mover from the stored values, before a sweep.
#[inline(always)]
pub fn value_from_stored<T: Value, I: Instructions>(
    scratch: &mut [T::Group],
    view: &View<'_>,
    swapped: &View<'_>,
) {
    match view.dense {
        Some(slab) => dense::value_from_stored::<T>(scratch, (view, slab), swapped),
        None => {
            turn::transpose_complement::<T, I>(scratch, swapped.block, swapped.own(), view.value());
        }
    }
}
