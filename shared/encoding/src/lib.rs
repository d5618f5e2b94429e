//! A perfect ranking of positions: every undecided position of a tier has a dense index, and
//! back; nothing is hashed or searched, and a table stores values only.
//!
//! Positions are stored *in the orientation of the player who just moved*: the tier, the shared
//! configuration and the row belong to the player who just moved ("own"), the column is the
//! private configuration of the player to move ("opponent"). For a mover with a fixed private
//! configuration, every move that passes the turn then leads to one contiguous row, for all
//! private configurations of the opponent at once.
//!
//! ```
//! use ziggurat_encoding::{Encoding, Tier};
//! use ziggurat_game::{Position, Ruleset};
//!
//! let finkel = Ruleset::builtin("finkel").unwrap();
//! let encoding = Encoding::new(&finkel).unwrap();
//! assert_eq!(encoding.states(), 137_913_936);
//!
//! let start = encoding.rank(&Position::start());
//! assert_eq!((start.tier, start.offset), (Tier::new(7, 7), 0));
//! assert_eq!(encoding.unrank(start), Position::start());
//! ```
//!
//! | module | knows |
//! | --- | --- |
//! | [`geometry`] | which squares are shared and private, and the order of the digits |
//! | [`private`] | private configurations: the rows and columns of a block |
//! | [`shared`] | shared configurations and where their blocks start |
//! | [`shard`] | how a step is cut into shards |

pub mod geometry;
pub mod private;
pub mod shard;
pub mod shared;
mod tier;

use std::ops::Range;

use thiserror::Error;
use ziggurat_game::{Position, Ruleset, Side};

pub use geometry::{Geometry, Occupant, Place};
pub use private::PrivateConfigurations;
pub use shard::Shard;
pub use shared::{SharedConfiguration, SharedRanking};
pub use tier::Tier;

/// Where a position is stored: its tier, and its index in 0..`tier_len(tier)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Index {
    /// The tier.
    pub tier: Tier,
    /// The dense index within the tier.
    pub offset: u64,
}

/// Why there is no ranking for a ruleset.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EncodingError {
    /// More positions than a `u64` counts.
    #[error("the ruleset has more positions than 64 bits count; use fewer pieces")]
    TooManyPositions,
    /// More private squares than there are tables for.
    #[error(
        "{squares} private squares have too many configurations; use a path with fewer, or fewer pieces"
    )]
    TooManyPrivateSquares {
        /// Private squares of a player.
        squares: usize,
    },
    /// More shared squares than there are tables for.
    #[error("{squares} shared squares are too many; use a path with fewer")]
    TooManySharedSquares {
        /// Squares on both players' paths.
        squares: usize,
    },
}

/// The ranking of one ruleset's positions.
#[derive(Clone, Debug)]
pub struct Encoding {
    ruleset: Ruleset,
    geometry: Geometry,
    private: PrivateConfigurations,
    shared: SharedRanking,
    /// What a piece on a path position adds to the shared configuration: an own one, one of the opponent.
    piece: [Vec<SharedConfiguration>; 2],
}

impl Encoding {
    /// The version of the ranking, to be stored beside values that are indexed by it.
    pub const VERSION: u32 = 1;

    /// The ranking for a ruleset.
    ///
    /// # Errors
    /// If a tier has more positions than a `u64` counts, or the private or the shared squares have
    /// more configurations than there are tables for.
    pub fn new(ruleset: &Ruleset) -> Result<Self, EncodingError> {
        let geometry = Geometry::new(ruleset);
        let pieces = ruleset.pieces();
        let private = PrivateConfigurations::new(&geometry.private, ruleset.path().len(), pieces)?;
        let shared = SharedRanking::new(&geometry, &private, pieces)?;
        let piece = [&geometry.own_place, &geometry.opponent_place].map(|places| {
            let added = |place: &Place| match *place {
                Place::Private => SharedConfiguration::default(),
                Place::Shared { square, digit } => shared.with_digit(square, digit),
            };
            places.iter().map(added).collect()
        });
        let this = Self { ruleset: ruleset.clone(), geometry, private, shared, piece };
        let states = this.all_tiers().map(|tier| u128::from(this.tier_len(tier))).sum::<u128>();
        u64::try_from(states).map(|_| this).map_err(|_| EncodingError::TooManyPositions)
    }

    /// The ruleset.
    pub fn ruleset(&self) -> &Ruleset {
        &self.ruleset
    }

    /// Which squares carry digits, and in which order.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The private configurations: rows and columns of a block.
    pub fn private(&self) -> &PrivateConfigurations {
        &self.private
    }

    /// The shared configurations and where their blocks start.
    pub fn shared(&self) -> &SharedRanking {
        &self.shared
    }

