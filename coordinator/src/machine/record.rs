//! What must survive a restart: jobs, the checkpoints of their steps, and what is known of workers.
//!
//! Everything else (connections, attempts, pending reports) is gone when the coordinator stops, and
//! nobody needs it: workers stop what they were doing when their connection ends.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use ziggurat_encoding::Tier;
use ziggurat_planning::{Precision, Settings, StepController};

use super::names::{Epoch, JobId, StepId, Time, WorkerId};

/// Checksums (XXH3) of the values of a shard's ranges; 0 for a second one that there is not.
pub type Checksums = [u64; 2];

/// All records.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Records {
    /// Jobs that were ever submitted, and not removed.
    pub jobs: BTreeMap<JobId, JobRecord>,
    /// Steps that were ever worked on, of jobs that are not cancelled.
    pub steps: BTreeMap<StepId, StepRecord>,
    /// Workers that were ever connected.
    pub workers: BTreeMap<WorkerId, WorkerRecord>,
    /// The largest number that a job ever had: no other job gets it, though the job be removed.
    pub last_job: u64,
}

impl Records {
    /// The steps of a job that were ever worked on.
    pub fn steps_of(&self, job: JobId) -> impl Iterator<Item = (StepId, &StepRecord)> {
        let [first, last] =
            [0, u8::MAX].map(|pieces| StepId { job, tier: Tier::new(pieces, pieces) });
        self.steps.range(first..=last).map(|(&step, record)| (step, record))
    }
}

/// The name of a record that has changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    /// A job's.
    Job(JobId),
    /// A step's.
    Step(StepId),
    /// A worker's.
    Worker(WorkerId),
}

/// What decides the bytes of a job's result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Spec {
    /// The ruleset, as a ruleset file.
    pub ruleset: String,
    /// The type of the values.
    pub precision: Precision,
    /// See [`Settings::tolerance`].
    pub tolerance: f64,
    /// See [`Settings::certified`].
    pub certified: bool,
    /// See [`Settings::shard_positions`].
    pub shard_positions: Option<u64>,
}

impl Spec {
    /// How the ruleset is solved.
    pub fn settings(&self) -> Settings {
        Settings {
            tolerance: self.tolerance,
            certified: self.certified,
            shard_positions: self.shard_positions,
            ..Settings::new(self.precision)
        }
    }
}

/// When a job is worked on, and by how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Scheduling {
    /// Jobs with a higher one go first; among equals the oldest.
    pub priority: i32,
    /// The most members of an attempt; `None` for any number.
    pub max_workers: Option<u32>,
    /// The job that is to be solved first.
    pub after: Option<JobId>,
}

/// What is to become of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Phase {
    /// It is worked on when there are workers for it.
    Active,
    /// It keeps what it has saved.
    Paused,
    /// All its steps are solved.
    Solved,
    /// It cannot be solved as things are.
    Failed,
    /// Nobody wants it any more.
    Cancelled,
}

/// A job.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct JobRecord {
    /// For people.
    pub name: String,
    /// Tells its submission from others; empty for none.
    pub key: String,
    /// What it is.
    pub spec: Spec,
    /// At most so much work is lost.
    pub checkpoint_every: Duration,
    /// What is to become of it.
    pub phase: Phase,
    /// Whether it was solved before and is solved again: it never goes before jobs that were not.
    pub again: bool,
    /// When it is worked on, and by how many.
    pub scheduling: Scheduling,
    /// Whether it still waits for the job that it comes after.
    pub waits: bool,
    /// The checkpoint store that may have checkpoints of it, if it was cancelled while nobody was there who reads that.
    pub left_in: Option<u64>,
    /// Why it failed.
    pub message: String,
    /// When it was submitted.
    pub submitted: Time,
    /// When it was solved, failed or was cancelled.
    pub ended: Option<Time>,
    /// Its steps, in the order they are solved.
    pub steps: Vec<StepSize>,
    /// What was done for it, as of the last checkpoint.
    pub counters: Counters,
}

/// A step, and how large it is.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepSize {
    /// Its first tier.
    pub tier: Tier,
    /// Its positions.
    pub positions: u64,
    /// Its shards.
    pub shards: u32,
}

/// What was done for a job.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Time in which it was worked on.
    pub seconds: f64,
    /// Positions swept, over all supersteps.
    pub swept_positions: u64,
    /// Bytes sent between workers.
    pub exchanged_bytes: u64,
    /// The sum over supersteps of positions of which members keep a copy.
    pub exchanged_positions: u64,
}

