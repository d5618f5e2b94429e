//! Which arrangements of pieces are positions.
//!
//! A square holds at most one piece, whoever's and on whatever lap; a player has as many pieces
//! as the ruleset says; a game has one winner. Everything else is a position, whether play can
//! reach it or not.

use std::fmt;

use thiserror::Error;

use crate::{Position, Ruleset, Side, Square, path::PathPosition};

/// One of the two players, as the player to move calls them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Player {
    /// The player to move.
    Own,
    /// The other player.
    Opponent,
}

impl fmt::Display for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "own",
            Self::Opponent => "opponent",
        })
    }
}

/// Why pieces cannot stand like that.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PositionError {
    /// A piece where the path has no square.
    #[error(
        "the path has no position {at} for an {player} piece; path positions go from 1 to {len}, pieces in hand are not listed and scored ones are counted after `+`"
    )]
    OffPath {
        /// Whose piece.
        player: Player,
        /// Where it is said to stand.
        at: PathPosition,
        /// The length of the path.
        len: u8,
    },
    /// More pieces than a player has.
    #[error("{count} {player} pieces on the board and scored are too many; a player has {pieces}")]
    TooManyPieces {
        /// Whose pieces.
        player: Player,
        /// On the board and scored.
        count: u32,
        /// Pieces per player.
        pieces: u8,
    },
    /// Two pieces of one player on one square, on different laps.
    #[error(
        "two {player} pieces, on path positions {first} and {second}, stand on the same square {square}; a square holds one piece"
    )]
    SquareTakenTwice {
        /// Whose pieces.
        player: Player,
        /// The path position of one.
        first: PathPosition,
        /// The path position of the other.
        second: PathPosition,
        /// The square, seen by the player whose pieces they are.
        square: Square,
    },
    /// Pieces of both players on one square.
    #[error(
        "the own piece on path position {own} and the opponent piece on path position {opponent} stand on the same square {square}; a square holds one piece"
    )]
    SquareShared {
        /// The path position of the own piece.
        own: PathPosition,
        /// The path position of the opponent piece, on the opponent's path.
        opponent: PathPosition,
        /// The square, seen by the player to move.
        square: Square,
    },
    /// Two winners.
    #[error("both players have scored all {pieces} pieces; the game ends when the first does")]
    BothWon {
        /// Pieces per player.
        pieces: u8,
    },
}

impl Ruleset {
    /// Checks that pieces can stand like that.
    ///
    /// # Errors
    /// The first thing that is wrong, see [`PositionError`].
    ///
    /// ```
    /// use ziggurat_game::{Position, Ruleset, Side};
    /// let finkel = Ruleset::builtin("finkel").unwrap();
    /// let both_on_8 = Position { own: Side::new([8], 0), opponent: Side::new([8], 0) };
    /// assert!(finkel.check_position(&both_on_8).is_err());
    /// ```
    pub fn check_position(&self, position: &Position) -> Result<(), PositionError> {
        let Position { own, opponent } = position;
        self.check_side(Player::Own, own)?;
        self.check_side(Player::Opponent, opponent)?;
        for at in own.positions() {
            let met = opponent.board & self.opponent_on_square_of(at);
            if met != 0 {
                let (opponent, square) = (lowest(met), self.path().square(at));
                return Err(PositionError::SquareShared { own: at, opponent, square });
            }
        }
        if own.scored == self.pieces() && opponent.scored == self.pieces() {
            return Err(PositionError::BothWon { pieces: self.pieces() });
        }
        Ok(())
    }

    fn check_side(&self, player: Player, side: &Side) -> Result<(), PositionError> {
        let (len, pieces) = (self.path().len(), self.pieces());
        if let Some(at) = side.positions().find(|at| !(1..=len).contains(at)) {
            return Err(PositionError::OffPath { player, at, len });
        }
        let count = side.board.count_ones() + u32::from(side.scored);
        if count > pieces.into() {
            return Err(PositionError::TooManyPieces { player, count, pieces });
        }
        for first in side.positions() {
            let later = side.board & self.own_on_square_of(first) & !((2 << first) - 1);
            if later != 0 {
                let (second, square) = (lowest(later), self.path().square(first));
                return Err(PositionError::SquareTakenTwice { player, first, second, square });
            }
        }
        Ok(())
    }
}

/// The lowest path position of a mask that is not empty.
fn lowest(mask: u64) -> PathPosition {
    mask.trailing_zeros() as PathPosition
}
