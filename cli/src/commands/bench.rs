//! `ziggurat bench`: what solving costs on this machine, and what the rival costs on it.
//!
//! The unit is the nanosecond per position-sweep and core: wall time, times the threads, over the
//! number of values that were computed. The rival is a sweep over a precomputed successor table,
//! the published state of the art: see `ziggurat_reference::baseline`.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use serde_json::json;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Overrides, Position, Ruleset};
use ziggurat_kernel::{
    Cancelled, Plan, Precision, Settings, Step, Summary, Surroundings, TierValues, plan, solve,
    thread_count, time_supersteps,
};
use ziggurat_reference::baseline::{Baseline, Design};

use crate::{
    failure::{Exit, Explain, Failure},
    interrupt,
    job::threads,
    needs::check_available,
    output::{bytes, columns, duration, game, grouped, print, print_json, short},
    progress::Progress,
    resources, suggested,
};

/// What is solved if nothing is asked for: games of 6.2 and 14.7 million positions, which take
/// seconds.
const DEFAULTS: [(&str, u8); 2] = [("blitz", 4), ("finkel", 5)];

/// The rivals, and what they are called.
const RIVALS: [(Design, &str); 2] = [
    (Design::Published, "successor table as published"),
    (Design::Compact, "compact successor table"),
];

/// Sweeps of the kernel and of a rival, in f64: some before the clock starts, so that values are
/// varied, and some timed.
const SWEEPS: (u32, u32) = (3, 5);

/// The most memory a rival takes, in bytes: for every position of the step, the table and what it
/// is made from; for every position of the game, a value, and its place by key.
const RIVAL_BYTES: (u64, u64) = (160, 32);

/// Measure what solving costs on this machine, in nanoseconds per position-sweep and core
///
/// Solves blitz with 4 pieces and finkel with 5, or the rulesets that are named, and writes no
/// table.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Names of built-in rulesets (see `ziggurat rulesets list`)
    #[arg(value_name = "RULESET", value_parser = suggested::RULESETS, hide_possible_values = true)]
    rulesets: Vec<String>,

    /// Pieces per player, 1 to 15 [default: as many as the ruleset has]
    #[arg(long, value_name = "N")]
    pieces: Option<u8>,

    /// Threads to solve with; 0 is one per core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads())]
    threads: usize,

    /// Compare with sweeps over a precomputed successor table of the largest step
    #[arg(long)]
    baseline: bool,

    /// Print a line of JSON for each ruleset
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    // A name that is wrong is told before the first solve.
    let games = games(args)?;
    let threads = thread_count(args.threads);
    interrupt::end_on_interrupt(interrupt::INTERRUPTED)?;
    for (i, encoding) in games.iter().enumerate() {
        let report = measure(encoding, threads, args)?;
        if args.json {
            print_json(&report.json(encoding))?;
        } else {
            print(&format!("{}{}", if i > 0 { "\n" } else { "" }, report.text(encoding)))?;
        }
    }
    Ok(Exit::Success)
}

/// The games to solve.
fn games(args: &Args) -> Result<Vec<Encoding>, Failure> {
    let named: Vec<(&str, Option<u8>)> = if args.rulesets.is_empty() {
        DEFAULTS.map(|(name, pieces)| (name, Some(pieces))).to_vec()
    } else {
        args.rulesets.iter().map(|name| (name.as_str(), None)).collect()
    };
    named
        .into_iter()
        .map(|(name, pieces)| {
            let overrides = Overrides { pieces: args.pieces.or(pieces), ..Overrides::default() };
            let ruleset = Ruleset::find(name).or_bad_input()?.with(&overrides).or_bad_input()?;
            Encoding::new(&ruleset).or_bad_input()
        })
        .collect()
}

/// What was measured on one game.
struct Report {
    threads: usize,
    wall: Duration,
    summary: Summary,
    /// The largest step, and how long the timed supersteps took.
    largest: (Step, Duration),
    /// The most memory the process had at once, if the system says.
    peak_memory_bytes: Option<u64>,
    rivals: Vec<Rival>,
}

