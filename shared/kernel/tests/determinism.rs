//! The same job gives the same bits, on any threads, instructions and shards.

mod common;

use common::{Solved, builtin, describe, settings, tracks};
use ziggurat_encoding::Encoding;
use ziggurat_game::Ruleset;
use ziggurat_kernel::{CorrectedFrom, Precision, Settings, Simd, plan};

/// Both precisions, to a tolerance that takes a few supersteps: if bits come to depend on the
/// threads, it is in the first of them.
fn jobs(shard_positions: Option<u64>) -> [Settings; 2] {
    [Precision::F64, Precision::F32].map(|precision| Settings {
        tolerance: 0.05,
        shard_positions,
        ..settings(precision)
    })
}

/// The most shards of a step.
fn most_shards(ruleset: &Ruleset, settings: &Settings) -> usize {
    let plan = plan(&Encoding::new(ruleset).unwrap(), settings);
    plan.steps.iter().map(|step| step.shards).max().unwrap()
}

/// Solves with 1, 2, 3 and 7 threads; all bits and all statistics must be the same.
fn assert_threads_do_not_matter(ruleset: &Ruleset, job: &Settings) {
    let solve = |threads| Solved::new(ruleset, &Settings { threads, ..job.clone() });
    let one = solve(1);
    for threads in [2, 3, 7] {
        let other = solve(threads);
        // Not `assert_eq`: nobody wants to read all the values.
        assert!(one.bits() == other.bits(), "{}, {job:?}, {threads} threads", describe(ruleset));
        assert_eq!(one.summary, other.summary, "{}, {threads} threads", describe(ruleset));
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits_on_every_track_in_small_shards() {
    let [double, single] = jobs(Some(500));
    for track in tracks(2) {
        assert!(most_shards(&track, &double) > 7, "{}", track.name());
        assert_threads_do_not_matter(&track, &double);
        // The larger tracks take long enough as it is.
        if Encoding::new(&track).unwrap().undecided() < 70_000 {
            assert_threads_do_not_matter(&track, &single);
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits_in_shards_of_the_default_size() {
    for job in jobs(None) {
        for ruleset in [builtin("finkel", 3), builtin("blitz", 3), builtin("double-long", 2)] {
            assert!(most_shards(&ruleset, &job) > 1, "{}", ruleset.name());
            assert_threads_do_not_matter(&ruleset, &job);
        }
    }
}

#[test]
fn any_vector_instructions_give_the_same_bits() {
    let same = |ruleset: &Ruleset, job: &Settings| {
        let solve = |simd| Solved::on(simd, ruleset, &Settings { threads: 0, ..job.clone() });
        let best = solve(Simd::best());
        for simd in Simd::all() {
            let other = solve(simd);
            assert!(best.bits() == other.bits(), "{}, {}", describe(ruleset), simd.name());
            assert_eq!(best.summary, other.summary, "{}, {}", describe(ruleset), simd.name());
        }
    };
    for track in tracks(2) {
        jobs(Some(500)).iter().for_each(|job| same(&track, job));
    }
    for ruleset in [builtin("finkel", 3), builtin("blitz", 3)] {
        for precision in [Precision::F64, Precision::F32] {
            same(&ruleset, &Settings::new(precision));
        }
    }
}

/// Games whose steps are all corrected coarsely.
fn corrected() -> Vec<(Ruleset, Settings)> {
    let precisions = [Precision::F64, Precision::F32];
    let games = ["double-short", "short-backtrack", "finkel", "blitz"].map(|game| builtin(game, 2));
    let settings = |precision| Settings {
        corrected_from: CorrectedFrom::ALL,
        shard_positions: Some(3000),
        ..Settings::new(precision)
    };
    games.iter().flat_map(|game| precisions.map(|one| (game.clone(), settings(one)))).collect()
}

#[test]
fn nothing_matters_to_the_bits_of_corrected_steps() {
    for (ruleset, job) in corrected() {
        assert_threads_do_not_matter(&ruleset, &job);
        let solve = |simd| Solved::on(simd, &ruleset, &job);
        let best = solve(Simd::best());
        for simd in Simd::all() {
            assert!(best.bits() == solve(simd).bits(), "{}, {}", describe(&ruleset), simd.name());
        }
        // They are corrected, and to the same values.
        let plain = Solved::new(
            &ruleset,
            &Settings { corrected_from: CorrectedFrom::NOTHING, ..job.clone() },
        );
        assert!(best.bits() != plain.bits(), "{}", describe(&ruleset));
        let apart = best.values().zip(plain.values()).map(|(a, b)| (a - b).abs());
        let apart = apart.fold(0.0, f64::max);
        assert!(apart <= 2.0 * job.tolerance, "{}: {apart}", describe(&ruleset));
    }
}

#[test]
fn any_number_of_threads_gives_the_same_certified_bits() {
    for ruleset in [builtin("finkel", 3), builtin("blitz", 3)] {
        for precision in [Precision::F64, Precision::F32] {
            assert_threads_do_not_matter(&ruleset, &Settings::new(precision));
        }
    }
}

#[test]
fn the_size_of_the_shards_changes_the_last_digits_at_most() {
    for ruleset in [builtin("finkel", 3), builtin("masters", 2), builtin("skiriuk", 1)] {
        let solve = |shard_positions| {
            Solved::new(&ruleset, &Settings { shard_positions, ..settings(Precision::F64) })
        };
        let one_shard = solve(Some(u64::MAX));
        for shard_positions in [Some(1), Some(500), Some(20_000), None] {
            let other = solve(shard_positions);
            let differences = one_shard.values().zip(other.values()).map(|(a, b)| (a - b).abs());
            let largest = differences.fold(0.0, f64::max);
            assert!(largest <= 1e-12, "{}, {shard_positions:?}: {largest}", describe(&ruleset));
        }
    }
}
