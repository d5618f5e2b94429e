//! What a solve writes down, so that it can go on after its process has ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use ziggurat_encoding::Tier;

use crate::{course::Course, solve::TierStatistics};

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

/// Numbers of a type.
#[derive(PartialEq, Debug)]
pub enum Data<'a> {
    /// 32-bit floating point.
    F32(&'a mut [f32]),
    /// 64-bit floating point.
    F64(&'a mut [f64]),
    /// Signed bytes.
    I8(&'a mut [i8]),
    /// 16-bit integers.
    U16(&'a mut [u16]),
}

impl Data<'_> {
    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.bytes().len() / self.width()
    }

    /// How many bytes a number has.
    pub fn width(&self) -> usize {
        match self {
            Self::F32(_) => 4,
            Self::F64(_) => 8,
            Self::I8(_) => 1,
            Self::U16(_) => 2,
        }
    }

    /// The numbers as they are in memory.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::F32(values) => bytemuck::cast_slice(values),
            Self::F64(values) => bytemuck::cast_slice(values),
            Self::I8(values) => bytemuck::cast_slice(values),
            Self::U16(values) => bytemuck::cast_slice(values),
        }
    }

    /// The numbers as they are in memory.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::F32(values) => bytemuck::cast_slice_mut(values),
            Self::F64(values) => bytemuck::cast_slice_mut(values),
            Self::I8(values) => bytemuck::cast_slice_mut(values),
            Self::U16(values) => bytemuck::cast_slice_mut(values),
        }
    }

    /// The same room once more.
    pub fn again(&mut self) -> Data<'_> {
        match self {
            Self::F32(values) => Data::F32(values),
            Self::F64(values) => Data::F64(values),
            Self::I8(values) => Data::I8(values),
            Self::U16(values) => Data::U16(values),
        }
    }
}

/// A part of an array of a step: that of a range of a shard.
#[derive(Debug)]
pub struct Part<'a> {
    /// Which array.
    pub column: Column,
    /// The shard's place among those of the step.
    pub shard: u32,
    /// Which of the shard's ranges.
    pub range: u8,
    /// What is to be remembered, or the room for it.
    pub data: Data<'a>,
}

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
