//! Tiers: all positions with the same number of pieces left.

use std::fmt;

use serde::{Deserialize, Serialize};

/// All positions with the same number of pieces not yet scored, (just moved, to move). With none left of one of them the
/// game is over: of undecided positions both are at least 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Tier {
    /// Pieces left of the player who just moved.
    pub just_moved: u8,
    /// Pieces left of the player to move.
    pub to_move: u8,
}

impl Tier {
    /// The tier with these numbers of pieces left.
    pub const fn new(just_moved: u8, to_move: u8) -> Self {
        Self { just_moved, to_move }
    }

    /// The tier of the same positions after the turn has passed.
    pub const fn swap(self) -> Self {
        Self { just_moved: self.to_move, to_move: self.just_moved }
    }

    /// How far up the ziggurat it is: 1 for the tier that reads no other, and every tier reads those of the
    /// level below.
    pub const fn level(self) -> u8 {
        self.just_moved + self.to_move - 1
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.just_moved, self.to_move)
    }
}
