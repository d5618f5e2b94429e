//! Names of jobs, steps, workers and connections.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use ziggurat_encoding::Tier;

/// A moment: the time since the epoch of Unix.
pub type Time = Duration;

/// A job; counts up from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct JobId(pub u64);

/// A step of a job, by its first tier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct StepId {
    /// The job.
    pub job: JobId,
    /// The first tier of the step.
    pub tier: Tier,
}

/// The identity of a worker, which its disk keeps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct WorkerId(pub u64);

/// A connection of a worker; no two ever have the same number in one run of the coordinator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SessionId(pub u64);

/// Names what is saved of a step at once. The number alone does not: a coordinator that was restored from a copy of its
/// records gives numbers out again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Epoch {
    /// Counts up within a step.
    pub number: u32,
    /// Of the coordinator that gave the number out.
    pub incarnation: u64,
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
