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

    /// The letter of its column: A is the near player's, B the middle, C the far player's.
    pub const fn column(self) -> char {
        match self.x {
            1 => 'A',
            2 => 'B',
            _ => 'C',
        }
    }

    /// Its name, the letter of the column and the row.
    ///
    /// ```
    /// use ziggurat_game::Square;
    /// assert_eq!(Square::new(2, 12).name(), "B12");
    /// assert_eq!(Square::parse("b12"), Some(Square::new(2, 12)));
    /// ```
    pub fn name(self) -> String {
        format!("{}{}", self.column(), self.y)
    }

    /// The square of a name, in letters of any case; `None` if the text is none.
    pub fn parse(name: &str) -> Option<Self> {
        let column = name.chars().next()?;
        let x = match column.to_ascii_uppercase() {
            'A' => 1,
            'B' => 2,
            'C' => 3,
            _ => return None,
        };
        let row = &name[1..];
        let is_row = row.starts_with(|c: char| ('1'..='9').contains(&c))
            && row.bytes().all(|byte| byte.is_ascii_digit());
        let y = row.parse().ok().filter(|_| is_row)?;
        Some(Self { x, y })
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
