//! The interval sweep of a pair of slabs: ends are made of values and distances as they are read, swept as values are, and
//! written as distances.

use std::ops::Range;

use ziggurat_encoding::Shard;
use ziggurat_planning::proof::{FAR, GROWN, Growth};

use crate::{
    certificate::{
        bounds::{Apart, End, EndOf},
        distances::{CHUNK, MayHaveGrown, ShardDistances},
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
        elimination::{format::Reader, gather::Take},
        gather::Gather,
        pair::load,
        rows,
        scratch::Scratch,
        slab::Slab,
        sources::{Offering, Place, Placed, arrays},
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

impl Placed for Own<'_> {
    fn place(&self, orientation: usize, offset: u64) -> Place {
        let (first, second) = &self.shard.ranges;
        let start = offset as usize;
        if orientation == 0 && first.contains(&offset) {
            return Place { array: arrays::LIVE, start };
        }
        match second {
            Some(second) if orientation == self.last && second.contains(&offset) => {
                Place { array: arrays::LIVE + 1, start }
            }
            _ => Place { array: arrays::PUBLISHED + orientation, start },
        }
    }
}

/// The ends that a sweep of a shard reads and writes.
pub struct Ends<'a, T> {
    /// The step.
    pub step: &'a Unproven<'a, T>,
    /// The shard.
    pub shard: &'a Shard,
    /// The distances of the shard, or those of one of its chains; others are empty.
    pub live: ShardDistances<'a>,
    /// All distances, as they were before this wave.
    pub others: &'a [Vec<Array<u16>>; 2],
    /// What is known of their growth.
    pub may_have_grown: &'a MayHaveGrown,
    /// The same for the distances of the shard, by end and range.
    pub grown: [[Vec<u8>; 2]; 2],
    /// The end of the shard's first range that the chain computes; of the second one it computes the other.
    pub first: End,
    /// The instructions to use.
    pub simd: Simd,
}

