//! Physical squares of the board.
//!
//! Boards are three columns wide. The near player's own column is `x = 1`, the far player's is
//! `x = 3`, and exchanging the players mirrors the board: `x -> 4 - x`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A square, by column `x` (1..=3) and row `y` (from 1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "(u8, u8)", into = "(u8, u8)")]
pub struct Square {
    /// Column, 1..=3.
    pub x: u8,
    /// Row, from 1.
    pub y: u8,
}

impl Square {
    /// The square at column `x`, row `y`.
    pub const fn new(x: u8, y: u8) -> Self {
        Self { x, y }
    }

    /// The same square as the other player sees it: column `4 - x`.
    ///
    /// ```
    /// use ziggurat_game::Square;
    /// assert_eq!(Square::new(1, 8).mirror(), Square::new(3, 8));
    /// assert_eq!(Square::new(2, 4).mirror(), Square::new(2, 4));
    /// ```
    pub const fn mirror(self) -> Self {
        Self { x: 4 - self.x, y: self.y }
    }
}

impl From<(u8, u8)> for Square {
    fn from((x, y): (u8, u8)) -> Self {
        Self { x, y }
    }
}

impl From<Square> for (u8, u8) {
    fn from(square: Square) -> Self {
        (square.x, square.y)
    }
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.x, self.y)
    }
}
