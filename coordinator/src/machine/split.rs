//! Who sweeps which shards: the [placement](ziggurat_planning::placement) as runs of shards, and how long they take.

use ziggurat_planning::{ShardIndex, Wave, placement::deal};

use super::{plan::StepPlan, record::Run};

/// Deals the shards of a step out to members, given by their speeds in positions per second. Every shard gets one owner;
/// a member that would only make others wait gets none.
pub fn split(plan: &StepPlan, speeds: &[f64]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for owner in deal(&plan.shards, [&plan.waves, &plan.interval_waves], speeds) {
        match runs.last_mut() {
            Some(run) if run.owner == owner as u32 => run.count += 1,
            _ => runs.push(Run { count: 1, owner: owner as u32 }),
        }
    }
    runs
}

/// How long it takes to sweep all shards wave by wave, in seconds, without exchange.
pub fn seconds(shards: &[u64], waves: &[Wave], runs: &[Run], speeds: &[f64]) -> f64 {
    let mut owners = Vec::with_capacity(shards.len());
    for run in runs {
        owners.extend(std::iter::repeat_n(run.owner as usize, run.count as usize));
    }
    let wave = |wave: &Wave| {
        let mut loads = vec![0; speeds.len()];
        for &ShardIndex(shard) in wave {
            loads[owners[shard]] += shards[shard];
        }
        loads.iter().zip(speeds).map(|(&load, speed)| load as f64 / speed).fold(0.0, f64::max)
    };
    waves.iter().map(wave).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ziggurat_encoding::{Encoding, Tier};
    use ziggurat_game::{Overrides, Ruleset};
    use ziggurat_planning::{Precision, Settings};

    use super::*;
    use crate::machine::plan::JobPlan;

    /// A step with waves of successive shards, from the last to the first. Every shard is an interval wave.
    fn step(shards: &[u64], waves: usize) -> StepPlan {
        let ends = (0..=waves).map(|i| shards.len() * i / waves).collect::<Vec<_>>();
        StepPlan {
            shards: shards.to_vec(),
            waves: ends
                .windows(2)
                .map(|ends| (ends[0]..ends[1]).map(ShardIndex).collect())
                .rev()
                .collect(),
            interval_waves: (0..shards.len()).map(|shard| vec![ShardIndex(shard)]).collect(),
            ranges: 0,
        }
    }

    #[test]
    fn every_member_gets_what_it_sweeps_in_the_same_time() {
        let (step, speeds) = (step(&[10; 12], 2), [1.0, 2.0, 3.0]);
        let runs = split(&step, &speeds);
        assert_eq!(seconds(&step.shards, &step.waves, &runs, &speeds), 20.0);
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

    /// Members wait for less than a twentieth of a superstep, and less than a quarter of an interval sweep.
    #[test]
    fn waves_of_both_kinds_are_even() {
        let overrides = Overrides { pieces: Some(5), ..Overrides::default() };
        let blitz = Ruleset::builtin("blitz").unwrap().with(&overrides).unwrap();
        let encoding = Encoding::new(&blitz).unwrap();
        let plan = JobPlan::new(encoding, Settings::new(Precision::F64));
        let speeds = [1.0, 1.0];
        for tier in [Tier::new(5, 5), Tier::new(5, 4)] {
            let step = &plan.steps[&tier];
            let runs = split(step, &speeds);
            let even = step.positions() as f64 / 2.0;
            let wait = |waves| seconds(&step.shards, waves, &runs, &speeds) / even - 1.0;
            assert!(wait(&step.waves) < 1.0 / 20.0, "{tier}: {}", wait(&step.waves));
            let interval = wait(&step.interval_waves);
            assert!(interval < 1.0 / 4.0, "{tier}: {interval}");
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
            let ours = seconds(&shards, &step.waves, &runs, &speeds);
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
