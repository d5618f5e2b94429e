//! Supersteps, sweeps and seconds of solves: `supersteps finkel:5 blitz:4 ...`.
use std::{collections::BTreeMap, io::Write, time::Instant};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_kernel::{Cancelled, Event, Precision, Settings, TierValues, plan, solve};

fn main() {
    let tolerance = std::env::var("TOL").map_or(1e-13, |x| x.parse().unwrap());
    let shard_positions = std::env::var("SHARD").ok().map(|x| x.parse().unwrap());
    let verbose = std::env::var("V").is_ok();
    let reference = std::env::var("REF").ok();
    for game in std::env::args().skip(1) {
        let (name, pieces) = game.split_once(':').unwrap();
        let overrides = Overrides { pieces: pieces.parse().ok(), ..Overrides::default() };
        let ruleset = Ruleset::builtin(name).unwrap().with(&overrides).unwrap();
        let encoding = Encoding::new(&ruleset).unwrap();
        let settings =
            Settings { precision: Precision::F64, tolerance, shard_positions, threads: 0 };
        let plan = plan(&encoding, &settings);
        let mut trace: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let mut tell = |event: Event| {
            if let Event::Superstep { step, residual, .. } = event {
                trace.entry(step).or_default().push(residual);
            }
        };
        let mut error = 0f64;
        let path =
            |tier: Tier| format!("/tmp/ref/{name}{pieces}-{}-{}", tier.just_moved, tier.to_move);
        let mut errors = BTreeMap::new();
        let mut estimates = BTreeMap::new();
        let mut equivalents = 0.0;
        let mut store = |tier: Tier,
                         stats: ziggurat_kernel::TierStatistics,
                         values: TierValues<'_>| {
            estimates.insert(tier, (stats.error_estimate, stats.supersteps_in_f32));
            equivalents += (f64::from(stats.supersteps) - 0.5 * f64::from(stats.supersteps_in_f32))
                * encoding.tier_len(tier) as f64;
            let TierValues::F64(values) = values else { panic!() };
            let bytes = values.iter().flat_map(|x| x.to_le_bytes());
            match reference.as_deref() {
                Some("write") => {
                    std::fs::create_dir_all("/tmp/ref")?;
                    std::fs::File::create(path(tier))?.write_all(&bytes.collect::<Vec<_>>())?;
                }
                Some(_) => {
                    let old = std::fs::read(path(tier))?;
                    let old = old.chunks(8).map(|x| f64::from_le_bytes(x.try_into().unwrap()));
                    let e = values.iter().zip(old).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    errors.insert(tier, e);
                    error = error.max(e);
                }
                None => {}
            }
            Ok(())
        };
        let start = Instant::now();
        let summary =
            solve(&encoding, &settings, &Cancelled::new(false), &mut tell, &mut store).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        if verbose {
            for (i, step) in plan.steps.iter().enumerate() {
                let r = &trace[&i];
                let n = r.len();
                let rates: Vec<String> = r.iter().map(|x| format!("{x:.0e}")).collect();
                println!(
                    "  {:?} {} positions {n} supersteps rate {:.3} f32 {} error {:.1e} estimate {:.1e}  {}",
                    step.tier,
                    step.positions,
                    (r[n - 1] / r[n.saturating_sub(9)]).powf(0.125),
                    estimates[&step.tier].1,
                    errors.get(&step.tier).unwrap_or(&0.0),
                    estimates[&step.tier].0,
                    if std::env::var("V").unwrap() == "2" {
                        rates.join(" ")
                    } else {
                        String::new()
                    }
                );
            }
        }
        let average = summary.positions_swept as f64 / plan.positions as f64;
        println!(
            "{name} {pieces}: {average:.2} sweeps {:.2} equivalents, {seconds:.1} s, last step {}, error {error:.1e}",
            equivalents / plan.positions as f64,
            summary.tiers.last().unwrap().1.supersteps
        );
    }
}
