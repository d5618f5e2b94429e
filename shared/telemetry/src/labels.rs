//! Metrics with labels, and forgetting them.
//!
//! Every set of labels costs memory here and in whatever collects metrics, so there are as many as there are
//! jobs that have not ended times their steps, and workers, and no more: nothing is by shard or by epoch, and
//! what has ended is forgotten.

use std::{
    collections::BTreeSet,
    fmt::{self, Write},
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue, EncodeMetric, LabelValueEncoder, MetricEncoder},
    metrics::{MetricType, TypedMetric, family::Family},
};

/// A metric for each set of labels.
#[derive(Clone, Debug)]
pub struct Labelled<L, M> {
    family: Family<L, M>,
    /// The sets there are: a family does not tell.
    known: Arc<Mutex<BTreeSet<L>>>,
}

/// A metric for each job.
pub type ByJob<M> = Labelled<JobLabels, M>;
/// A metric for each step of each job.
pub type ByStep<M> = Labelled<StepLabels, M>;
/// A metric for each worker.
pub type ByWorker<M> = Labelled<WorkerLabels, M>;
/// A metric for each state a job can be in.
pub type ByState<M> = Labelled<StateLabels, M>;
/// A metric for each certificate.
pub type ByCertificate<M> = Labelled<CertificateLabels, M>;
/// A metric for each version of the program, of which there is one.
pub type ByVersion<M> = Labelled<VersionLabels, M>;
/// A metric for each kind of failure.
pub type ByFailure<M> = Labelled<FailureLabels, M>;

impl<L: Clone + Hash + Ord, M: Clone + Default> Labelled<L, M> {
    /// The metric of these labels; a new one if there was none. It may be kept: after the labels are
    /// [forgotten](Labelled::forget) it is still there, but nobody sees it.
    pub fn of(&self, labels: impl Into<L>) -> M {
        let labels = labels.into();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&labels) {
            known.insert(labels.clone());
        }
        self.family.get_or_create_owned(&labels)
    }

    /// Removes sets of labels.
    pub fn forget(&self, is_forgotten: impl Fn(&L) -> bool) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|labels| {
            let forgotten = is_forgotten(labels);
            if forgotten {
                self.family.remove(labels);
            }
            !forgotten
        });
    }
}

impl<L: Clone + Hash + Ord, M: Default> Default for Labelled<L, M> {
    /// Without any labels yet.
    fn default() -> Self {
        Self { family: Family::default(), known: Arc::default() }
    }
}

impl<L, M: TypedMetric> TypedMetric for Labelled<L, M> {
    const TYPE: MetricType = M::TYPE;
}

impl<L, M> EncodeMetric for Labelled<L, M>
where
    L: Clone + Hash + Eq + EncodeLabelSet,
    M: Default + EncodeMetric + TypedMetric,
{
    fn encode(&self, encoder: MetricEncoder<'_>) -> fmt::Result {
        self.family.encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }

    fn is_empty(&self) -> bool {
        EncodeMetric::is_empty(&self.family)
    }
}

impl<M: Clone + Default> ByJob<M> {
    /// Removes jobs.
    pub fn forget_jobs(&self, have_ended: impl Fn(u64) -> bool) {
        self.forget(|labels| have_ended(labels.job));
    }
}

impl<M: Clone + Default> ByStep<M> {
    /// Removes all steps of jobs.
    pub fn forget_jobs(&self, have_ended: impl Fn(u64) -> bool) {
        self.forget(|labels| have_ended(labels.job));
    }
}

/// Tells jobs apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EncodeLabelSet)]
pub struct JobLabels {
    /// The job's number.
    pub job: u64,
}

impl From<u64> for JobLabels {
    fn from(job: u64) -> Self {
        Self { job }
    }
}

/// Tells steps of jobs apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EncodeLabelSet)]
pub struct StepLabels {
    /// The job's number.
    pub job: u64,
    /// The step.
    pub step: StepName,
}

