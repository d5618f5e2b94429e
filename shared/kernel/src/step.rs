//! A step: the tiers (n, m) and (m, n), solved together by supersteps.
//!
//! A superstep sweeps every shard in place, in descending order, and then meets a barrier. A
//! shard reads its own values as they are now and those of the other shards as they were published
//! at the last barrier, so the result does not depend on threads or timing.

use std::ops::Range;

use rayon::prelude::*;
use ziggurat_encoding::{Shard, SharedConfiguration, Tier};

use crate::{
    block::{View, sweep_pair, sweep_single},
    context::{Context, Stored, Tables},
    rows,
    scratch::Scratch,
    simd::{Instructions, Operation, Simd},
    value::{PADDING, Value},
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
            let sight = Sight { ranges, live, published };
            let view = View::new(context, *w, 0);
            let swapped = (*w != swapped || last == 1).then(|| View::new(context, swapped, last));
            simd.run(Sweep { scratch, context, sight: &sight, view: &view, swapped: &swapped });
            let store = |view: &View, values: &mut [T], from: &[T::Group]| {
                rows::store(from, view.rows, view.columns, values);
            };
            let start = ranges.0.start;
            store(&view, &mut live[0][(view.offset - start) as usize..], &scratch.own[0]);
            if let Some(view) = swapped {
                let (which, start) = ranges.1.as_ref().map_or((0, start), |s| (1, s.start));
                let values = &mut live[which][(view.offset - start) as usize..];
                store(&view, values, &scratch.own[1]);
            }
        };
        shared.for_each_descending(context.tiers[0], prefix, &mut |w, _| sweep_block(w));
    }
}

/// A pair of blocks to sweep, or a block that is its own swap.
struct Sweep<'a, 'c, T: Value> {
    scratch: &'a mut Scratch<T>,
    context: &'a Context<'c, T>,
    sight: &'a Sight<'a, T>,
    view: &'a View,
    swapped: &'a Option<View>,
}

impl<T: Value> Operation for Sweep<'_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { scratch, context, sight, view, swapped } = self;
        match swapped {
            Some(swapped) => {
                sweep_pair(instructions, context, sight, scratch, [view, swapped]);
            }
            None => sweep_single(instructions, context, sight, scratch, view),
        }
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
