//! `ziggurat plan`: what a solve would do and need, without doing it.

mod scale;

use std::path::{Path, PathBuf};

use serde_json::json;
use ziggurat_encoding::Encoding;
use ziggurat_kernel::{Arrays, Precision, Settings, Step};

use crate::{
    failure::{Exit, Failure},
    job::JobArgs,
    needs::Needs,
    output::{bytes, columns, duration, game, grouped, print, print_json},
    resources,
};

/// Print the steps of a solve, and the memory and disk it would take
///
/// With --memory, refuse what `solve` would refuse. With --dir as well, what does not fit would be there: print what moves
/// between memory and disk, too. With --cores, print how much faster so many are than one, and with --workers, what a
/// cluster gives: by the model of docs/experiments/scale.md, from the units that would be swept.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    job: JobArgs,

    /// Memory the whole process may use, such as 2GiB
    #[arg(long, value_name = "SIZE", value_parser = resources::parse_size)]
    memory: Option<u64>,

    /// A directory that the solve would have, for what does not fit memory; nothing is written there
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    #[command(flatten)]
    scale: scale::ScaleArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a solve takes per position and thread, all supersteps and the proof included, in seconds: as measured, see
/// `docs/BENCHMARKS.md`. Games are longer where players come by a square twice, and a superstep takes longer where no
/// square is private.
const POSITION_SECONDS: f64 = 0.5e-6;
const POSITION_SECONDS_OF_LAPS: f64 = 2e-6;
const POSITION_SECONDS_WITHOUT_PRIVATE_SQUARES: f64 = 4.5e-6;

/// How much longer it takes in `f32`, and with arrays in files: likewise.
const IN_F32: f64 = 0.5;
const IN_FILES: f64 = 2.0;

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let encoding = args.job.encoding()?;
    let settings = args.job.settings();
    let needs = args.job.needs(&encoding);
    let arrays = needs.arrange(args.memory, None, args.dir.is_some())?;
    let traffic = Traffic { settings: &settings, arrays };
    let seconds = traffic.seconds(&encoding, &needs);
    let scale = args.scale.scale(&encoding, &settings);
    if args.json {
        let disk = needs.disk(arrays);
        let disk_bytes = if args.dir.is_some() { disk.bytes() } else { needs.table_bytes };
        let mut planned = json!({
            "ruleset": encoding.ruleset().name(),
            "pieces": encoding.ruleset().pieces(),
            "positions": needs.plan.positions,
            "memory_bytes": needs.memory_in(arrays),
            "in_memory_bytes": needs.sparing_memory_bytes,
            "least_memory_bytes": needs.least_memory_bytes,
            "disk_bytes": disk_bytes,
            "table_bytes": needs.table_bytes,
            "store_bytes": disk.store_bytes,
            "scratch_bytes": disk.scratch_bytes,
            "arrays": if arrays.are_in_files() { "files" } else { "memory" },
            "seconds": seconds,
            "steps": needs.plan.steps.iter().map(|step| json!({
                "tier": step.tier.to_string(), "positions": step.positions, "shards": step.shards,
                "read_bytes": traffic.read(step), "written_bytes": traffic.written(step),
            })).collect::<Vec<_>>(),
        });
        if let Some(scale) = scale {
            planned["scale"] = scale.json();
        }
        print_json(&planned)?;
    } else {
        let scale = scale.map_or_else(String::new, |scale| scale.text());
        let plan = text(&encoding, &needs, &traffic, seconds, args.dir.as_deref());
        print(&format!("{plan}{scale}"))?;
    }
    Ok(Exit::Success)
}

/// What goes between memory and disk.
struct Traffic<'a> {
    settings: &'a Settings,
    arrays: Arrays,
}

