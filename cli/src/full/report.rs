//! `ziggurat report`: the page of one job as a file of its own.

use std::path::{Path, PathBuf};

use serde_json::Value;
use ziggurat_history::History;
use ziggurat_rpc::proto::JobRequest;
use ziggurat_web::dashboard::report;

use super::{
    dashboard::{history_json, told},
    solved_alone,
};
use crate::{
    cluster::{client::Coordinator, flags::CoordinatorArgs, following::Following},
    failure::{Exit, Failure},
    output::{note, write_whole},
    target::JobOrPath,
};

/// Write the page of one job, or of a solve in a directory, as one file: what the dashboard shows of it
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The job's number, or the directory of the solve (`./7` if its name is a number)
    #[arg(value_name = "JOB|DIR")]
    target: JobOrPath,

    /// The file to write
    #[arg(long, value_name = "FILE")]
    html: PathBuf,

    /// Replace the file if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let (status, history) = match &args.target {
        JobOrPath::Job(job) => of_job(args, *job)?,
        JobOrPath::Path(dir) => of_directory(dir)?,
    };
    write_whole(&args.html, args.force, &report(&status, &history))?;
    note!("The report is in {}", args.html.display());
    Ok(Exit::Success)
}

fn of_job(args: &Args, job: u64) -> Result<(Value, Value), Failure> {
    let coordinator = Coordinator::new(&args.coordinator)?;
    let request = JobRequest { job };
    let status = coordinator.ask(|mut jobs| async move { jobs.status(request).await })?;
    let history = coordinator.ask(|mut jobs| async move { jobs.history(request).await })?;
    let mut following = Following::new(coordinator.address());
    following.hear(status);
    Ok((told(&following), history_json(&History::from(history))))
}

fn of_directory(dir: &Path) -> Result<(Value, Value), Failure> {
    let (status, history) = solved_alone::in_directory(dir)?;
    Ok((status, history_json(&history)))
}
