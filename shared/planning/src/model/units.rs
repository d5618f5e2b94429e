//! The units of work there are today: the shards of a step, in the waves of its sweeps, and what members read of each
//! other's.

use ziggurat_encoding::{Encoding, Shard, Tier};

use crate::model::{
    costs::Kind,
    readers::{Sampled, sample},
    time::{Exchanged, Team, Unit, WaveOfUnits},
};
use crate::{
    placement::{deal, wave_of_shards},
    settings::Settings,
    steps::shards,
    waves::{ShardIndex, Wave, interval_waves, tail, waves},
};

/// A step as it is swept.
#[derive(Clone, Debug)]
pub struct StepUnits {
    /// The step's first tier.
    pub tier: Tier,
    /// The positions of each shard.
    pub shards: Vec<u64>,
    /// Whether a shard has two ranges.
    has_two_ranges: Vec<bool>,
    /// How many shards, the first ones, are the tail.
    tail: usize,
    /// The waves of a superstep.
    pub waves: Vec<Wave>,
    /// The waves of an interval sweep.
    pub interval_waves: Vec<Wave>,
    /// Positions with their readers.
    sample: Vec<Sampled>,
}

impl StepUnits {
    /// The step of a first tier, with a sample of so many positions for its exchange.
    pub fn new(encoding: &Encoding, settings: &Settings, tier: Tier, samples: u64) -> Self {
        Self::of_shards(encoding, tier, &shards(encoding, settings, tier), samples)
    }

    /// The same in these shards.
    pub fn of_shards(encoding: &Encoding, tier: Tier, shards: &[Shard], samples: u64) -> Self {
        let sample = match samples {
            0 => Vec::new(),
            count => sample(encoding, tier, shards, count),
        };
        Self {
            tier,
            has_two_ranges: shards.iter().map(|shard| shard.ranges.1.is_some()).collect(),
            tail: tail(shards),
            waves: waves(encoding, shards),
            interval_waves: interval_waves(encoding, shards),
            sample,
            shards: shards.iter().map(Shard::len).collect(),
        }
    }

    /// Positions of both tiers.
    pub fn positions(&self) -> u64 {
        self.shards.iter().sum()
    }

    /// The owner of each shard in a team of equals.
    pub fn owners(&self, members: usize) -> Vec<usize> {
        deal(&self.shards, [&self.waves, &self.interval_waves], &vec![1.0; members])
    }

    /// The units of a superstep: shards.
    pub fn superstep(&self, owners: &[usize], team: &Team) -> Vec<WaveOfUnits> {
        let unit = |&ShardIndex(shard): &ShardIndex| {
            let kind = if shard < self.tail { Kind::Tail } else { Kind::Superstep };
            Unit { positions: self.shards[shard], kind, owner: owners[shard] }
        };
        let units = |wave: &Wave| wave.iter().map(unit).collect();
        self.with_exchange(&self.waves, owners, team, units)
    }

    /// The units of an interval sweep: shards, or their two chains where others would have to wait for a shard.
    pub fn interval_sweep(&self, owners: &[usize], team: &Team) -> Vec<WaveOfUnits> {
        let units = |wave: &Wave| {
            let mut positions = vec![0; team.members];
            wave.iter().for_each(|shard| positions[owners[shard.0]] += self.shards[shard.0]);
            let mut units = Vec::with_capacity(2 * wave.len());
            for &ShardIndex(shard) in wave {
                let (len, owner) = (self.shards[shard], owners[shard]);
                let is_long = team.cores > 1 && 2 * team.cores as u64 * len > positions[owner];
                match is_long && self.has_two_ranges[shard] {
                    true => units.extend([Unit { positions: len, kind: Kind::Chain, owner }; 2]),
                    false => units.push(Unit { positions: len, kind: Kind::IntervalSweep, owner }),
                }
            }
            units
        };
        self.with_exchange(&self.interval_waves, owners, team, units)
    }

