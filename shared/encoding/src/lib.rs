//! A perfect ranking of positions: every undecided position of a tier has a dense index, and
//! back; nothing is hashed or searched, and a table stores values only.
//!
//! Positions are stored *in the orientation of the player who just moved*: tier, shared
//! configuration and row belong to the player who just moved, the column to the player to move.

mod tier;

pub use tier::Tier;

use ziggurat_game::{Position, Ruleset};

/// Where a position is stored: its tier, and its index in 0..`tier_len(tier)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Index {
    /// The tier.
    pub tier: Tier,
    /// The dense index within the tier.
    pub offset: u64,
}

/// The ranking of one ruleset's positions.
pub struct Encoding {
    ruleset: Ruleset,
}

impl Encoding {
    /// The version of the ranking, to be stored beside values that are indexed by it.
    pub const VERSION: u32 = 1;

    /// The ranking for a ruleset.
    ///
    /// # Errors
    /// If a tier has more positions than a `u64` counts or the private squares more
    /// configurations than [`Encoding`] tables hold.
    pub fn new(ruleset: &Ruleset) -> Result<Self, EncodingError> {
        Ok(Self { ruleset: ruleset.clone() })
    }

    /// The ruleset.
    pub fn ruleset(&self) -> &Ruleset {
        &self.ruleset
    }

    /// All tiers of undecided positions, in dependency order: ascending by the sum of the
    /// pieces left, then by those of the player who just moved.
    pub fn tiers(&self) -> Vec<Tier> {
        todo!()
    }

    /// The number of positions of a tier.
    pub fn tier_len(&self, _tier: Tier) -> u64 {
        todo!()
    }

    /// Where an undecided position (seen from the player to move) is stored. The stored number
    /// is the chance of the *other* player, who just moved: 1 - V(position).
    ///
    /// # Panics
    /// If a player has scored all pieces: such a position is decided and not stored.
    pub fn rank(&self, _position: &Position) -> Index {
        todo!()
    }

    /// The position (seen from the player to move) that is stored at an index.
    ///
    /// # Panics
    /// If the offset is not below the tier's length.
    pub fn unrank(&self, _index: Index) -> Position {
        todo!()
    }
}

/// Why there is no ranking for a ruleset.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodingError {
    /// More positions than a `u64` counts.
    #[error("{ruleset} with {pieces} pieces has more positions than 64 bits count; use fewer pieces")]
    TooManyPositions {
        /// The ruleset's name.
        ruleset: String,
        /// Its number of pieces.
        pieces: u8,
    },
}
