//! What the machine hears, and what it has others do.

use std::{sync::Arc, time::Duration};

use ziggurat_encoding::Tier;
use ziggurat_history::Kind;
use ziggurat_planning::{Order, Outcome, Precision};

use super::{
    names::{Epoch, JobId, SessionId, StepId, WorkerId},
    plan::JobPlan,
    record::{Checksums, Run, Scheduling, Spec},
};

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// Somebody submits a job. Answered.
    Submit(Submission),
    /// Somebody pauses a job. Answered.
    Pause(JobId),
    /// Somebody resumes a job. Answered.
    Resume(JobId),
    /// Somebody cancels a job. Answered.
    Cancel {
        /// Which.
        job: JobId,
        /// Whether it may be solved.
        force: bool,
    },
    /// Somebody removes a job that has ended. Answered.
    Remove(JobId),
    /// What [`Command::Plan`] asked for.
    Planned(JobId, Result<Arc<JobPlan>, String>),
    /// A worker has connected.
    Register(SessionId, Registration),
    /// It lives.
    Heartbeat(SessionId, Resources),
    /// It answers an order.
    Report(SessionId, Report),
    /// It says what became of a checkpoint that it was to store behind its sweeps.
    Stored(SessionId, Stored),
    /// It wants to leave.
    Drain(SessionId),
    /// An operator has the worker of this name leave. Answered.
    DrainWorker(String),
    /// An operator gives up all that the worker of this name has. Answered.
    ForgetWorker(String),
    /// Its connection ended.
    Disconnect(SessionId),
    /// Time has passed.
    Tick,
}

/// A job to be added to the queue.
#[derive(Clone, Debug)]
pub struct Submission {
    /// For people.
    pub name: String,
    /// Tells the submission from others; empty for none.
    pub key: String,
    /// What it is.
    pub spec: Spec,
    /// At most so much work is lost.
    pub checkpoint_every: Duration,
    /// When it is worked on, and by how many.
    pub scheduling: Scheduling,
    /// What it consists of.
    pub plan: Arc<JobPlan>,
    /// Memory that one process alone would take for it, in bytes.
    pub memory_bytes: u64,
}

/// What a worker says of itself.
#[derive(Clone, PartialEq, Debug)]
pub struct Registration {
    /// The version of the protocol that it speaks: this one or the one before.
    pub protocol: u32,
    /// Its identity.
    pub worker: WorkerId,
    /// Its name.
    pub name: String,
    /// Where others reach it: host:port.
    pub address: String,
    /// Threads.
    pub cores: u32,
    /// Memory that it may use.
    pub memory_bytes: u64,
    /// Disk that was free when it registered.
    pub disk_bytes: u64,
    /// What the checkpoint store is known by that it writes to and reads from.
    pub checkpoint_store: Option<u64>,
    /// The worker that it takes the place of: what that one has is given up. Empty for none.
    pub replaces: String,
}

/// What a worker uses.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Resources {
    /// Resident memory.
    pub resident_bytes: u64,
    /// Disk that is free.
    pub free_disk_bytes: u64,
    /// Bytes that it has moved for attempts since it started: a number that grows while it is at work.
    pub moved_bytes: u64,
}

/// The answer to an order.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The step.
    pub step: StepId,
    /// The attempt at it.
    pub attempt: u32,
    /// The number of the order.
    pub order: u32,
    /// Time it took, without waiting for others.
    pub seconds: f64,
    /// How much of that went into packing and unpacking what workers exchange.
    pub exchanging_seconds: f64,
    /// How long it waited for others at barriers besides.
    pub waited_seconds: f64,
    /// Positions swept.
    pub positions: u64,
    /// Bytes sent to other workers.
    pub sent_bytes: u64,
    /// What came of it.
    pub answer: Answer,
    /// Of a checkpoint that was written, checksums of the values: of the ranges of each of the member's shards, in order.
    pub checksums: Vec<Checksums>,
}

/// What became of a member's part of a checkpoint that it was to put into the checkpoint store behind its sweeps.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    /// The step.
    pub step: StepId,
    /// The attempt at it.
    pub attempt: u32,
    /// The number of the checkpoint.
    pub epoch: u32,
    /// Why it is not there, for people; `None` if it is.
    pub failure: Option<String>,
}

/// What came of an order.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// Ready for orders, with copies of so many positions of others.
    Ready {
        /// How many.
        halo_positions: u64,
    },
    /// What came of an order.
    Outcome(Outcome),
    /// It could not be done.
    Failed(Failure),
}

/// Why an order could not be carried out.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// For people.
    pub message: String,
    /// What kind it is, if it is one of these.
    pub kind: Option<FailureKind>,
}

/// Failures that something can be done about.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FailureKind {
    /// The member at this place could not be reached.
    Unreachable(u32),
    /// This worker, which takes no part, could not be reached for what it has saved.
    OutOfReach(WorkerId),
    /// A checkpoint is damaged.
    Damage {
        /// Of this step.
        tier: Tier,
        /// This one.
        epoch: u32,
        /// What this worker has of it, or what the checkpoint store has.
        worker: Option<WorkerId>,
    },
    /// The worker cannot take part.
    Unable,
    /// Somebody asked the worker to stop.
    Cancelled,
}

