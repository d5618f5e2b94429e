//! One pair of blocks: the best of other blocks of the slab, then passes over the pair's own rows.
//!
//! The block of a shared configuration w holds the values of the player who just moved, rows by
//! that player's private configuration. Seen by a mover x, w's own block (x just moved) is the one that x
//! reads when the turn passes to the opponent; the values x computes are written, transposed, to the block
//! of the swapped configuration (the opponent just moved, x is to move). So the two blocks of a
//! pair w, swap(w) read and write each other:
//!
//! ```text
//! V[p][q]        = sum over rolls of P(roll) * max( best of other blocks [roll][p][q],
//!                                                   rows p' of block(w), rows p' of V )
//! block(swap(w))[q][p] = -V[p][q]
//! ```
//!
//! The best of other slabs is there already, for the whole slab; the best of other blocks of the slab is
//! added when the block's turn comes, after theirs. Then a few *passes* go back and forth between
//! the two blocks, which are in cache by then: this removes the lag between the two orientations.
//! Where few pieces are left off the shared squares there is little lag.

use std::iter;

use crate::{
    simd::{
        value::Value,
        vector::{Instructions, Operation},
    },
    sweep::{
        context::Context,
        dense::{self},
        elimination::format::Reader,
        pass::Pass,
        rows,
        slab::Slab,
        transpose,
        view::{PASSES, View, views},
    },
};

impl View<'_> {
    /// Takes the best of other blocks of the slab: of all of them, or of the candidates.
    #[inline(always)]
    fn gather_within<T: Value, I: Instructions>(
        &self,
        context: &Context<'_, T>,
        scratch: &mut [T::Group],
        candidates: Option<&mut Reader<'_>>,
    ) {
        let within = context.tables.routes.within(self.budgets);
        let ([rows, values], end) = (within.of(self.x), within.end());
        let (slab, stride) = (&mut scratch[self.slab..], self.block.stride);
        if let Some(candidates) = candidates {
            let [some_rows, some_values] = candidates.within();
            let rows = some_rows.iter().map(|&number| &rows[number as usize]);
            rows::raise_within::<T, I>(slab, stride, rows, end);
            let values = some_values.iter().map(|&number| &values[number as usize]);
            rows::raise_values_within::<T>(slab, values, end);
        } else {
            rows::raise_within::<T, I>(slab, stride, rows.iter(), end);
            rows::raise_values_within::<T>(slab, values.iter(), end);
        }
    }

    /// Computes the values of the mover, and if they are to be `SHIFTED` by some amount, keeps
    /// them between a loss and a win.
    #[inline(always)]
    fn pass<T: Value, I: Instructions, const SHIFTED: bool>(
        &self,
        context: &Context<'_, T>,
        scratch: &mut [T::Group],
        shift: T,
    ) {
        let pass = Pass {
            moves: &context.tables.private[self.left(context).0 as usize],
            zero: context.zero,
            chances: &context.chances,
            block: self.block,
            shift,
        };
        pass.run::<I, SHIFTED>(&mut scratch[self.slab..]);
    }
}

/// From so many pieces on shared squares on, once is enough for the values themselves, of blocks that are not their
/// own swaps, as measured (docs/experiments/order.md). Intervals are passed over
/// as often as any.
const CROWDED: u8 = 6;

/// Sweeps the pairs of blocks of two slabs, see [`sweep`].
pub struct SweepBlocks<'a, 'c, 'l, T: Value, const SHIFTED: bool> {
    /// The rules.
    pub context: &'a Context<'c, T>,
    /// Both slabs in scratch memory.
    pub scratch: &'a mut [T::Group],
    /// The slab and its swap.
    pub slabs: &'a [Slab<'c>; 2],
    /// Where they start in scratch memory: at the same place if they are one.
    pub starts: [usize; 2],
    /// The shift of values.
    pub shift: T,
    /// The rest of the candidates of the two, if there are any.
    pub candidates: Option<Reader<'l>>,
}

impl<T: Value, const SHIFTED: bool> Operation for SweepBlocks<'_, '_, '_, T, SHIFTED> {
    #[inline(always)]
    fn run<I: Instructions>(self, _: I) {
        let Self { context, scratch, slabs, starts, shift, mut candidates } = self;
        let is_own_swap = starts[0] == starts[1];
        for (view, swapped) in views(context, slabs, starts) {
            if is_own_swap && view.x < swapped.x {
                continue; // its turn is that of its swap
            }
            let swapped = (!is_own_swap || view.x != swapped.x).then_some(&swapped);
            sweep::<T, I, SHIFTED>(context, scratch, &view, swapped, shift, candidates.as_mut());
        }
    }
}

/// Sweeps a pair of blocks, or a block that is its own swap. If they are to be `SHIFTED`, every value
/// of the first mover is by that much larger and every one of the other that much smaller. The moves from other
/// blocks of their slabs may be limited to candidates.
#[inline(always)]
fn sweep<T: Value, I: Instructions, const SHIFTED: bool>(
    context: &Context<'_, T>,
    scratch: &mut [T::Group],
    view: &View<'_>,
    swapped: Option<&View<'_>>,
    shift: T,
    mut candidates: Option<&mut Reader<'_>>,
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
    for view in iter::once(view).chain(swapped) {
        view.gather_within::<T, I>(context, scratch, candidates.as_deref_mut());
    }
    let (own, opponent) = view.left(context);
    let tier = context.tiers[0];
    let on_shared = tier.just_moved + tier.to_move - own - opponent;
    let is_crowded = !SHIFTED && swapped.is_some() && on_shared >= CROWDED;
    let passes = if is_crowded { 1 } else { PASSES };
    let unshift = shift.negated();
    // A block that is its own swap reads its own results. Of others, the player with fewer pieces left has fewer moves
    // that wait for the other's values.
    let turns: &[_] = match swapped {
        None => &[(view, view, shift)],
        Some(swapped) if opponent < own => &[(swapped, view, unshift), (view, swapped, shift)],
        Some(swapped) => &[(view, swapped, shift), (swapped, view, unshift)],
    };
    for _ in 0..passes {
        for &(mover, opponent, shift) in turns {
            mover.pass::<T, I, SHIFTED>(context, scratch, shift);
            let (from, to) = (mover.value(), opponent.own());
            transpose::transpose_negated::<T, I>(scratch, mover.block, from, to);
        }
    }
}

/// Makes the values of the mover from the stored values, before a sweep.
#[inline(always)]
pub fn value_from_stored<T: Value, I: Instructions>(
    scratch: &mut [T::Group],
    view: &View<'_>,
    swapped: &View<'_>,
) {
    match view.dense {
        Some(slab) => dense::value_from_stored::<T>(scratch, (view, slab), swapped),
        None => {
            transpose::transpose_negated::<T, I>(
                scratch,
                swapped.block,
                swapped.own(),
                view.value(),
            );
        }
    }
}
