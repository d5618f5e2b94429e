//! `ziggurat jobs`: the jobs of a cluster.

use serde_json::{Value, json};
use ziggurat_rpc::proto::{JobRequest, ListReply, ListRequest};

use crate::{
    cluster::{client::Coordinator, flags::CoordinatorArgs, one_job::JobArgs, words},
    failure::{Exit, Failure},
    output::{note, print, print_json},
    program_name,
};

/// List the jobs of a cluster, in the order they were submitted
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    of_one: Option<OfOne>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// What is done to a job that has ended.
#[derive(clap::Subcommand, Debug)]
enum OfOne {
    /// Remove a job that has ended, with its events and, if it is solved, its values
    Rm(JobArgs),
}

/// Removes a job.
fn remove(&JobArgs { job, json, ref coordinator }: &JobArgs) -> Result<Exit, Failure> {
    Coordinator::new(coordinator)?
        .ask(|mut jobs| async move { jobs.remove(JobRequest { job }).await })?;
    if json {
        print_json(&json!({ "job": job, "state": "removed" }))?;
    } else {
        print(&format!("Job {job} is removed\n"))?;
    }
    Ok(Exit::Success)
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    if let Some(OfOne::Rm(args)) = &args.of_one {
        return remove(args);
    }
    let coordinator = Coordinator::new(&args.coordinator)?;
    let ListReply { jobs, left_out } =
        coordinator.ask(|mut jobs| async move { jobs.list(ListRequest {}).await })?;
    if args.json {
        let jobs: Vec<Value> = jobs.iter().map(words::job_json).collect();
        print_json(&json!({ "jobs": jobs, "left_out": left_out }))?;
    } else {
        if left_out > 0 {
            note!("{left_out} older jobs are left out; `{} status JOB` has them", program_name());
        }
        print(&words::jobs_table(&jobs))?;
    }
    Ok(Exit::Success)
}
