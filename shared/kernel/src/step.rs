//! A step: the tiers (n, m) and (m, n), solved together by supersteps.
//!
//! A superstep sweeps every shard in place, in descending order, and then meets a barrier. A
//! shard reads its own values as they are now and those of the other shards as they were published
//! at the last barrier, so the result does not depend on threads or timing.

use std::ops::Range;

use rayon::prelude::*;
use ziggurat_encoding::{Shard, SharedConfiguration, Tier, shared::Budgets};

use crate::{
    accelerate::{DIFFERENCES, PIECE, Piece, extrapolate},
    array::Array,
    block::{View, sweep_pair, sweep_single},
    context::{Context, Tables},
    rows,
    scratch::Scratch,
    simd::{Operation, Simd},
    slab::{Place, Placed, Slab, Sources, arrays},
    value::{PADDING, Value},
    vector::Instructions,
};

/// The state of a step between two supersteps.
pub struct StepState<T> {
    shards: Vec<Shard>,
    /// The shards' own values: range after range, each padded.
    live: Array<T>,
    /// The values of each orientation as of the last barrier.
    published: Vec<Array<T>>,
    /// What the last supersteps changed, as bytes, in the order of the published values.
    differences: [Array<i8>; DIFFERENCES],
    /// For each piece what a unit of them is worth.
    units: Vec<[f32; DIFFERENCES]>,
    /// Supersteps made.
    supersteps: usize,
}

/// A shard during a superstep, with its own values: one slice for each range, the second empty if
/// there is none.
struct LiveShard<'a, T> {
    shard: &'a Shard,
    live: [&'a mut [T]; 2],
}

/// The padded lengths of a shard's ranges.
fn padded_lengths(shard: &Shard) -> [usize; 2] {
    let padded = |range: &Range<u64>| (range.end - range.start) as usize + PADDING;
    [padded(&shard.ranges.0), shard.ranges.1.as_ref().map_or(0, padded)]
}

/// Which values of the step are the shard's own.
struct Ranges<'a> {
    ranges: &'a (Range<u64>, Option<Range<u64>>),
    /// The last orientation of the step: 1, or 0 if both are the same.
    last: usize,
}

impl Placed for Ranges<'_> {
    #[inline(always)]
    fn place(&self, orientation: usize, offset: u64) -> Place {
        let (first, second) = self.ranges;
        let own = |range: usize, start: u64| Place {
            array: arrays::LIVE + range,
            start: (offset - start) as usize,
        };
        if orientation == 0 && first.contains(&offset) {
            return own(0, first.start);
        }
        match second {
            Some(second) if orientation == self.last && second.contains(&offset) => {
                own(1, second.start)
            }
            _ => Place { array: arrays::PUBLISHED + orientation, start: offset as usize },
        }
    }
}

impl<T: Value> StepState<T> {
    /// The state before the first superstep: every chance one half.
    pub fn new(context: &Context<'_, T>, shards: Vec<Shard>) -> Self {
        let half = T::from_f64(0.5);
        let tier = |&tier| Array::filled(half, context.encoding.tier_len(tier) as usize);
        Self::starting_from(context.tiers.iter().map(tier).collect(), shards)
    }

    /// The state before the first superstep, with the values of each orientation.
    pub fn starting_from(published: Vec<Array<T>>, shards: Vec<Shard>) -> Self {
        let live = shards.iter().flat_map(padded_lengths).sum::<usize>();
        let mut live = Array::filled(T::default(), live);
        let mut rest: &mut [T] = &mut live;
        for shard in &shards {
            let ranges = [(0, Some(&shard.ranges.0)), (published.len() - 1, shard.ranges.1.as_ref())];
            for (orientation, range) in ranges {
                let Some(range) = range else { continue };
                let (range, length) = (range.start as usize..range.end as usize, range.end - range.start);
                let values = rest.split_off_mut(..length as usize + PADDING).expect("the shards fit");
                values[..length as usize].copy_from_slice(&published[orientation][range]);
            }
        }
        let positions = published.iter().map(|values| values.values().len()).sum();
        let ranges = shards.iter().flat_map(|shard| [Some(&shard.ranges.0), shard.ranges.1.as_ref()]);
        let pieces = ranges.flatten().map(|range| (range.end - range.start).div_ceil(PIECE as u64));
        Self {
            units: vec![[0.0; DIFFERENCES]; pieces.sum::<u64>() as usize],
            shards,
            live,
            published,
            differences: std::array::from_fn(|_| Array::filled(0, positions)),
            supersteps: 0,
        }
    }

