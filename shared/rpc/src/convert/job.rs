//! Jobs, as they are submitted.

use std::time::Duration;

use ziggurat_game::Ruleset;
use ziggurat_planning::{Precision, Settings};

use super::{WireError, name, precision, required, text};
use crate::{
    limits::{CHECKPOINT, KEY_BYTES, RULESET_BYTES},
    proto,
};

/// All that decides the bytes of a result.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// The ruleset.
    pub ruleset: Ruleset,
    /// The type of the result's values.
    pub precision: Precision,
    /// No value is to be further from the true one than this, a probability in (0, 1).
    pub tolerance: f64,
    /// Whether that is proven.
    pub certified: bool,
    /// The most positions of a shard; `None` for the default.
    pub shard_positions: Option<u64>,
}

impl Job {
    /// A ruleset with the part of the settings that decides the bytes of the result.
    pub fn new(ruleset: Ruleset, settings: &Settings) -> Self {
        let Settings { precision, tolerance, certified, shard_positions, .. } = *settings;
        Self { ruleset, precision, tolerance, certified, shard_positions }
    }

    /// The settings of a solve, on all cores.
    pub fn settings(&self) -> Settings {
        let Self { precision, tolerance, certified, shard_positions, .. } = *self;
        Settings { tolerance, certified, shard_positions, ..Settings::new(precision) }
    }
}

impl From<&Job> for proto::JobSpec {
    fn from(job: &Job) -> Self {
        Self {
            ruleset: job.ruleset.to_toml(),
            precision: proto::Precision::from(job.precision).into(),
            tolerance: job.tolerance,
            certified: job.certified,
            shard_positions: job.shard_positions.unwrap_or(0),
        }
    }
}

impl TryFrom<proto::JobSpec> for Job {
    type Error = WireError;

    fn try_from(spec: proto::JobSpec) -> Result<Self, WireError> {
        let proto::JobSpec { ruleset, precision: number, tolerance, certified, shard_positions } =
            spec;
        if !(tolerance > 0.0 && tolerance < 1.0) {
            let problem = format_args!("{tolerance} is not between 0 and 1");
            return Err(WireError::new("spec.tolerance", problem));
        }
        let toml = text(ruleset, RULESET_BYTES, "spec.ruleset")?;
        let ruleset = Ruleset::from_toml(&toml, "ruleset")
            .map_err(|error| WireError::new("spec.ruleset", error))?;
        let shard_positions = (shard_positions > 0).then_some(shard_positions);
        Ok(Self { ruleset, precision: precision(number)?, tolerance, certified, shard_positions })
    }
}

/// How much work may be lost if a submission does not say so.
const DEFAULT_CHECKPOINT: Duration = Duration::from_secs(60);

/// A job as a user wants it.
#[derive(Clone, PartialEq, Debug)]
pub struct Submission {
    /// The job.
    pub job: Job,
    /// What it is called.
    pub name: String,
    /// What tells this submission from others; none if empty.
    pub key: String,
    /// At most so much work may be lost.
    pub checkpoint: Duration,
    /// Jobs with a higher priority go first.
    pub priority: i32,
    /// The most members of an attempt; `None` for any number.
    pub max_workers: Option<u32>,
    /// The job that is to be solved first.
    pub after: Option<u64>,
}

impl From<&Submission> for proto::SubmitRequest {
    fn from(submission: &Submission) -> Self {
        Self {
            spec: Some((&submission.job).into()),
            name: submission.name.clone(),
            key: submission.key.clone(),
            checkpoint_seconds: submission.checkpoint.as_secs_f64(),
            priority: submission.priority,
            max_workers: submission.max_workers.unwrap_or(0),
            after: submission.after.unwrap_or(0),
        }
    }
}

impl TryFrom<proto::SubmitRequest> for Submission {
    type Error = WireError;

    fn try_from(request: proto::SubmitRequest) -> Result<Self, WireError> {
        let seconds = request.checkpoint_seconds;
        let checkpoint = match Duration::try_from_secs_f64(seconds) {
            Ok(Duration::ZERO) => DEFAULT_CHECKPOINT,
            Ok(checkpoint) if checkpoint <= CHECKPOINT => checkpoint,
            _ => {
                let problem = format_args!("{seconds} s is no time, or longer than {CHECKPOINT:?}");
                return Err(WireError::new("checkpoint_seconds", problem));
            }
        };
        Ok(Self {
            name: name(request.name)?,
            key: text(request.key, KEY_BYTES, "key")?,
            job: required(request.spec, "spec")?,
            checkpoint,
            priority: request.priority,
            max_workers: Some(request.max_workers).filter(|&most| most > 0),
            after: Some(request.after).filter(|&job| job > 0),
        })
    }
}
