//! The grid: what published values are multiples of.
//!
//! What a shard publishes at a barrier is rounded to a multiple of a power of two, a small part of the
//! last residual. So what it has published since the barrier before is told by small integers, the
//! same in one process and between machines; and rounding shrinks with the residuals, to nothing in the
//! end.

use serde::{Deserialize, Serialize};

use crate::solve::Precision;

/// A power of two that values are multiples of, by its exponent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Grid(i32);

/// The grid is finer than the residual by so many powers of two.
const BITS: i32 = 4;

/// The grid of extrapolated values is finer than that before by so many.
const EXTRAPOLATED_BITS: i32 = 8;

impl Grid {
    /// Before the first residual is known.
    pub const FIRST: Self = Self(-12);
    /// Nothing is ever finer: values in `f64` are rounded to less than half their own precision.
    pub const FINEST: Self = Self(-56);

    /// From the exponent; `None` if it is none of a grid.
    pub fn new(exponent: i32) -> Option<Self> {
        (Self::FINEST.0..=0).contains(&exponent).then_some(Self(exponent))
    }

    /// The exponent.
    pub fn exponent(self) -> i32 {
        self.0
    }

    /// Nothing is ever finer in a precision.
    fn finest(precision: Precision) -> i32 {
        match precision {
            Precision::F32 => -30,
            Precision::F64 => Self::FINEST.0,
        }
    }

    /// The grid after a superstep. It never becomes coarser, so that all that was published before is on
    /// it, too.
    pub fn after(self, residual: f64, precision: Precision) -> Self {
        let finest = Self::finest(precision);
        // The exponent of a number, of which 0 has the smallest.
        let exponent = (residual.to_bits() >> 52) as i32 - 1023;
        Self((exponent - BITS).clamp(finest, self.0.max(finest)))
    }

    /// The grid for the values of an extrapolation, which may remove most of the residual.
    pub fn for_extrapolation(self, precision: Precision) -> Self {
        Self((self.0 - EXTRAPOLATED_BITS).max(Self::finest(precision)))
    }

    /// What values are multiples of.
    pub fn unit(self) -> f64 {
        f64::from_bits(((1023 + self.0) as u64) << 52)
    }
}

impl Grid {
    /// The nearest multiple; of numbers too large for that, the nearest that has no more digits than they.
    #[inline(always)]
    pub fn round(self, value: f64) -> f64 {
        // Numbers near this one, 1.5 * 2^52 units, are multiples of a unit.
        let near = self.unit() * 6_755_399_441_055_744.0;
        (value + near) - near
    }
}
