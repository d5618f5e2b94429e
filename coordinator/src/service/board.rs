//! What a page in the coordinator's own process can see of it, and have done.

use tonic::Status;
use ziggurat_history::History;
use ziggurat_rpc::proto::{ClusterStatus, JobStatus, ListReply, WorkerStatus};

use super::{actor::Handle, jobs::no_such, status};
use crate::machine::{Changed, Event, JobId};

/// A coordinator, as a page sees it. Copies are of the same one.
#[derive(Clone)]
pub struct Board {
    actor: Handle,
}

/// What is done about a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobChange {
    /// It stops for a while.
    Pause,
    /// It goes on.
    Resume,
    /// It ends for good; a solved one does not.
    Cancel,
}

impl Board {
    pub(super) fn new(actor: Handle) -> Self {
        Self { actor }
    }

    /// All jobs.
    ///
    /// # Errors
    /// If the coordinator ends.
    pub async fn jobs(&self) -> Result<ListReply, Status> {
        self.actor.look(|machine, _| status::list(machine)).await
    }

    /// All workers: those that are connected, and those that are away and have saved values.
    ///
    /// # Errors
    /// If the coordinator ends.
    pub async fn workers(&self) -> Result<Vec<WorkerStatus>, Status> {
        self.actor.look(status::workers).await
    }

    /// A job with its steps, and all workers.
    ///
    /// # Errors
    /// If there is no such job, or the coordinator ends.
    pub async fn job(&self, job: u64) -> Result<ClusterStatus, Status> {
        let job = JobId(job);
        let look = self.actor.look(move |machine, now| status::cluster(machine, job, now));
        look.await?.ok_or_else(|| no_such(job))
    }

    /// What has become of a job.
    ///
    /// # Errors
    /// If there is no such job, or the coordinator ends.
    pub async fn history(&self, job: u64) -> Result<History, Status> {
        let job = JobId(job);
        self.actor.history(job).await?.ok_or_else(|| no_such(job))
    }

    /// Has something done about a job, in the name of somebody. Returns the job as it is then.
    ///
    /// # Errors
    /// If there is no such job, it is not in the state for that, or the coordinator ends.
    pub async fn change(
        &self,
        job: u64,
        change: JobChange,
        by: String,
    ) -> Result<JobStatus, Status> {
        let job = JobId(job);
        let event = match change {
            JobChange::Pause => Event::Pause(job),
            JobChange::Resume => Event::Resume(job),
            JobChange::Cancel => Event::Cancel { job, force: false },
        };
        match self.actor.ask(event, by).await? {
            Changed::Job(job) => {
                let status = self.actor.look(move |machine, _| status::job(machine, job)).await?;
                status.ok_or_else(|| no_such(job))
            }
            Changed::Worker(_) => Err(Status::internal("the answer is about a worker")),
        }
    }
}
