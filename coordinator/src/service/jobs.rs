//! The service for people and their programs.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use ziggurat_rpc::{
    Holder, Peer, asker,
    convert::{Submission as Wanted, identity_text, required},
    proto::{
        CancelRequest, ChecksumsReply, ClusterStatus, HistoryReply, JobRequest, JobStatus,
        ListReply, ListRequest, LocateReply, PlanReply, RemoveReply, StepRequest, SubmitReply,
        SubmitRequest, WorkerReply, WorkerRequest, WorkersReply, WorkersRequest, jobs_server::Jobs,
    },
};

use super::{
    actor::Handle,
    convert,
    needs::{Here, plan_reply},
    planning::Planned,
    status,
};
use crate::machine::{Changed, Event, JobId, Phase, Scheduling, StepId, Submission, ended};

/// Watches at the same time.
const WATCHES: usize = 256;

/// The least time between two messages of a watch.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// Messages that a watcher has not read yet.
const UNREAD: usize = 4;

/// Serves people.
pub struct JobsService {
    actor: Handle,
    watches: Arc<Semaphore>,
    ended: CancellationToken,
}

impl JobsService {
    pub fn new(actor: Handle, ended: CancellationToken) -> Self {
        Self { actor, watches: Arc::new(Semaphore::new(WATCHES)), ended }
    }

    /// What a job is, and its plan.
    async fn planned(&self, request: Request<SubmitRequest>) -> Result<(Wanted, Planned), Status> {
        let client = Peer::of(&request).map(|peer| peer.address().ip().to_canonical());
        let wanted = Wanted::try_from(request.into_inner())?;
        let planned = self.actor.planner.plan(convert::spec_of(&wanted.job), client).await?;
        Ok((wanted, planned))
    }

    /// Has something done about a job.
    async fn ask(&self, event: Event, by: String) -> Result<JobId, Status> {
        match self.actor.ask(event, by).await? {
            Changed::Job(job) => Ok(job),
            Changed::Worker(_) => Err(Status::internal("the answer is about a worker")),
        }
    }

    /// Has something done about a worker.
    async fn change_worker(
        &self,
        event: Event,
        by: String,
    ) -> Result<Response<WorkerReply>, Status> {
        match self.actor.ask(event, by).await? {
            Changed::Worker(worker) => {
                Ok(Response::new(WorkerReply { worker: identity_text(worker.0) }))
            }
            Changed::Job(_) => Err(Status::internal("the answer is about a job")),
        }
    }

    /// Changes a job, and says how it is then.
    async fn change(&self, event: Event, by: String) -> Result<Response<JobStatus>, Status> {
        let job = self.ask(event, by).await?;
        let status = self.actor.look(move |machine, _| status::job(machine, job)).await?;
        status.map(Response::new).ok_or_else(|| no_such(job))
    }

    async fn cluster(&self, job: JobId) -> Result<ClusterStatus, Status> {
        let look = self.actor.look(move |machine, now| status::cluster(machine, job, now));
        look.await?.ok_or_else(|| no_such(job))
    }
}

pub(super) fn no_such(job: JobId) -> Status {
    convert::status(&crate::machine::Refusal::NoSuchJob(job))
}

/// Who asks, for the events of a job.
pub(super) fn by<T>(request: &Request<T>) -> String {
    let address = |peer: &Peer| peer.address().ip().to_canonical().to_string();
    asker(Holder::of(request), &Peer::of(request).map(address).unwrap_or_default())
}

fn job_of(request: Request<JobRequest>) -> JobId {
    JobId(request.into_inner().job)
}

#[tonic::async_trait]
impl Jobs for JobsService {
    async fn plan(&self, request: Request<SubmitRequest>) -> Result<Response<PlanReply>, Status> {
        let (wanted, planned) = self.planned(request).await?;
        let here = self.actor.look(Here::of).await?;
        Ok(Response::new(plan_reply(wanted.job.precision, &planned, here)))
    }

    async fn submit(
        &self,
        request: Request<SubmitRequest>,
    ) -> Result<Response<SubmitReply>, Status> {
        let by = by(&request);
        let (wanted, planned) = self.planned(request).await?;
        let scheduling = Scheduling {
            priority: wanted.priority,
            max_workers: wanted.max_workers,
            after: wanted.after.map(JobId),
        };
        let submission = Submission {
            scheduling,
            spec: convert::spec_of(&wanted.job),
            name: wanted.name,
            key: wanted.key,
            checkpoint_every: wanted.checkpoint,
            plan: planned.plan,
            memory_bytes: planned.alone.memory_bytes,
        };
        let job = self.ask(Event::Submit(submission), by).await?;
        Ok(Response::new(SubmitReply { job: job.0 }))
    }

    async fn list(&self, _: Request<ListRequest>) -> Result<Response<ListReply>, Status> {
        self.actor.look(|machine, _| status::list(machine)).await.map(Response::new)
    }

    async fn status(
        &self,
        request: Request<JobRequest>,
    ) -> Result<Response<ClusterStatus>, Status> {
        self.cluster(job_of(request)).await.map(Response::new)
    }

    type WatchStream = ReceiverStream<Result<ClusterStatus, Status>>;

