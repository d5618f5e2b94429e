//! Interval sweeps of a step: both bounds of all intervals, wave by wave.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use rayon::prelude::*;
use ziggurat_encoding::Shard;
use ziggurat_planning::{
    proof::{FAR, Growth},
    waves::ShardIndex,
};

use crate::{
    certificate::{
        bounds::Bound,
        offsets::{Offsets, ShardOffsets, exchange, own_offsets},
        pair::ShardBounds,
        problem::Unproven,
    },
    halo::{
        team::{Barrier, ExchangeError, Team},
        waves::{SweepByWaves, sweep_by_waves},
    },
    memory::{array::Array, budget},
    shards::{ranges::ranges, waves::largest_first},
    simd::{dispatch::Simd, value::Value},
    sweep::{
        elimination::validity::{CandidateList, CandidateLists, Cursor, SweepMode},
        order::for_each_pair_of_slabs,
        pair::SweepPair,
        scratch::Scratch,
        sources::OwnRanges,
    },
};

impl<T: Value> Unproven<'_, T> {
    /// Computes both bounds of all intervals, or of those of a team's member. Moves that candidate lists leave out
    /// cannot be best, so they change nothing; the lists are used if they are valid.
    ///
    /// # Errors
    /// If other members cannot be reached.
    pub fn sweep(
        &self,
        offsets: &mut Offsets,
        candidate_lists: &CandidateLists,
        simd: Simd,
        team: Option<&Team<'_>>,
    ) -> Result<Growth, ExchangeError> {
        let mode = match candidate_lists.are_valid_for_intervals(f64::from(FAR) * self.unit) {
            true => SweepMode::Candidates,
            false => SweepMode::All,
        };
        let growth = Growth::default();
        let mut sweep =
            IntervalSweep { problem: self, offsets, lists: candidate_lists, mode, simd, growth };
        sweep_by_waves(&mut sweep, &self.step.interval_waves, team)?;
        Ok(sweep.growth)
    }

    fn shards(&self, places: &[ShardIndex]) -> Vec<&Shard> {
        places.iter().map(|&place| self.step.shard(place)).collect()
    }

    /// The tasks of a wave: to sweep its shards, or where others would have to wait for one, its two chains.
    fn tasks<'a>(
        &self,
        shards: impl Iterator<Item = (&'a Shard, OfShard<'a>, ShardOffsets<'a>)>,
    ) -> Vec<Task<'a>> {
        let shards: Vec<_> = shards.collect();
        let positions: u64 = shards.iter().map(|(shard, ..)| shard.len()).sum();
        let threads = rayon::current_num_threads() as u64;
        let mut tasks = Vec::with_capacity(2 * shards.len());
        for (shard, lists, live) in shards {
            let is_long = threads > 1 && 2 * threads * shard.len() > positions;
            if !is_long || shard.ranges.1.is_none() {
                tasks.push(Task { shard, chains: &[Bound::Upper, Bound::Lower], lists, live });
                continue;
            }
            let [[lower, other_lower], [upper, other_upper]] = live;
            let first = [[&mut [], other_lower], [upper, &mut []]];
            let second = [[lower, &mut []], [&mut [], other_upper]];
            tasks.push(Task { shard, chains: &[Bound::Upper], lists, live: first });
            tasks.push(Task { shard, chains: &[Bound::Lower], lists, live: second });
        }
        tasks
    }

    /// Computes bounds of the intervals of a shard.
    fn sweep_task(
        &self,
        Task { shard, chains, lists: (list, mode), mut live }: Task<'_>,
        others: &[Vec<Array<u16>>; 2],
        scratch: &mut Scratch<f64>,
        simd: Simd,
    ) -> Growth {
        let list = list.map(|list| list.read().unwrap_or_else(PoisonError::into_inner));
        let mut lists = Cursor::begin(list.as_deref(), mode, shard);
        let (context, last) = (&self.context, self.context.last());
        for (live, others) in live.iter_mut().zip(others) {
            let own = ranges(shard, last).into_iter().flatten();
            for (live, (orientation, range)) in live.iter_mut().zip(own) {
                if !live.is_empty() {
                    budget::copy(live, &others[orientation.index()][range]);
                }
            }
        }
        let (first, growth) = (chains[0], Growth::default());
        let mut bounds = ShardBounds { step: self, shard, live, others, first, simd, growth };
        for_each_pair_of_slabs(context, shard, &OwnRanges { shard, last }, |slabs, is_own_swap| {
            let candidates = lists.take();
            // Both chains are the same for a slab that is its own swap.
            for &first in if is_own_swap { &chains[..1] } else { chains } {
                bounds.first = first;
                if self.skips && bounds.passes_over(slabs) {
                    continue;
                }
                let (operand, is_one) = (&mut bounds, false);
                simd.run(SweepPair { scratch, context, slabs, is_one, candidates, operand });
            }
        });
        bounds.growth
    }
}

