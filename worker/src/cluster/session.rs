//! The stream between a worker and its coordinator.

use std::{error::Error, pin::pin, sync::Arc, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior},
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Status, Streaming};
use tracing::{info, warn};
use ziggurat_checkpoints::{CheckpointError, Holder};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_kernel::resident_bytes;
use ziggurat_rpc::{
    ControlClient, PROTOCOL, Security, connect_now, control_client,
    convert::{Task, identity_text, required},
    diagnose, failed_on_its_way,
    proto::{
        Commit, Drain, Fenced, Forget, FromWorker, GreetRequest, Heard, Heartbeat, Order, Register,
        ToWorker, Welcome, from_worker::Message, to_worker::Message as Told,
    },
};

use super::{
    ServeError, ServeOptions, Worker, attempt::Attempt, halo::AttemptName, tenure::fenced,
};
use crate::state::lock;

/// How long the coordinator may take to let a worker in.
const WELCOME_TIMEOUT: Duration = Duration::from_secs(10);

/// Messages that may wait to be sent.
const QUEUE: usize = 64;

/// How a session ended.
pub enum Ended {
    /// The worker may leave.
    Released,
    /// The stream broke, or never came about.
    Broken(String),
    /// The checkpoint store cannot be reached.
    NoStore(CheckpointError),
    /// The coordinator does not want this worker as it is.
    Refused(Status),
    /// This worker cannot be one of the coordinator's.
    Unfit(ServeError),
}

impl From<Status> for Ended {
    fn from(status: Status) -> Self {
        match status.code() {
            tonic::Code::FailedPrecondition
            | tonic::Code::Unauthenticated
            | tonic::Code::InvalidArgument
            | tonic::Code::PermissionDenied => Self::Refused(status),
            _ => Self::Broken(status.message().to_owned()),
        }
    }
}

/// A stream to the coordinator.
struct Session<'a> {
    worker: &'a Arc<Worker>,
    /// That of the coordinator.
    incarnation: u64,
    send: mpsc::Sender<FromWorker>,
    attempts: Vec<Attempt>,
}

/// Registers and does what the coordinator says until the stream ends. Once `drain` is cancelled, asks to
/// be released.
pub async fn run(worker: &Arc<Worker>, drain: &CancellationToken) -> Ended {
    converse(worker, drain).await.map_or_else(|ended| ended, |()| Ended::Released)
}

/// Which cluster the coordinator's is.
async fn greet(client: &mut ControlClient) -> Result<String, Status> {
    let greeted = client.greet(GreetRequest { protocol: PROTOCOL });
    match tokio::time::timeout(WELCOME_TIMEOUT, greeted).await {
        Ok(Ok(reply)) => Ok(reply.into_inner().cluster),
        Ok(Err(status)) if status.code() == tonic::Code::Unimplemented => {
            let message =
                "it is of another version: use the same version of ziggurat on all machines";
            Err(Status::failed_precondition(message))
        }
        Ok(Err(status)) => Err(status),
        Err(_) => Err(silent()),
    }
}

/// What the coordinator says first, in one welcome or several.
async fn welcome(stream: &mut Streaming<ToWorker>) -> Result<Welcome, Status> {
    let mut all = Welcome { more: true, ..Welcome::default() };
    while all.more {
        let next = tokio::time::timeout(WELCOME_TIMEOUT, stream.message()).await;
        let next = next.map_err(|_| silent())??.and_then(|message| message.message);
        let Some(Told::Welcome(next)) = next else {
            return Err(Status::unavailable("the coordinator did not begin with a welcome"));
        };
        let commits = [all.commits, next.commits].concat();
        let cancelled = [all.cancelled, next.cancelled].concat();
        all = Welcome { commits, cancelled, ..next };
    }
    Ok(all)
}

fn silent() -> Status {
    Status::deadline_exceeded("the coordinator does not answer")
}