/// What was measured on a rival, on the largest step.
struct Rival {
    name: &'static str,
    table_bytes_per_position: f64,
    nanoseconds: f64,
}

/// Solves a game, and sweeps the rivals on its largest step.
fn measure(encoding: &Encoding, threads: usize, args: &Args) -> Result<Report, Failure> {
    let with_rivals = args.baseline;
    let settings = Settings { threads, ..Settings::new(Precision::F64) };
    let plan = plan(encoding, &settings);
    let largest = plan.steps.iter().max_by_key(|step| step.positions).expect("a game has a step");
    check_memory(encoding, &plan, with_rivals.then_some(largest))?;

    // The rivals read what the kernel has solved.
    let reads = |tier: Tier| with_rivals && tier.level() + 1 == largest.tier.level();
    let mut lower = BTreeMap::new();
    // Machines read the reports alone.
    let new_progress = || Progress::new(&plan, encoding.ruleset(), &settings, false);
    let mut progress = (!args.json).then(new_progress);
    reset_peak_memory();
    let begin = Instant::now();
    let summary = solve(
        encoding,
        &settings,
        Surroundings::in_memory(&Cancelled::new(false)),
        &mut |event| {
            if let Some(progress) = &mut progress {
                progress.tell(event);
            }
        },
        &mut |tier, _, values| {
            if let (true, TierValues::F64(values)) = (reads(tier), values) {
                lower.insert(tier, values.to_vec());
            }
            Ok(())
        },
    )?;
    let wall = begin.elapsed();
    drop(progress);
    let peak_memory_bytes = resources::peak_memory_bytes();
    let mut rivals = Vec::new();
    if with_rivals {
        let lower = |position: &Position| {
            let index = encoding.rank(position);
            0.5 - lower[&index.tier][index.offset as usize]
        };
        for (design, name) in RIVALS {
            rivals.push(measure_rival(encoding, largest.tier, design, name, lower, threads)?);
        }
    }
    let (before, timed) = SWEEPS;
    let times = time_supersteps(encoding, &settings, largest.tier, before + timed)?;
    let largest = (largest.clone(), times[before as usize..].iter().sum());
    Ok(Report { threads, wall, summary, largest, peak_memory_bytes, rivals })
}

/// Builds a rival's table and sweeps it.
fn measure_rival(
    encoding: &Encoding,
    tier: Tier,
    design: Design,
    name: &'static str,
    lower: impl Fn(&Position) -> f64,
    threads: usize,
) -> Result<Rival, Failure> {
    let mut baseline = Baseline::new(encoding, tier, design, lower, threads).or_bad_input()?;
    let (before, timed) = SWEEPS;
    for _ in 0..before {
        baseline.sweep(threads);
    }
    let begin = Instant::now();
    for _ in 0..timed {
        baseline.sweep(threads);
    }
    let updates = baseline.positions() * u64::from(timed);
    Ok(Rival {
        name,
        table_bytes_per_position: baseline.table_bytes() as f64 / baseline.positions() as f64,
        nanoseconds: nanoseconds(begin.elapsed(), threads, updates),
    })
}

/// Per position-sweep and core.
fn nanoseconds(wall: Duration, threads: usize, updates: u64) -> f64 {
    wall.as_nanos() as f64 * threads as f64 / updates as f64
}

/// Refuses what would not fit: the solve, and the successor table of the largest step.
fn check_memory(encoding: &Encoding, plan: &Plan, step: Option<&Step>) -> Result<(), Failure> {
    let rival = step.map_or(0, |step| {
        let (of_step, of_game) = RIVAL_BYTES;
        of_step * step.positions + of_game * plan.positions
    });
    let need = plan.memory.peak_bytes.max(rival);
    let what = format!("measuring {}", game(encoding.ruleset()));
    check_available(&what, need).or_help(match step {
        Some(_) => "try fewer pieces (--pieces N), or without --baseline",
        None => "try fewer pieces (--pieces N) or fewer threads (--threads N)",
    })
}

/// Makes the peak that of now. Where the system does not allow it, the peak is that of all games
/// so far.
fn reset_peak_memory() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

