//! The operand of interval sweeps: bounds are made of values and offsets as they are read, swept as values are, and
//! written as offsets.

use std::ops::Range;

use ziggurat_encoding::Shard;
use ziggurat_planning::proof::{FAR, GROWN, Growth};

use crate::{
    certificate::{
        bounds::{Bound, BoundOffset, BoundValues},
        offsets::UnitOffsets,
        problem::Unproven,
    },
    memory::array::Array,
    moves::layout::Block,
    shards::ranges::{Orientation, ranges},
    simd::{dispatch::Simd, value::Value, vector::Instructions},
    sweep::{
        pair::Operand,
        rows,
        slab::Slab,
        sources::{Location, ValueSource, arrays},
    },
};

/// Added to a small number, this leaves an integer in the lowest bits: 2^52.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// The bounds that a sweep of a unit reads and writes.
pub struct UnitBounds<'a, T> {
    /// The step.
    pub step: &'a Unproven<'a, T>,
    /// The part of a shard that the unit is.
    pub part: &'a Shard,
    /// The offsets of the unit.
    pub live: UnitOffsets<'a>,
    /// All offsets, as they were before this wave.
    pub others: &'a [Vec<Array<u16>>; 2],
    /// The bound of the first slab of a pair that is computed; of the second one it is the other.
    pub first: Bound,
    /// The instructions to use.
    pub simd: Simd,
    /// The growth so far.
    pub growth: Growth,
}

impl<T: Value> UnitBounds<'_, T> {
    /// The orientation of a range of the unit, and the range.
    fn own_range(&self, slot: usize) -> (Orientation, Range<usize>) {
        let [first, second] = ranges(self.part, self.step.context.last());
        let range = if slot == 0 { first } else { second };
        range.expect("the unit has the range")
    }

    /// A bound of all values from a location on.
    #[inline(always)]
    fn bound_values(&self, bound: Bound, location: Location) -> BoundValues<'_, T> {
        let (step, Location { array, start }) = (self.step, location);
        let len = self.available(location);
        if array >= arrays::FINAL {
            let read = step.finals[array - arrays::FINAL].expect("the move does not win");
            let values = &read.values[start..start + len];
            return BoundValues::new(values, BoundOffset::Uniform(bound.sign() * read.bound));
        }
        let (values, offsets) = self.offsets(bound, location, len);
        BoundValues::new(values, BoundOffset::Each(offsets, bound.sign() * step.unit))
    }

    /// Values of the step from a location on, and the offsets of their bounds.
    #[inline(always)]
    fn offsets(&self, bound: Bound, location: Location, len: usize) -> (&[T], &[u16]) {
        let Location { array, start } = location;
        let others = &self.others[bound.index()];
        let Some(slot) = array.checked_sub(arrays::LIVE) else {
            let published = array - arrays::PUBLISHED;
            let values = &self.step.values[published][start..][..len];
            return (values, &others[published][start..][..len]);
        };
        let (orientation, range) = self.own_range(slot);
        let in_tier = range.start + start;
        let offsets = &self.live[bound.index()][slot][start..][..len];
        (&self.step.values[orientation.index()][in_tier..][..len], offsets)
    }

    /// How many values there are from a location on.
    fn available(&self, location: Location) -> usize {
        let Location { array, start } = location;
        let len = match array {
            arrays::PUBLISHED..arrays::LIVE => self.step.values[array - arrays::PUBLISHED].len(),
            arrays::LIVE..arrays::FINAL => self.own_range(array - arrays::LIVE).1.len(),
            _ => self.step.finals[array - arrays::FINAL].map_or(0, |read| read.values.len()),
        };
        len - start
    }

    /// Passes over a pair of slabs, if no input of theirs has grown.
    pub fn passes_over(&mut self, slabs: &[Slab<'_>; 2]) -> bool {
        let bounds = [self.first, self.first.other()];
        let are_stable =
            slabs.iter().zip(bounds).all(|(slab, passing)| self.is_stable(slab, passing));
        if are_stable {
            for (slab, bound) in slabs.iter().zip(bounds) {
                self.growth = self.growth.and(self.largest(slab, bound));
            }
        }
        are_stable
    }

    /// Whether no input of a slab has grown, its own offsets among them; `passing` is the bound that is read where the
    /// turn passes.
    fn is_stable(&self, slab: &Slab<'_>, passing: Bound) -> bool {
        let routes = &self.step.context.tables.routes;
        let len = routes.own(slab.budgets).extent().source_reach();
        let mut reads = slab.successors.iter().flat_map(|successors| successors.reads(routes));
        !self.has_grown(passing, slab.own, len)
            && reads.all(|(location, len, rolls_again)| {
                let bound = if rolls_again { passing.other() } else { passing };
                !self.has_grown(bound, location, len)
            })
    }

    /// Whether any of `len` offsets from a location on, or of as many as there are, has grown.
    fn has_grown(&self, bound: Bound, location: Location, len: usize) -> bool {
        if location.array >= arrays::FINAL {
            return false;
        }
        let (_, offsets) = self.offsets(bound, location, len.min(self.available(location)));
        let all = self.simd.compute(
            #[inline(always)]
            || offsets.iter().fold(0, |all, offset| all | offset),
        );
        all & GROWN != 0
    }

    /// The largest offset of a slab, of which none has grown.
    fn largest(&self, slab: &Slab<'_>, bound: Bound) -> Growth {
        let layout = self.step.context.tables.routes.layout(slab.budgets);
        let of_block = |block: &Block| block.start + block.rows * block.columns;
        let len = layout.blocks.iter().map(of_block).max().unwrap_or(0);
        let (_, offsets) = self.offsets(bound, slab.own, len);
        let largest = self.simd.compute(
            #[inline(always)]
            || offsets.iter().fold(0, |largest, &offset| offset.max(largest)),
        );
        Growth { largest, grew: false }
    }
}

