//! How many supersteps solves take: `supersteps finkel:5 blitz:4` solves finkel with 5 pieces and blitz with 4 to an
//! estimated error of 1e-13, and prints a line for each step and one for the game. An *equivalent* is a superstep in
//! `f64` over all positions; one in `f32` counts as half of it. Seconds are those of supersteps and of interval
//! sweeps. With `--certified`, solves are to the default tolerance, and proven; with `--f32`, they are in `f32`; with
//! `--uncorrected`, no step is corrected coarsely. With `--trace`, a line for every superstep and interval sweep says
//! how long it took, and the residual.

use std::{collections::BTreeMap, time::Instant};

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_kernel::{
    Cancelled, CorrectedFrom, Event, Precision, Settings, Surroundings, TierStatistics, plan, solve,
};

const TOLERANCE: f64 = 1e-13;

fn main() {
    let has = |flag| std::env::args().any(|arg| arg == flag);
    let precision = if has("--f32") { Precision::F32 } else { Precision::F64 };
    let (certified, traced) = (has("--certified"), has("--trace"));
    let mut settings = Settings::new(precision);
    if !certified {
        settings = Settings { tolerance: TOLERANCE, certified, ..settings };
    }
    if has("--uncorrected") {
        settings.corrected_from = CorrectedFrom::NOTHING;
    }
    for game in std::env::args().skip(1).filter(|arg| !arg.starts_with("--")) {
        let (name, pieces) = game.split_once(':').expect("games are given as name:pieces");
        let pieces = pieces.parse().expect("pieces are a number");
        let overrides = Overrides { pieces: Some(pieces), ..Overrides::default() };
        let ruleset = Ruleset::builtin(name).expect("a built-in ruleset").with(&overrides);
        let encoding = Encoding::new(&ruleset.expect("a number of pieces")).expect("a ranking");
        print_supersteps(&game, &encoding, &settings, traced);
    }
}

fn print_supersteps(game: &str, encoding: &Encoding, settings: &Settings, traced: bool) {
    let start = Instant::now();
    let plan = plan(encoding, settings);
    // For each step, the seconds of its supersteps and of its interval sweeps.
    let mut seconds_of = vec![[0.0; 2]; plan.steps.len()];
    let mut last = start;
    let summary = solve(
        encoding,
        settings,
        Surroundings::in_memory(&Cancelled::new(false)),
        &mut |event| {
            let since = last.elapsed().as_secs_f64();
            last = Instant::now();
            let (step, kind, what) = match event {
                Event::Superstep { step, superstep, residual, .. } => {
                    (step, 0, format!("superstep {superstep}, residual {residual:.1e}"))
                }
                Event::Certifying { step, sweep, distance } => {
                    (step, 1, format!("interval sweep {sweep}, distance {distance:.1e}"))
                }
                _ => return,
            };
            seconds_of[step][kind] += since;
            if traced {
                println!("{game} {}: {what}, {since:.3} s", plan.steps[step].tier);
            }
        },
        &mut |_, _, _| Ok(()),
    );
    let seconds = start.elapsed().as_secs_f64();
    let tiers: BTreeMap<Tier, TierStatistics> =
        summary.expect("nobody cancels").tiers.into_iter().collect();
    let (mut sweeps, mut equivalents, mut proofs) = (0.0, 0.0, 0.0);
    for (step, [sweeping, proving]) in plan.steps.iter().zip(seconds_of) {
        let TierStatistics { supersteps, supersteps_in_f32, error_estimate, certificate, .. } =
            tiers[&step.tier];
        let supersteps_in_f32 = match settings.precision {
            Precision::F32 => supersteps,
            Precision::F64 => supersteps_in_f32,
        };
        let (bound, proof) = certificate.map_or((1.0, 0), |proof| (proof.bound, proof.sweeps));
        let positions = step.positions as f64 / plan.positions as f64;
        sweeps += positions * f64::from(supersteps);
        equivalents += positions * (f64::from(supersteps) - f64::from(supersteps_in_f32) / 2.0);
        proofs += positions * f64::from(proof);
        println!(
            "{game} {}: {} positions, {supersteps} supersteps ({supersteps_in_f32} in f32), \
             error about {error_estimate:.0e}, {proof} interval sweeps for {bound:.2e}, \
             {sweeping:.1} + {proving:.1} s",
            step.tier, step.positions
        );
    }
    println!(
        "{game}: {sweeps:.1} supersteps, {equivalents:.1} equivalents, {proofs:.1} interval sweeps, \
         {seconds:.1} s"
    );
}
