//! Interval sweeps of a step: both bounds of all intervals, wave by wave.

use std::sync::{PoisonError, RwLock};

use rayon::prelude::*;
use ziggurat_encoding::Shard;
use ziggurat_planning::{
    proof::{FAR, Growth},
    waves::UnitIndex,
};

use crate::{
    certificate::{
        bounds::Bound,
        offsets::{AllOffsets, Offsets, UnitOffsets, own_offsets, take_over},
        pair::UnitBounds,
        problem::Unproven,
    },
    halo::{
        codec::Content,
        partition::HaloStrip,
        team::{ExchangeError, Team, WaveExchange},
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
        Unswept { part, list, live, .. }: &mut Unswept<'_>,
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
        let live = live.each_mut().map(|live| live.each_mut().map(|live| &mut **live));
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
    /// Its place.
    place: UnitIndex,
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

    fn sweep(
        &mut self,
        own: &[UnitIndex],
        exchange: Option<&WaveExchange<'_>>,
    ) -> Result<(), ExchangeError> {
        let Self { problem, lists, mode, simd, .. } = *self;
        let parts = problem.parts(own);
        let Offsets { all, live } = &mut *self.offsets;
        let (all, rooms) = (&*all, &self.rooms);
        let live = own.iter().zip(&parts).zip(own_offsets(live, &parts));
        let unswept =
            live.map(|((&place, part), live)| Unswept { place, part, list: lists.of(place), live });
        let sweep = |mut unit: Unswept<'_>| {
            let new_room = || Room::new(problem.step.encoding);
            let growth =
                rooms.with(new_room, |room| problem.sweep_unit(&mut unit, (all, mode), room, simd));
            if let Some(exchange) = exchange {
                exchange.swept(unit.place, |strip: &HaloStrip, packed| {
                    let place = strip.start..strip.start + strip.values.len();
                    let new = unit.live.each_ref().map(|live| &live[strip.range][place.clone()]);
                    packed.push_offsets(new, all.each_ref().map(|all| strip.of(all)));
                })?;
            }
            Ok(growth)
        };
        let swept = largest_first(unswept.collect(), |unit| unit.part.len()).map(sweep);
        let growth = swept.try_reduce(Growth::default, |one, other| Ok(one.and(other)))?;
        self.growth = growth.and(self.growth);
        Ok(())
    }

    fn publish(
        &mut self,
        own: &[UnitIndex],
        (): (),
        exchange: Option<&WaveExchange<'_>>,
    ) -> Result<(), ExchangeError> {
        let parts = self.problem.parts(own);
        let Offsets { all, live, .. } = &mut *self.offsets;
        let swept = own_offsets(live, &parts);
        for (bound, offsets) in all.iter_mut().enumerate() {
            let places = self.problem.step.split_some(own, offsets).into_par_iter();
            places.for_each(|(range, offsets)| {
                let unit = own.binary_search(&range.of).expect("a range of one of the units");
                budget::copy(offsets, swept[unit][bound][range.range]);
            });
        }
        let Some(exchange) = exchange else { return Ok(()) };
        exchange.receive((Content::Offsets, 2), |strips, packed| take_over(all, strips, packed))
    }
}