impl From<(u64, (u8, u8))> for StepLabels {
    fn from((job, (just_moved, to_move)): (u64, (u8, u8))) -> Self {
        Self { job, step: StepName(just_moved, to_move) }
    }
}

/// A step by the pieces left for the player who just moved and for the other: `5-4`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StepName(pub u8, pub u8);

impl EncodeLabelValue for StepName {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        write!(encoder, "{}-{}", self.0, self.1)
    }
}

/// Tells workers apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EncodeLabelSet)]
pub struct WorkerLabels {
    /// The worker's name.
    pub worker: Name,
}

impl From<&str> for WorkerLabels {
    fn from(name: &str) -> Self {
        Self { worker: Name(name.to_owned()) }
    }
}

/// Tells versions of the program apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EncodeLabelSet)]
pub struct VersionLabels {
    /// The version.
    pub version: Name,
}

impl From<&str> for VersionLabels {
    fn from(version: &str) -> Self {
        Self { version: Name(version.to_owned()) }
    }
}

/// Tells certificates apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EncodeLabelSet)]
pub struct CertificateLabels {
    /// The certificate's file.
    pub file: Name,
}

impl From<&std::path::Path> for CertificateLabels {
    fn from(file: &std::path::Path) -> Self {
        Self { file: Name(file.display().to_string()) }
    }
}

/// A name that somebody chose.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(pub String);

impl EncodeLabelValue for Name {
    /// With what has a meaning in the format escaped, which the library leaves to us.
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '\\' => encoder.write_str("\\\\"),
            '"' => encoder.write_str("\\\""),
            '\n' => encoder.write_str("\\n"),
            c => encoder.write_char(c),
        })
    }
}

/// Tells states of jobs apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EncodeLabelSet)]
pub struct StateLabels {
    /// The state.
    pub state: JobState,
}

impl From<JobState> for StateLabels {
    fn from(state: JobState) -> Self {
        Self { state }
    }
}

/// What state a job is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum JobState {
    /// It waits for its turn, or for the first worker.
    Queued,
    /// It is worked on, or waits for workers to go on.
    Running,
    /// Somebody paused it.
    Paused,
    /// It is done.
    Solved,
    /// It cannot go on.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Queued, Self::Running, Self::Paused, Self::Solved, Self::Failed, Self::Cancelled];
}

impl EncodeLabelValue for JobState {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        encoder.write_str(match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Solved => "solved",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        })
    }
}

/// Tells kinds of failures apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EncodeLabelSet)]
pub struct FailureLabels {
    /// The kind.
    pub kind: FailureKind,
}

impl From<FailureKind> for FailureLabels {
    fn from(kind: FailureKind) -> Self {
        Self { kind }
    }
}

/// What failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FailureKind {
    /// A worker could not be reached by another.
    Unreachable,
    /// Saved values are damaged or gone.
    Damage,
    /// A worker has no room, or its disk fails.
    Unable,
    /// Somebody asked a worker to stop.
    Cancelled,
    /// Nothing was heard for a whole lease.
    Lease,
    /// A stream ended.
    Disconnected,
    /// Somebody sent what is not in the protocol, or may not speak.
    Refused,
    /// A token or a certificate that was renewed cannot be used.
    Renewal,
}

impl FailureKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Unreachable,
        Self::Damage,
        Self::Unable,
        Self::Cancelled,
        Self::Lease,
        Self::Disconnected,
        Self::Refused,
        Self::Renewal,
    ];
}

impl EncodeLabelValue for FailureKind {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        encoder.write_str(match self {
            Self::Unreachable => "unreachable",
            Self::Damage => "damage",
            Self::Unable => "unable",
            Self::Cancelled => "cancelled",
            Self::Lease => "lease",
            Self::Disconnected => "disconnected",
            Self::Refused => "refused",
            Self::Renewal => "renewal",
        })
    }
}
