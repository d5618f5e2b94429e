//! A step: the tiers (n, m) and (m, n), solved together by supersteps.
//!
//! A superstep sweeps every shard in place, in descending order, and then meets a barrier. A
//! shard reads its own values as they are now and those of the other shards as they were published
//! at the last barrier, so the result does not depend on threads or timing.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use rayon::prelude::*;
use ziggurat_encoding::{Shard, SharedConfiguration, Tier, shared::Budgets};

use crate::{
    array::Array,
    context::Context,
    scratch::Scratch,
    simd::Simd,
    slab::{Place, Placed, Slab, arrays},
    sweep::SweepSlab,
    value::{PADDING, Value},
};

/// The state of a step between two supersteps.
pub struct StepState<T: Value> {
    shards: Vec<Shard>,
    /// The shards' own values: range after range, each padded.
    live: Array<T>,
    /// The values of each orientation as of the last barrier.
    published: Vec<Array<T>>,
    /// Working memory that no thread uses at the moment.
    scratch: Mutex<Vec<Scratch<T>>>,
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
        let live = shards.iter().flat_map(padded_lengths).sum::<usize>();
        let tier = |&tier| Array::filled(half, context.encoding.tier_len(tier) as usize);
        Self {
            shards,
            live: Array::filled(half, live),
            published: context.tiers.iter().map(tier).collect(),
            scratch: Mutex::default(),
        }
    }

    /// The most bytes a state of `positions` positions in `shards` shards takes.
    pub fn bytes(positions: u64, shards: usize) -> u64 {
        (2 * positions + (2 * shards as u64 + 3) * PADDING as u64) * size_of::<T>() as u64
    }

    /// Sweeps every shard once and publishes the result. Returns the residual: the largest change
    /// of any value.
    pub fn superstep(&mut self, context: &Context<'_, T>, simd: Simd) -> f64 {
        let Self { shards, live, published, scratch } = self;
        let scratch = &*scratch;
        let mut rest: &mut [T] = live;
        let mut take = |length: usize| rest.split_off_mut(..length).expect("the shards fit");
        let parts: Vec<LiveShard<'_, T>> = shards
            .iter()
            .map(|shard| LiveShard { shard, live: padded_lengths(shard).map(&mut take) })
            .collect();
        parts.into_par_iter().with_max_len(1).for_each(|shard| {
            let free = || scratch.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = free().pop();
            let mut working = kept.unwrap_or_else(|| Scratch::new(context.encoding));
            shard.sweep(context, published, &mut working, simd);
            free().push(working);
        });
        publish(shards, live, published)
    }

    /// The values of each orientation, once the step is solved.
    pub fn into_values(self) -> Vec<Array<T>> {
        self.published
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
            let is_own_swap = one_range && *w == swapped;
            let live = &mut live;
            let slabs = &slabs;
            simd.run(SweepSlab { scratch, context, published, live, slabs, is_own_swap });
        };
        shared.for_each_slab_descending(context.tiers[0], prefix, &mut sweep_slab);
    }
}

/// Publishes the shards' values and returns the largest change of any.
fn publish<T: Value>(shards: &[Shard], live: &[T], published: &mut [Array<T>]) -> f64 {
    let last = published.len() - 1;
    let mut rest = live;
    let mut parts: Vec<(usize, u64, &[T])> = Vec::new();
    for shard in shards {
        let ranges = [(0, Some(&shard.ranges.0)), (last, shard.ranges.1.as_ref())];
        for (length, (orientation, range)) in padded_lengths(shard).into_iter().zip(ranges) {
            let values = rest.split_off(..length).expect("the shards fit");
            if let Some(range) = range {
                parts.push((orientation, range.start, values));
            }
        }
    }
    parts.sort_by_key(|&(orientation, start, _)| (orientation, start));
    let mut targets: Vec<(&[T], &mut [T])> = Vec::new();
    for (orientation, mut rest) in published.iter_mut().map(|all| &mut **all).enumerate() {
        for &(_, _, values) in parts.iter().filter(|&&(at, ..)| at == orientation) {
            let (target, others) = rest.split_at_mut(values.len() - PADDING);
            targets.push((values, target));
            rest = others;
        }
        assert_eq!(rest.len(), PADDING, "the shards of a step fill it");
    }
    let changes = targets.into_par_iter().map(|(values, target)| {
        let mut change = T::default();
        for (&new, old) in values.iter().zip(target) {
            change = change.larger(new.distance(*old));
            *old = new;
        }
        change.to_f64()
    });
    changes.reduce(|| 0.0, f64::max)
}

/// The tier of a step that comes first: the one with the most pieces left for the player who
/// just moved.
pub fn first_of_step(tier: Tier) -> Tier {
    if tier.just_moved >= tier.to_move { tier } else { tier.swap() }
}
