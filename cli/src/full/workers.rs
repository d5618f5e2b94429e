//! `ziggurat workers`: the workers of a cluster.

use serde_json::{Value, json};
use ziggurat_rpc::proto::WorkersRequest;

use crate::{
    cluster::{client::Coordinator, flags::CoordinatorArgs, words},
    failure::{Exit, Failure},
    output::{print, print_json},
};

/// List the workers of a cluster: those that are connected, and those that are away and have saved values
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
    let reply = coordinator.ask(|mut jobs| async move { jobs.workers(WorkersRequest {}).await })?;
    if args.json {
        let workers: Vec<Value> = reply.workers.iter().map(words::worker_json).collect();
        print_json(&json!({ "workers": workers }))?;
    } else if reply.workers.is_empty() {
        print("There are no workers.\n")?;
    } else {
        print(&words::workers_table(&reply.workers))?;
    }
    Ok(Exit::Success)
}
