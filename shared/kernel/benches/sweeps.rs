//! The cost of one update of one position: nanoseconds per position-sweep and core.
//!
//! `cargo bench -p ziggurat-kernel --bench sweeps` takes a few minutes. One iteration, as
//! criterion reports it, is one position updated once on one core: the time of some sweeps over
//! the largest step of a game, times the threads, over the positions swept.
//!
//! The kernel makes supersteps of the largest step of a solve, the rivals sweep the same positions.
//! The rivals are in-place sweeps over a precomputed successor table, see
//! [`ziggurat_reference::baseline`]: laid out as the fastest solver published has it, and as
//! tightly as a perfect ranking allows.

use std::{
    thread,
    time::{Duration, Instant},
};

use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Overrides, Position, Ruleset, Side};
use ziggurat_kernel::{Precision, Settings, Step, plan, time_supersteps};
use ziggurat_reference::baseline::{Baseline, Design};

/// The games and with how many pieces: 14.7 and 6.2 million positions, the largest step 4.8 and
/// 3.1 million, so that neither values nor tables fit into a cache.
const GAMES: [(&str, u8); 2] = [("finkel", 5), ("blitz", 4)];

/// Sweeps before the clock starts, so that values are as varied as in a solve.
const SWEEPS_BEFORE: usize = 5;

fn sweeps(criterion: &mut Criterion) {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads_of = |cores| if cores > 1 { vec![1, cores] } else { vec![1] };
    for (game, pieces) in GAMES {
        let overrides = Overrides { pieces: Some(pieces), ..Overrides::default() };
        let ruleset = Ruleset::builtin(game).expect("a built-in").with(&overrides).expect("pieces");
        let encoding = Encoding::new(&ruleset).expect("built-ins have an encoding");
        let mut group = criterion.benchmark_group(format!("{game} with {pieces} pieces"));
        group.sampling_mode(SamplingMode::Flat).sample_size(10);
        for (design, name) in [
            (Design::Published, "successor table as published"),
            (Design::Compact, "compact successor table"),
        ] {
            let lower = |position: &Position| estimate(&ruleset, position);
            let tier = Tier::new(pieces, pieces);
            let mut baseline = Baseline::new(&encoding, tier, design, lower, cores)
                .expect("the game is small enough for a successor table");
            let bytes = baseline.table_bytes() as f64 / baseline.positions() as f64;
            println!("{game}, {name}: {bytes:.1} bytes per position");
            for _ in 0..SWEEPS_BEFORE {
                baseline.sweep(cores);
            }
            for threads in threads_of(cores) {
                group.bench_function(BenchmarkId::new(name, format!("threads: {threads}")), |b| {
                    b.iter_custom(|updates| {
                        per_update(updates, baseline.positions(), threads, || {
                            let begin = Instant::now();
                            baseline.sweep(threads);
                            begin.elapsed()
                        })
                    });
                });
            }
        }
        for (precision, name) in [(Precision::F64, "kernel"), (Precision::F32, "kernel in f32")] {
            for threads in threads_of(cores) {
                let settings = Settings { threads, ..Settings::new(precision) };
                let steps = plan(&encoding, &settings).steps;
                let Step { tier, positions, .. } = *steps.last().expect("a game has a step");
                group.bench_function(BenchmarkId::new(name, format!("threads: {threads}")), |b| {
                    b.iter_custom(|updates| {
                        let sweeps = SWEEPS_BEFORE + updates.div_ceil(positions) as usize;
                        let times = time_supersteps(&encoding, &settings, tier, sweeps as u32)
                            .expect("the threads start");
                        let mut times = times.into_iter().skip(SWEEPS_BEFORE);
                        let next = || times.next().expect("a time for every sweep");
                        per_update(updates, positions, threads, next)
                    });
                });
            }
        }
        group.finish();
    }
}

/// The time of `updates` updates on one core, from that of as many whole sweeps as they need.
fn per_update(
    updates: u64,
    positions: u64,
    threads: usize,
    mut sweep: impl FnMut() -> Duration,
) -> Duration {
    let sweeps = updates.div_ceil(positions);
    let wall: Duration = (0..sweeps).map(|_| sweep()).sum();
    let core_seconds = wall.as_secs_f64() * threads as f64;
    Duration::from_secs_f64(core_seconds / (sweeps * positions) as f64 * updates as f64)
}

/// A guess at the chance of the player to move, by how far the pieces have come. It stands in
/// for solved lower tiers, as only the time of a sweep matters here.
fn estimate(ruleset: &Ruleset, position: &Position) -> f64 {
    let end = f64::from(ruleset.path().len() + 1);
    let progress =
        |side: &Side| side.positions().map(f64::from).sum::<f64>() + f64::from(side.scored) * end;
    let lead = progress(&position.own) - progress(&position.opponent);
    0.5 + 0.45 * (lead / end).tanh()
}

criterion_group!(benches, sweeps);
criterion_main!(benches);
