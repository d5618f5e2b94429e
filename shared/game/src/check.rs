//! What makes parts a ruleset: the board, path, rosettes and pieces must fit each other.
//!
//! The far player's board, path and rosettes are the near player's in the mirror; everything
//! else in the project relies on that symmetry, so it is checked here, once.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::{Board, Path, RulesetParts, Square, path::PathPosition};

/// The key of the squares on which a piece cannot be captured.
pub(crate) const SAFE: &str = "safe";

/// The key of the squares that grant another roll.
pub(crate) const ROLLS_AGAIN: &str = "rolls_again";

/// Why parts do not make a ruleset. Every message says what is wrong and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RulesetError {
    /// A name that could not be part of a file name.
    #[error(
        "`{}` cannot be the name of a ruleset; use 1 to {} letters, digits, `-` and `_`, no `-` first, in at most {} bytes",
        .name.escape_debug(),
        RulesetParts::MAX_NAME_LEN,
        RulesetParts::MAX_NAME_BYTES
    )]
    Name {
        /// The name.
        name: String,
    },
    /// A board without squares.
    #[error("the board has no squares; draw it row by row")]
    BoardEmpty,
    /// A square where no board may have one.
    #[error(
        "no board has a square {square}; columns go from 1 to 3 and rows from 1 to {}",
        Board::MAX_ROWS
    )]
    BoardSquare {
        /// The square.
        square: Square,
    },
    /// A board that the two players see differently.
    #[error("the board has the square {square} but not its mirror image {}; the players' sides must be alike: add the one or leave out the other", .square.mirror())]
    BoardNotSymmetric {
        /// The square.
        square: Square,
    },
    /// A path without squares.
    #[error("the path has no squares; list the squares a piece visits, such as [[1, 4], [1, 3]]")]
    PathEmpty,
    /// A path over the limit.
    #[error("the path has {len} squares; at most {} are possible", Path::MAX_LEN)]
    PathTooLong {
        /// Its number of squares.
        len: usize,
    },
    /// A path that leaves the board.
    #[error(
        "path position {at} is {square}, which is not on the board; use squares of the board, as [column, row]"
    )]
    PathLeavesBoard {
        /// The path position.
        at: PathPosition,
        /// Its square.
        square: Square,
    },
    /// The same square twice in a row.
    #[error("path positions {} and {at} are both {square}; a path must go on to another square", at - 1)]
    PathStays {
        /// The second of the two path positions.
        at: PathPosition,
        /// The square.
        square: Square,
    },
    /// A step to a square that is not a neighbour.
    #[error("the path jumps from {from} (path position {}) to {to}; it may go to a neighbouring square, or straight along a column over squares that the board does not have", at - 1)]
    PathJumps {
        /// The path position the jump ends on.
        at: PathPosition,
        /// The square it starts from.
        from: Square,
        /// The square it ends on.
        to: Square,
    },
    /// A rosette that no piece ever reaches.
    #[error(
        "the rosette {square} is on neither player's path; leave it out, or correct it to a square of the path"
    )]
    RosetteOffPath {
        /// The square.
        square: Square,
    },
    /// Rosettes that the two players see differently.
    #[error("{square} is a rosette but its mirror image {} is not; the players' sides must be alike: add the one or leave out the other", .square.mirror())]
    RosettesNotSymmetric {
        /// The square.
        square: Square,
    },
    /// A square of a list that no piece ever reaches.
    #[error(
        "the square {square} in `{list}` is on neither player's path; leave it out, or correct it to a square of the path"
    )]
    ListedOffPath {
        /// The list.
        list: &'static str,
        /// The square.
        square: Square,
    },
    /// A list that the two players see differently.
    #[error("{square} is in `{list}` but its mirror image {} is not; the players' sides must be alike: add the one or leave out the other", .square.mirror())]
    ListedNotSymmetric {
        /// The list.
        list: &'static str,
        /// The square.
        square: Square,
    },
    /// No pieces or too many.
    #[error(
        "{pieces} pieces per player are not possible; choose 1 to {}",
        RulesetParts::MAX_PIECES
    )]
    Pieces {
        /// The number of pieces.
        pieces: i64,
    },
}

