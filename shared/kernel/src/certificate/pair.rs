//! The interval sweep of a pair of slabs: bounds are made of values and offsets as they are read, swept as values are,
//! and written as offsets.

use std::ops::Range;

use ziggurat_encoding::Shard;
use ziggurat_planning::proof::{FAR, GROWN, Growth};

use crate::{
    certificate::{
        bounds::{Bound, BoundOffset, BoundValues},
        offsets::{CHUNK, MayHaveGrown, ShardOffsets},
        problem::Unproven,
    },
    memory::array::Array,
    moves::layout::Block,
    shards::ranges::ranges,
    simd::{
        dispatch::Simd,
        value::Value,
        vector::{Instructions, Operation},
    },
    sweep::{
        block::{self, SweepBlocks},
        elimination::{format::Reader, gather::GatherCandidates},
        gather::Gather,
        pair::load,
        rows,
        scratch::Scratch,
        slab::Slab,
        sources::{Location, Locator, ValueSource, arrays},
        view::{groups_of, views},
    },
};

/// Added to a small number, this leaves an integer in the lowest bits: 2^52.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// Which values of the step are the shard's own. All places count from the start of the tier.
pub struct Own<'a> {
    /// The shard.
    pub shard: &'a Shard,
    /// The last orientation of the step.
    pub last: usize,
}

impl Locator for Own<'_> {
    fn locate(&self, orientation: usize, offset: u64) -> Location {
        let (first, second) = &self.shard.ranges;
        let start = offset as usize;
        if orientation == 0 && first.contains(&offset) {
            return Location { array: arrays::LIVE, start };
        }
        match second {
            Some(second) if orientation == self.last && second.contains(&offset) => {
                Location { array: arrays::LIVE + 1, start }
            }
            _ => Location { array: arrays::PUBLISHED + orientation, start },
        }
    }
}

/// The bounds that a sweep of a shard reads and writes.
pub struct ShardBounds<'a, T> {
    /// The step.
    pub step: &'a Unproven<'a, T>,
    /// The shard.
    pub shard: &'a Shard,
    /// The offsets of the shard, or those of one of its chains; others are empty.
    pub live: ShardOffsets<'a>,
    /// All offsets, as they were before this wave.
    pub others: &'a [Vec<Array<u16>>; 2],
    /// Their growth, as far as it is known.
    pub may_have_grown: &'a MayHaveGrown,
    /// The same for the offsets of the shard, by bound and range.
    pub grown: [[Vec<u8>; 2]; 2],
    /// The bound of the shard's first range that the chain computes; of the second one it computes the other.
    pub first: Bound,
    /// The instructions to use.
    pub simd: Simd,
}

