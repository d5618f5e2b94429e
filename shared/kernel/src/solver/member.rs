//! A member of a team at work on a step.

use std::{collections::HashMap, iter, ops::Range};

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_planning::{
    columns::Column,
    controller::Course,
    order::{Order, Outcome},
    proof::Certificate,
    settings::{Precision, Settings},
    statistics::TierStatistics,
    steps::shards,
};

use crate::{
    halo::{
        places::{Places, tidy, without},
        share::Share,
        team::{Exchange, Team},
    },
    memory::budget::Memory,
    moves::tables::Tables,
    shards::{
        columns::Part,
        ranges::{in_order, split_off},
    },
    simd::{dispatch::Simd, value::Value},
    solver::{
        error::SolveError,
        ground::{Final, Ground, ResumeFrom},
        journal::JournalError,
        kept::{Kept, KeptTier, Tiers},
        values::AsTierValues,
        work::Work,
    },
};

/// What a member is to do.
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
    pub owners: &'a [usize],
    /// Which member this is.
    pub member: usize,
    /// How many there are.
    pub members: usize,
    /// How to reach them.
    pub exchange: &'a dyn Exchange,
    /// Where to go on; from one half everywhere if nothing was written down.
    pub place: Option<ResumeFrom>,
}

/// Gives back what was written down.
pub trait Sources {
    /// Reads parts of a step: of the one that is worked on what is to go on with, of those it reads
    /// the solution. Of each, these places are needed, which are in order, without overlaps; all others may be
    /// left as they are.
    ///
    /// # Errors
    /// If one of them cannot be read.
    fn load(&self, step: Tier, parts: Vec<(Part<'_>, Places)>) -> Result<(), JournalError>;

    /// Which of its solutions that of a step that is read is: what was [kept](Kept) of others is not used.
    fn solution(&self, step: Tier) -> u32;

    /// What is proven of the values of a step that is read.
    fn bound(&self, step: Tier) -> f64;
}

/// A member that has begun.
pub trait Member {
    /// Carries out an order.
    ///
    /// # Errors
    /// If there is no room for it, the order does not fit, or other members cannot be reached.
    fn carry_out(&mut self, order: &Order) -> Result<Outcome, SolveError>;

    /// What is to be written down of the member's shards: values, so many vectors of changes, and
    /// the distances of a proof if wanted.
    fn parts(&mut self, vectors: usize, distances: bool) -> Vec<Part<'_>>;

    /// How many positions of other members' shards this one reads.
    fn halo_positions(&self) -> u64;

    /// How many positions it has told the others of so far.
    fn told_positions(&self) -> u64;

    /// How many positions its shards have.
    fn own_positions(&self) -> u64;
}

/// What a member does: it returns the number of the solution if its values are now one. Each has
/// another number.
pub type WorkOf<'a> = dyn FnMut(&mut dyn Member) -> Result<Option<u32>, SolveError> + 'a;

/// Prepares a member and lets it `work`. What it reads of solved steps comes from what is kept of those, if it
/// is there, else from `sources`; and it is kept for the next step, together with the solution of this one.
///
/// # Errors
/// If there is no room, something cannot be read, others cannot be reached, or `work` fails.
pub fn take_part(
    assignment: &Assignment<'_>,
    sources: &dyn Sources,
    kept: &mut Kept,
    work: &mut WorkOf<'_>,
) -> Result<(), SolveError> {
    match assignment.settings.precision {
        Precision::F32 => take_part_in::<f32>(assignment, sources, kept, work),
        Precision::F64 => take_part_in::<f64>(assignment, sources, kept, work),
    }
}

struct AtWork<'a, T: Value> {
    work: Work<'a, T>,
    team: &'a Team<'a>,
    own_positions: u64,
}

fn take_part_in<T: AsTierValues>(
    assignment: &Assignment<'_>,
    sources: &dyn Sources,
    kept: &mut Kept,
    work: &mut WorkOf<'_>,
) -> Result<(), SolveError> {
    let &Assignment { encoding, settings, tables, memory, tier, owners, place, .. } = assignment;
    kept.retain_for(tier, memory);
    let cut = shards(encoding, settings, tier);
    let members = (assignment.member, assignment.members);
    let share = Share::new(encoding, tables, tier, &cut, owners, members);
    let read = read_finals::<T>(assignment, &share, sources, T::tiers(kept))?;
    let team = Team::new(&share, assignment.exchange);
    let (simd, finals) = (Simd::best(), &read.finals);
    let ground = Ground { encoding, memory, tables, tier, finals, simd, team: Some(&team) };
    let own = cut.iter().enumerate().filter(|(i, _)| team.owns(*i));
    let own_positions = own.map(|(_, shard)| shard.len()).sum();
    let begun = match place {
        None => Work::start(ground, cut, Course::FIRST)?,
        Some(place) => Work::resume(ground, cut, place, &|parts| {
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
        *kept = Kept::default(); // no step reads this one
        return Ok(());
    }
    let kept = T::tiers(kept);
    for (tier, Final { values, .. }) in read.finals {
        let (solution, known) = read.known[&tier].clone();
        kept.insert(tier, KeptTier { solution, values, known });
    }
    if let (Some(solution), Some(values)) = (solution?, values) {
        let cut = shards(encoding, settings, tier);
        let known = share.known(&cut, values.len());
        for ((tier, values), known) in tier.both().zip(values).zip(known) {
            kept.insert(tier, KeptTier { solution, values, known });
        }
    }
    Ok(())
}

/// What a member reads of solved tiers.
struct Read<T> {
    finals: HashMap<Tier, Final<T>>,
    /// Of which solution it is, and which places.
    known: HashMap<Tier, (u32, Places)>,
}

/// What the member reads of the tiers that scoring leads to.
fn read_finals<T: AsTierValues>(
    assignment: &Assignment<'_>,
    share: &Share,
    sources: &dyn Sources,
    kept: &mut Tiers<T>,
) -> Result<Read<T>, SolveError> {
    let &Assignment { encoding, settings, memory, .. } = assignment;
    let mut read = Read { finals: HashMap::new(), known: HashMap::new() };
    for (tier, places) in assignment.tier.both().zip(share.finals()) {
        if tier.just_moved == 1 {
            continue; // wins
        }
        let tier = Tier::new(tier.just_moved - 1, tier.to_move);
        let step = tier.first_of_step();
        let solution = sources.solution(step);
        let (mut values, mut known) = match kept.remove(&tier) {
            Some(kept) if kept.solution == solution => (kept.values, kept.known),
            _ => (memory.filled(T::default(), encoding.tier_len(tier) as usize)?, Places::new()),
        };
        let missing = without(places, &known);
        let last = step.both().count() - 1;
        let mut rest: &mut [T] = &mut values;
        let mut parts = Vec::new();
        let of_tier = in_order(&shards(encoding, settings, step), last).into_iter();
        for part in of_tier.filter(|part| (part.orientation == 0) == (tier == step)) {
            let own = split_off(&mut rest, part.values.len());
            let needed = within(&missing, &part.values);
            if !needed.is_empty() {
                let (shard, range) = (part.shard as u32, part.range as u8);
                let part = Part { column: Column::Values, shard, range, data: T::data(own) };
                parts.push((part, needed));
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

    fn parts(&mut self, vectors: usize, distances: bool) -> Vec<Part<'_>> {
        self.work.parts(vectors, distances)
    }

    fn halo_positions(&self) -> u64 {
        self.team.share().halo_positions()
    }

    fn told_positions(&self) -> u64 {
        self.team.told_positions()
    }

    fn own_positions(&self) -> u64 {
        self.own_positions
    }
}