impl<T: Value> Operand<f64, true> for UnitBounds<'_, T> {
    type Source<'s>
        = BoundSource<'s, T>
    where
        Self: 's;

    /// The mover's upper bounds are the other player's lower bounds, and the other way round.
    #[inline(always)]
    fn source(&self, slab: usize) -> BoundSource<'_, T> {
        BoundSource { bounds: self, passing: [self.first, self.first.other()][slab] }
    }

    #[inline(always)]
    fn shift(&self) -> f64 {
        self.first.sign() * self.step.margin
    }

    /// Takes scratch rows as a bound of a block's values, and encodes it as offsets.
    #[inline(always)]
    fn store<I: Instructions>(
        &mut self,
        slab: usize,
        location: Location,
        block: &Block,
        from: &[<f64 as Value>::Group],
    ) {
        let bound = [self.first, self.first.other()][slab];
        let multiple = self.step.multiple;
        let multiples = 1.0 / (self.step.unit * multiple);
        let slot = location.array - arrays::LIVE;
        let (orientation, range) = self.own_range(slot);
        let start = location.start + block.start;
        let values = &self.step.values[orientation.index()][range.start + start..];
        let offsets = &mut self.live[bound.index()][slot][start..];
        let sign = bound.sign();
        let (mut largest, mut grown) = (0, 0);
        let (lines, len) = block.lines();
        for line in 0..lines {
            let bounds = rows::values_in::<f64>(&from[line * block.stride..][..block.stride]);
            let range = line * len..(line + 1) * len;
            let (values, offsets) = (&values[range.clone()], &mut offsets[range]);
            for ((&bound, &value), to) in bounds.iter().zip(values).zip(offsets) {
                let offset = sign * (bound - value.to_f64()) * multiples;
                // A NaN is as far as can be: both comparisons are false of it.
                let offset = offset.ceil() * multiple;
                let offset = if offset < f64::from(FAR) { offset } else { f64::from(FAR) };
                let offset = if offset > 0.0 { offset } else { 0.0 };
                // The sum has its unit in the lowest bit. (A cast does not vectorise.)
                let offset = (offset + INTEGERS).to_bits() as u16;
                largest = largest.max(offset);
                let has_grown = if offset > *to & !GROWN { GROWN } else { 0 };
                grown |= has_grown;
                *to = offset | has_grown;
            }
        }
        self.growth = self.growth.and(Growth { largest, grew: grown != 0 });
    }
}

/// The successors of a slab, as bounds of intervals.
pub struct BoundSource<'a, T> {
    bounds: &'a UnitBounds<'a, T>,
    /// The bound that is read where the turn passes; where the mover rolls again it is the other one.
    passing: Bound,
}

impl<T: Value> ValueSource<f64> for BoundSource<'_, T> {
    type Values<'s>
        = BoundValues<'s, T>
    where
        Self: 's;

    #[inline(always)]
    fn values_at(&self, location: Location, rolls_again: bool) -> BoundValues<'_, T> {
        let bound = if rolls_again { self.passing.other() } else { self.passing };
        self.bounds.bound_values(bound, location)
    }
}
