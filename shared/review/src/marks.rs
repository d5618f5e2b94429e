//! Marks of rolls and moves, as in chess.
//!
//! | mark | meaning |
//! | --- | --- |
//! | `!!` | a roll with more than 7 percentage points of luck |
//! | `!` | one with more than 4 |
//! | `?!` | a move that loses more than 0.5 percentage points |
//! | `?` | one that loses more than 1.5 |
//! | `??` | one that loses more than 4 |

/// A lucky roll.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LuckMark {
    /// More than 4 percentage points.
    Lucky,
    /// More than 7.
    VeryLucky,
}

/// A move that loses something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MoveMark {
    /// More than half a percentage point.
    Dubious,
    /// More than 1.5.
    Mistake,
    /// More than 4.
    Blunder,
}

impl LuckMark {
    /// The mark of a roll with some luck, a probability.
    pub fn of(luck: f64) -> Option<Self> {
        match luck {
            luck if luck > 0.07 => Some(Self::VeryLucky),
            luck if luck > 0.04 => Some(Self::Lucky),
            _ => None,
        }
    }

    /// How it is written.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Lucky => "!",
            Self::VeryLucky => "!!",
        }
    }
}

impl MoveMark {
    /// The mark of a move that loses so much, a probability.
    pub fn of(loss: f64) -> Option<Self> {
        match loss {
            loss if loss > 0.04 => Some(Self::Blunder),
            loss if loss > 0.015 => Some(Self::Mistake),
            loss if loss > 0.005 => Some(Self::Dubious),
            _ => None,
        }
    }

    /// How it is written.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Dubious => "?!",
            Self::Mistake => "?",
            Self::Blunder => "??",
        }
    }
}
