//! A member of a team at work on a step.

use std::{collections::HashMap, iter, ops::Range};

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_planning::{
    columns::Column,
    controller::StepController,
    order::{Order, Outcome},
    proof::Certificate,
    settings::{Precision, Settings},
    statistics::TierStatistics,
    steps::shards,
    waves::ShardIndex,
};

use crate::{
    certificate::offsets::Offsets,
    halo::{
        arrays,
        partition::{MemberIndex, Partition},
        places::{Places, tidy, without},
        team::{Exchange, Team},
    },
    memory::{array::Array, budget::Memory},
    moves::tables::Tables,
    shards::{
        columns::Part,
        ranges::{Orientation, in_order, split_off},
        step::ShardedStep,
    },
    simd::{dispatch::Simd, value::Value},
    solver::{
        cache::{CachedTier, SolvedTierCache, Tiers, is_kept_for},
        error::SolveError,
        executor::Executor,
        inputs::{Final, ResumeFrom, StepInputs},
        step_store::StepStoreError,
        values::AsTierValues,
    },
    superstep::state::StepState,
    sweep::elimination::validity::CandidateLists,
};

/// A member's task.
#[derive(Clone, Copy)]
pub struct Assignment<'a> {
    /// The ranking.
    pub encoding: &'a Encoding,
    /// How the job is solved.
    pub settings: &'a Settings,
    /// Its tables.
    pub tables: &'a Tables,
    /// The step's first tier.
    pub tier: Tier,
    /// For each of its shards the member that sweeps it.
    pub owners: &'a [MemberIndex],
    /// Which member this is.
    pub member: MemberIndex,
    /// How many there are.
    pub members: usize,
    /// How to reach them.
    pub exchange: &'a dyn Exchange,
    /// Where to go on; from one half everywhere if nothing was written down.
    pub place: Option<ResumeFrom>,
}

/// Reads checkpoints and solutions.
pub trait Sources {
    /// Reads parts of a step: of the one that is worked on its checkpoint, of those it reads
    /// the solution. Of each, these places are needed, which are in order, without overlaps; all others are
    /// left as they are.
    ///
    /// # Errors
    /// If one of them cannot be read.
    fn load(&self, step: Tier, parts: Vec<(Part<'_>, Places)>) -> Result<(), StepStoreError>;

    /// The number of the solution of a step that is read: values [cached](SolvedTierCache) of others are not used.
    fn solution(&self, step: Tier) -> u32;

    /// The proven bound of the values of a step that is read.
    fn bound(&self, step: Tier) -> f64;
}

/// A member that has begun.
pub trait Member {
    /// Carries out an order.
    ///
    /// # Errors
    /// If there is no room for it, the order does not fit, or other members cannot be reached.
    fn carry_out(&mut self, order: &Order) -> Result<Outcome, SolveError>;

    /// The columns of the member's shards to be written: values, so many vectors of changes, and
    /// the offsets of a proof if wanted.
    fn parts(&mut self, vectors: usize, offsets: bool) -> Vec<Part<'_>>;

    /// How many positions of other members' shards this one reads.
    fn halo_positions(&self) -> u64;

    /// How many positions it has sent to the others so far.
    fn sent_positions(&self) -> u64;

    /// How many positions its shards have.
    fn own_positions(&self) -> u64;
}

/// A member's work: it returns the number of the solution if its values are now one. Each has
/// another number.
pub type WorkOf<'a> = dyn FnMut(&mut dyn Member) -> Result<Option<u32>, SolveError> + 'a;

/// A member's share of a step: its shards, and the halo of others that follows from them.
pub struct Share<'a> {
    assignment: Assignment<'a>,
    step: ShardedStep<'a>,
    partition: Partition,
}

impl<'a> Share<'a> {
    /// That of a member with an assignment.
    ///
    /// # Panics
    /// If there are not as many owners as shards, or they are no members.
    pub fn new(assignment: Assignment<'a>) -> Self {
        let Assignment { encoding, settings, tables, tier, owners, .. } = assignment;
        let step = ShardedStep::new(encoding, tier, shards(encoding, settings, tier));
        let members = (assignment.member, assignment.members);
        let partition = Partition::new(&step, tables, owners, members);
        Self { assignment, step, partition }
    }

    /// The most bytes that the arrays of the share take, [by page](crate::Arrays::ByPage), together with the solved
    /// tiers of the cache that it may read.
    pub fn bytes(&self, cache: &SolvedTierCache) -> u64 {
        match self.assignment.settings.precision {
            Precision::F32 => self.bytes_in(&cache.f32),
            Precision::F64 => self.bytes_in(&cache.f64),
        }
    }

