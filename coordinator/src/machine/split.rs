//! Who sweeps which shards.
//!
//! A superstep waits, wave by wave, for the slowest. So within every wave each member gets successive
//! shards, such that the wave ends as early as it can: in the least time T for which handing each member as
//! many shards as it sweeps within T leaves none over.

use std::ops::Range;

use super::record::Run;

/// The precision of T, as a power of one half: time is no more exact than that.
const HALVINGS: usize = 40;

/// Deals shards, given by their positions, out to members, given by their speeds in positions per second.
/// Every shard gets one owner; a member that would only make others wait gets none.
pub fn split(shards: &[u64], waves: &[Range<usize>], speeds: &[f64]) -> Vec<Run> {
    let mut owners = vec![0; shards.len()];
    for wave in waves {
        deal(&shards[wave.clone()], speeds, &mut owners[wave.clone()]);
    }
    let mut runs: Vec<Run> = Vec::new();
    for owner in owners {
        match runs.last_mut() {
            Some(run) if run.owner == owner => run.count += 1,
            _ => runs.push(Run { count: 1, owner }),
        }
    }
    runs
}

/// How long a superstep takes, in seconds, without exchange.
pub fn seconds(shards: &[u64], waves: &[Range<usize>], runs: &[Run], speeds: &[f64]) -> f64 {
    let mut owners = Vec::with_capacity(shards.len());
    for run in runs {
        owners.extend(std::iter::repeat_n(run.owner as usize, run.count as usize));
    }
    let wave = |wave: &Range<usize>| {
        let mut loads = vec![0; speeds.len()];
        for shard in wave.clone() {
            loads[owners[shard]] += shards[shard];
        }
        loads.iter().zip(speeds).map(|(&load, speed)| load as f64 / speed).fold(0.0, f64::max)
    };
    waves.iter().map(wave).sum()
}

/// Deals out the shards of one wave.
fn deal(shards: &[u64], speeds: &[f64], owners: &mut [u32]) {
    let total: u64 = shards.iter().sum();
    let fastest = speeds.iter().copied().fold(0.0, f64::max);
    // In this time the fastest sweeps all of it.
    let (mut short, mut long) = (0.0, (total + 1) as f64 / fastest);
    for _ in 0..HALVINGS {
        let middle = (short + long) / 2.0;
        if hand_out(shards, speeds, middle, owners) {
            long = middle;
        } else {
            short = middle;
        }
    }
    let all = hand_out(shards, speeds, long, owners);
    debug_assert!(all, "there was time for all shards");
}

/// Hands each member in turn as many shards as it can sweep in time. Whether that is all of them.
fn hand_out(shards: &[u64], speeds: &[f64], seconds: f64, owners: &mut [u32]) -> bool {
    let (mut member, mut load) = (0, 0);
    for (&shard, owner) in shards.iter().zip(owners) {
        while (load + shard) as f64 > seconds * speeds[member] {
            (member, load) = (member + 1, 0);
            if member == speeds.len() {
                return false;
            }
        }
        load += shard;
        *owner = member as u32;
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Cuts shards into waves, from the last to the first, at so many places.
    fn cut(shards: usize, waves: usize) -> Vec<Range<usize>> {
        let ends = (0..=waves).map(|i| shards * i / waves).collect::<Vec<_>>();
        ends.windows(2).map(|ends| ends[0]..ends[1]).rev().collect()
    }

    #[test]
    fn every_member_gets_what_it_sweeps_in_the_same_time() {
        let shards = [10; 12];
        let waves = cut(12, 2);
        let runs = split(&shards, &waves, &[1.0, 2.0, 3.0]);
        let run = |count, owner| Run { count, owner };
        let wave = [run(1, 0), run(2, 1), run(3, 2)];
        assert_eq!(runs, [wave, wave].concat());
        assert_eq!(seconds(&shards, &waves, &runs, &[1.0, 2.0, 3.0]), 20.0);
    }

    #[test]
    fn a_slow_member_that_would_make_the_others_wait_gets_nothing() {
        let runs = split(&[10, 10], &cut(2, 1), &[1.0, 0.01, 1.0]);
        assert_eq!(runs, [Run { count: 1, owner: 0 }, Run { count: 1, owner: 2 }]);
    }

    proptest! {
        #[test]
        fn every_shard_has_one_owner_and_no_other_dealing_of_a_wave_is_faster(
            shards in prop::collection::vec(1..100_u64, 1..9),
            speeds in prop::collection::vec(0.1..10.0_f64, 1..4),
        ) {
            let waves = cut(shards.len(), 1);
            let runs = split(&shards, &waves, &speeds);
            prop_assert_eq!(runs.iter().map(|run| run.count as usize).sum::<usize>(), shards.len());
            let ours = seconds(&shards, &waves, &runs, &speeds);
            // All ways to cut the wave in the order of members.
            let n = shards.len();
            let ways = (0..=n).flat_map(|a| (a..=n).map(move |b| (a, b)));
            for (a, b) in ways {
                let mut loads = [0.0; 3];
                for (i, &shard) in shards.iter().enumerate() {
                    loads[usize::from(i >= a) + usize::from(i >= b)] += shard as f64;
                }
                if loads[speeds.len()..].iter().any(|&load| load > 0.0) {
                    continue;
                }
                let time = loads.iter().zip(&speeds).map(|(load, speed)| load / speed);
                prop_assert!(ours <= time.fold(0.0, f64::max) * 1.000_001);
            }
        }

        #[test]
        fn waves_are_dealt_out_on_their_own(
            shards in prop::collection::vec(1..100_u64, 8..60),
            waves in 1..8_usize,
            speeds in prop::collection::vec(0.1..10.0_f64, 1..6),
        ) {
            let waves = cut(shards.len(), waves);
            let runs = split(&shards, &waves, &speeds);
            let owners: Vec<u32> =
                runs.iter().flat_map(|run| vec![run.owner; run.count as usize]).collect();
            prop_assert_eq!(owners.len(), shards.len());
            for wave in waves {
                prop_assert!(owners[wave].is_sorted());
            }
        }
    }
}
