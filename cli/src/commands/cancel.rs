//! `ziggurat cancel`: ends a job of a cluster for good.

use ziggurat_rpc::proto::JobRequest;

use crate::{
    cluster::one_job::JobArgs,
    failure::{Exit, Failure},
};

/// End a job of a cluster for good: its workers drop all they have of it
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    of: JobArgs,
}

/// Runs the command.
pub fn run(Args { of }: &Args) -> Result<Exit, Failure> {
    let job = of.job;
    of.change(
        |mut jobs| async move { jobs.cancel(JobRequest { job }).await },
        |_| "cancelled".to_owned(),
    )
}
