//! A whole solve in the model: every step of a ruleset, on one machine or a team.

use std::collections::BTreeMap;

use ziggurat_encoding::Encoding;

use crate::model::{
    costs::{Costs, Course},
    makespan::makespan,
    time::{Team, checkpoint_seconds, sweep_seconds},
    units::StepUnits,
};
use crate::{placement::TEAM_STEP_POSITIONS, settings::Settings, steps::steps, weights::VECTORS};

/// Positions that are sampled of all steps together, to see who reads them. Sixteen times as many change the speed of 64
/// members by 0.4 % (skiriuk 7).
pub const SAMPLES: u64 = 1 << 16;

/// The least that are sampled of a step.
const LEAST_SAMPLES: u64 = 1 << 10;

/// Bytes of a position in the lists of candidates, at the most.
const CANDIDATE_BYTES: f64 = 4.0;

/// The steps of a ruleset as they are swept.
#[derive(Clone, Debug)]
pub struct SolveModel {
    /// The steps, from the end of the game up.
    pub steps: Vec<StepUnits>,
    /// The costs of a position.
    pub costs: Costs,
    /// How often it is swept.
    pub course: Course,
    /// Bytes of a value.
    value_bytes: f64,
}

/// The time that a solve takes, and what its members need.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Prediction {
    /// Seconds of all supersteps.
    pub supersteps: f64,
    /// Seconds of all proofs; 0 if nothing is proven.
    pub proofs: f64,
    /// Bytes that all members together send in a superstep of the largest step.
    pub superstep_bytes: f64,
    /// The same over the positions of the step: how often a position is sent.
    pub halo_per_position: f64,
    /// Seconds of a checkpoint of the largest step.
    pub checkpoint: f64,
    /// Bytes of arrays of the member that has most.
    pub array_bytes: f64,
    /// Bytes that the member with most has on disk: its part of solved steps, and two checkpoints of a step.
    pub disk_bytes: f64,
}

impl Prediction {
    /// Seconds of the whole solve.
    pub fn seconds(&self) -> f64 {
        self.supersteps + self.proofs
    }
}

impl SolveModel {
    /// The solve of a ruleset; `samples` positions are sampled to know what teams exchange, none if there are none.
    pub fn new(encoding: &Encoding, settings: &Settings, samples: u64) -> Self {
        let all = encoding.undecided().max(1) as f64;
        let step = |tier| {
            let positions = encoding.step_len(tier);
            let is_exchanged = samples > 0 && positions >= TEAM_STEP_POSITIONS;
            let share = (samples as f64 * positions as f64 / all) as u64;
            let samples = if is_exchanged { share.max(LEAST_SAMPLES) } else { 0 };
            StepUnits::new(encoding, settings, tier, samples)
        };
        let course = Course::about(encoding);
        let interval_sweeps = if settings.certified { course.interval_sweeps } else { 0.0 };
        Self {
            steps: steps(encoding).into_iter().map(step).collect(),
            costs: Costs::of(settings.precision),
            course: Course { interval_sweeps, ..course },
            value_bytes: settings.precision.bytes() as f64,
        }
    }

    /// The step with most positions.
    pub fn largest(&self) -> &StepUnits {
        self.steps.iter().max_by_key(|step| step.positions()).expect("a game has a step")
    }

