//! Columns: the arrays of a step that are written down.

use serde::{Deserialize, Serialize};

/// Which of the arrays of a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Column {
    /// The values.
    Values,
    /// One of the vectors of an extrapolation, in quanta: the changes of supersteps, and the displacement from
    /// the restart point to the start of the cycle.
    Vector(u8),
    /// The quanta: for each piece of the shard a row of one for each vector.
    Units,
    /// The offsets of the lower bounds of the intervals of a proof.
    Lower,
    /// The offsets of the upper bounds.
    Upper,
}