impl<T: Value> ShardBounds<'_, T> {
    /// The orientation of a range of the shard, and the range.
    fn own_range(&self, slot: usize) -> (usize, Range<usize>) {
        let [first, second] = ranges(self.shard, self.step.values.len() - 1);
        let range = if slot == 0 { first } else { second };
        range.expect("the shard has the range")
    }

    /// A bound of all values from a place on.
    #[inline(always)]
    fn bound_values(&self, end: Bound, location: Location) -> BoundValues<'_, T> {
        let (step, Location { array, start }) = (self.step, location);
        let len = self.available(location);
        if array >= arrays::FINAL {
            let read = step.finals[array - arrays::FINAL].expect("the move does not win");
            let values = &read.values[start..start + len];
            return BoundValues::new(values, BoundOffset::Uniform(end.sign() * read.bound));
        }
        let (orientation, offsets) = self.offsets(end, location, len);
        let values = &step.values[orientation][start..start + len];
        BoundValues::new(values, BoundOffset::Each(offsets, end.sign() * step.unit))
    }

    /// Whether the chain computes a bound of a range of the shard. Where it reads the bounds of the other chain, it
    /// reads them as they were before the wave, as it does with other shards: so nobody can tell whether both are
    /// computed at the same time. (That is only where both ranges are of one orientation, and the one piece on the
    /// squares of the prefix is captured.) A shard of one range is its own swap, and computed as a whole.
    fn is_of_chain(&self, end: Bound, slot: usize) -> bool {
        self.shard.ranges.1.is_none() || (end == self.first) == (slot == 0)
    }

    /// The offsets of `len` values of the step from a place on, and their orientation.
    #[inline(always)]
    fn offsets(
        &self,
        end: Bound,
        Location { array, start }: Location,
        len: usize,
    ) -> (usize, &[u16]) {
        let (orientation, live) = self.location(end, array);
        let offsets = match live {
            Some((slot, first)) => &self.live[end.index()][slot][start - first..][..len],
            None => &self.others[end.index()][orientation][start..][..len],
        };
        (orientation, offsets)
    }

    /// The orientation of an array, and if it is one of those that the chain computes, the range, and where that
    /// begins.
    #[inline(always)]
    fn location(&self, end: Bound, array: usize) -> (usize, Option<(usize, usize)>) {
        match array.checked_sub(arrays::LIVE) {
            Some(slot) => {
                let (orientation, range) = self.own_range(slot);
                (orientation, self.is_of_chain(end, slot).then_some((slot, range.start)))
            }
            None => (array - arrays::PUBLISHED, None),
        }
    }

    /// Whether any of `len` offsets from a place on, or of as many as there are, has grown.
    fn has_grown(&self, end: Bound, location: Location, len: usize) -> bool {
        if location.array >= arrays::FINAL {
            return false;
        }
        let len = len.min(self.available(location));
        let Location { array, start } = location;
        let (grown, first) = match self.location(end, array) {
            (_, Some((slot, first))) => (&self.grown[end.index()][slot][..], first / CHUNK),
            (orientation, None) => (&self.may_have_grown[end.index()][orientation][..], 0),
        };
        let (_, offsets) = self.offsets(end, location, len);
        let any_of = |some: &[u16]| {
            self.simd.compute(
                #[inline(always)]
                || some.iter().fold(0, |all, offset| all | offset),
            )
        };
        let end = start + len;
        (start / CHUNK..end.div_ceil(CHUNK)).filter(|chunk| grown[chunk - first] > 0).any(|chunk| {
            let some = (chunk * CHUNK).max(start) - start..(chunk * CHUNK + CHUNK).min(end) - start;
            any_of(&offsets[some]) & GROWN != 0
        })
    }

    /// Whether no input of a slab has grown, its own offsets among them: `plain` is the bound that is
    /// read where the turn passes.
    fn is_stable(&self, slab: &Slab<'_>, plain: Bound) -> bool {
        let routes = &self.step.context.tables.routes;
        let len = routes.own(slab.budgets).source_reach();
        !self.has_grown(plain, slab.own, len)
            && slab.successors.iter().flat_map(|successors| successors.reads(routes)).all(
                |(location, len, rolls_again)| {
                    let end = if rolls_again { plain.other() } else { plain };
                    !self.has_grown(end, location, len)
                },
            )
    }

    /// The largest offset of a slab, of which none has grown.
    fn largest(&self, slab: &Slab<'_>, end: Bound) -> Growth {
        let layout = self.step.context.tables.routes.layout(slab.budgets);
        let of_block = |block: &Block| block.start + block.rows * block.columns;
        let len = layout.blocks.iter().map(of_block).max().unwrap_or(0);
        let (_, offsets) = self.offsets(end, slab.own, len);
        let largest = self.simd.compute(
            #[inline(always)]
            || offsets.iter().fold(0, |largest, &offset| offset.max(largest)),
        );
        Growth { largest, grew: false }
    }

    /// How many values there are from a place on.
    fn available(&self, location: Location) -> usize {
        let Location { array, start } = location;
        let end = match array {
            arrays::PUBLISHED..arrays::LIVE => self.step.values[array - arrays::PUBLISHED].len(),
            arrays::LIVE..arrays::FINAL => self.own_range(array - arrays::LIVE).1.end,
            _ => self.step.finals[array - arrays::FINAL].map_or(0, |read| read.values.len()),
        };
        end - start
    }

    /// Takes scratch rows as a bound of a block's values, and returns how their offsets grew.
    #[inline(always)]
    fn encode(
        &mut self,
        end: Bound,
        from: &[<f64 as Value>::Group],
        slab: Location,
        block: &Block,
    ) -> Growth {
        let multiple = self.step.multiple;
        let multiples = 1.0 / (self.step.unit * multiple);
        let slot = slab.array - arrays::LIVE;
        let (orientation, Range { start: first, .. }) = self.own_range(slot);
        let start = slab.start + block.start;
        let values = &self.step.values[orientation][start..];
        let offsets = &mut self.live[end.index()][slot][start - first..];
        let sign = end.sign();
        let (mut largest, mut grown) = (0, 0);
        let (lines, len) = block.lines();
        for line in 0..lines {
            let bounds = rows::values_in::<f64>(&from[line * block.stride..][..block.stride]);
            let range = line * len..(line + 1) * len;
            let (values, offsets) = (&values[range.clone()], &mut offsets[range]);
            for ((&end, &value), to) in bounds.iter().zip(values).zip(offsets) {
                let offset = sign * (end - value.to_f64()) * multiples;
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
        if grown != 0 {
            let location = slab.start + block.start;
            let chunks = location / CHUNK..(location + lines * len).div_ceil(CHUNK);
            let first = first / CHUNK;
            self.grown[end.index()][slot][chunks.start - first..chunks.end - first].fill(1);
        }
        Growth { largest, grew: grown != 0 }
    }
}

/// The successors of a slab, as bounds of intervals.
struct BoundSource<'a, 'e, T> {
    bounds: &'a ShardBounds<'e, T>,
    /// The bound that is read where the turn passes; where the mover rolls again it is the other one.
    plain: Bound,
}

impl<T: Value> ValueSource<f64> for BoundSource<'_, '_, T> {
    type Values<'s>
        = BoundValues<'s, T>
    where
        Self: 's;

    #[inline(always)]
    fn values_at(&self, location: Location, rolls_again: bool) -> BoundValues<'_, T> {
        let end = if rolls_again { self.plain.other() } else { self.plain };
        self.bounds.bound_values(end, location)
    }
}

