//! `ziggurat jobs`: the jobs of a cluster.

use serde_json::{Value, json};
use ziggurat_rpc::proto::{ListReply, ListRequest};

use crate::{
    cluster::{client::Coordinator, flags::CoordinatorArgs, words},
    failure::{Exit, Failure},
    output::{note, print, print_json},
    program_name,
};

/// List the jobs of a cluster, in the order they were submitted
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
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