    /// What the solve takes on a team. Large steps are solved one after the other by all members, small ones by one
    /// member each.
    pub fn predict(&self, team: &Team) -> Prediction {
        let members = team.members;
        let mut sum = Prediction::default();
        // By level, the seconds of small steps; the parts of a step that a member knows.
        let mut small: BTreeMap<u8, [Vec<f64>; 2]> = BTreeMap::new();
        let mut known = Vec::with_capacity(self.steps.len());
        let mut saved = vec![0.0; members];
        for step in &self.steps {
            let is_large = members == 1 || step.positions() >= TEAM_STEP_POSITIONS;
            let at_work = if is_large { *team } else { Team::alone(team.cores) };
            let owners = step.owners(at_work.members);
            let [superstep, interval_sweep] = [
                (step.superstep(&owners, &at_work), self.costs.superstep_bytes),
                (step.interval_sweep(&owners, &at_work), self.costs.interval_sweep_bytes),
            ]
            .map(|(waves, bytes)| sweep_seconds(&waves, &at_work, &self.costs, bytes));
            let seconds =
                [self.course.supersteps * superstep, self.course.interval_sweeps * interval_sweep];
            if is_large {
                sum.supersteps += seconds[0];
                sum.proofs += seconds[1];
            } else {
                let of_level = small.entry(step.tier.level()).or_default();
                of_level.iter_mut().zip(seconds).for_each(|(all, one)| all.push(one));
            }
            let mut own = vec![0; members];
            owners.iter().zip(step.shards()).for_each(|(&owner, len)| own[owner] += len);
            for (saved, &own) in saved.iter_mut().zip(&own) {
                let even = step.positions() as f64 / members as f64;
                *saved += if is_large { own as f64 } else { even };
            }
            known.push((step, own, step.halos(&owners, members)));
        }
        for [supersteps, proofs] in small.into_values() {
            sum.supersteps += makespan(supersteps, members);
            sum.proofs += makespan(proofs, members);
        }
        let largest =
            known.iter().max_by_key(|(step, ..)| step.positions()).expect("there are steps");
        let (step, own, halos) = largest;
        let halo: f64 = halos.iter().sum();
        sum.superstep_bytes = halo * self.costs.superstep_bytes;
        sum.halo_per_position = halo / step.positions() as f64;
        let packed = self.costs.packed * self.value_bytes;
        let saved_bytes = packed + VECTORS as f64;
        sum.checkpoint = checkpoint_seconds(own, team, &self.costs, saved_bytes);
        sum.array_bytes = self.array_bytes(&known);
        let most_saved = saved.into_iter().fold(0.0, f64::max);
        let most_own = own.iter().copied().max().unwrap_or(0) as f64;
        sum.disk_bytes = most_saved * packed + most_own * 2.0 * saved_bytes;
        sum
    }

    /// The most bytes of arrays that a member holds: values and vectors of its shards and halo, lists of candidates, and
    /// as large a part of the tiers that the step reads.
    fn array_bytes(&self, known: &[(&StepUnits, Vec<u64>, Vec<f64>)]) -> f64 {
        let level = |level: u8| -> f64 {
            let of_level = known.iter().filter(|(step, ..)| step.tier.level() == level);
            of_level.map(|(step, ..)| step.positions() as f64).sum()
        };
        let of_step = |(step, own, halos): &(&StepUnits, Vec<u64>, Vec<f64>)| {
            let of_member = |(&own, &halo): (&u64, &f64)| {
                let held = own as f64 + halo;
                let part = held / step.positions() as f64;
                held * (self.value_bytes + VECTORS as f64)
                    + own as f64 * CANDIDATE_BYTES
                    + part * level(step.tier.level() - 1) * self.value_bytes
            };
            own.iter().zip(halos).map(of_member).fold(0.0, f64::max)
        };
        known.iter().map(of_step).fold(0.0, f64::max)
    }

    /// How many members are worth having, of at most so many: the next one would add less than `gain` times the speed of
    /// one alone. Numbers in between those tried count as the next lower one.
    pub fn worth_having(&self, team: &Team, most: usize, gain: f64) -> usize {
        let alone = self.predict(&Team { members: 1, ..*team }).seconds();
        let (mut members, mut speed) = (1, 1.0);
        for next in team_sizes().take_while(|&next| next <= most) {
            let then = alone / self.predict(&Team { members: next, ..*team }).seconds();
            if then - speed < gain * (next - members) as f64 {
                break;
            }
            (members, speed) = (next, then);
        }
        members
    }
}

