//! How the solution of a tier came about.

use serde::{Deserialize, Serialize};

use crate::proof::Certificate;

/// How the solution of a tier came about. A pure function of the job.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TierStatistics {
    /// Supersteps made.
    pub supersteps: u32,
    /// How many of them, the first ones, were made in `f32` although the result is `f64`.
    pub supersteps_in_f32: u32,
    /// The residual of the last one, as a probability.
    pub residual: f64,
    /// How far the values are from the solution, as a probability, guessed from how fast the
    /// residuals fell, and in slow games from how long they last: an estimate, which may be far too small. 1 if nothing
    /// is known.
    pub error_estimate: f64,
    /// The proof of how far they are at the most, if one was asked for.
    pub certificate: Option<Certificate>,
}
