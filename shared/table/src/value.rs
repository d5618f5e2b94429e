//! How a chance of winning is written in a file.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The type of a stored value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueType {
    /// 16 bits: the chance times 65535, rounded.
    Percent16,
    /// A 32-bit floating-point number.
    F32,
    /// A 64-bit floating-point number.
    #[default]
    F64,
}

/// What a stored value is less than the chance it stands for.
pub(crate) const HALF: f64 = 0.5;

/// The largest `percent16`: it stands for certainty.
const PERCENT16_ONE: f64 = 65535.0;

/// Rounding may carry a computed chance this far beyond 0 or 1.
pub(crate) const ROUNDING_SLACK: f64 = 1e-6;

impl ValueType {
    /// Every value type, smallest first.
    pub const ALL: [Self; 3] = [Self::Percent16, Self::F32, Self::F64];

    /// Bytes per value.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Percent16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The largest distance, as a probability, between neighbouring values that the type can
    /// tell apart; what is stored is at most half of it away from what was meant.
    pub const fn quantum(self) -> f64 {
        match self {
            Self::Percent16 => 1.0 / PERCENT16_ONE,
            // Percentages of 64 and more are 2^-17 apart, chances of a half and more 2^-24, and what is left of a chance
            // without one half 2^-25 at most.
            Self::F32 => f32::EPSILON as f64,
            Self::F64 => f64::EPSILON,
        }
    }

    /// What a stored value, a chance less one half, is after it was written with this type.
    pub fn rounded(self, stored: f64) -> f64 {
        match self {
            Self::Percent16 => from_percent16(to_percent16(HALF + stored)) - HALF,
            Self::F32 => f64::from(stored as f32),
            Self::F64 => stored,
        }
    }

    /// How far a stored value is at most from what was meant, in a table of any version.
    pub(crate) const fn rounding(self) -> f64 {
        match self {
            Self::Percent16 => 0.5 / PERCENT16_ONE * (1.0 + f64::EPSILON),
            // Chances of a half and more are 2^-24 apart.
            Self::F32 => f32::EPSILON as f64 / 4.0,
            Self::F64 => 0.0,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Percent16 => "percent16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no value type of that name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no value type `{0}`; use percent16, f32 or f64")]
pub struct UnknownValueType(String);

impl FromStr for ValueType {
    type Err = UnknownValueType;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|value_type| value_type.name() == name);
        known.ok_or_else(|| UnknownValueType(name.to_owned()))
    }
}

/// Rounds a chance to `percent16`.
///
/// ```
/// use ziggurat_table::{from_percent16, to_percent16};
/// assert_eq!(to_percent16(0.5154047), 33777);
/// assert_eq!(to_percent16(1.0), 65535);
/// assert!((from_percent16(33777) - 0.5154047).abs() < 0.5 / 65535.0);
/// ```
pub fn to_percent16(chance: f64) -> u16 {
    (chance * PERCENT16_ONE).round().clamp(0.0, PERCENT16_ONE) as u16
}

/// The chance that a `percent16` stands for.
pub fn from_percent16(value: u16) -> f64 {
    f64::from(value) / PERCENT16_ONE
}

/// Whether a number is a chance, or as good as.
pub(crate) fn is_chance(value: f64) -> bool {
    (-ROUNDING_SLACK..=1.0 + ROUNDING_SLACK).contains(&value)
}