/// The numbers of members that are tried: 2, 3, 4, 6, 8, 12, 16 and so on.
fn team_sizes() -> impl Iterator<Item = usize> {
    (0..).flat_map(|power| [2 << power, 3 << power])
}

#[cfg(test)]
mod tests {
    use ziggurat_game::{Overrides, Ruleset};

    use super::*;
    use crate::{model::time::Link, settings::Precision};

    fn model(name: &str, pieces: u8, samples: u64) -> SolveModel {
        let overrides = Overrides { pieces: Some(pieces), ..Overrides::default() };
        let ruleset = Ruleset::builtin(name).unwrap().with(&overrides).unwrap();
        let encoding = Encoding::new(&ruleset).unwrap();
        SolveModel::new(&encoding, &Settings::new(Precision::F64), samples)
    }

    #[test]
    fn one_core_takes_every_position_as_often_as_it_is_swept() {
        let mut model = model("finkel", 4, 0);
        (model.course, model.costs.superstep_nanoseconds) =
            (Course { supersteps: 10.0, interval_sweeps: 2.0 }, 100.0);
        model.costs.interval_sweep_nanoseconds = 200.0;
        let positions: u64 = model.steps.iter().map(StepUnits::positions).sum();
        let predicted = model.predict(&Team::alone(1));
        let sweep = positions as f64 * 100e-9;
        // One of 32 positions of large steps is swept again.
        assert!((1.01..1.05).contains(&(predicted.supersteps / (10.0 * sweep))));
        assert!((predicted.proofs / (2.0 * 2.0 * sweep) - 1.0).abs() < 0.01);
        assert_eq!(predicted.superstep_bytes, 0.0);
    }

    #[test]
    fn an_idle_network_makes_members_of_one_core_as_fast_as_cores_and_a_slow_one_makes_them_useless()
     {
        let model = model("blitz", 5, 1 << 14);
        let link =
            |bytes_per_second, round_trip_seconds| Link { bytes_per_second, round_trip_seconds };
        let team = |members, link| Team { members, cores: 1, link };
        let alone = model.predict(&Team::alone(1)).seconds();
        let costs_nothing = Costs { halo_nanoseconds: 0.0, ..model.costs };
        let ideal = SolveModel { costs: costs_nothing, ..model.clone() };
        let [two_cores, two] = [Team::alone(2), team(2, link(f64::INFINITY, 0.0))];
        let [two_cores, two] = [two_cores, two].map(|team| alone / ideal.predict(&team).seconds());
        assert!(two_cores > 1.8 && (1.5..=two_cores).contains(&two), "{two_cores} {two}");
        let slow = team(8, link(1e6, 0.1));
        assert_eq!(model.worth_having(&slow, 64, 0.25), 1);
        let fast = team(8, link(1.25e9, 2e-4));
        let worth = model.worth_having(&fast, 64, 0.15);
        assert!((2..=8).contains(&worth), "{worth}");
    }

    #[test]
    fn what_a_member_holds_and_sends_follows_its_halo() {
        let model = model("blitz", 5, 1 << 14);
        let link = Link { bytes_per_second: 1e9, round_trip_seconds: 1e-4 };
        let [one, two, eight] =
            [1, 2, 8].map(|members| model.predict(&Team { members, cores: 1, link }));
        assert_eq!((one.superstep_bytes, one.halo_per_position), (0.0, 0.0));
        assert!((0.5..1.0).contains(&two.halo_per_position), "{}", two.halo_per_position);
        assert!((2.0..7.0).contains(&eight.halo_per_position), "{}", eight.halo_per_position);
        assert!(eight.array_bytes < two.array_bytes && two.array_bytes < one.array_bytes);
        assert!(eight.disk_bytes < one.disk_bytes / 5.0);
        assert!(eight.checkpoint < one.checkpoint / 5.0);
    }
}