/// Checks the parts against each other.
///
/// # Errors
/// The first thing that is wrong.
pub(crate) fn check(parts: &RulesetParts) -> Result<(), RulesetError> {
    check_name(&parts.name)?;
    check_board(&parts.board)?;
    check_path(&parts.path, &parts.board)?;
    check_rosettes(parts)?;
    if !(1..=RulesetParts::MAX_PIECES).contains(&parts.pieces) {
        return Err(RulesetError::Pieces { pieces: parts.pieces.into() });
    }
    Ok(())
}

/// Names become parts of file names, and begin them, so they are kept plain.
fn check_name(name: &str) -> Result<(), RulesetError> {
    let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let fits = (1..=RulesetParts::MAX_NAME_LEN).contains(&name.chars().count())
        && name.len() <= RulesetParts::MAX_NAME_BYTES;
    if fits && name.chars().all(plain) && !name.starts_with('-') {
        return Ok(());
    }
    Err(RulesetError::Name { name: name.to_owned() })
}

fn check_board(board: &Board) -> Result<(), RulesetError> {
    if board.squares().is_empty() {
        return Err(RulesetError::BoardEmpty);
    }
    for &square in board.squares() {
        if !(1..=3).contains(&square.x) || !(1..=Board::MAX_ROWS).contains(&square.y) {
            return Err(RulesetError::BoardSquare { square });
        }
        if !board.has(square.mirror()) {
            return Err(RulesetError::BoardNotSymmetric { square });
        }
    }
    Ok(())
}

fn check_path(path: &Path, board: &Board) -> Result<(), RulesetError> {
    let squares = path.squares();
    if squares.is_empty() {
        return Err(RulesetError::PathEmpty);
    }
    if squares.len() > Path::MAX_LEN {
        return Err(RulesetError::PathTooLong { len: squares.len() });
    }
    for (at, square) in path.positions() {
        if !board.has(square) {
            return Err(RulesetError::PathLeavesBoard { at, square });
        }
        if at == 1 {
            continue;
        }
        let from = path.square(at - 1);
        if from == square {
            return Err(RulesetError::PathStays { at, square });
        }
        if !board.connects(from, square) {
            return Err(RulesetError::PathJumps { at, from, to: square });
        }
    }
    Ok(())
}

fn check_rosettes(parts: &RulesetParts) -> Result<(), RulesetError> {
    check_squares(
        parts,
        &parts.rosettes,
        |square| RulesetError::RosetteOffPath { square },
        |square| RulesetError::RosettesNotSymmetric { square },
    )?;
    for (list, squares) in [(SAFE, &parts.safe), (ROLLS_AGAIN, &parts.rolls_again)] {
        check_squares(
            parts,
            squares.as_ref().unwrap_or(&BTreeSet::new()),
            |square| RulesetError::ListedOffPath { list, square },
            |square| RulesetError::ListedNotSymmetric { list, square },
        )?;
    }
    Ok(())
}

/// Checks that squares are on a path and look alike to both players.
fn check_squares(
    parts: &RulesetParts,
    squares: &BTreeSet<Square>,
    off_path: impl Fn(Square) -> RulesetError,
    not_symmetric: impl Fn(Square) -> RulesetError,
) -> Result<(), RulesetError> {
    for &square in squares {
        let visits = |square| parts.path.squares().contains(&square);
        // A square off the board is never mirrored: its column may be any number.
        if !parts.board.has(square) || !visits(square) && !visits(square.mirror()) {
            return Err(off_path(square));
        }
        if !squares.contains(&square.mirror()) {
            return Err(not_symmetric(square));
        }
    }
    Ok(())
}
