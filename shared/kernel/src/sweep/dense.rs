//! Dense slabs: for rulesets without private squares, in place of blocks.
//!
//! Every block is a single value, so all values of a slab stand in one row of scratch memory. Successors by moves of
//! the outer squares are taken by whole rows; moves that touch the inner squares are lists of single values. The
//! passes go from one value to the next, those with the pieces furthest along first, together with its pair in the
//! swapped slab.

use crate::{
    moves::dense::DenseSlab,
    simd::{value::Value, vector::LANES},
    sweep::{
        context::Context,
        rows::values_of,
        view::{PASSES, View},
    },
};

/// A dense slab in scratch memory.
struct Side<'a, T> {
    slab: &'a DenseSlab,
    /// Where the slab starts, its stored values, the values of the mover, and the best for the first roll.
    start: usize,
    own: usize,
    value: usize,
    best: usize,
    /// From the best for one roll to the best for the next.
    stride: usize,
    /// The number that is added to every value, if any is.
    shift: T,
}

impl<'a, T: Value> Side<'a, T> {
    fn new(slab: &'a DenseSlab, view: &View<'_>, shift: T) -> Self {
        let value_at = |group: usize| (view.slab + group) * LANES;
        Self {
            slab,
            start: value_at(0),
            own: value_at(view.block.own()),
            value: value_at(view.block.value()),
            best: value_at(view.block.best(0)),
            stride: view.block.stride * LANES,
            shift,
        }
    }

    /// Takes the best of other values of the slab.
    #[inline(always)]
    fn raise_within(&self, values: &mut [T], place: usize) {
        let values = &mut values[self.start..];
        for row in self.slab.moves(place) {
            let offered = values[row.from as usize];
            let to = &mut values[row.to as usize];
            *to = to.larger(offered);
        }
    }

    /// Computes the value of the mover from the stored value.
    #[inline(always)]
    fn pass<const SHIFTED: bool, const ROLLS: usize>(
        &self,
        context: &Context<'_, T>,
        values: &[T],
        place: usize,
        own: T,
    ) -> T {
        let mut sum = own * context.zero;
        let rolls = if ROLLS == 0 { context.chances.len() } else { ROLLS };
        let chances = &context.chances[..rolls];
        for roll in 0..rolls {
            let best = values[self.best + roll * self.stride + place];
            sum = sum + chances[roll] * best.or_if_none(own);
        }
        let shifted = || (sum + self.shift).larger(T::WIN.negated()).smaller(T::WIN);
        if SHIFTED { shifted() } else { sum }
    }

    #[inline(always)]
    fn write(&self, values: &mut [T], place: usize, own: T, value: T) {
        values[self.own + place] = own;
        values[self.value + place] = value;
    }
}

/// Sweeps a pair of dense slabs, or one that is its own swap, as [`crate::sweep::block::sweep`] does a pair of blocks.
/// There are `ROLLS` rolls above 0, or if that is 0, any number.
#[inline(always)]
pub fn sweep<T: Value, const SHIFTED: bool, const ROLLS: usize>(
    context: &Context<'_, T>,
    scratch: &mut [T::Group],
    (view, slab): (&View<'_>, &DenseSlab),
    swapped: Option<(&View<'_>, &DenseSlab)>,
    shift: T,
) {
    let values = values_of::<T>(scratch);
    let side = Side::new(slab, view, shift);
    let (swapped_view, swapped_slab) = swapped.unwrap_or((view, slab));
    let other_side = Side::new(swapped_slab, swapped_view, shift.negated());
    for &p in &slab.order {
        let p = p as usize;
        let q = slab.values[p].swapped as usize;
        if swapped.is_none() && p < q {
            continue; // its turn is that of its swap
        }
        side.raise_within(values, p);
        let mut own = values[side.own + p];
        if swapped.is_none() && p == q {
            let mut value = own;
            for _ in 0..PASSES {
                value = side.pass::<SHIFTED, ROLLS>(context, values, p, own);
                own = value.negated();
            }
            side.write(values, p, own, value);
            continue;
        }
        other_side.raise_within(values, q);
        let (mut value, mut other_own, mut other_value) = (own, own, own);
        for _ in 0..PASSES {
            value = side.pass::<SHIFTED, ROLLS>(context, values, p, own);
            other_own = value.negated();
            other_value = other_side.pass::<SHIFTED, ROLLS>(context, values, q, other_own);
            own = other_value.negated();
        }
        side.write(values, p, own, value);
        other_side.write(values, q, other_own, other_value);
    }
}

/// Makes the values of the mover from the stored values, before a sweep.
#[inline(always)]
pub fn value_from_stored<T: Value>(
    scratch: &mut [T::Group],
    (view, slab): (&View<'_>, &DenseSlab),
    swapped: &View<'_>,
) {
    let values = values_of::<T>(scratch);
    let value = (view.slab + view.block.value()) * LANES;
    let own = (swapped.slab + swapped.block.own()) * LANES;
    for (p, at) in slab.values.iter().enumerate() {
        values[value + p] = values[own + at.swapped as usize].negated();
    }
}
