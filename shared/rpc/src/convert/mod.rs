//! Between messages and what the solver works with, checked: whatever comes in from outside is either
//! something that can be worked with or a [`WireError`].
//!
//! Where there is a type on either side, the conversions are `From` (out) and `TryFrom` (in):
//!
//! | message | here |
//! | --- | --- |
//! | [`proto::Step`] | [`Tier`](ziggurat_encoding::Tier), the first of the step |
//! | [`proto::Precision`] | [`Precision`](ziggurat_planning::Precision) |
//! | [`proto::Column`] | [`Column`](ziggurat_planning::Column) |
//! | [`proto::Growth`] | [`Growth`](ziggurat_planning::Growth) |
//! | [`proto::Prove`] | [`Proof`](ziggurat_planning::Proof), as [`Proof::from_parts`](ziggurat_planning::Proof::from_parts) has it |
//! | [`proto::Products`] | a list of [`Products`](ziggurat_planning::Products) with their ranges' places |
//! | [`proto::order::Task`] | [`Task`]: an [`Order`](ziggurat_planning::Order), or to save |
//! | [`proto::report::Outcome`] | [`Answer`]: an [`Outcome`](ziggurat_planning::Outcome), or another |
//! | [`proto::Failure`] | [`Failure`] |
//! | [`proto::JobSpec`] | [`Job`]: a ruleset and what decides the bytes of its values |
//! | [`proto::SubmitRequest`] | [`Submission`] |
//! | [`proto::Peer`] | [`Member`] |
//! | [`proto::HistoryReply`] | [`History`](ziggurat_history::History) |
//!
//! Messages hold other messages as `Option`s: [`required`] converts what must be there.
//!
//! ```
//! use ziggurat_encoding::Tier;
//! use ziggurat_rpc::{convert::required, proto};
//!
//! let message = proto::Step::from(Tier::new(3, 2));
//! let tier: Tier = required(Some(message), "step").unwrap();
//! assert_eq!(tier, Tier::new(3, 2));
//!
//! let message = proto::Step { just_moved: 2, to_move: 3 };
//! let error = required::<_, Tier>(Some(message), "step").unwrap_err();
//! assert_eq!(error.to_string(), "step: 2-3 is not the first tier of a step");
//! ```

mod answer;
mod history;
mod job;
mod member;
mod runs;
mod statistics;
mod step;
mod task;
mod version;

use std::fmt;

use thiserror::Error;
use tonic::Status;

use crate::limits::{NAME_BYTES, STATUS_BYTES};
#[cfg(doc)]
use crate::proto;

pub use answer::{Answer, Failure, FailureKind};
pub use job::{Job, Submission};
pub use member::{Member, identity, identity_text};
pub use runs::{owners, runs};
pub use step::precision;
pub use task::Task;
pub use version::{
    check_addressee, check_encoder, check_member, check_protocol, check_registration,
};

/// A message that says something that cannot be.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{field}: {problem}")]
pub struct WireError {
    /// Where it says so.
    pub field: &'static str,
    /// What is wrong.
    pub problem: String,
}

impl WireError {
    /// In a field, `problem` is wrong.
    pub fn new(field: &'static str, problem: impl fmt::Display) -> Self {
        Self { field, problem: problem.to_string() }
    }
}

impl From<WireError> for Status {
    fn from(error: WireError) -> Self {
        Self::invalid_argument(cut(&error.to_string()))
    }
}

/// The beginning of a text for a status, which goes into headers and is at most three times as long there: errors
/// quote what came in, however long it is.
pub fn cut(text: &str) -> String {
    match text.len() <= STATUS_BYTES {
        true => text.to_owned(),
        false => format!("{}...", &text[..text.floor_char_boundary(STATUS_BYTES)]),
    }
}

/// Converts what a message must have in `field`.
///
/// # Errors
/// If it is not there or cannot be converted.
pub fn required<P, T>(message: Option<P>, field: &'static str) -> Result<T, WireError>
where
    T: TryFrom<P, Error = WireError>,
{
    message.ok_or_else(|| WireError::new(field, "is missing"))?.try_into()
}

/// A number that is finite and not negative.
fn magnitude(value: f64, field: &'static str) -> Result<f64, WireError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(WireError::new(field, format_args!("{value} is negative or no number")))
}

/// Whether a text can be the name of a worker or a job: 1 to [`NAME_BYTES`] bytes, not all of them blank, on one line and without
/// anything that a terminal would obey.
pub fn is_name(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= NAME_BYTES && !text.contains(char::is_control)
}

/// The name of a worker or a job.
fn name(value: String) -> Result<String, WireError> {
    match is_name(&value) {
        true => Ok(value),
        false => Err(WireError::new("name", format_args!("{value:?} is none"))),
    }
}

/// A text of at most so many bytes.
fn text(value: String, most: usize, field: &'static str) -> Result<String, WireError> {
    if value.len() <= most {
        return Ok(value);
    }
    Err(WireError::new(field, format_args!("{} bytes are more than {most}", value.len())))
}