    /// All tiers of undecided positions, in dependency order: ascending by the sum of the
    /// pieces left, then by those of the player who just moved.
    pub fn tiers(&self) -> Vec<Tier> {
        let mut tiers: Vec<Tier> =
            self.all_tiers().filter(|tier| tier.just_moved > 0 && tier.to_move > 0).collect();
        tiers.sort_by_key(|tier| (tier.level(), tier.just_moved));
        tiers
    }

    /// The number of positions of a tier.
    pub fn tier_len(&self, tier: Tier) -> u64 {
        self.shared.tier_len(tier)
    }

    /// The number of undecided positions.
    pub fn undecided(&self) -> u64 {
        self.tiers().into_iter().map(|tier| self.tier_len(tier)).sum()
    }

    /// The number of all arrangements of pieces, won ones included (and the one in which both
    /// players have scored everything, as the literature counts).
    pub fn states(&self) -> u64 {
        self.all_tiers().map(|tier| self.tier_len(tier)).sum()
    }

    fn all_tiers(&self) -> impl Iterator<Item = Tier> + use<> {
        let pieces = self.ruleset.pieces();
        (0..=pieces).flat_map(move |n| (0..=pieces).map(move |m| Tier::new(n, m)))
    }

    /// Where an undecided position (seen from the player to move) is stored. The stored number
    /// is the chance of the *other* player, who just moved: 1 - V(position).
    ///
    /// # Panics
    /// If a player has scored all pieces, or the position does not follow the ruleset: see
    /// [`Ruleset::check_position`].
    pub fn rank(&self, position: &Position) -> Index {
        debug_assert_eq!(self.ruleset.check_position(position), Ok(()));
        let (own, opponent) = (position.opponent, position.own);
        let left = |side: &Side| self.ruleset.pieces() - side.scored;
        let tier = Tier::new(left(&own), left(&opponent));
        assert!(tier.just_moved > 0 && tier.to_move > 0, "decided positions are not stored");
        let mut w = SharedConfiguration::default();
        for (side, pieces) in [&own, &opponent].into_iter().zip(&self.piece) {
            for at in side.positions() {
                w.add(&pieces[at as usize]);
            }
        }
        let rank = |side: &Side| {
            self.private.rank(side.board).expect("at most one piece stands on a square") as u64
        };
        let shared = opponent.board & !self.private.positions();
        let columns = self.private.count(tier.to_move - shared.count_ones() as u8);
        let offset = self.shared.offset(tier, &w) + rank(&own) * columns + rank(&opponent);
        Index { tier, offset }
    }

    /// The position (seen from the player to move) that is stored at an index.
    ///
    /// # Panics
    /// If the offset is not below the tier's length.
    pub fn unrank(&self, index: Index) -> Position {
        self.unranking(index.tier).position(index.offset)
    }

    /// The positions of a tier, for whoever asks for many.
    pub fn unranking(&self, tier: Tier) -> Unranking<'_> {
        Unranking { encoding: self, tier, block: 0..0, shared: (0, 0), columns: 0 }
    }
}

/// The positions of a tier, by offset. The block of the last one is remembered, so those that follow it cost little.
#[derive(Clone, Debug)]
pub struct Unranking<'a> {
    encoding: &'a Encoding,
    tier: Tier,
    /// The offsets of the block, empty before the first one.
    block: Range<u64>,
    /// Its pieces on shared squares as masks of their owners' path positions, (own, opponent).
    shared: (u64, u64),
    columns: u64,
}

impl Unranking<'_> {
    /// The position (seen from the player to move) that is stored at an offset.
    ///
    /// # Panics
    /// If the offset is not below the tier's length.
    pub fn position(&mut self, offset: u64) -> Position {
        if !self.block.contains(&offset) {
            self.find_block(offset);
        }
        let Self { encoding, tier, shared: (own, opponent), columns, .. } = *self;
        let within = offset - self.block.start;
        let side = |mask: u64, rank: u64, left: u8| Side {
            board: mask | encoding.private.mask(rank as usize),
            scored: encoding.ruleset.pieces() - left,
        };
        Position {
            own: side(opponent, within % columns, tier.to_move),
            opponent: side(own, within / columns, tier.just_moved),
        }
    }

    fn find_block(&mut self, offset: u64) {
        let Self { encoding, tier, .. } = *self;
        assert!(offset < encoding.tier_len(tier), "offset {offset} is beyond tier {tier}");
        let (w, within) = encoding.shared.locate(tier, offset);
        self.shared = encoding.shared.masks(&w);
        let [own, opponent] = [self.shared.0, self.shared.1].map(|mask| mask.count_ones() as u8);
        self.columns = encoding.private.count(tier.to_move - opponent);
        let len = encoding.private.count(tier.just_moved - own) * self.columns;
        self.block = offset - within..offset - within + len;
    }
}
