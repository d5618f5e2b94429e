//! Columns: the arrays of a step that are written down.

use serde::{Deserialize, Serialize};

/// Which of the arrays of a step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Column {
    /// The values.
    Values,
    /// One of the vectors that an extrapolation is made of, in units: what supersteps changed, and what leads from
    /// the earlier point to the start of the row.
    Vector(u8),
    /// What the units are worth: for each piece of the shard a row of one for each vector.
    Units,
    /// The distances of the lower ends of the intervals of a proof.
    Lower,
    /// The distances of the upper ends.
    Upper,
}