impl<T: Value> Ends<'_, T> {
    /// The orientation of a range of the shard, and the range.
    fn own_range(&self, slot: usize) -> (usize, Range<usize>) {
        let [first, second] = ranges(self.shard, self.step.values.len() - 1);
        let range = if slot == 0 { first } else { second };
        range.expect("the shard has the range")
    }

    /// An end of all values from a place on.
    #[inline(always)]
    fn end_of(&self, end: End, place: Place) -> EndOf<'_, T> {
        let (step, Place { array, start }) = (self.step, place);
        let len = self.available(place);
        if array >= arrays::FINAL {
            let read = step.finals[array - arrays::FINAL].expect("the move does not win");
            let values = &read.values[start..start + len];
            return EndOf::new(values, Apart::By(end.sign() * read.bound));
        }
        let (orientation, distances) = self.distances(end, place, len);
        let values = &step.values[orientation][start..start + len];
        EndOf::new(values, Apart::Each(distances, end.sign() * step.unit))
    }

    /// Whether the chain computes an end of a range of the shard. Where it reads what the other chain computes, it reads that as it
    /// was before the wave, as it does with other shards: so nobody can tell whether both are computed at the same time. (That is only where both
    /// ranges are of one orientation, and the one piece on the squares of the prefix is captured.) A shard of one range is
    /// its own swap, and computed as a whole.
    fn is_of_chain(&self, end: End, slot: usize) -> bool {
        self.shard.ranges.1.is_none() || (end == self.first) == (slot == 0)
    }

    /// The distances of `len` values of the step from a place on, and their orientation.
    #[inline(always)]
    fn distances(&self, end: End, Place { array, start }: Place, len: usize) -> (usize, &[u16]) {
        let (orientation, live) = self.place(end, array);
        let distances = match live {
            Some((slot, first)) => &self.live[end.index()][slot][start - first..][..len],
            None => &self.others[end.index()][orientation][start..][..len],
        };
        (orientation, distances)
    }

    /// The orientation of an array, and if it is one of those that the chain computes, the range, and where that begins.
    #[inline(always)]
    fn place(&self, end: End, array: usize) -> (usize, Option<(usize, usize)>) {
        match array.checked_sub(arrays::LIVE) {
            Some(slot) => {
                let (orientation, range) = self.own_range(slot);
                (orientation, self.is_of_chain(end, slot).then_some((slot, range.start)))
            }
            None => (array - arrays::PUBLISHED, None),
        }
    }

    /// Whether any of `len` distances from a place on, or of as many as there are, has grown.
    fn has_grown(&self, end: End, place: Place, len: usize) -> bool {
        if place.array >= arrays::FINAL {
            return false;
        }
        let len = len.min(self.available(place));
        let Place { array, start } = place;
        let (grown, first) = match self.place(end, array) {
            (_, Some((slot, first))) => (&self.grown[end.index()][slot][..], first / CHUNK),
            (orientation, None) => (&self.may_have_grown[end.index()][orientation][..], 0),
        };
        let (_, distances) = self.distances(end, place, len);
        let any_of = |some: &[u16]| {
            self.simd.compute(
                #[inline(always)]
                || some.iter().fold(0, |all, distance| all | distance),
            )
        };
        let end = start + len;
        (start / CHUNK..end.div_ceil(CHUNK)).filter(|chunk| grown[chunk - first] > 0).any(|chunk| {
            let some = (chunk * CHUNK).max(start) - start..(chunk * CHUNK + CHUNK).min(end) - start;
            any_of(&distances[some]) & GROWN != 0
        })
    }

    /// Whether nothing has grown of what a slab is computed from, its own distances among it: `plain` is the end that is
    /// read where the turn passes.
    fn is_settled(&self, slab: &Slab<'_>, plain: End) -> bool {
        let routes = &self.step.context.tables.routes;
        let len = routes.own(slab.budgets).source_reach();
        !self.has_grown(plain, slab.own, len)
            && slab.offers.iter().flat_map(|offers| offers.reads(routes)).all(
                |(place, len, rolls_again)| {
                    let end = if rolls_again { plain.other() } else { plain };
                    !self.has_grown(end, place, len)
                },
            )
    }

    /// The largest distance of a slab, of which none has grown.
    fn largest(&self, slab: &Slab<'_>, end: End) -> Growth {
        let layout = self.step.context.tables.routes.layout(slab.budgets);
        let of_block = |block: &Block| block.start + block.rows * block.columns;
        let len = layout.blocks.iter().map(of_block).max().unwrap_or(0);
        let (_, distances) = self.distances(end, slab.own, len);
        let largest = self.simd.compute(
            #[inline(always)]
            || distances.iter().fold(0, |largest, &distance| distance.max(largest)),
        );
        Growth { largest, grew: false }
    }

    /// How many values there are from a place on.
    fn available(&self, place: Place) -> usize {
        let Place { array, start } = place;
        let end = match array {
            arrays::PUBLISHED..arrays::LIVE => self.step.values[array - arrays::PUBLISHED].len(),
            arrays::LIVE..arrays::FINAL => self.own_range(array - arrays::LIVE).1.end,
            _ => self.step.finals[array - arrays::FINAL].map_or(0, |read| read.values.len()),
        };
        end - start
    }

    /// Takes scratch rows as an end of a block's values, and returns how their distances grew.
    #[inline(always)]
    fn encode(
        &mut self,
        end: End,
        from: &[<f64 as Value>::Group],
        slab: Place,
        block: &Block,
    ) -> Growth {
        let multiple = self.step.multiple;
        let multiples = 1.0 / (self.step.unit * multiple);
        let slot = slab.array - arrays::LIVE;
        let (orientation, Range { start: first, .. }) = self.own_range(slot);
        let start = slab.start + block.start;
        let values = &self.step.values[orientation][start..];
        let distances = &mut self.live[end.index()][slot][start - first..];
        let sign = end.sign();
        let (mut largest, mut grown) = (0, 0);
        let (lines, len) = block.lines();
        for line in 0..lines {
            let ends = rows::values_in::<f64>(&from[line * block.stride..][..block.stride]);
            let range = line * len..(line + 1) * len;
            let (values, distances) = (&values[range.clone()], &mut distances[range]);
            for ((&end, &value), to) in ends.iter().zip(values).zip(distances) {
                let distance = sign * (end - value.to_f64()) * multiples;
                // What is no number is as far as can be: both comparisons are false of it.
                let distance = distance.ceil() * multiple;
                let distance = if distance < f64::from(FAR) { distance } else { f64::from(FAR) };
                let distance = if distance > 0.0 { distance } else { 0.0 };
                // The sum has its unit in the lowest bit. (A cast does not vectorise.)
                let distance = (distance + INTEGERS).to_bits() as u16;
                largest = largest.max(distance);
                let has_grown = if distance > *to & !GROWN { GROWN } else { 0 };
                grown |= has_grown;
                *to = distance | has_grown;
            }
        }
        if grown != 0 {
            let place = slab.start + block.start;
            let chunks = place / CHUNK..(place + lines * len).div_ceil(CHUNK);
            let first = first / CHUNK;
            self.grown[end.index()][slot][chunks.start - first..chunks.end - first].fill(1);
        }
        Growth { largest, grew: grown != 0 }
    }
}