/// An interval sweep.
struct IntervalSweep<'a, T> {
    problem: &'a Unproven<'a, T>,
    offsets: &'a mut Offsets,
    lists: &'a CandidateLists,
    mode: SweepMode,
    simd: Simd,
    growth: Growth,
}

impl<T: Value> SweepByWaves for IntervalSweep<'_, T> {
    type Swept = ();

    fn sweep(&mut self, own: &[ShardIndex]) {
        let Self { problem, lists, mode, simd, .. } = *self;
        let shards = problem.shards(own);
        let Offsets { all, live, working } = &mut *self.offsets;
        let (all, working) = (&*all, &*working);
        let lists = own.iter().map(|&shard| (lists.of(shard), mode));
        let parts = shards.iter().copied().zip(lists).zip(own_offsets(live, &shards));
        let tasks = problem.tasks(parts.map(|((shard, lists), live)| (shard, lists, live)));
        let sweep = |task: Task<'_>| {
            working.with(
                || Scratch::new(problem.step.encoding),
                |scratch| problem.sweep_task(task, all, scratch, simd),
            )
        };
        let swept = largest_first(tasks, Task::work).map(sweep);
        self.growth = swept.reduce(Growth::default, Growth::and).and(self.growth);
    }

    fn publish(
        &mut self,
        own: &[ShardIndex],
        (): (),
        barrier: Option<&Barrier<'_>>,
    ) -> Result<(), ExchangeError> {
        let last = self.problem.context.last();
        let shards = self.problem.shards(own);
        let Offsets { all, live, .. } = &mut *self.offsets;
        let swept = own_offsets(live, &shards);
        if let Some(barrier) = barrier {
            let places: HashMap<_, _> = own.iter().zip(&swept).collect();
            exchange(all, barrier, |all, strip, packed| {
                let place = strip.start..strip.start + strip.values.len();
                let of_shard = places[&strip.shard].each_ref();
                let new = of_shard.map(|offsets| &offsets[strip.range][place.clone()]);
                packed.push_offsets(new, all.each_ref().map(|all| strip.of(all)));
            })?;
        }
        for (shard, swept) in shards.iter().zip(swept) {
            for (offsets, swept) in all.iter_mut().zip(swept) {
                let own = ranges(shard, last).into_iter().flatten();
                for ((orientation, range), swept) in own.zip(swept) {
                    budget::copy_together(&mut offsets[orientation.index()][range], swept);
                }
            }
        }
        Ok(())
    }
}

/// The candidates of a shard, and the mode of its sweep.
type OfShard<'a> = (Option<&'a RwLock<CandidateList>>, SweepMode);

/// One thread's share of a wave.
struct Task<'a> {
    shard: &'a Shard,
    /// The bound of the first range that each chain computes.
    chains: &'static [Bound],
    lists: OfShard<'a>,
    /// The offsets that are computed; others are empty.
    live: ShardOffsets<'a>,
}

impl Task<'_> {
    /// How long it takes, as a number of positions of both chains.
    fn work(&self) -> u64 {
        self.shard.len() * self.chains.len() as u64
    }
}
