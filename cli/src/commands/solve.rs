//! `ziggurat solve`: solves a ruleset and writes the table.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use serde_json::json;
use ziggurat_encoding::Encoding;
use ziggurat_kernel::{Plan, Settings, SolveError, Summary, Surroundings, TierValues, plan, solve};
use ziggurat_table::{AnyTable, TableWriter, TierStatistics};

use crate::{
    failure::{Exit, Explain, Failure},
    interrupt,
    job::JobArgs,
    output::{bytes, duration, grouped, percent, print, print_json, short},
    program_name,
    progress::Progress,
    resources, showcase,
    target::TargetArgs,
};

/// Solve a ruleset: the chance of winning every position, in a table
///
/// The table is called RULESET-PIECES.zgt, in the current directory, unless --out names it.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    job: JobArgs,

    #[command(flatten)]
    target: TargetArgs,

    /// Memory the solve may use, such as 6GiB [default: what the system has available]
    #[arg(long, value_name = "SIZE", value_parser = resources::parse_size)]
    memory: Option<u64>,

    /// Print progress and result as lines of JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let encoding = args.job.encoding()?;
    let settings = args.job.settings();
    let ruleset = encoding.ruleset();
    let default = || PathBuf::from(format!("{}-{}.zgt", ruleset.name(), ruleset.pieces()));
    let out = args.target.file(default)?;
    let plan = plan(&encoding, &settings);
    let need = Need { memory: args.job.memory_bytes(&plan), disk: args.job.table_bytes(&encoding) };
    announce(args, &encoding, &plan, &need, &out)?;
    need.check(args, &encoding, &out)?;

    let started = Instant::now();
    let summary = solve_into(&out, args, &encoding, &settings, &plan)?;
    let seconds = started.elapsed().as_secs_f64();

    let table = AnyTable::open(&out)?;
    if args.json {
        print_json(&result_json(&encoding, &summary, &out, seconds)?)?;
    } else {
        print(&report(&table, &summary, &out, seconds)?)?;
    }
    match table_bound(&summary).filter(|bound| *bound > settings.tolerance * (1.0 + 1e-9)) {
        None => Ok(Exit::Success),
        Some(bound) => Err(Failure::of(
            Exit::Failed,
            format!(
                "the table is complete, but its values are proven to {bound:.1e} only, not to {:e}",
                settings.tolerance
            ),
        )
        .help("rounding allows no less; ask for a larger --tolerance, or for --precision f64")),
    }
}

/// What is proven of all values; `None` if nothing is.
fn table_bound(summary: &Summary) -> Option<f64> {
    let bounds = summary.tiers.iter().map(|(_, made)| Some(made.certificate?.bound));
    bounds.reduce(|largest, bound| Some(largest?.max(bound?))).flatten()
}

/// What a solve takes, in bytes.
struct Need {
    memory: u64,
    disk: u64,
}

impl Need {
    /// Refuses a solve that would not fit.
    fn check(&self, args: &Args, encoding: &Encoding, out: &Path) -> Result<(), Failure> {
        let ruleset = encoding.ruleset();
        let what = format!("solving {} with {} pieces", ruleset.name(), ruleset.pieces());
        let memory = args.memory.or_else(resources::available_memory_bytes);
        if let Some(available) = memory.filter(|available| *available < self.memory) {
            let allowed = match args.memory {
                Some(_) => format!("--memory allows {}", bytes(available)),
                None => format!("{} is available", bytes(available)),
            };
            return Err(Failure::refused(format!(
                "{what} takes {} of memory; {allowed}",
                bytes(self.memory)
            ))
            .help("try fewer pieces (--pieces N), half the digits (--precision f32), or a machine with more memory"));
        }
        let directory = resources::directory_of(out);
        let free = resources::free_disk_bytes(out)
            .context(format!("cannot tell how much disk is free in {}", directory.display()))?;
        if free < self.disk {
            return Err(Failure::refused(format!(
                "{what} takes about {} of disk; {} is free in {}",
                bytes(self.disk),
                bytes(free),
                directory.display()
            ))
            .help("try a smaller type of values (--value-type percent16), or another place (--out FILE)"));
        }
        Ok(())
    }
}

