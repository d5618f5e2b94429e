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
    halo::{
        partition::{MemberIndex, Partition},
        places::{Places, tidy, without},
        team::{Exchange, Team},
    },
    memory::budget::Memory,
    moves::tables::Tables,
    shards::{
        columns::Part,
        ranges::{Orientation, in_order, split_off},
        step::ShardedStep,
    },
    simd::{dispatch::Simd, value::Value},
    solver::{
        cache::{CachedTier, SolvedTierCache, Tiers},
        error::SolveError,
        executor::Executor,
        inputs::{Final, ResumeFrom, StepInputs},
        step_store::StepStoreError,
        values::AsTierValues,
    },
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
    /// Where arrays are.
    pub memory: &'a Memory,
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
    /// the solution. Of each, these places are needed, which are in order, without overlaps; all others may be
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

/// Prepares a member and lets it `work`. The solved steps that it reads come from the cache, if they
/// are there, else from `sources`; and they are cached for the next step, together with the solution of this one.
///
/// # Errors
/// If there is no room, something cannot be read, others cannot be reached, or `work` fails.
pub fn take_part(
    assignment: &Assignment<'_>,
    sources: &dyn Sources,
    cache: &mut SolvedTierCache,
    work: &mut WorkOf<'_>,
) -> Result<(), SolveError> {
    match assignment.settings.precision {
        Precision::F32 => take_part_in::<f32>(assignment, sources, cache, work),
        Precision::F64 => take_part_in::<f64>(assignment, sources, cache, work),
    }
}

struct AtWork<'a, T: Value> {
    work: Executor<'a, T>,
    team: &'a Team<'a>,
    own_positions: u64,
}

fn take_part_in<T: AsTierValues>(
    assignment: &Assignment<'_>,
    sources: &dyn Sources,
    cache: &mut SolvedTierCache,
    work: &mut WorkOf<'_>,
) -> Result<(), SolveError> {
    let &Assignment { encoding, settings, tables, memory, tier, owners, place, .. } = assignment;
    cache.retain_for(tier, memory);
    let step = ShardedStep::new(encoding, tier, shards(encoding, settings, tier));
    let members = (assignment.member, assignment.members);
    let partition = Partition::new(&step, tables, owners, members);
    let read = read_finals::<T>(assignment, &partition, sources, T::tiers(cache))?;
    let team = Team::new(&partition, &step.waves, assignment.exchange);
    let (simd, finals) = (Simd::best(), &read.finals);
    let inputs = StepInputs { step: &step, memory, tables, finals, simd, team: Some(&team) };
    let shards = (0..).map(ShardIndex).zip(&step.shards);
    let own = shards.filter(|&(shard, _)| partition.owns(shard));
    let own_positions = own.map(|(_, shard)| shard.len()).sum();
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
        let known = partition.known(&step);
        for ((tier, values), known) in tier.both().zip(values).zip(known) {
            cache.insert(tier, CachedTier { solution, values, known });
        }
    }
    Ok(())
}

/// The solved tiers that a member reads.
struct Read<T> {
    finals: HashMap<Tier, Final<T>>,
    /// Of which solution it is, and which places.
    known: HashMap<Tier, (u32, Places)>,
}

/// Reads the tiers that scoring leads to.
fn read_finals<T: AsTierValues>(
    assignment: &Assignment<'_>,
    partition: &Partition,
    sources: &dyn Sources,
    cache: &mut Tiers<T>,
) -> Result<Read<T>, SolveError> {
    let &Assignment { encoding, settings, memory, .. } = assignment;
    let mut read = Read { finals: HashMap::new(), known: HashMap::new() };
    for (tier, places) in assignment.tier.both().zip(partition.finals()) {
        if tier.just_moved == 1 {
            continue; // wins
        }
        let tier = Tier::new(tier.just_moved - 1, tier.to_move);
        let step = tier.first_of_step();
        let solution = sources.solution(step);
        let (mut values, mut known) = match cache.remove(&tier) {
            Some(cache) if cache.solution == solution => (cache.values, cache.known),
            _ => (memory.filled(T::default(), encoding.tier_len(tier) as usize)?, Places::new()),
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