    fn bytes_in<T: AsTierValues>(&self, cache: &Tiers<T>) -> u64 {
        let Self { assignment, step, partition } = self;
        let &Assignment { encoding, settings, tier, .. } = assignment;
        let (threads, partition) = (settings.thread_count(), Some(partition));
        let len = |tier| encoding.tier_len(tier) as usize;
        let (mut read, mut narrow) = (HashMap::new(), 0);
        for (tier, places) in self.finals() {
            let known = cache.get(&tier).map_or(&[][..], |cached| &cached.known);
            let mut all = [places, known].concat();
            tidy(&mut all, 0);
            narrow += Array::<f32>::bytes_at(len(tier), places);
            read.insert(tier, Array::<T>::bytes_at(len(tier), &all));
        }
        for (&tier, cached) in cache.iter().filter(|&(&cached, _)| is_kept_for(tier, cached)) {
            let bytes = || Array::<T>::bytes_at(len(tier), &cached.known);
            read.entry(tier).or_insert_with(bytes);
        }
        let sweeping = StepState::<T>::bytes(step, partition, threads);
        let narrow = match settings.precision {
            Precision::F32 => 0, // there is nothing narrower
            Precision::F64 => StepState::<f32>::bytes(step, partition, threads) + narrow,
        };
        let proving = arrays::bytes::<T>(step, partition)
            + Offsets::bytes(step, partition)
            + CandidateLists::bytes(self.partition.own_positions(step));
        let proving = if settings.certified { proving } else { 0 };
        sweeping.max(narrow).max(proving) + read.values().sum::<u64>()
    }

    /// The tiers that scoring leads to, but for wins, with the places that are read.
    fn finals(&self) -> impl Iterator<Item = (Tier, &Places)> {
        let tiers = self.assignment.tier.both().zip(&self.partition.finals);
        tiers.filter_map(|(tier, places)| Some((tier.swap().after_score()?, places)))
    }

    /// Prepares the member and lets it `work`. The solved steps that it reads come from the cache, if they
    /// are there, else from `sources`; and they are cached for the next step, together with the solution of this one.
    ///
    /// # Errors
    /// If there is no room, something cannot be read, others cannot be reached, or `work` fails.
    pub fn take_part(
        &self,
        memory: &Memory,
        sources: &dyn Sources,
        cache: &mut SolvedTierCache,
        work: &mut WorkOf<'_>,
    ) -> Result<(), SolveError> {
        match self.assignment.settings.precision {
            Precision::F32 => self.take_part_in::<f32>(memory, sources, cache, work),
            Precision::F64 => self.take_part_in::<f64>(memory, sources, cache, work),
        }
    }

    fn take_part_in<T: AsTierValues>(
        &self,
        memory: &Memory,
        sources: &dyn Sources,
        cache: &mut SolvedTierCache,
        work: &mut WorkOf<'_>,
    ) -> Result<(), SolveError> {
        let Self { assignment, step, partition } = self;
        let &Assignment { encoding, tables, tier, place, .. } = assignment;
        cache.retain_for(tier, memory);
        let read = self.read_finals::<T>(memory, sources, T::tiers(cache))?;
        let team = Team::new(partition, &step.waves, assignment.exchange);
        let (simd, finals) = (Simd::best(), &read.finals);
        let inputs = StepInputs { step, memory, tables, finals, simd, team: Some(&team) };
        let begun = match place {
            None => Executor::start(inputs, StepController::FIRST)?,
            Some(place) => Executor::resume(inputs, place, &|parts| {
                let all = parts.into_iter().map(|part| {
                    let places = iter::once(0..part.data.count()).collect();
                    (part, places)
                });
                sources.load(tier, all.collect())
            })?,
        };
        let own_positions = partition.own_positions(step);
        let mut at_work = AtWork { work: begun, team: &team, own_positions };
        let solution = work(&mut at_work);
        let values = at_work.work.into_values();
        if memory.is_limited() {
            return solution.map(drop);
        }
        let pieces = encoding.ruleset().pieces();
        if solution.as_ref().is_ok_and(Option::is_some) && tier == Tier::new(pieces, pieces) {
            *cache = SolvedTierCache::default(); // no step reads this one
            return Ok(());
        }
        let cache = T::tiers(cache);
        for (tier, Final { values, .. }) in read.finals {
            let (solution, known) = read.known[&tier].clone();
            cache.insert(tier, CachedTier { solution, values, known });
        }
        if let (Some(solution), Some(values)) = (solution?, values) {
            for ((tier, values), known) in tier.both().zip(values).zip(&partition.places) {
                cache.insert(tier, CachedTier { solution, values, known: known.clone() });
            }
        }
        Ok(())
    }