/// What a slab is offered, as ends of intervals.
struct OfferedEnds<'a, 'e, T> {
    ends: &'a Ends<'e, T>,
    /// The end that is read where the turn passes; where the mover rolls again it is the other one.
    plain: End,
}

impl<T: Value> Offering<f64> for OfferedEnds<'_, '_, T> {
    type Values<'s>
        = EndOf<'s, T>
    where
        Self: 's;

    #[inline(always)]
    fn offered(&self, place: Place, rolls_again: bool) -> EndOf<'_, T> {
        let end = if rolls_again { self.plain.other() } else { self.plain };
        self.ends.end_of(end, place)
    }
}

/// The sweep of a pair of slabs, or of a slab that is its own swap.
pub struct SweepSlab<'a, 'e, 't, T> {
    /// What is read and written.
    pub ends: &'a mut Ends<'e, T>,
    /// The slab and its swap.
    pub slabs: &'a [Slab<'t>; 2],
    /// The end of the first slab that each chain computes.
    pub chains: &'a [End],
    /// Their shortlist, if there is one that holds.
    pub shortlist: Option<&'a [u16]>,
    /// The working memory.
    pub scratch: &'a mut Scratch<f64>,
    /// What sweeps did so far, to be added to.
    pub growth: &'a mut Growth,
}

impl<T: Value> Operation for SweepSlab<'_, '_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { ends, slabs, chains, shortlist, scratch, growth } = self;
        let step = ends.step;
        let context = &step.context;
        let routes = &context.tables.routes;
        let starts = [0, groups_of(context, &slabs[0])];
        let Scratch { slabs: scratch, turned } = scratch;
        // What x computes from upper ends is a lower end of what y reads, and the other way round.
        for &first in chains {
            ends.first = first;
            let plain = [first, first.other()];
            if step.skips && slabs.iter().zip(plain).all(|(slab, end)| ends.is_settled(slab, end)) {
                for (slab, end) in slabs.iter().zip(plain) {
                    *growth = growth.and(ends.largest(slab, end));
                }
                continue;
            }
            for ((slab, start), plain) in slabs.iter().zip(starts).zip(plain) {
                let own = ends.end_of(plain, slab.own);
                load::<f64, I>(instructions, context, own, slab.budgets, &mut scratch[start..]);
            }
            if routes.rolls_again_within {
                for (view, swapped) in views(context, slabs, starts) {
                    block::value_from_stored::<f64, I>(scratch, &view, &swapped);
                    block::value_from_stored::<f64, I>(scratch, &swapped, &view);
                }
            }
            let mut shortlist = shortlist.map(Reader::new);
            for ((slab, start), plain) in slabs.iter().zip(starts).zip(plain) {
                let (sources, scratch) = (&OfferedEnds { ends, plain }, &mut scratch[start..]);
                if let Some(reader) = &mut shortlist {
                    instructions.call(Take { context, sources, slab, reader, scratch, turned });
                } else {
                    let next = None;
                    instructions.call(Gather { context, sources, slab, next, scratch, turned });
                }
            }
            let shift = first.sign() * step.margin;
            instructions.call(SweepBlocks::<f64, true> {
                context,
                scratch,
                slabs,
                starts,
                shift,
                shortlist,
            });
            for ((slab, start), end) in slabs.iter().zip(starts).zip(plain) {
                for block in &routes.layout(slab.budgets).blocks {
                    let own = &scratch[start + block.own()..];
                    *growth = growth.and(ends.encode(end, own, slab.own, block));
                }
            }
        }
    }
}
