//! What a source of jobs can be asked.

use std::pin::Pin;

use serde_json::Value;

use crate::server::ApiError;

/// An answer that takes a while.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Value, ApiError>> + Send + 'a>>;

/// What is done about a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It stops for a while.
    Pause,
    /// It goes on.
    Resume,
    /// It ends for good.
    Cancel,
}

/// Where jobs come from. Jobs have numbers; errors are those of requests.
pub trait Source: Send + Sync + 'static {
    /// `{"jobs": [...], "left_out": 0}`.
    fn jobs(&self) -> Answer<'_>;

    /// `{"workers": [...]}`.
    fn workers(&self) -> Answer<'_>;

    /// `{"job": {...}, "steps": [...], "workers": [...], "forecast": {...}}`: a job now.
    fn job(&self, job: u64) -> Answer<'_>;

    /// `{"events": [...], "left_out": 0, "steps": {...}, "work": {...}, ...}`: what has become of it.
    fn history(&self, job: u64) -> Answer<'_>;

    /// Has something done about a job, in the name of somebody.
    fn change(&self, job: u64, change: Change, by: String) -> Answer<'_>;
}
