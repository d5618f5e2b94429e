//! Which squares there are. The shape of the board does not decide any value; it decides which
//! paths make sense and how a position is drawn.

use std::collections::BTreeSet;

use crate::{Path, Square};

/// A board: a set of squares, symmetric under the mirror, and how it is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Board {
    name: &'static str,
    squares: BTreeSet<Square>,
}

impl Board {
    /// The names [`Board::named`] knows.
    pub const NAMES: [&str; 2] = ["standard", "aseb"];

    /// The name of a board that is none of the named ones.
    pub const EXPLICIT: &str = "explicit";

    /// The most rows a board may have: as many as the longest path has squares.
    pub const MAX_ROWS: u8 = Path::MAX_LEN as u8;

    /// A board by name: `standard`, the board of the Royal Game of Ur (rows 1..=4 and 7..=8 are
    /// three squares wide, rows 5 and 6 one), or `aseb`, the game of twenty squares (rows 1..=4
    /// three wide, rows 5..=12 one).
    pub fn named(name: &str) -> Option<Self> {
        let name = Self::NAMES.into_iter().find(|known| *known == name)?;
        let (rows, wide): (u8, fn(u8) -> bool) = match name {
            "aseb" => (12, |y| y <= 4),
            _ => (8, |y| y <= 4 || y >= 7),
        };
        let squares = (1..=rows)
            .flat_map(|y| (1..=3).map(move |x| Square::new(x, y)))
            .filter(|square| square.x == 2 || wide(square.y))
            .collect();
        Some(Self { name, squares })
    }

    /// A board given by its squares. If they are those of a named board, it is that board.
    pub fn explicit(squares: BTreeSet<Square>) -> Self {
        Self::NAMES
            .iter()
            .filter_map(|name| Self::named(name))
            .find(|board| board.squares == squares)
            .unwrap_or(Self { name: Self::EXPLICIT, squares })
    }

    /// The name of the board, [`Board::EXPLICIT`] if it is none of the named ones.
    pub fn name(&self) -> &str {
        self.name
    }

    /// The squares, in order.
    pub fn squares(&self) -> &BTreeSet<Square> {
        &self.squares
    }

    /// Whether the board has a square.
    pub fn has(&self, square: Square) -> bool {
        self.squares.contains(&square)
    }

    /// The rosettes printed on a named board; none on others.
    pub fn rosettes(&self) -> BTreeSet<Square> {
        let rosettes: &[(u8, u8)] = match self.name {
            "standard" => &[(1, 1), (3, 1), (2, 4), (1, 7), (3, 7)],
            "aseb" => &[(1, 1), (3, 1), (2, 4), (2, 8), (2, 12)],
            _ => &[],
        };
        rosettes.iter().map(|&square| square.into()).collect()
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
        dx == 0 && dy > 1 && (low + 1..high).all(|y| !self.has(Square::new(from.x, y)))
    }
}