    fn with_exchange(
        &self,
        waves: &[Wave],
        owners: &[usize],
        team: &Team,
        units: impl Fn(&Wave) -> Vec<Unit>,
    ) -> Vec<WaveOfUnits> {
        let members = if team.members > 1 { team.members } else { 0 };
        let mut all: Vec<WaveOfUnits> = waves
            .iter()
            .map(|wave| WaveOfUnits {
                units: units(wave),
                exchanged: vec![Exchanged::default(); members],
            })
            .collect();
        if members > 0 {
            let wave_of = wave_of_shards(waves, self.shards.len());
            self.for_each_reader(owners, |shard, owner, reader, positions| {
                let exchanged = &mut all[wave_of[shard.0]].exchanged;
                exchanged[owner].sent += positions;
                exchanged[reader].received += positions;
            });
        }
        all
    }

    /// The positions of other members' shards that each member reads.
    pub fn halos(&self, owners: &[usize], members: usize) -> Vec<f64> {
        let mut halos = vec![0.0; members];
        self.for_each_reader(owners, |_, _, reader, positions| halos[reader] += positions);
        halos
    }

    /// Visits the shard of each sampled position with its owner, once for each other member that reads it, and how many
    /// positions it stands for.
    fn for_each_reader(
        &self,
        owners: &[usize],
        mut visit: impl FnMut(ShardIndex, usize, usize, f64),
    ) {
        let mut readers = Vec::new();
        for sampled in &self.sample {
            let owner = owners[sampled.shard.0];
            readers.clear();
            readers.extend(sampled.readers.iter().map(|reader| owners[reader.0]));
            readers.sort_unstable();
            readers.dedup();
            for &reader in readers.iter().filter(|&&reader| reader != owner) {
                visit(sampled.shard, owner, reader, sampled.positions);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_game::Ruleset;

    use super::*;
    use crate::settings::Precision;

    fn finkel() -> StepUnits {
        let encoding = Encoding::new(&Ruleset::builtin("finkel").unwrap()).unwrap();
        let settings = Settings { shard_positions: Some(10_000), ..Settings::new(Precision::F64) };
        StepUnits::new(&encoding, &settings, Tier::new(4, 3), 4_000)
    }

    #[test]
    fn both_kinds_of_sweeps_have_all_positions_on_any_team() {
        let step = finkel();
        let of_kind = |waves: &[WaveOfUnits], half| -> u64 {
            let units = waves.iter().flat_map(|wave| &wave.units);
            units.filter(|unit| (unit.kind == Kind::Chain) == half).map(|unit| unit.positions).sum()
        };
        for (members, cores) in [(1, 1), (1, 16), (3, 2)] {
            let team = Team { members, ..Team::alone(cores) };
            let owners = step.owners(members);
            assert_eq!(of_kind(&step.superstep(&owners, &team), false), step.positions());
            let intervals = step.interval_sweep(&owners, &team);
            let (chains, whole) = (of_kind(&intervals, true), of_kind(&intervals, false));
            assert_eq!(whole + chains / 2, step.positions());
            assert_eq!(chains > 0, cores > 1, "no core waits for itself");
        }
    }

    #[test]
    fn members_receive_the_positions_that_others_send() {
        let step = finkel();
        for members in [2, 5] {
            let team = Team { members, ..Team::alone(1) };
            let owners = step.owners(members);
            let halo: f64 = step.halos(&owners, members).iter().sum();
            assert!(halo > 0.4 * step.positions() as f64, "{halo}");
            for waves in [step.superstep(&owners, &team), step.interval_sweep(&owners, &team)] {
                let exchanged = || waves.iter().flat_map(|wave| &wave.exchanged);
                let sent: f64 = exchanged().map(|one| one.sent).sum();
                let received: f64 = exchanged().map(|one| one.received).sum();
                assert!((sent - halo).abs() < 1.0 && (received - halo).abs() < 1.0);
            }
        }
    }
}
