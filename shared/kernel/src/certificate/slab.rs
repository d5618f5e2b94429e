//! The interval sweep of a pair of slabs: what it reads is decoded, swept as values are, and encoded.

use std::ops::Range;

use ziggurat_encoding::Shard;

use super::{
    FAR, GROWN, Growth,
    step::{ShardDistances, Unproven},
};
use crate::{
    array::Array,
    block::{self, SweepBlocks},
    context::Tables,
    gather::Gather,
    layout::Block,
    routes::Route,
    scratch::Scratch,
    simd::Simd,
    slab::{Offers, Place, Placed, Slab, Sources, arrays},
    sweep::{groups_of, load, views},
    value::{Group, LANES, Value},
    vector::{Instructions, Operation},
};

/// So many distances are looked at before it is asked whether any of them has grown.
const SOME: usize = 256;

/// Added to a small number, this leaves an integer in the lowest bits: 2^52.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// An end of the intervals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Lower,
    Upper,
}

impl End {
    fn other(self) -> Self {
        match self {
            Self::Lower => Self::Upper,
            Self::Upper => Self::Lower,
        }
    }

    fn index(self) -> usize {
        self as usize
    }

    /// What to multiply a distance by.
    fn sign(self) -> f64 {
        match self {
            Self::Lower => -1.0,
            Self::Upper => 1.0,
        }
    }
}

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
    /// The distances of the shard.
    pub live: ShardDistances<'a>,
    /// All distances, as they were before this wave.
    pub others: &'a [Vec<Array<u16>>; 2],
    /// The instructions to use.
    pub simd: Simd,
}

impl<T: Value> Ends<'_, T> {
    /// The orientation, and where a range of the shard begins.
    fn own_range(&self, slot: usize) -> (usize, usize) {
        let (first, second) = &self.shard.ranges;
        match (slot, second) {
            (1, Some(second)) => (self.step.values.len() - 1, second.start as usize),
            _ => (0, first.start as usize),
        }
    }

    /// Writes an end of `to.len()` values from a place on.
    #[inline(always)]
    fn decode(&self, end: End, place: Place, to: &mut [f64]) {
        let Self { step, .. } = self;
        let Place { array, start } = place;
        let len = to.len();
        if array >= arrays::FINAL {
            let read = step.finals[array - arrays::FINAL].expect("the move does not win");
            let distance = end.sign() * read.bound;
            for (to, &value) in to.iter_mut().zip(&read.values[start..start + len]) {
                *to = (value.to_f64() + distance).clamp(0.0, 1.0);
            }
            return;
        }
        let (orientation, distances) = self.distances(end, place, len);
        let unit = end.sign() * step.unit;
        let values = &step.values[orientation][start..start + len];
        for ((to, &value), &distance) in to.iter_mut().zip(values).zip(distances) {
            *to = (value.to_f64() + unit * f64::from(distance & !GROWN)).clamp(0.0, 1.0);
        }
    }

    /// The distances of `len` values of the step from a place on, and their orientation.
    #[inline(always)]
    fn distances(&self, end: End, Place { array, start }: Place, len: usize) -> (usize, &[u16]) {
        match array.checked_sub(arrays::LIVE) {
            Some(slot) => {
                let (orientation, first) = self.own_range(slot);
                (orientation, &self.live[end.index()][slot][start - first..][..len])
            }
            None => {
                let orientation = array - arrays::PUBLISHED;
                (orientation, &self.others[end.index()][orientation][start..][..len])
            }
        }
    }

    /// Whether any of `len` distances from a place on, or of as many as there are, has grown.
    fn has_grown(&self, end: End, place: Place, len: usize) -> bool {
        if place.array >= arrays::FINAL {
            return false;
        }
        let len = len.min(self.available(place));
        let (_, distances) = self.distances(end, place, len);
        let any_of = |some: &[u16]| {
            self.simd.compute(
                #[inline(always)]
                || some.iter().fold(0, |all, distance| all | distance),
            )
        };
        distances.chunks(SOME).any(|some| any_of(some) & GROWN != 0)
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
        let len = layout.blocks().map(of_block).max().unwrap_or(0);
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
            arrays::LIVE..arrays::FINAL => {
                let slot = array - arrays::LIVE;
                self.own_range(slot).1 + self.live[0][slot].len()
            }
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
        let (orientation, first) = self.own_range(slot);
        let start = slab.start + block.start;
        let values = &self.step.values[orientation][start..];
        let distances = &mut self.live[end.index()][slot][start - first..];
        let sign = end.sign();
        let (mut largest, mut grown) = (0, 0);
        let (lines, len) = block.lines();
        for line in 0..lines {
            let row = &from[line * block.stride..][..block.stride];
            let range = line * len..(line + 1) * len;
            let ends = row.iter().flat_map(|group| group.lanes());
            for ((&end, &value), to) in ends.zip(&values[range.clone()]).zip(&mut distances[range])
            {
                let distance = sign * (end - value.to_f64()) * multiples;
                let distance = (distance.ceil() * multiple).clamp(0.0, f64::from(FAR));
                // The sum has its unit in the lowest bit. (A cast does not vectorise.)
                let distance = (distance + INTEGERS).to_bits() as u16;
                largest = largest.max(distance);
                let has_grown = if distance > *to & !GROWN { GROWN } else { 0 };
                grown |= has_grown;
                *to = distance | has_grown;
            }
        }
        Growth { largest, grew: grown != 0 }
    }
}

/// A slab with everything it is offered, as ends of intervals.
#[derive(Default)]
pub struct Decoded<'t> {
    slab: Slab<'t>,
    values: Room,
}

/// Room for decoded values, which keeps what was there before until it is written to.
#[derive(Default)]
struct Room {
    values: Vec<f64>,
    used: usize,
}