/// A first conversation that did not come about, and why.
async fn not_reached(
    ServeOptions { coordinator, security, .. }: &ServeOptions,
    error: &(dyn Error + 'static),
    said: String,
) -> Ended {
    let trouble = diagnose(coordinator, matches!(security, Security::Tls(_)), error).await;
    Ended::Broken(format!("{said} ({trouble})"))
}

async fn converse(worker: &Arc<Worker>, drain: &CancellationToken) -> Result<(), Ended> {
    let options = &worker.options;
    let connected = connect_now(&options.coordinator, &options.security, WELCOME_TIMEOUT).await;
    let connection = match connected {
        Ok(connection) => connection,
        Err(error) => return Err(not_reached(options, &error, error.to_string()).await),
    };
    let mut client = control_client(connection);
    let cluster = match greet(&mut client).await {
        Ok(cluster) => cluster,
        Err(status) if failed_on_its_way(&status) => {
            let said = status.message().to_owned();
            return Err(not_reached(options, &status, said).await);
        }
        Err(status) => return Err(status.into()),
    };
    worker.join(&cluster).await?;
    let (send, messages) = mpsc::channel(QUEUE);
    let say = |message| FromWorker { message: Some(message) };
    let register = Register {
        protocol: PROTOCOL,
        encoder: Encoding::VERSION,
        worker: identity_text(worker.local_checkpoints.identity()),
        name: options.name.clone(),
        address: worker.address.clone(),
        cores: worker.pool.current_num_threads() as u32,
        memory_bytes: options.memory_bytes.unwrap_or(0),
        disk_bytes: worker.local_checkpoints.free_bytes().unwrap_or(0),
        checkpoint_store: worker.store_identity().map(identity_text).unwrap_or_default(),
        replaces: options.replaces.clone().unwrap_or_default(),
    };
    let gone = |_| Status::unavailable("the stream to the coordinator has ended");
    send.send(say(Message::Register(register))).await.map_err(gone)?;
    let answer = client.work(ReceiverStream::new(messages));
    let stream = tokio::time::timeout(WELCOME_TIMEOUT, answer).await.map_err(|_| silent())??;
    let mut stream: Streaming<ToWorker> = stream.into_inner();
    let welcome = welcome(&mut stream).await?;
    let lease = Duration::from_millis(welcome.lease_ms.max(100).into());
    let mut beat = tokio::time::interval(lease / 3);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    {
        // To drop what is not wanted any more takes a while.
        let mut welcomed = pin!(worker.welcomed(&welcome));
        loop {
            tokio::select! {
                done = &mut welcomed => break done.map_err(Status::unavailable)?,
                _ = beat.tick() => {
                    let heartbeat = say(Message::Heartbeat(worker.heartbeat()));
                    send.send(heartbeat).await.map_err(gone)?;
                }
            }
        }
    }
    info!(coordinator = options.coordinator, lease_ms = welcome.lease_ms, "registered");
    worker.health.ready();
    worker.metrics.connected.set(1);

    let incarnation = welcome.incarnation;
    let mut session = Session { worker, incarnation, send, attempts: Vec::new() };
    let (mut heard, mut has_asked) = (Instant::now(), false);
    let (mut standing, mut has_told) = (worker.standing(), false);
    loop {
        let told = tokio::select! {
            told = stream.message() => told?,
            _ = beat.tick() => {
                if heard.elapsed() > lease {
                    return Err(silent().into());
                }
                session.say(Message::Heartbeat(worker.heartbeat())).await?;
                continue;
            }
            Holder { incarnation, coordinator } = fenced(&mut standing), if !has_told => {
                has_told = true;
                warn!(coordinator, "another coordinator of the cluster has the checkpoint store");
                session.say(Message::Fenced(Fenced { incarnation, coordinator })).await?;
                continue;
            }
            () = drain.cancelled(), if !has_asked => {
                has_asked = true;
                info!("asks to be released");
                session.say(Message::Drain(Drain {})).await?;
                continue;
            }
        };
        heard = Instant::now();
        worker.metrics.lease_age.renew();
        let told = told.and_then(|message| message.message);
        match told.ok_or_else(|| Status::unavailable("the coordinator ended the stream"))? {
            Told::Released(_) => return Ok(()),
            other => session.obey(other).await?,
        }
    }
}

impl Session<'_> {
    async fn say(&self, message: Message) -> Result<(), Status> {
        let message = FromWorker { message: Some(message) };
        self.send
            .send(message)
            .await
            .map_err(|_| Status::unavailable("the stream to the coordinator has ended"))
    }

    async fn obey(&mut self, told: Told) -> Result<(), Status> {
        match told {
            Told::Assign(assign) => {
                let step: Tier = required(assign.step, "assign.step")?;
                // An earlier attempt at the same step is over by that.
                let is_same = |name: AttemptName| name.job == assign.job && name.step == step;
                self.attempts.retain(|attempt| !is_same(attempt.name));
                info!(job = assign.job, %step, attempt = assign.attempt, "assigned");
                let begun =
                    Attempt::begin(self.worker, self.incarnation, assign, self.send.clone());
                self.attempts.extend(begun);
            }
            Told::Order(Order { job, step, attempt, order, task }) => {
                let step = required(step, "order.step")?;
                let name = AttemptName { incarnation: self.incarnation, job, step, attempt };
                let task: Task = required(task, "order.task")?;
                if let Some(attempt) = self.attempts.iter().find(|attempt| attempt.name == name) {
                    attempt.order(order, task);
                }
            }
            Told::Abandon(abandon) => {
                let step = required(abandon.step, "abandon.step")?;
                let (incarnation, job, attempt) = (self.incarnation, abandon.job, abandon.attempt);
                let name = AttemptName { incarnation, job, step, attempt };
                self.attempts.retain(|attempt| attempt.name != name);
            }
            Told::Commit(commit) => {
                let Commit { job, step, epoch, kept_epoch, kept_incarnation, .. } = commit;
                let step: Tier = required(step, "commit.step")?;
                let of_step =
                    |attempt: &&Attempt| (attempt.name.job, attempt.name.step) == (job, step);
                self.attempts.iter().filter(of_step).for_each(|attempt| attempt.commit(epoch));
                let kept = (kept_epoch, kept_incarnation);
                self.worker.drop_before(job, step, epoch, (kept_epoch > 0).then_some(kept));
            }
            Told::Forget(Forget { job }) => {
                self.attempts.retain(|attempt| attempt.name.job != job);
                self.worker.forget(job);
            }
            Told::Heard(Heard { jobs }) => {
                self.worker.metrics.forget_jobs(|job| !jobs.contains(&job));
            }
            Told::Welcome(Welcome { .. }) | Told::Released(_) => {}
        }
        Ok(())
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if !self.attempts.is_empty() {
            warn!("stops what it was doing: the coordinator is gone");
        }
        drop(lock(&self.worker.tenure).take());
        self.worker.metrics.connected.set(0);
        self.worker.health.not_ready("not registered with the coordinator");
    }
}

impl Worker {
    fn heartbeat(&self) -> Heartbeat {
        let resident_bytes = resident_bytes().unwrap_or(0);
        self.metrics.memory_resident.set(resident_bytes as i64);
        self.count_traffic();
        let free_disk_bytes = self.local_checkpoints.free_bytes().unwrap_or(0);
        self.metrics.disk_free.set(free_disk_bytes as i64);
        Heartbeat { resident_bytes, free_disk_bytes, moved_bytes: self.moved_bytes() }
    }
}
