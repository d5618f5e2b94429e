//! Who sweeps which shards: the [placement](ziggurat_planning::placement) as runs of shards, and how long they take.

use ziggurat_planning::placement::{ShardWaves, deal};

use super::{plan::StepPlan, record::Run};

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
