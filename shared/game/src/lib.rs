//! The rules of the Royal Game of Ur and its relatives.
//!
//! A [`Ruleset`] is everything that decides the value of a position: the [`Path`] a piece
//! follows over the [`Board`], the rosettes, the [`Dice`], the number of pieces and the rule
//! flags. A [`Position`] is the pieces of both players, seen from the player to move. Moves are
//! pure functions of a position and a roll:
//!
//! ```
//! use ziggurat_game::{Ruleset, Position};
//!
//! let finkel = Ruleset::builtin("finkel").unwrap();
//! let start = Position::start();
//! let moves: Vec<_> = finkel.moves(&start, 4).collect();
//! assert_eq!(moves.len(), 1); // a piece enters onto path position 4, a rosette ...
//! let outcome = finkel.apply(&start, moves[0]);
//! assert!(outcome.rolls_again); // ... which grants another roll
//! ```
//!
//! | module | knows |
//! | --- | --- |
//! | [`square`] | physical squares and the mirror between the players |
//! | [`board`] | which squares there are, which are rosettes |
//! | [`path`] | the ordered squares a piece visits |
//! | [`dice`] | rolls and their exact probabilities |
//! | [`ruleset`] | all of these together, and the squares' roles for both players |
//! | [`check`] | what makes parts a ruleset |
//! | [`builtin`] | the rulesets and tracks that come with Ziggurat |
//! | [`file`](mod@file) | rulesets as TOML files, and what is wrong with them |
//! | [`position`] | where the pieces are |
//! | [`legal`] | which arrangements of pieces are positions |
//! | [`notation`] | positions as a person types them |
//! | [`rows`] | positions drawn in rows |
//! | [`draw`] | boards as text |
//! | [`moves`] | legal moves and what they lead to |
//! | `pace` | how slow a game is at the least |
//! | [`name`] | unknown names and what was probably meant |

pub mod board;
pub mod builtin;
mod canonical;
pub mod check;
pub mod dice;
pub mod draw;
pub mod file;
mod frame;
pub mod legal;
pub mod moves;
pub mod name;
pub mod notation;
mod pace;
mod parts;
pub mod path;
pub mod position;
pub mod rows;
pub mod ruleset;
pub mod square;

pub use board::Board;
pub use check::RulesetError;
pub use dice::{Dice, DiceError, Roll};
pub use file::{RulesetFileError, RulesetFileProblem, without_mark};
pub use legal::{Player, PositionError};
pub use moves::{Move, Outcome};
pub use name::UnknownName;
pub use notation::{NotationError, NotationProblem};
pub use parts::{Captures, RulesetParts};
pub use path::{Path, PathPosition};
pub use position::{Position, Side};
pub use ruleset::{Overrides, Ruleset};
pub use square::Square;