impl Traffic<'_> {
    fn value_bytes(&self) -> u64 {
        self.settings.precision.bytes() as u64
    }

    /// Bytes that a superstep reads if nothing stays in memory: the values of the step, and of the
    /// tiers it reads, which are about as many.
    fn read(&self, step: &Step) -> u64 {
        if self.arrays.are_in_files() { 2 * step.positions * self.value_bytes() } else { 0 }
    }

    /// Bytes that a superstep changes: the values, and a byte for each difference.
    fn written(&self, step: &Step) -> u64 {
        if self.arrays.are_in_files() { step.positions * (self.value_bytes() + 1) } else { 0 }
    }

    /// About how long the solve takes.
    fn seconds(&self, encoding: &Encoding, needs: &Needs) -> f64 {
        let of_position = if encoding.private().positions() == 0 {
            POSITION_SECONDS_WITHOUT_PRIVATE_SQUARES
        } else if encoding.geometry().visits_squares_again() {
            POSITION_SECONDS_OF_LAPS
        } else {
            POSITION_SECONDS
        };
        let precision = if self.settings.precision == Precision::F32 { IN_F32 } else { 1.0 };
        let in_files = if self.arrays.are_in_files() { IN_FILES } else { 1.0 };
        needs.plan.positions as f64 * of_position / needs.threads as f64 * precision * in_files
    }
}

fn text(
    encoding: &Encoding,
    needs: &Needs,
    traffic: &Traffic<'_>,
    seconds: f64,
    dir: Option<&Path>,
) -> String {
    let in_files = traffic.arrays.are_in_files();
    let mut header = vec!["  step", "tiers", "positions", "shards"];
    if in_files {
        header.extend(["read", "written"]);
    }
    let mut rows = vec![header.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    rows.extend(needs.plan.steps.iter().enumerate().map(|(i, step)| {
        let (tier, swap) = (step.tier, step.tier.swap());
        let tiers = if tier == swap { tier.to_string() } else { format!("{tier}, {swap}") };
        let shards = grouped(step.shards as u128);
        let mut row = vec![format!("  {}", i + 1), tiers, grouped(step.positions), shards];
        if in_files {
            row.extend([bytes(traffic.read(step)), bytes(traffic.written(step))]);
        }
        row
    }));
    let explained = if in_files { "\nread, written: at most, per superstep\n" } else { "" };
    let disk = needs.disk(traffic.arrays);
    let spared = needs.sparing_memory_bytes;
    let tables = match traffic.arrays {
        Arrays::InMemory if spared < needs.memory_bytes => {
            format!(" ({} without tables that save time)", bytes(spared))
        }
        _ => String::new(),
    };
    let memory = match traffic.arrays {
        Arrays::InFiles { budget } => format!(
            "{} of memory, and {} on disk at the most: {} of the table, which will have {}, {} written\n\
             down, {} for arrays that would take {} of memory",
            bytes(budget),
            bytes(disk.bytes()),
            bytes(disk.table_bytes),
            bytes(needs.table_bytes),
            bytes(disk.store_bytes),
            bytes(disk.scratch_bytes),
            bytes(needs.sparing_memory_bytes),
        ),
        arrays if let Some(dir) = dir => format!(
            "At most {} of memory, and {} in {} until the table is there, of about {}",
            bytes(needs.memory_in(arrays)),
            bytes(disk.bytes()),
            dir.display(),
            bytes(needs.table_bytes),
        ),
        arrays => {
            let less = match needs.least_memory_bytes {
                least if least < needs.sparing_memory_bytes => {
                    format!(",\nand then as little as {} of memory (--memory)", bytes(least))
                }
                _ => String::new(),
            };
            format!(
                "At most {} of memory{}, about {} on disk; in a directory (--dir) {} until then{less}",
                bytes(needs.memory_in(arrays)),
                tables,
                bytes(needs.table_bytes),
                bytes(disk.bytes()),
            )
        }
    };
    format!(
        "{}: {} undecided positions in {} steps\n\n{}{explained}\n{memory}\n\
         Very roughly {} with {}\n",
        game(encoding.ruleset()),
        grouped(needs.plan.positions),
        needs.plan.steps.len(),
        columns(&rows),
        duration(seconds),
        match needs.threads {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        },
    )
}
