//! The ordered squares a piece visits.
//!
//! Path positions are 1-based: 0 is the hand (a piece that has not entered) and
//! `len + 1` is scored. A path may visit one square more than once: the *lap* of a path position
//! says which visit of its square it is, from 1.

use serde::{Deserialize, Serialize};

use crate::Square;

/// A place on a path: 0 is the hand, 1..=len are squares, len + 1 is scored.
pub type PathPosition = u8;

/// The squares the near player's pieces visit, in order. The far player's path is its mirror.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Path {
    squares: Vec<Square>,
}

impl Path {
    /// The longest path there may be, so that the pieces of a player fit one 64-bit mask.
    pub const MAX_LEN: usize = 60;

    /// A path over `squares`. Nothing is checked here; a [`crate::Ruleset`] checks it against
    /// its board.
    pub fn new(squares: Vec<Square>) -> Self {
        Self { squares }
    }

    /// The number of squares of the path, repeated visits counted again.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u8 {
        self.squares.len() as u8
    }

    /// The squares in the order they are visited.
    pub fn squares(&self) -> &[Square] {
        &self.squares
    }

    /// The square of a path position in 1..=len.
    pub fn square(&self, position: PathPosition) -> Square {
        self.squares[position as usize - 1]
    }

    /// The path positions 1..=len with their squares.
    pub fn positions(&self) -> impl Iterator<Item = (PathPosition, Square)> + '_ {
        self.squares.iter().enumerate().map(|(i, &square)| (i as PathPosition + 1, square))
    }

    /// Which visit of its square a path position is, from 1.
    pub fn lap(&self, position: PathPosition) -> u8 {
        let square = self.square(position);
        self.positions().filter(|&(at, s)| s == square && at <= position).count() as u8
    }
}
