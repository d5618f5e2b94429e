//! Which squares there are. The shape of the board does not decide any value; it decides which
//! paths make sense and how a position is drawn.

use std::collections::BTreeSet;



use crate::Square;

/// A board: a set of squares, symmetric under the mirror, and how it is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Board {
    name: String,
    squares: BTreeSet<Square>,
}

impl Board {
    /// The names [`Board::named`] knows.
    pub const NAMES: [&str; 2] = ["standard", "aseb"];

    /// The name of a board given by its squares.
    pub const EXPLICIT: &str = "explicit";

    /// A board by name: `standard`, the board of the Royal Game of Ur (rows 1..=4 and 7..=8 are
    /// three squares wide, rows 5 and 6 one), or `aseb`, the game of twenty squares (rows 1..=4
    /// three wide, rows 5..=12 one).
    pub fn named(name: &str) -> Option<Self> {
        let (rows, wide): (u8, fn(u8) -> bool) = match name {
            "standard" => (8, |y| y <= 4 || y >= 7),
            "aseb" => (12, |y| y <= 4),
            _ => return None,
        };
        let squares = (1..=rows)
            .flat_map(|y| (1..=3).map(move |x| Square::new(x, y)))
            .filter(|square| square.x == 2 || wide(square.y))
            .collect();
        Some(Self { name: name.to_owned(), squares })
    }

    /// A board given by its squares.
    pub fn explicit(squares: BTreeSet<Square>) -> Self {
        Self { name: Self::EXPLICIT.to_owned(), squares }
    }

    /// The name of the board, [`Board::EXPLICIT`] if it is given by its squares.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The squares, in order.
    pub fn squares(&self) -> &BTreeSet<Square> {
        &self.squares
    }

    /// The number of rows.
    pub fn rows(&self) -> u8 {
        self.squares.iter().map(|square| square.y).max().unwrap_or(0)
    }

    /// Whether a piece may go from one square to the next: orthogonal neighbours, or two ends
    /// of a straight jump over squares that the board does not have (the notch).
    pub fn connects(&self, from: Square, to: Square) -> bool {
        let (dx, dy) = (from.x.abs_diff(to.x), from.y.abs_diff(to.y));
        if dx + dy == 1 {
            return true;
        }
        let (low, high) = (from.y.min(to.y), from.y.max(to.y));
        dx == 0 && dy > 1 && (low + 1..high).all(|y| !self.squares.contains(&Square::new(from.x, y)))
    }
}
