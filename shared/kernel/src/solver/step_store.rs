//! The store of steps: checkpoints and solutions, so that a solve can go on after its process has ended.

use std::time::Duration;

use thiserror::Error;
use ziggurat_encoding::Tier;
use ziggurat_planning::{columns::Column, controller::StepController, statistics::TierStatistics};

use crate::shards::columns::Part;

/// The state of a step in a store.
#[derive(Clone, PartialEq, Debug)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// It was begun.
    Begun(Box<StepController>),
    /// It is solved.
    Solved(TierStatistics),
}

/// Something could not be written down or read.
#[derive(Debug, Error)]
#[error("{source}")]
pub struct StepStoreError {
    /// The checkpoint or the solution is damaged or gone: it has to be computed again.
    pub is_damage: bool,
    /// The failure.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Where a solve writes its checkpoints and solutions. A step is named by its
/// [first tier](crate::Step::tier).
///
/// Steps are written by several threads at once.
pub trait StepStore: Sync {
    /// The state of a step.
    ///
    /// # Errors
    /// If that cannot be read.
    fn find(&self, step: Tier) -> Result<Found, StepStoreError>;

    /// Reads parts of a step that was begun, or the values of one that is solved.
    ///
    /// # Errors
    /// If one of them cannot be read.
    fn load(&self, step: Tier, parts: Vec<Part<'_>>) -> Result<(), StepStoreError>;

    /// The first value of a solved step whose values were handed on for good, and are not to be handed on again; `None`
    /// if they were not.
    ///
    /// # Errors
    /// If that cannot be read.
    fn handed_on(&self, step: Tier) -> Result<Option<f64>, StepStoreError>;

    /// Whether a step should be written down now, after `unwritten` of work, if the next superstep takes
    /// as long as the last.
    fn is_due(&self, unwritten: Duration, last: Duration) -> bool;

    /// Writes down where a step is and all `parts` of it, all or nothing, in place of all that was
    /// written before, of which only the columns in `kept` are still right, and stay.
    ///
    /// # Errors
    /// If it cannot be written; the state before is still there then.
    fn save(
        &self,
        step: Tier,
        found: &Found,
        parts: Vec<Part<'_>>,
        kept: &[Column],
    ) -> Result<(), StepStoreError>;

    /// Gives up the state of a step because of an error, which is told to the user.
    ///
    /// # Errors
    /// If that cannot be written.
    fn forget(&self, step: Tier, error: &StepStoreError) -> Result<(), StepStoreError>;
}
