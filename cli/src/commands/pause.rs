//! `ziggurat pause`: stops a job of a cluster for a while.

use ziggurat_rpc::proto::JobRequest;

use crate::{
    cluster::{client::Coordinator, flags::CoordinatorArgs, words},
    failure::{Exit, Failure},
    output::{print, print_json},
    program_name,
};

/// Stop a job of a cluster for a while: it keeps what it has saved, its workers are free
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
    let status = coordinator.ask(|mut jobs| async move { jobs.pause(JobRequest { job }).await })?;
    if json {
        print_json(&words::job_json(&status))?;
    } else {
        let (name, program) = (&status.name, program_name());
        print(&format!("Job {job}, {name}, is paused; go on with it: {program} resume {job}\n"))?;
    }
    Ok(Exit::Success)
}