    /// The most bytes a state of `positions` positions in `shards` shards takes.
    pub fn bytes(positions: u64, shards: usize) -> u64 {
        let ranges = 2 * shards as u64;
        let values = (2 * positions + (ranges + 3) * PADDING as u64) * size_of::<T>() as u64;
        let differences = positions + PADDING as u64;
        let units = (positions / PIECE as u64 + ranges) * size_of::<f32>() as u64;
        values + DIFFERENCES as u64 * (differences + units)
    }

    /// Sweeps every shard once and publishes the result. Returns the residual: the largest change
    /// of any value.
    pub fn superstep(&mut self, context: &Context<'_, T>, simd: Simd) -> f64 {
        let waves = std::env::var("WAVES").map_or(1, |x| x.parse().unwrap());
        let total = self.shards.iter().map(Shard::len).sum::<u64>();
        let mut end = self.shards.len();
        let mut residual = 0.0f64;
        let mut seen = 0;
        for wave in 1..=waves {
            let mut start = end;
            while start > 0 && (wave == waves || seen < total * wave / waves) {
                start -= 1;
                seen += self.shards[start].len();
            }
            residual = residual.max(self.wave(context, simd, start..end));
            end = start;
        }
        self.supersteps += 1;
        residual
    }

    fn wave(&mut self, context: &Context<'_, T>, simd: Simd, wave: Range<usize>) -> f64 {
        let Self { shards, live, published, .. } = self;
        let rolls = context.tables.rules.rolls.len();
        let scratch = || Scratch::new(Tables::side(context.encoding), rolls);
        let mut rest: &mut [T] = live;
        let mut take = |length: usize| rest.split_off_mut(..length).expect("the shards fit");
        let parts: Vec<LiveShard<'_, T>> = shards
            .iter()
            .map(|shard| LiveShard { shard, live: padded_lengths(shard).map(&mut take) })
            .enumerate()
            .filter(|(i, _)| wave.contains(i))
            .map(|(_, part)| part)
            .collect();
        parts.into_par_iter().with_max_len(1).for_each_init(scratch, |scratch, shard| {
            shard.sweep(context, published, scratch, simd);
        });
        let superstep = self.supersteps % DIFFERENCES;
        let changes = self.pieces(wave).into_par_iter().map(|mut piece| piece.publish(superstep));
        changes.reduce(|| 0.0, f64::max)
    }

    /// Moves the values to where the last [`DIFFERENCES`] supersteps, a row of them, were heading.
    pub fn extrapolate(&mut self) {
        assert!(self.supersteps > 0 && self.supersteps % DIFFERENCES == 0, "rows are complete");
        extrapolate(&mut self.pieces(0..self.shards.len()));
    }

    /// The values of each orientation, once the step is solved.
    pub fn into_values(self) -> Vec<Array<T>> {
        self.published
    }

    /// The values of some shards, and what changed them, in the order of the published values.
    fn pieces(&mut self, wave: Range<usize>) -> Vec<Piece<'_, T>> {
        let Self { shards, live, published, differences, units, .. } = self;
        let last = published.len() - 1;
        let mut live: &mut [T] = live;
        let mut ranges: Vec<(usize, u64, bool, &mut [T])> = Vec::new();
        for (i, shard) in shards.iter().enumerate() {
            let both = [(0, Some(&shard.ranges.0)), (last, shard.ranges.1.as_ref())];
            for (length, (orientation, range)) in padded_lengths(shard).into_iter().zip(both) {
                let values = live.split_off_mut(..length).expect("the shards fit");
                if let Some(range) = range {
                    let (values, _) = values.split_at_mut(length - PADDING);
                    ranges.push((orientation, range.start, wave.contains(&i), values));
                }
            }
        }
        ranges.sort_by_key(|&(orientation, start, ..)| (orientation, start));
        let mut published = published.iter_mut().map(|all| &mut **all).collect::<Vec<_>>();
        let mut differences = differences.each_mut().map(|all| &mut **all);
        let mut units = units.iter_mut();
        let mut pieces = Vec::new();
        for (orientation, _, wanted, values) in ranges {
            let before = &mut published[orientation];
            for live in values.chunks_mut(PIECE) {
                let piece = Piece {
                    published: before.split_off_mut(..live.len()).expect("the shards fit"),
                    differences: differences
                        .each_mut()
                        .map(|all| all.split_off_mut(..live.len()).expect("the shards fit")),
                    units: units.next().expect("the shards fit"),
                    live,
                };
                if wanted {
                    pieces.push(piece);
                }
            }
        }
        pieces
    }
}

