//! A step: the tiers (n, m) and (m, n), solved together by supersteps.
//!
//! A superstep sweeps every shard in place, in descending order, and then meets a barrier. A
//! shard reads its own values as they are now and those of the other shards as they were published
//! at the last barrier, so the result does not depend on threads or timing.

use std::ops::Range;

use rayon::prelude::*;
use ziggurat_encoding::{Shard, SharedConfiguration, Tier};

use crate::{
    block::{Scratch, View},
    context::{Context, Stored, Tables},
    lanes::PADDING,
    simd::Simd,
    value::Value,
};

/// A shard with its own values.
struct LiveShard<T> {
    shard: Shard,
    /// The values of the shard's ranges, padded; the second is empty if there is one range.
    live: [Vec<T>; 2],
}

/// The state of a step between two supersteps.
pub struct StepState<T> {
    shards: Vec<LiveShard<T>>,
    /// The values of each orientation as of the last barrier, padded.
    published: Vec<Vec<T>>,
}

/// What a shard may see of its step during a sweep.
struct Sight<'a, T> {
    ranges: &'a (Range<u64>, Option<Range<u64>>),
    live: &'a [Vec<T>; 2],
    published: &'a [Vec<T>],
}

impl<T> Stored<T> for Sight<'_, T> {
    #[inline(always)]
    fn values(&self, orientation: usize, offset: u64) -> &[T] {
        let (first, second) = self.ranges;
        let last = self.published.len() - 1;
        if orientation == 0 && first.contains(&offset) {
            return &self.live[0][(offset - first.start) as usize..];
        }
        if let Some(second) = second
            && orientation == last
            && second.contains(&offset)
        {
            return &self.live[1][(offset - second.start) as usize..];
        }
        &self.published[orientation][offset as usize..]
    }
}

impl<T: Value> StepState<T> {
    /// The state before the first superstep: every chance one half.
    pub fn new(context: &Context<'_, T>, shards: Vec<Shard>) -> Self {
        let half = T::from_f64(0.5);
        let array = |len: u64| vec![half; len as usize + PADDING];
        let shards = shards
            .into_iter()
            .map(|shard| {
                let (first, second) = &shard.ranges;
                let length = |range: &Range<u64>| range.end - range.start;
                let live =
                    [array(length(first)), second.as_ref().map_or(vec![], |s| array(length(s)))];
                LiveShard { shard, live }
            })
            .collect();
        let published =
            context.tiers.iter().map(|&tier| array(context.encoding.tier_len(tier))).collect();
        Self { shards, published }
    }

    /// The most bytes a state of `positions` positions in `shards` shards takes.
    pub fn bytes(positions: u64, shards: usize) -> u64 {
        (2 * positions + (2 * shards as u64 + 2) * PADDING as u64) * size_of::<T>() as u64
    }

    /// Sweeps every shard once and publishes the result. Returns the residual: the largest change
    /// of any value.
    pub fn superstep(&mut self, context: &Context<'_, T>, simd: Simd) -> f64 {
        let Self { shards, published } = self;
        let scratch = || Scratch::new(Tables::side(context.encoding), context.rules.rolls.len());
        shards.par_iter_mut().with_max_len(1).for_each_init(scratch, |scratch, shard| {
            shard.sweep(context, published, scratch, simd)
        });
        publish(shards, published)
    }

    /// The values of each orientation, padded, once the step is solved.
    pub fn into_values(self) -> Vec<Vec<T>> {
        self.published
    }
}

impl<T: Value> LiveShard<T> {
    /// Updates every position of the shard in place.
    fn sweep(
        &mut self,
        context: &Context<'_, T>,
        published: &[Vec<T>],
        scratch: &mut Scratch<T>,
        simd: Simd,
    ) {
        let shared = context.encoding.shared();
        let last = context.tiers.len() - 1;
        let Self { shard: Shard { prefix, ranges }, live } = self;
        let mut sweep_block = |w: &SharedConfiguration| {
            let swapped = shared.swap(w);
            let own_swap = last == 0 && ranges.1.is_none();
            if own_swap && *w < swapped {
                return; // comes later, as the swap of its swap
            }
            let view = View::new(context, *w, 0);
            let sight = Sight { ranges, live, published };
            if own_swap && *w == swapped {
                simd.run(Single { scratch, context, sight: &sight, view: &view });
            } else {
                let swapped = View::new(context, swapped, last);
                simd.run(Pair { scratch, context, sight: &sight, view: &view, swapped: &swapped });
                let (which, start) = match &ranges.1 {
                    Some(second) => (1, second.start),
                    None => (0, ranges.0.start),
                };
                scratch.store(1, &swapped, &mut live[which][(swapped.offset - start) as usize..]);
            }
            scratch.store(0, &view, &mut live[0][(view.offset - ranges.0.start) as usize..]);
        };
        shared.for_each_descending(context.tiers[0], prefix, &mut |w, _| sweep_block(w));
    }
}

/// One pair of blocks to sweep.
struct Pair<'a, 'c, T> {
    scratch: &'a mut Scratch<T>,
    context: &'a Context<'c, T>,
    sight: &'a Sight<'a, T>,
    view: &'a View,
    swapped: &'a View,
}

impl<T: Value> pulp::NullaryFnOnce for Pair<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.scratch.sweep_pair(self.context, self.sight, self.view, self.swapped);
    }
}

/// One block that is its own swap to sweep.
struct Single<'a, 'c, T> {
    scratch: &'a mut Scratch<T>,
    context: &'a Context<'c, T>,
    sight: &'a Sight<'a, T>,
    view: &'a View,
}

impl<T: Value> pulp::NullaryFnOnce for Single<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.scratch.sweep_single(self.context, self.sight, self.view);
    }
}

/// Publishes the shards' values and returns the largest change of any.
fn publish<T: Value>(shards: &[LiveShard<T>], published: &mut [Vec<T>]) -> f64 {
    let last = published.len() - 1;
    let mut parts: Vec<(usize, u64, &[T])> = Vec::new();
    for LiveShard { shard, live } in shards {
        parts.push((0, shard.ranges.0.start, &live[0]));
        if let Some(second) = &shard.ranges.1 {
            parts.push((last, second.start, &live[1]));
        }
    }
    parts.sort_by_key(|&(orientation, start, _)| (orientation, start));
    let mut targets: Vec<(&[T], &mut [T])> = Vec::new();
    for (orientation, mut rest) in published.iter_mut().map(Vec::as_mut_slice).enumerate() {
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
