//! Rulesets: path, rosettes, dice, piece count and rule flags, checked against each other.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Board, Dice, Path, Square, path::PathPosition};

/// What a piece may capture on a path that visits squares more than once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Captures {
    /// An opponent piece on any lap.
    #[default]
    Any,
    /// Only an opponent piece on the same lap; one on another lap blocks the square.
    SameLap,
}

/// What a ruleset is made of, before it is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RulesetParts {
    /// How the ruleset is called.
    pub name: String,
    /// The squares there are.
    pub board: Board,
    /// The near player's path.
    pub path: Path,
    /// The rosettes, both players' included.
    pub rosettes: BTreeSet<Square>,
    /// The dice.
    pub dice: Dice,
    /// Pieces per player, 1..=15.
    pub pieces: u8,
    /// Whether a piece on a rosette cannot be captured.
    pub safe_rosettes: bool,
    /// Whether ending a move on a rosette grants another roll.
    pub rosettes_grant_rolls: bool,
    /// Whether a capture grants another roll.
    pub captures_grant_rolls: bool,
    /// What a piece may capture on a path that visits squares more than once.
    pub captures: Captures,
}

/// Why parts do not make a ruleset. Every message says what is wrong and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RulesetError {
    /// Placeholder, refined by the checks.
    #[error("{0}")]
    Invalid(String),
}

/// A checked ruleset: everything that decides the value of a position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ruleset {
    parts: RulesetParts,
    /// For each path position: the own path positions on the same square.
    own_on_square_of: Vec<u64>,
    /// For each path position: the opponent's path positions on the same square.
    opponent_on_square_of: Vec<u64>,
    /// For each path position: the opponent's path positions that a piece ending here captures.
    capturable_from: Vec<u64>,
    /// The path positions that are rosettes.
    rosettes: u64,
}

impl Ruleset {
    /// The most pieces a player may have.
    pub const MAX_PIECES: u8 = 15;

    /// Checks the parts against each other and precomputes who meets whom where.
    ///
    /// # Errors
    /// The first thing that is wrong, see [`RulesetError`].
    pub fn new(parts: RulesetParts) -> Result<Self, RulesetError> {
        let path = &parts.path;
        let len = path.len();
        let mask = |wanted: &dyn Fn(PathPosition, Square) -> bool| -> u64 {
            path.positions().filter(|&(at, s)| wanted(at, s)).fold(0, |mask, (at, _)| mask | 1 << at)
        };
        let rosettes = mask(&|_, square| parts.rosettes.contains(&square));
        let per_position = |f: &dyn Fn(PathPosition) -> u64| -> Vec<u64> {
            (0..=len).map(|at| if at == 0 { 0 } else { f(at) }).collect()
        };
        let own_on_square_of = per_position(&|at| mask(&|_, square| square == path.square(at)));
        let opponent_on_square_of =
            per_position(&|at| mask(&|_, square| square.mirror() == path.square(at)));
        let capturable_from = per_position(&|at| {
            let safe = parts.safe_rosettes && rosettes >> at & 1 == 1;
            let same_lap = mask(&|other, _| path.lap(other) == path.lap(at));
            match parts.captures {
                _ if safe => 0,
                Captures::Any => opponent_on_square_of[at as usize],
                Captures::SameLap => opponent_on_square_of[at as usize] & same_lap,
            }
        });
        Ok(Self { own_on_square_of, opponent_on_square_of, capturable_from, rosettes, parts })
    }

    /// The parts the ruleset was made from.
    pub fn parts(&self) -> &RulesetParts {
        &self.parts
    }

    /// How the ruleset is called.
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// The squares there are.
    pub fn board(&self) -> &Board {
        &self.parts.board
    }

    /// The near player's path.
    pub fn path(&self) -> &Path {
        &self.parts.path
    }

    /// The dice.
    pub fn dice(&self) -> &Dice {
        &self.parts.dice
    }

    /// Pieces per player.
    pub fn pieces(&self) -> u8 {
        self.parts.pieces
    }

    /// Whether a piece on a rosette cannot be captured.
    pub fn safe_rosettes(&self) -> bool {
        self.parts.safe_rosettes
    }

    /// Whether ending a move on a rosette grants another roll.
    pub fn rosettes_grant_rolls(&self) -> bool {
        self.parts.rosettes_grant_rolls
    }

    /// Whether a capture grants another roll.
    pub fn captures_grant_rolls(&self) -> bool {
        self.parts.captures_grant_rolls
    }

    /// Whether a path position is a rosette.
    pub fn is_rosette(&self, at: PathPosition) -> bool {
        self.rosettes >> at & 1 == 1
    }

    /// The own path positions on the square of path position `at`, as a mask.
    pub fn own_on_square_of(&self, at: PathPosition) -> u64 {
        self.own_on_square_of[at as usize]
    }

    /// The opponent's path positions on the square of path position `at`, as a mask: empty if
    /// the square is private.
    pub fn opponent_on_square_of(&self, at: PathPosition) -> u64 {
        self.opponent_on_square_of[at as usize]
    }

    /// The opponent's path positions whose pieces a piece ending on `at` captures, as a mask;
    /// those of [`Ruleset::opponent_on_square_of`] that are missing here block the square.
    pub fn capturable_from(&self, at: PathPosition) -> u64 {
        self.capturable_from[at as usize]
    }
}
