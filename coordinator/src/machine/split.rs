//! Who sweeps which shards: the [placement](ziggurat_planning::placement) as runs of shards, and how long they take.

use ziggurat_planning::placement::{ShardWaves, deal, positions_of};

use super::{
    plan::{JobPlan, StepPlan},
    record::Run,
};

/// Deals the shards of a step out to members, given by their speeds in positions per second. Every shard gets one owner;
/// a member that would only make others wait gets none.
pub fn split(plan: &StepPlan, speeds: &[f64]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for owner in deal(&plan.shards, speeds) {
        match runs.last_mut() {
            Some(run) if run.owner == owner as u32 => run.count += 1,
            _ => runs.push(Run { count: 1, owner: owner as u32 }),
        }
    }
    runs
}

/// How long it takes to sweep all shards wave by wave, in seconds, without exchange.
pub fn seconds(shards: &[ShardWaves], runs: &[Run], speeds: &[f64]) -> f64 {
    let owners = runs.iter().flat_map(|run| std::iter::repeat_n(run.owner, run.count as usize));
    let mut loads: Vec<Vec<u64>> = Vec::new();
    for (shard, owner) in shards.iter().zip(owners) {
        for &(wave, positions) in shard {
            loads.resize_with(loads.len().max(wave as usize + 1), || vec![0; speeds.len()]);
            loads[wave as usize][owner as usize] += positions;
        }
    }
    let wave = |loads: &Vec<u64>| {
        loads.iter().zip(speeds).map(|(&load, speed)| load as f64 / speed).fold(0.0, f64::max)
    };
    loads.iter().map(wave).sum()
}

/// The positions of a job that a worker comes to have at the most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Positions {
    /// Of all steps.
    pub of_all: u64,
    /// Of the step that it has most of.
    pub of_largest: u64,
}

/// How many positions of a job workers come to have, given by their speeds in positions per second. A step of less than
/// `whole_step_positions` is solved by one of them, which may be any.
pub fn positions_by_worker(
    plan: &JobPlan,
    speeds: &[f64],
    whole_step_positions: u64,
) -> Vec<Positions> {
    let mut sums = vec![Positions::default(); speeds.len()];
    for step in plan.steps.values() {
        let mut shares = vec![0; speeds.len()];
        if step.positions() < whole_step_positions {
            shares.fill(step.positions());
        } else {
            for (shard, owner) in step.shards.iter().zip(deal(&step.shards, speeds)) {
                shares[owner] += positions_of(shard);
            }
        }
        for (sum, share) in sums.iter_mut().zip(shares) {
            sum.of_all += share;
            sum.of_largest = sum.of_largest.max(share);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ziggurat_encoding::{Encoding, Tier};
    use ziggurat_game::{Overrides, Ruleset};
    use ziggurat_planning::{Precision, Settings};

    use super::*;
    use crate::machine::plan::JobPlan;

    /// A step with waves of successive shards, from the last to the first.
    fn step(shards: &[u64], waves: usize) -> StepPlan {
        let wave_of = |i: usize| (waves - 1 - i * waves / shards.len()) as u32;
        let shards = shards.iter().enumerate();
        StepPlan { shards: shards.map(|(i, &len)| vec![(wave_of(i), len)]).collect(), ranges: 0 }
    }

    #[test]
    fn every_member_gets_what_it_sweeps_in_the_same_time() {
        let (step, speeds) = (step(&[10; 12], 2), [1.0, 2.0, 3.0]);
        let runs = split(&step, &speeds);
        assert_eq!(seconds(&step.shards, &runs, &speeds), 20.0);
        let dealt = |owner| -> u32 {
            runs.iter().filter(|run| run.owner == owner).map(|run| run.count).sum()
        };
        assert_eq!([0, 1, 2].map(dealt), [2, 4, 6]);
    }

    #[test]
    fn a_slow_member_that_would_make_the_others_wait_gets_nothing() {
        let runs = split(&step(&[10, 10], 1), &[1.0, 0.01, 1.0]);
        assert_eq!(runs, [Run { count: 1, owner: 0 }, Run { count: 1, owner: 2 }]);
    }

    #[test]
    fn positions_of_large_steps_are_shared_and_those_of_small_ones_may_be_anywhere() {
        let overrides = Overrides { pieces: Some(4), ..Overrides::default() };
        let blitz = Ruleset::builtin("blitz").unwrap().with(&overrides).unwrap();
        let plan = JobPlan::new(Encoding::new(&blitz).unwrap(), Settings::new(Precision::F64));
        let sizes: Vec<u64> = plan.steps.values().map(StepPlan::positions).collect();
        let (all, largest) = (sizes.iter().sum::<u64>(), *sizes.iter().max().unwrap());
        let [slow, fast] = positions_by_worker(&plan, &[1.0, 2.0], 0)[..] else { panic!() };
        assert_eq!(slow.of_all + fast.of_all, all);
        assert_eq!(slow.of_largest + fast.of_largest, largest);
        assert!(fast.of_all > slow.of_all * 3 / 2 && fast.of_all < slow.of_all * 5 / 2);
        let anywhere = positions_by_worker(&plan, &[1.0, 2.0], largest + 1);
        assert_eq!(anywhere, [Positions { of_all: all, of_largest: largest }; 2]);
    }

    /// Members wait for less than a tenth of a sweep.
    #[test]
    fn waves_are_even() {
        let overrides = Overrides { pieces: Some(5), ..Overrides::default() };
        let blitz = Ruleset::builtin("blitz").unwrap().with(&overrides).unwrap();
        let encoding = Encoding::new(&blitz).unwrap();
        let plan = JobPlan::new(encoding, Settings::new(Precision::F64));
        let speeds = [1.0, 1.0];
        for tier in [Tier::new(5, 5), Tier::new(5, 4)] {
            let step = &plan.steps[&tier];
            let runs = split(step, &speeds);
            let even = step.positions() as f64 / 2.0;
            let wait = seconds(&step.shards, &runs, &speeds) / even - 1.0;
            assert!(wait < 1.0 / 10.0, "{tier}: {wait}");
        }
    }

    proptest! {
        // The bound is of Friesen (1987).
        #[test]
        fn every_shard_has_one_owner_and_no_dealing_of_a_wave_takes_less_than_three_fifths_of_the_time(
            shards in prop::collection::vec(1..100_u64, 1..8),
            speeds in prop::collection::vec(0.1..10.0_f64, 1..4),
        ) {
            let step = step(&shards, 1);
            let runs = split(&step, &speeds);
            prop_assert_eq!(runs.iter().map(|run| run.count as usize).sum::<usize>(), shards.len());
            let ours = seconds(&step.shards, &runs, &speeds);
            for way in 0..speeds.len().pow(shards.len() as u32) {
                let (mut loads, mut rest) = ([0.0; 3], way);
                for &shard in &shards {
                    loads[rest % speeds.len()] += shard as f64;
                    rest /= speeds.len();
                }
                let time = loads.iter().zip(&speeds).map(|(load, speed)| load / speed);
                prop_assert!(ours <= time.fold(0.0, f64::max) * 5.0 / 3.0);
            }
        }
    }
}