impl Report {
    /// Of the whole solve.
    fn nanoseconds(&self) -> f64 {
        nanoseconds(self.wall, self.threads, self.summary.swept_positions)
    }

    fn nanoseconds_of_largest(&self) -> f64 {
        let (step, wall) = &self.largest;
        let updates = step.positions * u64::from(SWEEPS.1);
        nanoseconds(*wall, self.threads, updates)
    }

    fn supersteps_of_largest(&self) -> u32 {
        let made = self.summary.tiers.iter().find(|(tier, _)| *tier == self.largest.0.tier);
        made.map_or(0, |(_, made)| made.supersteps)
    }

    /// Supersteps per step, each step weighing the same.
    fn mean_supersteps(&self) -> f64 {
        let steps =
            || self.summary.tiers.iter().filter(|(tier, _)| tier.just_moved >= tier.to_move);
        let sum: f64 = steps().map(|(_, made)| f64::from(made.supersteps)).sum();
        sum / steps().count() as f64
    }

    /// For a person.
    fn text(&self, encoding: &Encoding) -> String {
        let (step, _) = &self.largest;
        let rate = self.summary.swept_positions as f64 / self.wall.as_secs_f64();
        let mut text = format!(
            "{}, {} undecided positions, {} {}\n",
            game(encoding.ruleset()),
            grouped(encoding.undecided()),
            self.threads,
            if self.threads == 1 { "thread" } else { "threads" },
        );
        text += &format!(
            "  solved in {}, sweeping {} positions per second{}\n",
            duration(self.wall.as_secs_f64()),
            short(rate),
            self.peak_memory_bytes
                .map_or(String::new(), |peak| format!(", at most {} of memory", bytes(peak))),
        );
        text += &format!(
            "  {} supersteps in the largest tier ({}), {:.1} in a tier on average\n\n",
            self.supersteps_of_largest(),
            step.tier,
            self.mean_supersteps(),
        );
        let largest = self.nanoseconds_of_largest();
        let mut rows = vec![
            row("  ns per position-sweep and core", "", "", ""),
            row("  kernel, whole solve", &format!("{:.1}", self.nanoseconds()), "", ""),
            row("  kernel, largest tier", &format!("{largest:.1}"), "", ""),
        ];
        rows.extend(self.rivals.iter().map(|rival| {
            row(
                &format!("  {}, largest tier", rival.name),
                &format!("{:.1}", rival.nanoseconds),
                &format!("{:.2} x the kernel", rival.nanoseconds / largest),
                &format!("{:.1} bytes per position", rival.table_bytes_per_position),
            )
        }));
        text + &columns(&rows)
    }

    /// For machines.
    fn json(&self, encoding: &Encoding) -> serde_json::Value {
        let (step, _) = &self.largest;
        let largest = self.nanoseconds_of_largest();
        json!({
            "ruleset": encoding.ruleset().name(),
            "pieces": encoding.ruleset().pieces(),
            "positions": encoding.undecided(),
            "threads": self.threads,
            "seconds": self.wall.as_secs_f64(),
            "swept_positions": self.summary.swept_positions,
            "nanoseconds": self.nanoseconds(),
            "peak_memory_bytes": self.peak_memory_bytes,
            "mean_supersteps": self.mean_supersteps(),
            "tiers": self.summary.tiers.iter().map(|(tier, made)| json!({
                "tier": tier.to_string(), "supersteps": made.supersteps,
            })).collect::<Vec<_>>(),
            "largest": {
                "tier": step.tier.to_string(),
                "positions": step.positions,
                "supersteps": self.supersteps_of_largest(),
                "nanoseconds": largest,
            },
            "baseline": self.rivals.iter().map(|rival| json!({
                "design": rival.name,
                "table_bytes_per_position": rival.table_bytes_per_position,
                "nanoseconds": rival.nanoseconds,
                "ratio": rival.nanoseconds / largest,
            })).collect::<Vec<_>>(),
        })
    }
}

fn row(name: &str, nanoseconds: &str, ratio: &str, table: &str) -> Vec<String> {
    [name, nanoseconds, ratio, table].map(str::to_owned).to_vec()
}
