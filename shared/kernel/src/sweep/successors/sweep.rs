//! The sweep of a unit along its successor table.
#![expect(unsafe_code)]

use std::ptr;

use crate::{
    simd::{
        address::{Address, Arrays},
        value::Value,
        vector::{Instructions, LANES, Operation, Vector},
    },
    sweep::{
        pair::UnitValues,
        rows::values_of,
        scratch::Scratch,
        sources::arrays as stored,
        successors::table::{Kept, SuccessorTable, arrays::BEFORE},
    },
};

/// A unit to be swept.
pub struct SweepSuccessors<'a, 'v, 'l, 'c, T: Value> {
    /// Its successors.
    pub table: &'a SuccessorTable,
    /// The working memory.
    pub scratch: &'a mut Scratch<T>,
    /// The values that are read and written.
    pub values: &'a mut UnitValues<'v, 'l, 'c, T>,
}

impl<T: Value> Operation for SweepSuccessors<'_, '_, '_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, _: I) {
        match self.values.context.chances.len() {
            3 => self.sweep::<I, 3>(),
            4 => self.sweep::<I, 4>(),
            rolls => unreachable!("there are no tables for {rolls} rolls"),
        }
    }
}

impl<T: Value> SweepSuccessors<'_, '_, '_, '_, T> {
    #[inline(always)]
    fn sweep<I: Instructions, const ROLLS: usize>(self) {
        let Self { table, scratch, values } = self;
        let context = values.context;
        let kept = values_of::<T>(&mut scratch.slabs);
        let constants = [T::NONE, T::WIN];
        let [published, published_last, _, _, final_values, final_last] = values.arrays().arrays;
        let read = [published, published_last, final_values, final_last, &constants];
        let [published, published_last, final_values, final_last, constants] =
            read.map(|values| (values.as_ptr(), values.len()));
        let [first, second] =
            values.live.each_mut().map(|live| (live.as_mut_ptr().cast_const(), live.len()));
        // In the order of `sources::arrays`, and of those of the table.
        let all = [
            published,
            published_last,
            first,
            second,
            final_values,
            final_last,
            (kept.as_mut_ptr().cast_const(), kept.len()),
            constants,
        ];
        let (arrays, lens) = (Arrays(all.map(|(start, _)| start)), all.map(|(_, len)| len));
        assert!(table.ends.iter().zip(lens).all(|(&end, len)| end <= len));
        let zero = T::Vector::<I>::splat(context.zero);
        let mut chances = [zero; ROLLS];
        for (to, &chance) in chances.iter_mut().zip(&context.chances) {
            *to = T::Vector::<I>::splat(chance);
        }
        let (mut counts, mut addresses) = (&table.counts[..], &table.addresses[..]);
        for stage in &table.stages {
            let mut at = 0;
            for Kept { array, values } in &stage.kept {
                assert!(*array < stored::FINAL && values.end <= lens[*array]);
                assert!(at + values.len() <= lens[BEFORE]);
                // SAFETY: as asserted; and what is kept is scratch memory.
                unsafe {
                    let from = arrays.0[*array].add(values.start);
                    ptr::copy_nonoverlapping(
                        from,
                        arrays.0[BEFORE].cast_mut().add(at),
                        values.len(),
                    );
                }
                at += values.len();
            }
            for _ in 0..stage.groups {
                let (passes, of_rolls) = (counts[0], &counts[1..][..2 * ROLLS]);
                let all: usize = of_rolls.iter().map(|&count| usize::from(count)).sum();
                let (group, others) = addresses.split_at((2 + all) * LANES);
                (counts, addresses) = (&counts[1 + 2 * ROLLS..], others);
                // SAFETY: the group has as many addresses, whose places the arrays have, as asserted.
                unsafe {
                    let mut at = group.as_ptr().add(2 * LANES);
                    let mut best = [[T::Vector::<I>::splat(T::NONE); ROLLS]; 2];
                    for (best, &count) in best.as_flattened_mut().iter_mut().zip(of_rolls) {
                        for _ in 0..count {
                            *best = best.larger(T::gathered::<I>(&arrays, at));
                            at = at.add(LANES);
                        }
                    }
                    let mut own = T::gathered::<I>(&arrays, group.as_ptr());
                    let mut other_own = own;
                    for _ in 0..passes {
                        other_own = pass::<T, I, ROLLS>(own, zero, &chances, &best[0]).negated();
                        own = pass::<T, I, ROLLS>(other_own, zero, &chances, &best[1]).negated();
                    }
                    // The first ones last: of a position that is its own swap it is they that are swept last.
                    write::<T, I>(other_own, &arrays, &group[LANES..]);
                    write::<T, I>(own, &arrays, group);
                }
            }
        }
        debug_assert!(counts.is_empty() && addresses.is_empty());
    }
}

/// The values of the mover, from the stored ones and the best for each roll.
#[inline(always)]
fn pass<T: Value, I: Instructions, const ROLLS: usize>(
    own: T::Vector<I>,
    zero: T::Vector<I>,
    chances: &[T::Vector<I>; ROLLS],
    best: &[T::Vector<I>; ROLLS],
) -> T::Vector<I> {
    let mut sum = own.times(zero);
    for (roll, chance) in chances.iter().enumerate() {
        sum = sum.plus(chance.times(best[roll].or_if_none(own)));
    }
    sum
}

/// Writes the values of a group to the first addresses.
///
/// # Safety
/// They must be of arrays that may be written, which have their places.
#[inline(always)]
unsafe fn write<T: Value, I: Instructions>(
    group: T::Vector<I>,
    arrays: &Arrays<T>,
    to: &[Address],
) {
    let mut values = [T::default(); LANES];
    // SAFETY: it is a group; the caller promises the rest.
    unsafe {
        group.write(values.as_mut_ptr());
        for (value, to) in values.into_iter().zip(to) {
            arrays.0[to.array()].cast_mut().add(to.place()).write(value);
        }
    }
}