/// The subject of a request that was granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Changed {
    /// A job.
    Job(JobId),
    /// A worker.
    Worker(WorkerId),
}

/// Something to be done, in order, after all changed records are on disk.
#[derive(Clone, Debug)]
pub enum Command {
    /// Answers a request.
    Answer(Result<Changed, Refusal>),
    /// Asks for the plan of a job: [`Event::Planned`].
    Plan(JobId),
    /// Sends a worker a message.
    Send(SessionId, Message),
    /// Ends a connection.
    Close(SessionId, Refusal),
    /// Tells people.
    Note(Note),
}

/// Why something is not done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// There is no such job.
    NoSuchJob(JobId),
    /// The job has ended, or goes on without being asked to.
    WrongPhase(String),
    /// That job, which is another, was submitted with the same key.
    OtherSubmission(JobId),
    /// A worker of this identity is connected; this is its name.
    Connected(String),
    /// The name is that of another worker.
    NameTaken {
        /// The name.
        name: String,
        /// Whether that worker is connected; otherwise it has values that nobody else has.
        is_connected: bool,
    },
    /// No worker has this name.
    NoSuchWorker(String),
    /// The worker of this name is connected, and so is not given up.
    StillConnected(String),
    /// This worker is connected, and others reach it at the same address.
    SameAddress(String),
    /// That worker has another checkpoint store.
    OtherStore(String),
    /// Nothing was heard for a whole lease.
    Silent,
    /// What a peer sent makes no sense.
    Misbehaved(String),
}

/// A line for the log, and for the history of its job.
#[derive(Clone, PartialEq, Debug)]
pub struct Note {
    /// What happened.
    pub text: String,
    /// Which kind of event that is.
    pub kind: Kind,
    /// The job and step it is about, if any.
    pub job: Option<JobId>,
    /// The step, if any.
    pub tier: Option<Tier>,
    /// The attempt; 0 for none.
    pub attempt: u32,
    /// The checkpoint; 0 for none.
    pub epoch: u32,
    /// The worker, if any.
    pub worker: Option<WorkerId>,
}

/// A message to a worker.
#[derive(Clone, PartialEq, Debug)]
pub enum Message {
    /// It is registered.
    Welcome {
        /// The coordinator's incarnation.
        incarnation: u64,
        /// The complete checkpoints of all steps.
        commits: Vec<(StepId, Epoch)>,
        /// Jobs of which nothing is wanted any more.
        cancelled: Vec<JobId>,
    },
    /// The answer to a heartbeat.
    Heard,
    /// A part in an attempt: the member at this place.
    Assign(Arc<Assignment>, u32),
    /// An order.
    Order {
        /// The step.
        step: StepId,
        /// The attempt at it.
        attempt: u32,
        /// Its number.
        order: u32,
        /// What to do.
        task: Task,
    },
    /// An attempt is over.
    Abandon {
        /// The step.
        step: StepId,
        /// The attempt at it.
        attempt: u32,
    },
    /// Checkpoints of a step are not wanted any more.
    Commit {
        /// The step.
        step: StepId,
        /// Those before this one, which is complete.
        epoch: u32,
        /// But for this one, if it may be wanted again.
        kept: Option<Epoch>,
    },
    /// A job is cancelled.
    Forget(JobId),
    /// The worker may leave.
    Released,
}

/// What to do for an attempt.
#[derive(Clone, PartialEq, Debug)]
pub enum Task {
    /// What the course of the step says.
    Carry(Order),
    /// Write the shards down.
    Save {
        /// The number of the checkpoint.
        epoch: u32,
        /// How many vectors of changes to write.
        vectors: u32,
        /// Whether offsets are written.
        offsets: bool,
        /// Whether they may go to the checkpoint store while later orders are carried out.
        behind: bool,
    },
}

/// An attempt, as its members are told.
#[derive(Clone, PartialEq, Debug)]
pub struct Assignment {
    /// The step.
    pub step: StepId,
    /// The attempt at it.
    pub attempt: u32,
    /// Who takes part.
    pub members: Vec<Peer>,
    /// Which shards they have.
    pub shares: Vec<Run>,
    /// What to begin with.
    pub checkpoint: Option<CheckpointAt>,
    /// The type of the values at the beginning.
    pub precision: Precision,
    /// How many vectors of changes to read from the checkpoint.
    pub vectors: u32,
    /// Whether to read offsets from it.
    pub offsets: bool,
    /// The solved steps that the step reads, and what is proven of them.
    pub reads: Vec<(Tier, CheckpointAt, f64)>,
}

/// A worker, as others reach it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its identity.
    pub worker: WorkerId,
    /// host:port, where it was last if it is away.
    pub address: String,
    /// For people.
    pub name: String,
}

/// Where a checkpoint is.
#[derive(Clone, PartialEq, Debug)]
pub struct CheckpointAt {
    /// Its name.
    pub epoch: Epoch,
    /// Who has it.
    pub peers: Vec<Peer>,
    /// Which shards they have.
    pub runs: Vec<Run>,
    /// Whether the checkpoint store of the workers that are connected has all of it.
    pub stored: bool,
}
