//! What a solve writes down, so that it can go on after its process has ended.

use std::time::Duration;

use thiserror::Error;
use ziggurat_encoding::Tier;
use ziggurat_planning::{columns::Column, controller::Course, statistics::TierStatistics};

use crate::shards::columns::Part;

/// What is known of a step.
#[derive(Clone, PartialEq, Debug)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// It was begun.
    Begun(Box<Course>),
    /// It is solved.
    Solved(TierStatistics),
}

/// Something could not be written down or read.
#[derive(Debug, Error)]
#[error("{source}")]
pub struct JournalError {
    /// What was written before is damaged or gone: it has to be computed again.
    pub is_damage: bool,
    /// What went wrong.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Where a solve writes down what it must not lose. A step is named by its
/// [first tier](crate::Step::tier).
///
/// Steps are written by several threads at once.
pub trait Journal: Sync {
    /// What is known of a step.
    ///
    /// # Errors
    /// If that cannot be read.
    fn find(&self, step: Tier) -> Result<Found, JournalError>;

    /// Reads parts of a step that was begun, or the values of one that is solved.
    ///
    /// # Errors
    /// If one of them cannot be read.
    fn load(&self, step: Tier, parts: Vec<Part<'_>>) -> Result<(), JournalError>;

    /// Whether a step should be written down now, after `unwritten` of work, if the next superstep takes
    /// as long as the last.
    fn is_due(&self, unwritten: Duration, last: Duration) -> bool;

    /// Writes down where a step is and all `parts` of it, all or nothing, in place of what was
    /// written before, of which only the columns in `kept` are still right, and stay.
    ///
    /// # Errors
    /// If it cannot be written; what was written before is still there then.
    fn save(
        &self,
        step: Tier,
        found: &Found,
        parts: Vec<Part<'_>>,
        kept: &[Column],
    ) -> Result<(), JournalError>;

    /// Gives up what is known of a step because of an error, which is told to whoever is
    /// interested.
    ///
    /// # Errors
    /// If that cannot be written.
    fn forget(&self, step: Tier, error: &JournalError) -> Result<(), JournalError>;
}
