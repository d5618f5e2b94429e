//! What the commands about one job share: its number, and what those print that change it.

use tonic::{Response, Status};
use ziggurat_rpc::{JobsClient, proto::JobStatus};

use super::{client::Coordinator, flags::CoordinatorArgs, words};
use crate::{
    failure::{Exit, Failure},
    output::{one_line, print, print_json},
};

/// The arguments of a command about a job of a cluster.
#[derive(clap::Args, Debug)]
pub struct JobArgs {
    /// The job's number
    #[arg(value_name = "JOB")]
    pub job: u64,

    /// Print JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub coordinator: CoordinatorArgs,
}

impl JobArgs {
    /// Changes the job, and says what has become of it: "Job 3, NAME, ...".
    ///
    /// # Errors
    /// If the coordinator refuses, or cannot be reached.
    pub fn change<F>(
        &self,
        call: impl Fn(JobsClient) -> F,
        outcome: impl FnOnce(&JobStatus) -> String,
    ) -> Result<Exit, Failure>
    where
        F: Future<Output = Result<Response<JobStatus>, Status>>,
    {
        change(&self.coordinator, self.json, call, outcome)
    }
}

/// Changes a job, and says what has become of it.
///
/// # Errors
/// If the coordinator refuses, or cannot be reached.
pub fn change<F>(
    coordinator: &CoordinatorArgs,
    json: bool,
    call: impl Fn(JobsClient) -> F,
    outcome: impl FnOnce(&JobStatus) -> String,
) -> Result<Exit, Failure>
where
    F: Future<Output = Result<Response<JobStatus>, Status>>,
{
    let status = Coordinator::new(coordinator)?.ask(call)?;
    if json {
        print_json(&words::job_json(&status))?;
    } else {
        print(&format!(
            "Job {}, {}, is {}\n",
            status.job,
            one_line(&status.name),
            outcome(&status)
        ))?;
    }
    Ok(Exit::Success)
}
