//! `ziggurat pause`: stops a job of a cluster for a while.

use ziggurat_rpc::proto::JobRequest;

use crate::{
    cluster::one_job::JobArgs,
    failure::{Exit, Failure},
    program_name,
};

/// Stop a job of a cluster for a while: it keeps what it has saved, its workers are free
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    of: JobArgs,
}

/// Runs the command.
pub fn run(Args { of }: &Args) -> Result<Exit, Failure> {
    let job = of.job;
    of.change(
        |mut jobs| async move { jobs.pause(JobRequest { job }).await },
        |_| format!("paused; go on with it: {} resume {job}", program_name()),
    )
}