/// The sweep of a pair of slabs, or of a slab that is its own swap.
pub struct SweepSlab<'a, 'e, 't, T> {
    /// The bounds that are read and written.
    pub bounds: &'a mut ShardBounds<'e, T>,
    /// The slab and its swap.
    pub slabs: &'a [Slab<'t>; 2],
    /// The bound of the first slab that each chain computes.
    pub chains: &'a [Bound],
    /// Their candidates, if there are any that are valid.
    pub candidate_list: Option<&'a [u16]>,
    /// The working memory.
    pub scratch: &'a mut Scratch<f64>,
    /// The growth so far, to be added to.
    pub growth: &'a mut Growth,
}

impl<T: Value> Operation for SweepSlab<'_, '_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { bounds, slabs, chains, candidate_list, scratch, growth } = self;
        let step = bounds.step;
        let context = &step.context;
        let routes = &context.tables.routes;
        let starts = [0, groups_of(context, &slabs[0])];
        let Scratch { slabs: scratch, transposed } = scratch;
        // The mover's upper bounds are the other player's lower bounds, and the other way round.
        for &first in chains {
            bounds.first = first;
            let plain = [first, first.other()];
            if step.skips && slabs.iter().zip(plain).all(|(slab, end)| bounds.is_stable(slab, end))
            {
                for (slab, end) in slabs.iter().zip(plain) {
                    *growth = growth.and(bounds.largest(slab, end));
                }
                continue;
            }
            for ((slab, start), plain) in slabs.iter().zip(starts).zip(plain) {
                let own = bounds.bound_values(plain, slab.own);
                load::<f64, I>(instructions, context, own, slab.budgets, &mut scratch[start..]);
            }
            if routes.rolls_again_within {
                for (view, swapped) in views(context, slabs, starts) {
                    block::value_from_stored::<f64, I>(scratch, &view, &swapped);
                    block::value_from_stored::<f64, I>(scratch, &swapped, &view);
                }
            }
            let mut candidate_list = candidate_list.map(Reader::new);
            for ((slab, start), plain) in slabs.iter().zip(starts).zip(plain) {
                let (sources, scratch) = (&BoundSource { bounds, plain }, &mut scratch[start..]);
                if let Some(reader) = &mut candidate_list {
                    instructions.call(GatherCandidates {
                        context,
                        sources,
                        slab,
                        reader,
                        scratch,
                        transposed,
                    });
                } else {
                    let next = None;
                    instructions.call(Gather { context, sources, slab, next, scratch, transposed });
                }
            }
            let shift = first.sign() * step.margin;
            instructions.call(SweepBlocks::<f64, true> {
                context,
                scratch,
                slabs,
                starts,
                shift,
                candidate_list,
            });
            for ((slab, start), end) in slabs.iter().zip(starts).zip(plain) {
                for block in &routes.layout(slab.budgets).blocks {
                    let own = &scratch[start + block.own()..];
                    *growth = growth.and(bounds.encode(end, own, slab.own, block));
                }
            }
        }
    }
}
