//! Interval sweeps of a step: both bounds of all intervals, wave by wave.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use rayon::prelude::*;
use ziggurat_encoding::Shard;
use ziggurat_planning::{
    proof::{FAR, Growth},
    waves::UnitIndex,
};

use crate::{
    certificate::{
        bounds::Bound,
        offsets::{AllOffsets, Offsets, UnitOffsets, exchange, own_offsets},
        pair::UnitBounds,
        problem::Unproven,
    },
    halo::{
        team::{Barrier, ExchangeError, Team},
        waves::{SweepByWaves, sweep_by_waves},
    },
    memory::{budget, pool::Pool},
    shards::{ranges::ranges, waves::largest_first},
    simd::{dispatch::Simd, value::Value},
    sweep::{
        elimination::validity::{CandidateList, CandidateLists, Cursor, SweepMode},
        order::for_each_pair_of_slabs,
        pair::SweepPair,
        scratch::Room,
        sources::OwnRanges,
    },
};

impl<'s, T: Value> Unproven<'s, T> {
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
        let (problem, lists, rooms) = (self, candidate_lists, Pool::default());
        let mut sweep = IntervalSweep { problem, offsets, lists, rooms, mode, simd, growth };
        sweep_by_waves(&mut sweep, &self.step.waves, team)?;
        Ok(sweep.growth)
    }

    fn parts(&self, units: &[UnitIndex]) -> Vec<&Shard> {
        units.iter().map(|&unit| self.step.unit(unit)).collect()
    }

    /// Computes the bounds of the intervals of a unit.
    fn sweep_unit(
        &self,
        Unswept { part, list, mut live }: Unswept<'_>,
        (others, mode): (&AllOffsets, SweepMode),
        Room { slabs, scratch }: &mut Room<'s, f64>,
        simd: Simd,
    ) -> Growth {
        let list = list.map(|list| list.read().unwrap_or_else(PoisonError::into_inner));
        let mut lists = Cursor::begin(list.as_deref(), mode, part);
        let (context, last) = (&self.context, self.context.last());
        for (live, others) in live.iter_mut().zip(others) {
            let own = ranges(part, last).into_iter().flatten();
            for (live, (orientation, range)) in live.iter_mut().zip(own) {
                budget::copy(live, &others[orientation.index()][range]);
            }
        }
        let (first, growth) = (Bound::Upper, Growth::default());
        let mut bounds = UnitBounds { step: self, part, live, others, first, simd, growth };
        let locator = OwnRanges { part, last };
        for_each_pair_of_slabs(context, part, &locator, slabs, |slabs, is_own_swap| {
            let candidates = lists.take();
            // Both bounds are computed at once for a slab that is its own swap.
            for &first in if is_own_swap { &BOTH[..1] } else { &BOTH[..] } {
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

/// The bounds of the first slab of a pair in the order in which they are computed.
const BOTH: [Bound; 2] = [Bound::Upper, Bound::Lower];

/// A unit to be swept.
struct Unswept<'a> {
    /// The part of a shard that it is.
    part: &'a Shard,
    /// Its candidates.
    list: Option<&'a RwLock<CandidateList>>,
    /// Where its offsets go.
    live: UnitOffsets<'a>,
}

/// An interval sweep.
struct IntervalSweep<'a, 's, T> {
    problem: &'a Unproven<'s, T>,
    offsets: &'a mut Offsets,
    lists: &'a CandidateLists,
    rooms: Pool<Room<'s, f64>>,
    mode: SweepMode,
    simd: Simd,
    growth: Growth,
}

impl<T: Value> SweepByWaves for IntervalSweep<'_, '_, T> {
    type Swept = ();

    fn sweep(&mut self, own: &[UnitIndex]) {
        let Self { problem, lists, mode, simd, .. } = *self;
        let parts = problem.parts(own);
        let Offsets { all, live } = &mut *self.offsets;
        let (all, rooms) = (&*all, &self.rooms);
        let live = own.iter().zip(&parts).zip(own_offsets(live, &parts));
        let unswept =
            live.map(|((&unit, part), live)| Unswept { part, list: lists.of(unit), live });
        let sweep = |unit: Unswept<'_>| {
            let new_room = || Room::new(problem.step.encoding);
            rooms.with(new_room, |room| problem.sweep_unit(unit, (all, mode), room, simd))
        };
        let swept = largest_first(unswept.collect(), |unit| unit.part.len()).map(sweep);
        self.growth = swept.reduce(Growth::default, Growth::and).and(self.growth);
    }

    fn publish(
        &mut self,
        own: &[UnitIndex],
        (): (),
        barrier: Option<&Barrier<'_>>,
    ) -> Result<(), ExchangeError> {
        let parts = self.problem.parts(own);
        let Offsets { all, live, .. } = &mut *self.offsets;
        let swept = own_offsets(live, &parts);
        if let Some(barrier) = barrier {
            let places: HashMap<_, _> = own.iter().zip(&swept).collect();
            exchange(all, barrier, |all, strip, packed| {
                let place = strip.start..strip.start + strip.values.len();
                let of_unit = places[&strip.unit].each_ref();
                let new = of_unit.map(|offsets| &offsets[strip.range][place.clone()]);
                packed.push_offsets(new, all.each_ref().map(|all| strip.of(all)));
            })?;
        }
        for (bound, offsets) in all.iter_mut().enumerate() {
            let places = self.problem.step.split_some(own, offsets).into_par_iter();
            places.for_each(|(range, offsets)| {
                let unit = own.binary_search(&range.of).expect("a range of one of the units");
                budget::copy(offsets, swept[unit][bound][range.range]);
            });
        }
        Ok(())
    }
}