/// Says what is going to happen and what it takes, before it begins.
fn announce(
    args: &Args,
    encoding: &Encoding,
    plan: &Plan,
    need: &Need,
    out: &Path,
) -> Result<(), Failure> {
    let ruleset = encoding.ruleset();
    let available = args.memory.or_else(resources::available_memory_bytes);
    let free = resources::free_disk_bytes(out).ok();
    if args.json {
        return print_json(&json!({
            "event": "planned",
            "ruleset": ruleset.name(),
            "pieces": ruleset.pieces(),
            "positions": plan.positions,
            "steps": plan.steps.len(),
            "memory_bytes": need.memory,
            "memory_available_bytes": available,
            "disk_bytes": need.disk,
            "disk_free_bytes": free,
            "file": out,
        }));
    }
    let of = |amount: Option<u64>, what: &str| {
        amount.map_or(String::new(), |amount| format!(" of {} {what}", bytes(amount)))
    };
    eprintln!(
        "Solving {} with {} pieces: {} undecided positions in {} steps.\n\
         Memory: at most {}{}. Disk: about {}{}, for {}.",
        ruleset.name(),
        ruleset.pieces(),
        grouped(plan.positions),
        plan.steps.len(),
        bytes(need.memory),
        of(available, "available"),
        bytes(need.disk),
        of(free, "free"),
        out.display(),
    );
    Ok(())
}

/// Solves into a table that gets its name when it is complete. Whatever goes wrong before leaves no
/// file behind.
fn solve_into(
    out: &Path,
    args: &Args,
    encoding: &Encoding,
    settings: &Settings,
    plan: &Plan,
) -> Result<Summary, Failure> {
    let interrupted = interrupt::flag_on_interrupt()?;
    let existing = args.target.existing();
    let (value_type, compression) = (args.job.value_type(), args.job.compression());
    let mut writer = TableWriter::create(out, existing, encoding, value_type, compression)?;
    let title = format!("{}, {} pieces", encoding.ruleset().name(), encoding.ruleset().pieces());
    let mut progress = Progress::new(plan, title, settings.tolerance, args.json);
    let result = solve(
        encoding,
        settings,
        Surroundings::in_memory(&interrupted),
        &mut |event| progress.tell(event),
        &mut |tier, made, values| {
            let statistics = TierStatistics {
                supersteps: made.supersteps,
                residual: Some(made.residual),
                certificate: made.certificate.map(|certificate| certificate.bound),
            };
            match values {
                TierValues::F32(values) => writer.write_tier(tier, statistics, values),
                TierValues::F64(values) => writer.write_tier(tier, statistics, values),
            }
            .map_err(Into::into)
        },
    );
    drop(progress); // clears the drawing
    let summary = match result {
        Err(SolveError::Cancelled) => {
            return Err(Failure::of(Exit::Interrupted, interrupt::INTERRUPTED));
        }
        other => other?,
    };
    writer.finish()?;
    Ok(summary)
}

/// The end of a solve for a person: the chance, some positions, what to try next.
fn report(
    table: &AnyTable,
    summary: &Summary,
    out: &Path,
    seconds: f64,
) -> Result<String, Failure> {
    let ruleset = table.ruleset();
    let size = fs::metadata(out).map_or(0, |file| file.len());
    let rate = summary.positions_swept as f64 / seconds.max(1e-9);
    let mut text = format!(
        "\nSolved {} with {} pieces in {}, {} positions per second.\n\n\
         The first player wins {}\n",
        ruleset.name(),
        ruleset.pieces(),
        duration(seconds),
        short(rate),
        percent(summary.first_player_wins),
    );
    if let Some(bound) = table_bound(summary) {
        text += &format!("Proven: no chance is further than {bound:.1e} from the true one\n");
    }
    let decisions = showcase::decisions(table)?;
    if !decisions.is_empty() {
        text += "\nFrom a game between two perfect players:\n";
    }
    for decision in &decisions {
        text += &format!(
            "\n{}\n{}\n\n{}\n{}",
            decision.title,
            ruleset.format_position(&decision.position),
            ruleset.draw_position(&decision.position),
            decision.advice.text(ruleset),
        );
    }
    let position = decisions.last().map(|last| &last.position);
    let position = position.map_or_else(|| "start".to_owned(), |at| ruleset.format_position(at));
    text += &format!(
        "\nThe table is in {} ({}). Try next:\n\n  {} best {} {position}\n",
        out.display(),
        bytes(size),
        program_name(),
        out.display(),
    );
    Ok(text)
}

/// The end of a solve for machines.
fn result_json(
    encoding: &Encoding,
    summary: &Summary,
    out: &Path,
    seconds: f64,
) -> Result<serde_json::Value, Failure> {
    Ok(json!({
        "event": "solved",
        "ruleset": encoding.ruleset().name(),
        "pieces": encoding.ruleset().pieces(),
        "first_player_percent": summary.first_player_wins * 100.0,
        "certificate": table_bound(summary),
        "positions_swept": summary.positions_swept,
        "seconds": seconds,
        "file": out,
        "bytes": fs::metadata(out)?.len(),
        "tiers": summary.tiers.iter().map(|(tier, made)| json!({
            "tier": tier.to_string(), "supersteps": made.supersteps, "residual": made.residual,
            "certificate": made.certificate.map(|certificate| certificate.bound),
        })).collect::<Vec<_>>(),
    }))
}
