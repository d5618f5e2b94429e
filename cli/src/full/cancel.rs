//! `ziggurat cancel`: ends a job of a cluster for good.

use ziggurat_rpc::proto::CancelRequest;

use crate::{
    cluster::one_job::JobArgs,
    failure::{Exit, Failure},
};

/// End a job of a cluster for good: its workers drop all they have of it
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Cancel it even if it is solved, and delete its values
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    of: JobArgs,
}

/// Runs the command.
pub fn run(&Args { force, ref of }: &Args) -> Result<Exit, Failure> {
    let job = of.job;
    of.change(
        |mut jobs| async move { jobs.cancel(CancelRequest { job, force }).await },
        |_| "cancelled".to_owned(),
    )
}