    async fn watch(
        &self,
        request: Request<JobRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let job = job_of(request);
        let permit = self.watches.clone().try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!("{WATCHES} watches are open; close some"))
        })?;
        let first = self.cluster(job).await?;
        let (to_watcher, messages) = mpsc::channel(UNREAD);
        let watch = watch(self.actor.clone(), job, first, to_watcher, permit);
        tokio::spawn(self.ended.clone().run_until_cancelled_owned(watch));
        Ok(Response::new(ReceiverStream::new(messages)))
    }

    async fn pause(&self, request: Request<JobRequest>) -> Result<Response<JobStatus>, Status> {
        let by = by(&request);
        self.change(Event::Pause(job_of(request)), by).await
    }

    async fn resume(&self, request: Request<JobRequest>) -> Result<Response<JobStatus>, Status> {
        let by = by(&request);
        self.change(Event::Resume(job_of(request)), by).await
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<JobStatus>, Status> {
        let by = by(&request);
        let CancelRequest { job, force } = request.into_inner();
        self.change(Event::Cancel { job: JobId(job), force }, by).await
    }

    async fn remove(&self, request: Request<JobRequest>) -> Result<Response<RemoveReply>, Status> {
        let by = by(&request);
        self.ask(Event::Remove(job_of(request)), by).await?;
        Ok(Response::new(RemoveReply {}))
    }

    async fn locate(&self, request: Request<JobRequest>) -> Result<Response<LocateReply>, Status> {
        let job = job_of(request);
        let located = self.actor.look(move |machine, _| {
            let there = machine.records().jobs.contains_key(&job);
            there.then(|| status::located(machine, job))
        });
        let located = located.await?.ok_or_else(|| no_such(job))?;
        located.map(Response::new).map_err(|phase| match phase {
            Phase::Cancelled => convert::status(&ended(job, phase)),
            Phase::Solved => Status::failed_precondition(format!(
                "values of job {job} are lost, of a worker that is given up; `ziggurat resume {job}` solves that again"
            )),
            _ => Status::failed_precondition(format!(
                "job {job} is not solved; `ziggurat status {job}` says how far it is"
            )),
        })
    }

    async fn checksums(
        &self,
        request: Request<StepRequest>,
    ) -> Result<Response<ChecksumsReply>, Status> {
        let StepRequest { job, step } = request.into_inner();
        let step = StepId { job: JobId(job), tier: required(step, "step")? };
        let look = self.actor.look(move |machine, _| {
            let there = machine.records().jobs.contains_key(&step.job);
            let record = machine.records().steps.get(&step);
            let solution = record.and_then(|record| record.solution());
            there.then(|| solution.map(|solution| solution.checksums.as_flattened().to_vec()))
        });
        let checksums = look.await?.ok_or_else(|| no_such(step.job))?.ok_or_else(|| {
            Status::failed_precondition(format!(
                "step {} of job {} is not solved",
                step.tier, step.job
            ))
        })?;
        Ok(Response::new(ChecksumsReply { checksums }))
    }

    async fn history(
        &self,
        request: Request<JobRequest>,
    ) -> Result<Response<HistoryReply>, Status> {
        let job = job_of(request);
        let history = self.actor.history(job).await?.ok_or_else(|| no_such(job))?;
        Ok(Response::new((&history).into()))
    }

    async fn workers(&self, _: Request<WorkersRequest>) -> Result<Response<WorkersReply>, Status> {
        let workers = self.actor.look(status::workers).await?;
        Ok(Response::new(WorkersReply { workers }))
    }

    async fn drain_worker(
        &self,
        request: Request<WorkerRequest>,
    ) -> Result<Response<WorkerReply>, Status> {
        let by = by(&request);
        self.change_worker(Event::DrainWorker(request.into_inner().name), by).await
    }

    async fn forget_worker(
        &self,
        request: Request<WorkerRequest>,
    ) -> Result<Response<WorkerReply>, Status> {
        let by = by(&request);
        self.change_worker(Event::ForgetWorker(request.into_inner().name), by).await
    }
}

/// Tells a watcher how a job is, until it has ended or the watcher is gone.
async fn watch(
    actor: Handle,
    job: JobId,
    first: ClusterStatus,
    to_watcher: mpsc::Sender<Result<ClusterStatus, Status>>,
    _permit: OwnedSemaphorePermit,
) {
    let mut told = ClusterStatus::default();
    let mut status = first;
    loop {
        let look = actor.look(move |machine, _| {
            let phase = machine.records().jobs.get(&job).map(|job| job.phase);
            matches!(phase, Some(Phase::Active | Phase::Paused))
        });
        let Ok(goes_on) = look.await else { return };
        // It may have ended since.
        let look = actor.look(move |machine, now| status::cluster(machine, job, now));
        if let Ok(Some(latest)) = look.await {
            status = latest;
        }
        let news = timeless(status.clone());
        if news != told {
            told = news;
            if to_watcher.send(Ok(status.clone())).await.is_err() {
                return;
            }
        }
        if !goes_on {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(WATCH_INTERVAL) => {}
            () = to_watcher.closed() => return,
        }
    }
}

/// A status without what changes by itself at every look, to the second.
fn timeless(mut status: ClusterStatus) -> ClusterStatus {
    for worker in &mut status.workers {
        worker.silent_seconds = worker.silent_seconds.floor();
    }
    for pair in &mut status.unreached {
        pair.seconds_ago = pair.seconds_ago.floor();
    }
    if let Some(job) = &mut status.job {
        job.seconds = job.seconds.floor();
    }
    status
}