    /// Reads the tiers that scoring leads to.
    fn read_finals<T: AsTierValues>(
        &self,
        memory: &Memory,
        sources: &dyn Sources,
        cache: &mut Tiers<T>,
    ) -> Result<Read<T>, SolveError> {
        let Assignment { encoding, settings, .. } = self.assignment;
        let mut read = Read { finals: HashMap::new(), known: HashMap::new() };
        for (tier, places) in self.finals() {
            let step = tier.first_of_step();
            let solution = sources.solution(step);
            let (mut values, mut known) = match cache.remove(&tier) {
                Some(cache) if cache.solution == solution => (cache.values, cache.known),
                _ => (memory.zeros(encoding.tier_len(tier) as usize, Some(places))?, Places::new()),
            };
            let missing = without(places, &known);
            let last = Orientation::last(step.both().count());
            let mut rest: &mut [T] = &mut values;
            let mut parts = Vec::new();
            let shards = shards(encoding, settings, step);
            let of_tier = in_order((0..).map(ShardIndex).zip(&shards), last).into_iter();
            for part in
                of_tier.filter(|part| (part.orientation == Orientation::FIRST) == (tier == step))
            {
                let own = split_off(&mut rest, part.values.len());
                let needed = within(&missing, &part.values);
                if !needed.is_empty() {
                    parts.push((part.part(Column::Values, T::data(own)), needed));
                }
            }
            sources.load(step, parts)?;
            let certificate = Some(Certificate { bound: sources.bound(step), sweeps: 0 });
            let statistics = TierStatistics { certificate, ..TierStatistics::default() };
            read.finals.insert(tier, Final { values, statistics });
            known.extend(missing);
            tidy(&mut known, 0);
            read.known.insert(tier, (solution, known));
        }
        Ok(read)
    }
}

struct AtWork<'a, T: Value> {
    work: Executor<'a, T>,
    team: &'a Team<'a>,
    own_positions: u64,
}

/// The solved tiers that a member reads.
struct Read<T> {
    finals: HashMap<Tier, Final<T>>,
    /// Of which solution it is, and which places.
    known: HashMap<Tier, (u32, Places)>,
}

/// The places within a range, counted from its start.
fn within(places: &Places, range: &Range<usize>) -> Places {
    let first = places.partition_point(|place| place.end <= range.start);
    let among = places[first..].iter().take_while(|place| place.start < range.end);
    let inside = |at: usize| at.clamp(range.start, range.end) - range.start;
    among.map(|place| inside(place.start)..inside(place.end)).collect()
}

impl<T: AsTierValues> Member for AtWork<'_, T> {
    fn carry_out(&mut self, order: &Order) -> Result<Outcome, SolveError> {
        self.work.carry_out(order)
    }

    fn parts(&mut self, vectors: usize, offsets: bool) -> Vec<Part<'_>> {
        self.work.parts(vectors, offsets)
    }

    fn halo_positions(&self) -> u64 {
        self.team.partition().halo_positions()
    }

    fn sent_positions(&self) -> u64 {
        self.team.sent_positions()
    }

    fn own_positions(&self) -> u64 {
        self.own_positions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixtures::encoding, halo::team::ExchangeError, halo::team::HaloPart};

    /// Nobody is asked.
    struct Alone;

    impl Exchange for Alone {
        fn post(&self, _: MemberIndex, _: u32, _: HaloPart) -> Result<(), ExchangeError> {
            unreachable!()
        }

        fn send(&self, _: MemberIndex, _: u32, _: HaloPart) -> Result<(), ExchangeError> {
            unreachable!()
        }

        fn receive(&self, _: MemberIndex, _: u32) -> Result<HaloPart, ExchangeError> {
            unreachable!()
        }
    }

    #[test]
    fn shares_of_larger_teams_take_less_memory() {
        let (encoding, tier) = (encoding("blitz", 4), Tier::new(4, 4));
        let settings = Settings { threads: 1, ..Settings::new(Precision::F64) };
        let tables = Tables::new(&encoding);
        let count = shards(&encoding, &settings, tier).len();
        let bytes = |members: usize, cache: &SolvedTierCache| {
            let owners: Vec<_> = (0..count).map(|shard| MemberIndex(shard % members)).collect();
            let member = MemberIndex(0);
            let (exchange, place) = (&Alone, None);
            let share = Share::new(Assignment {
                encoding: &encoding,
                settings: &settings,
                tables: &tables,
                tier,
                owners: &owners,
                member,
                members,
                exchange,
                place,
            });
            share.bytes(cache)
        };
        let none = SolvedTierCache::default();
        let [alone, of_8, of_32] = [1, 8, 32].map(|members| bytes(members, &none));
        let step = ShardedStep::new(&encoding, tier, shards(&encoding, &settings, tier));
        let whole = StepState::<f64>::bytes(&step, None, 1);
        let read: u64 = tier.reads().map(|tier| 8 * encoding.tier_len(tier)).sum();
        assert!((whole..whole + read + (1 << 20)).contains(&alone), "{alone}, not {whole}");
        assert!(of_8 < alone * 3 / 5 && of_32 < of_8 * 4 / 5, "{of_32} < {of_8} < {alone}");

        let mut cache = SolvedTierCache::default();
        let values = Array::filled(0.0, 0);
        let known = std::iter::once(0..1 << 20).collect();
        cache.f64.insert(Tier::new(4, 3), CachedTier { solution: 1, values, known });
        assert!(bytes(32, &cache) > of_32 + (1 << 22));
    }
}
