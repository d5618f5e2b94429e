//! The units of a step, in the waves of its sweeps, and what members read of each other's.

use ziggurat_encoding::{Encoding, Tier};

use crate::model::{
    costs::Kind,
    readers::{Sampled, sample},
    time::{Exchanged, Team, Unit, WaveOfUnits},
};
use crate::{
    placement::{ShardWaves, deal, positions_of, shards_by_wave},
    settings::Settings,
    steps::shards,
    waves::{self, ShardIndex, UnitIndex, Wave, tail, units, waves},
};

/// A step as it is swept.
#[derive(Clone, Debug)]
pub struct StepUnits {
    /// The step's first tier.
    pub tier: Tier,
    /// The positions of each unit.
    pub units: Vec<u64>,
    /// The shard of each.
    shard_of: Vec<ShardIndex>,
    /// The positions of each shard by wave.
    shards: Vec<ShardWaves>,
    /// How many units, the first ones, are the tail.
    tail: usize,
    /// The waves of a sweep.
    pub waves: Vec<Wave>,
    /// Positions with their readers.
    sample: Vec<Sampled>,
}

impl StepUnits {
    /// The step of a first tier, with a sample of so many positions for its exchange.
    pub fn new(encoding: &Encoding, settings: &Settings, tier: Tier, samples: u64) -> Self {
        let shards = shards(encoding, settings, tier);
        let units = units(encoding, tier, &shards);
        let sample = match samples {
            0 => Vec::new(),
            count => sample(encoding, tier, &units, count),
        };
        let waves = waves(encoding, &units);
        Self {
            tier,
            shards: shards_by_wave(shards.len(), &units, &waves),
            tail: tail(&units),
            waves,
            sample,
            shard_of: units.iter().map(|unit| unit.shard).collect(),
            units: units.iter().map(waves::Unit::positions).collect(),
        }
    }

    /// Positions of both tiers.
    pub fn positions(&self) -> u64 {
        self.units.iter().sum()
    }

    /// The positions of each shard.
    pub fn shards(&self) -> impl Iterator<Item = u64> {
        self.shards.iter().map(positions_of)
    }

    /// The owner of each shard in a team of equals.
    pub fn owners(&self, members: usize) -> Vec<usize> {
        deal(&self.shards, &vec![1.0; members])
    }

    /// The owner of a unit, from the owners of shards.
    fn owner(&self, owners: &[usize], unit: UnitIndex) -> usize {
        owners[self.shard_of[unit.0].0]
    }

    /// The units of a superstep.
    pub fn superstep(&self, owners: &[usize], team: &Team) -> Vec<WaveOfUnits> {
        let kind = |unit: UnitIndex| match unit.0 < self.tail {
            true => Kind::Tail,
            false => Kind::Superstep,
        };
        self.sweep(owners, team, kind)
    }

    /// The units of an interval sweep.
    pub fn interval_sweep(&self, owners: &[usize], team: &Team) -> Vec<WaveOfUnits> {
        self.sweep(owners, team, |_| Kind::IntervalSweep)
    }

    fn sweep(
        &self,
        owners: &[usize],
        team: &Team,
        kind: impl Fn(UnitIndex) -> Kind,
    ) -> Vec<WaveOfUnits> {
        let members = if team.members > 1 { team.members } else { 0 };
        let unit = |&unit: &UnitIndex| Unit {
            positions: self.units[unit.0],
            kind: kind(unit),
            owner: self.owner(owners, unit),
        };
        let wave = |wave: &Wave| WaveOfUnits {
            units: wave.iter().map(unit).collect(),
            exchanged: vec![Exchanged::default(); members],
        };
        let mut all: Vec<WaveOfUnits> = self.waves.iter().map(wave).collect();
        if members > 0 {
            let mut wave_of = vec![0; self.units.len()];
            for (i, wave) in self.waves.iter().enumerate() {
                wave.iter().for_each(|unit| wave_of[unit.0] = i);
            }
            self.for_each_reader(owners, |unit, owner, reader, positions| {
                let exchanged = &mut all[wave_of[unit.0]].exchanged;
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

    /// Visits the unit of each sampled position with its owner, once for each other member that reads it, and how many
    /// positions it stands for.
    fn for_each_reader(
        &self,
        owners: &[usize],
        mut visit: impl FnMut(UnitIndex, usize, usize, f64),
    ) {
        let mut readers = Vec::new();
        for sampled in &self.sample {
            let owner = self.owner(owners, sampled.unit);
            readers.clear();
            readers.extend(sampled.readers.iter().map(|&reader| self.owner(owners, reader)));
            readers.sort_unstable();
            readers.dedup();
            for &reader in readers.iter().filter(|&&reader| reader != owner) {
                visit(sampled.unit, owner, reader, sampled.positions);
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
        let of = |waves: Vec<WaveOfUnits>| -> u64 {
            waves.iter().flat_map(|wave| &wave.units).map(|unit| unit.positions).sum()
        };
        for (members, cores) in [(1, 1), (1, 16), (3, 2)] {
            let team = Team { members, ..Team::alone(cores) };
            let owners = step.owners(members);
            assert_eq!(of(step.superstep(&owners, &team)), step.positions());
            assert_eq!(of(step.interval_sweep(&owners, &team)), step.positions());
            assert_eq!(step.shards().sum::<u64>(), step.positions());
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
