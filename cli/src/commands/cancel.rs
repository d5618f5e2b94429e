//! `ziggurat cancel`: ends a job of a cluster for good.

use ziggurat_rpc::proto::JobRequest;

use crate::{
    cluster::{client::Coordinator, flags::CoordinatorArgs, words},
    failure::{Exit, Failure},
    output::{print, print_json},
};

/// End a job of a cluster for good: its workers drop all they have of it
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The job's number
    #[arg(value_name = "JOB")]
    job: u64,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let Args { job, json, .. } = *args;
    let coordinator = Coordinator::new(&args.coordinator)?;
    let status =
        coordinator.ask(|mut jobs| async move { jobs.cancel(JobRequest { job }).await })?;
    if json {
        print_json(&words::job_json(&status))?;
    } else {
        print(&format!("Job {job}, {}, is cancelled\n", status.name))?;
    }
    Ok(Exit::Success)
}
