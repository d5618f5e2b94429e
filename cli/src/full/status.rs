//! `ziggurat status`: how far a job of a cluster is, or a solve in a directory from what it wrote down
//! last.

use std::{
    io,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use ziggurat_game::Ruleset;
use ziggurat_rpc::proto::JobRequest;
use ziggurat_table::AnyTable;
use ziggurat_worker::{Manifest, Progress, holds_job, is_running, progress_of};

use super::directory::holds_no_solve;
use crate::{
    cluster::{client::Coordinator, flags::CoordinatorArgs, words},
    failure::{Exit, Explain, Failure},
    needs::value_type_of,
    output::{bound, bytes, columns, duration, grouped, print, print_json, typed},
    program_name,
    target::JobOrPath,
};

/// Print how far a job of a cluster is, or a solve in a directory, whether it is running or not
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The job's number, or the directory of the solve (`./7` if its name is a number)
    #[arg(value_name = "JOB|DIR")]
    target: JobOrPath,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.target {
        JobOrPath::Job(job) => of_job(args, *job),
        JobOrPath::Path(dir) => of_directory(args, dir),
    }
}

fn of_job(args: &Args, job: u64) -> Result<Exit, Failure> {
    let coordinator = Coordinator::new(&args.coordinator)?;
    let status =
        coordinator.ask(|mut jobs| async move { jobs.status(JobRequest { job }).await })?;
    if args.json {
        print_json(&words::status_json(&status))?;
    } else {
        print(&words::status_text(&status))?;
    }
    Ok(Exit::Success)
}

fn of_directory(args: &Args, dir: &Path) -> Result<Exit, Failure> {
    let progress = progress_in(dir)?;
    let running = is_running(dir)
        .context(format!("cannot tell whether anybody works on {}", dir.display()))?;
    if args.json {
        print_json(&as_json(&progress, running))?
    } else {
        print(&text(&progress, dir, running))?
    }
    Ok(Exit::Success)
}

fn progress_in(dir: &Path) -> Result<Progress, Failure> {
    let unread = format!("cannot read the progress of {}", dir.display());
    let unwritten = match progress_of(dir) {
        Ok(Some(progress)) => return Ok(progress),
        Err(error) if error.kind() != io::ErrorKind::InvalidData => {
            return Err(error).context(unread);
        }
        Ok(None) => Failure::of(Exit::Failed, format!("{} has no progress.json", dir.display())),
        Err(error) => Failure::of(Exit::Failed, format!("{unread}: {error}")),
    };
    if !holds_job(dir).context(format!("cannot look into {}", dir.display()))? {
        return Err(holds_no_solve(dir));
    }
    Err(unwritten.help(format!(
        "go on with the solve, which writes it again: {program} resume {dir}; if that finds none, it was \
         killed before there was one: give {dir} to `solve --dir` again",
        program = program_name(),
        dir = typed(dir)
    )))
}

/// Whether a file is a table of the game that is solved.
fn is_table_of(file: &Path, job: &Manifest) -> bool {
    AnyTable::open(file).is_ok_and(|table| table.ruleset().to_toml() == job.ruleset)
}

/// A solve for machines.
fn as_json(progress: &Progress, running: bool) -> Value {
    let job = &progress.job;
    let ruleset = Ruleset::from_toml(&job.ruleset, "progress.json").ok();
    json!({
        "ruleset": ruleset.as_ref().map(|ruleset| ruleset.name().to_owned()),
        "pieces": ruleset.as_ref().map(Ruleset::pieces),
        "ruleset_toml": job.ruleset,
        "precision": value_type_of(job.precision),
        "tolerance": job.tolerance,
        "certified": job.certified,
        "shard_positions": job.shard_positions,
        "value_type": job.value_type,
        "raw": job.raw,
        "file": job.out,
        "replace": job.replace,
        "running": running,
        "process": progress.process,
        "written": progress.written,
        "positions": progress.positions,
        "solved_positions": progress.positions_solved,
        "disk_bytes": progress.disk_bytes,
        "bytes_per_value": progress.bytes_per_value,
        "write_amplification": progress.write_amplification,
        "steps": progress.steps.iter().map(|step| json!({
            "tier": step.tier,
            "positions": step.positions,
            "shards": step.shards,
            "solved": step.solved,
            "supersteps": step.statistics.map(|made| made.supersteps),
            "supersteps_in_f32": step.statistics.map(|made| made.supersteps_in_f32),
            "residual": step.statistics.map(|made| made.residual),
            "error_estimate": step.statistics.map(|made| made.error_estimate),
            "certificate": step.statistics.and_then(|made| Some(made.certificate?.bound)),
            "sweeps": step.statistics.and_then(|made| Some(made.certificate?.sweeps)),
        })).collect::<Vec<_>>(),
    })
}

fn text(progress: &Progress, dir: &Path, running: bool) -> String {
    let header = ["  step", "tiers", "positions", "shards", "supersteps", "residual", "proven"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(progress.steps.iter().enumerate().map(|(i, step)| {
        let (supersteps, residual) = step.statistics.map_or_else(Default::default, |made| {
            (made.supersteps.to_string(), format!("{:.1e}", made.residual))
        });
        let proven = step.statistics.and_then(|made| made.certificate);
        let proven = match proven {
            Some(certificate) => bound(certificate.bound),
            None if step.solved => "solved".to_owned(),
            None => String::new(),
        };
        vec![
            format!("  {}", i + 1),
            step.tier.clone(),
            grouped(step.positions),
            grouped(step.shards as u128),
            supersteps,
            residual,
            proven,
        ]
    }));
    let solved = progress.steps.iter().filter(|step| step.solved).count();
    let out = &progress.job.out;
    let state = match running {
        true => format!("Running: process {}, for {}", progress.process, out.display()),
        false if solved == progress.steps.len() && is_table_of(out, &progress.job) => {
            format!("Solved: the table is in {}", out.display())
        }
        false if solved == progress.steps.len() => format!(
            "All steps are solved, and {} is not their table; write it anew: {} resume {}",
            out.display(),
            program_name(),
            typed(dir)
        ),
        false => format!("Not running; go on with it: {} resume {}", program_name(), typed(dir)),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    format!(
        "{} of {} steps are solved, {} of {} positions\n\n{}\n\
         {} on disk, {:.2} bytes per value{}\n\
         {state}\nWritten down {} ago\n",
        solved,
        progress.steps.len(),
        grouped(progress.positions_solved),
        grouped(progress.positions),
        columns(&rows),
        bytes(progress.disk_bytes),
        progress.bytes_per_value,
        progress.write_amplification.map_or_else(String::new, |written| format!(
            "; {written:.3} bytes written per byte of values"
        )),
        duration(now.as_secs().saturating_sub(progress.written) as f64),
    )
}