impl Counters {
    /// Adds what was done besides. It is what workers say, who may say anything.
    pub fn add(&mut self, more: Self) {
        self.seconds += more.seconds;
        let add = |sum: &mut u64, more| *sum = sum.saturating_add(more);
        add(&mut self.swept_positions, more.swept_positions);
        add(&mut self.exchanged_bytes, more.exchanged_bytes);
        add(&mut self.exchanged_positions, more.exchanged_positions);
    }
}

/// A step.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StepRecord {
    /// The number of the last attempt that was begun.
    pub last_attempt: u32,
    /// The number of the last checkpoint that was begun.
    pub last_epoch: u32,
    /// The last checkpoint that is complete.
    pub checkpoint: Option<Checkpoint>,
    /// A solution of which parts were given up while their owners were away. If they come back before the step is
    /// solved again, it counts again.
    #[serde(default)]
    pub put_aside: Option<Checkpoint>,
}

impl StepRecord {
    /// The checkpoint, if the step is solved.
    pub fn solution(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref().filter(|checkpoint| checkpoint.course.order().is_none())
    }

    /// The checkpoints of which workers keep what they have.
    pub fn kept(&self) -> impl Iterator<Item = &Checkpoint> {
        self.checkpoint.iter().chain(&self.put_aside)
    }
}

/// In place of the identity of a checkpoint store: that of the version before, which did not write down which store it was.
pub const ANY_STORE: u64 = 0;

/// Whether a worker that reads one checkpoint store, if any, finds there what is in another.
pub fn reads(read: Option<u64>, stored: u64) -> bool {
    read.is_some_and(|read| read == stored || stored == ANY_STORE)
}

/// A committed checkpoint of a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its name.
    pub epoch: Epoch,
    /// How to go on from it.
    pub course: StepController,
    /// The version of the protocol that its owners spoke, which says what was done to it.
    #[serde(default)]
    pub protocol: u32,
    /// The workers that wrote it, each of them some shards.
    pub owners: Vec<WorkerId>,
    /// Which shards they wrote.
    pub runs: Vec<Run>,
    /// The checkpoint store that has all of it, if one has, by what it is known by.
    pub stored: Option<u64>,
    /// Owners that have lost it: somebody has not found it there, or an operator knows.
    pub lost: BTreeSet<WorkerId>,
    /// Owners whose part was given up while they were away, by time or by an operator. If one comes back with it, it
    /// counts again.
    #[serde(default)]
    pub given_up: BTreeSet<WorkerId>,
    /// If it is that of the solution, checksums of the values by shard, as its owners reported them; none if one did not, or
    /// an earlier version wrote this.
    #[serde(default)]
    pub checksums: Vec<Checksums>,
}

/// Successive shards of one worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// How many.
    pub count: u32,
    /// The place of the worker in the list that comes with the runs.
    pub owner: u32,
}

impl Checkpoint {
    /// What is proven of the values, if they are final: 1, which is true of all, if nothing is.
    pub fn bound(&self) -> f64 {
        self.course.statistics().certificate.map_or(1.0, |certificate| certificate.bound)
    }

    /// The owners that have lost it, or whose part was given up.
    pub fn missed(&self) -> impl Iterator<Item = WorkerId> {
        self.lost.union(&self.given_up).copied()
    }

    /// Whether a worker has a part of it, as far as is known.
    pub fn is_with(&self, worker: WorkerId) -> bool {
        self.owners.contains(&worker)
            && !self.lost.contains(&worker)
            && !self.given_up.contains(&worker)
    }

    /// Whether no part of it is missed.
    pub fn is_whole(&self) -> bool {
        self.stored.is_some() || self.missed().next().is_none()
    }

    /// How many shards a worker wrote.
    pub fn shards_of(&self, worker: WorkerId) -> u32 {
        let own = |run: &&Run| self.owners[run.owner as usize] == worker;
        self.runs.iter().filter(own).map(|run| run.count).sum()
    }
}

/// A worker.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WorkerRecord {
    /// Its name.
    pub name: String,
    /// Where others reached it last: host:port.
    pub address: String,
    /// Positions it sweeps in a second; `None` if it never did.
    pub positions_per_second: Option<f64>,
    /// Whether others may have its name: it was given up, or nothing was its alone when another of its name came.
    pub nameless: bool,
}