impl<T: Value> LiveShard<'_, T> {
    /// Updates every position of the shard in place.
    fn sweep(
        self,
        context: &Context<'_, T>,
        published: &[Array<T>],
        scratch: &mut Scratch<T>,
        simd: Simd,
    ) {
        let shared = context.encoding.shared();
        let last = context.tiers.len() - 1;
        let Self { shard: Shard { prefix, ranges }, mut live } = self;
        let placed = Ranges { ranges, last };
        let mut slabs = [Slab::default(), Slab::default()];
        let mut sweep_slab = |w: &SharedConfiguration, (own, opponent): Budgets| {
            let swapped = shared.swap(w);
            let one_range = last == 0 && ranges.1.is_none();
            if one_range && *w < swapped {
                return; // comes later, as the swap of its swap
            }
            slabs[0].set(context, &placed, w, (own, opponent), 0);
            slabs[1].set(context, &placed, &swapped, (opponent, own), last);
            let sweep = SweepSlab {
                scratch,
                context,
                published,
                live: &mut live,
                slabs: &slabs,
                is_own_swap: one_range && *w == swapped,
            };
            simd.run(sweep);
        };
        shared.for_each_slab_descending(context.tiers[0], prefix, &mut sweep_slab);
    }
}

/// A pair of slabs to sweep, or a slab that is its own swap.
struct SweepSlab<'a, 'l, 'c, T: Value> {
    scratch: &'a mut Scratch<T>,
    context: &'a Context<'c, T>,
    published: &'a [Array<T>],
    live: &'a mut [&'l mut [T]; 2],
    slabs: &'a [Slab; 2],
    is_own_swap: bool,
}

impl<T: Value> Operation for SweepSlab<'_, '_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { scratch, context, published, live, slabs, is_own_swap } = self;
        let last = published.len() - 1;
        let (own, opponent) = slabs[0].budgets;
        let pieces = context.encoding.shared().inner_pieces().iter().enumerate();
        for (x, &(a, b)) in pieces.rev() {
            let (x, swapped) = (x as u16, context.tables.inner_swapped[x]);
            if a > own || b > opponent || is_own_swap && x < swapped {
                continue;
            }
            let sources = Sources {
                arrays: [
                    &published[0],
                    &published[last],
                    &*live[0],
                    &*live[1],
                    context.finals(0),
                    context.finals(1),
                ],
            };
            let views = [View::new(context, &slabs[0], x), View::new(context, &slabs[1], swapped)];
            let itself = is_own_swap && x == swapped;
            if itself {
                sweep_single(instructions, context, &sources, scratch, &views[0]);
            } else {
                sweep_pair(instructions, context, &sources, scratch, [&views[0], &views[1]]);
            }
            for (view, from) in views.iter().zip(&scratch.own).take(if itself { 1 } else { 2 }) {
                let Place { array, start } = view.slab.own;
                let values = &mut live[array - arrays::LIVE][start + view.offset..];
                rows::store::<T, I>(from, view.rows, view.columns, values);
            }
        }
    }
}

/// The tier of a step that comes first: the one with the most pieces left for the player who
/// just moved.
pub fn first_of_step(tier: Tier) -> Tier {
    if tier.just_moved >= tier.to_move { tier } else { tier.swap() }
}
