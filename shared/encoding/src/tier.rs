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

    /// The tier that names the step it is solved in: of the tier and its swap the one with the most pieces left for the player
    /// who just moved.
    pub const fn first_of_step(self) -> Self {
        if self.just_moved >= self.to_move { self } else { self.swap() }
    }

    /// The tiers that are solved with it, itself first: two, or one that is its own swap.
    pub fn both(self) -> impl Iterator<Item = Self> {
        [self].into_iter().chain((self != self.swap()).then(|| self.swap()))
    }

    /// The tier of positions after the player to move has scored; `None` if the game is over then.
    pub const fn after_score(self) -> Option<Self> {
        match self.to_move {
            0 | 1 => None,
            left => Some(Self::new(left - 1, self.just_moved)),
        }
    }

    /// The tiers of other steps that it and its swap read, in which somebody has scored.
    ///
    /// ```
    /// use ziggurat_encoding::Tier;
    ///
    /// let reads = |tier: Tier| tier.reads().map(|tier| tier.to_string()).collect::<Vec<_>>();
    /// assert_eq!(reads(Tier::new(3, 2)), ["2-2", "1-3"]);
    /// assert_eq!(reads(Tier::new(3, 1)), ["2-1"]);
    /// assert_eq!(reads(Tier::new(2, 2)), ["1-2"]);
    /// ```
    pub fn reads(self) -> impl Iterator<Item = Self> {
        self.both().filter_map(|tier| tier.swap().after_score())
    }

    /// How far up the ziggurat it is: 1 for the tier that reads no other, and every tier reads those of the
    /// level below.
    pub const fn level(self) -> u8 {
        self.just_moved + self.to_move - 1
    }
}

impl From<Tier> for (u8, u8) {
    fn from(tier: Tier) -> Self {
        (tier.just_moved, tier.to_move)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.just_moved, self.to_move)
    }
}