impl Room {
    /// Takes room for so many values.
    fn take(&mut self, len: usize) -> Range<usize> {
        let start = self.used;
        self.used += len;
        if self.values.len() < self.used {
            self.values.resize(self.used, 0.5);
        }
        start..self.used
    }
}

impl<'t> Decoded<'t> {
    /// The decoded values, as the places of the decoded slab mean them.
    fn sources(&self) -> Sources<'_, f64> {
        Sources { arrays: [&self.values.values, &[], &[], &[], &[], &[]] }
    }

    /// Decodes an end of a slab's own values.
    fn decode_own<T: Value>(&mut self, ends: &Ends<'_, T>, slab: &Slab<'t>, end: End) {
        let len = ends.step.context.tables.routes.own(slab.budgets).source_reach();
        self.values.used = 0;
        self.slab.budgets = slab.budgets;
        self.slab.own = add(ends, &mut self.values, end, slab.own, len);
    }

    /// Decodes what a slab is offered: `plain` is the end that is read where the turn passes; where
    /// the mover rolls again it is the other one.
    fn decode_offers<T: Value>(&mut self, ends: &Ends<'_, T>, slab: &Slab<'t>, plain: End) {
        let routes = &ends.step.context.tables.routes;
        let Self { slab: decoded, values } = self;
        values.used = 0;
        let mut add = |end, place, len| add(ends, values, end, place, len);
        decoded.budgets = slab.budgets;
        decoded.offers.resize_with(slab.offers.len(), Offers::default);
        for (from, to) in slab.offers.iter().zip(&mut decoded.offers) {
            let mut plainly = |&(place, route): &(Place, &'t Route)| {
                let len = routes.plain_source_reach(route);
                (add(plain, place, len), route)
            };
            to.complete.clear();
            to.complete.extend(from.complete.iter().map(&mut plainly));
            to.plain.clear();
            to.plain.extend(from.plain.iter().map(&mut plainly));
            to.again.clear();
            to.again.extend(from.again.iter().map(|&(place, route)| {
                (add(plain.other(), place, routes.again_source_reach(route)), route)
            }));
            to.wins.clone_from(&from.wins);
        }
        // Blocks are turned in whole squares.
        let side = Tables::side(ends.step.context.encoding);
        values.take((side + 1) * LANES);
    }
}

/// Adds an end of `len` values from a place on, or as many as there are, and says where it is.
fn add<T: Value>(ends: &Ends<'_, T>, room: &mut Room, end: End, place: Place, len: usize) -> Place {
    let start = room.take(len).start;
    let len = len.min(ends.available(place));
    let values = &mut room.values[start..start + len];
    ends.simd.compute(
        #[inline(always)]
        || ends.decode(end, place, values),
    );
    Place { array: 0, start }
}

/// The sweep of a pair of slabs, or of a slab that is its own swap.
pub struct SweepSlab<'a, 'e, 't, T> {
    /// What is read and written.
    pub ends: &'a mut Ends<'e, T>,
    /// The slab and its swap.
    pub slabs: &'a [Slab<'t>; 2],
    /// Whether the two are one.
    pub is_own_swap: bool,
    /// The working memory.
    pub scratch: &'a mut Scratch<f64>,
    /// Room for ends.
    pub decoded: &'a mut Decoded<'t>,
    /// What sweeps did so far, to be added to.
    pub growth: &'a mut Growth,
}

impl<T: Value> Operation for SweepSlab<'_, '_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { ends, slabs, is_own_swap, scratch, decoded, growth } = self;
        let step = ends.step;
        let context = &step.context;
        let routes = &context.tables.routes;
        let starts = [0, groups_of(context, &slabs[0])];
        let Scratch { slabs: scratch, turned } = scratch;
        // What x computes from upper ends is a lower end of what y reads, and the other way round.
        // Both chains are the same for a slab that is its own swap.
        let chains = [End::Upper, End::Lower].into_iter().take(if is_own_swap { 1 } else { 2 });
        for first in chains {
            let plain = [first, first.other()];
            if step.skips && slabs.iter().zip(plain).all(|(slab, end)| ends.is_settled(slab, end)) {
                for (slab, end) in slabs.iter().zip(plain) {
                    *growth = growth.and(ends.largest(slab, end));
                }
                continue;
            }
            for ((slab, start), plain) in slabs.iter().zip(starts).zip(plain) {
                decoded.decode_own(ends, slab, plain);
                load::<f64, I>(
                    instructions,
                    context,
                    &decoded.sources(),
                    &decoded.slab,
                    &mut scratch[start..],
                );
            }
            if routes.rolls_again_within {
                for (view, swapped) in views(context, slabs, starts) {
                    block::value_from_stored::<f64, I>(scratch, &view, &swapped);
                    block::value_from_stored::<f64, I>(scratch, &swapped, &view);
                }
            }
            for ((slab, start), plain) in slabs.iter().zip(starts).zip(plain) {
                decoded.decode_offers(ends, slab, plain);
                let (sources, slab, next) = (&decoded.sources(), &decoded.slab, None);
                let scratch = &mut scratch[start..];
                instructions.call(Gather { context, sources, slab, next, scratch, turned });
            }
            let shift = first.sign() * step.margin;
            instructions.call(SweepBlocks::<f64, true> {
                context,
                scratch,
                slabs,
                starts,
                shift,
                shortlist: None,
            });
            for ((slab, start), end) in slabs.iter().zip(starts).zip(plain) {
                for block in routes.layout(slab.budgets).blocks() {
                    let own = &scratch[start + block.own()..];
                    *growth = growth.and(ends.encode(end, own, slab.own, block));
                }
            }
        }
    }
}
