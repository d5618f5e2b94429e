//! Positions as a person types them: `own/opponent`, seen from the player to move.
//!
//! Each side lists the path positions of its pieces on the board, separated by commas, or `-` if
//! there are none, then `+k` if `k` pieces are scored; the others are in hand. `4,8+1/3,12` is:
//! own pieces on path positions 4 and 8 and one scored, opponent pieces on path positions 3 and
//! 12 of the opponent's path. `start` is the first position of a game, `-/-`.
//!
//! A square's [name](crate::Square::name) may stand for the path position, if the path visits it once: the player to move sits at
//! column A, the opponent at column C. So `A1,B4+1/C2,B7` is a position, too, and so is one drawn in rows, see [`crate::rows`].

use thiserror::Error;

use crate::{Position, PositionError, Ruleset, Side, Square, legal::Player, without_mark};

/// A text that is not a position of a ruleset.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{}` is not a position: {problem}", .text.escape_debug())]
pub struct NotationError {
    /// The text.
    pub text: String,
    /// What is wrong and what would be right.
    pub problem: NotationProblem,
}

/// What is wrong with the text of a position and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum NotationProblem {
    /// Not two sides.
    #[error(
        "write own/opponent, each the path positions of the pieces or `-`, then `+` and the number scored, such as 4,8+1/3,12; or `start`"
    )]
    Sides,
    /// Something in the list of pieces that is no path position.
    #[error(
        "`{}` is not a path position; list numbers from 1 to {len}, separated by commas, or write `-` for no piece on the board",
        .token.escape_debug()
    )]
    Piece {
        /// What there is instead.
        token: String,
        /// The length of the path.
        len: u8,
    },
    /// A square that is not on the player's path.
    #[error(
        "{name} is not on the path of the {player} pieces; the player to move sits at column A, the opponent at C"
    )]
    NotOnPath {
        /// Whose pieces.
        player: Player,
        /// The name of the square.
        name: String,
    },
    /// A square that the path visits more than once.
    #[error("the path visits {name} more than once; write the path position, one of {visits:?}")]
    Visits {
        /// The name of the square.
        name: String,
        /// The path positions on it.
        visits: Vec<u8>,
    },
    /// Something in a position drawn in rows.
    #[error("{0}")]
    Rows(#[from] RowsProblem),
    /// Two pieces of one player on one path position.
    #[error("path position {at} is listed twice for the {player} pieces; it holds one piece")]
    Doubled {
        /// Whose pieces.
        player: Player,
        /// The path position.
        at: u8,
    },
    /// Something after `+` that is no number of pieces.
    #[error(
        "`{}` is not a number of scored pieces; write a number from 0 to {pieces} after `+`",
        .token.escape_debug()
    )]
    Scored {
        /// What there is instead.
        token: String,
        /// Pieces per player.
        pieces: u8,
    },
    /// Pieces that cannot stand like that.
    #[error("{0}")]
    Position(#[from] PositionError),
}

/// What is wrong with a position drawn in rows.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RowsProblem {
    /// Something that is no piece, no square and no gap.
    #[error("`{found}` is neither a piece, `l` or `d`, nor a number of empty squares, nor `x`")]
    Letter {
        /// What there is.
        found: char,
    },
    /// A column with other squares than the board's.
    #[error("`{column}` does not fit the board: its column {name} has {expected}")]
    Column {
        /// The column as it is drawn.
        column: String,
        /// Which it is.
        name: char,
        /// How the column is drawn without pieces.
        expected: String,
    },
    /// Neither player.
    #[error("`{found}` is no player; write `l` if light is to roll, `d` if dark is")]
    Turn {
        /// What there is.
        found: String,
    },
    /// Numbers that are not those of the pieces.
    #[error(
        "write the pieces of light in hand and scored, then those of dark: each player has {pieces} in all, with those on the board"
    )]
    Counts {
        /// Pieces per player.
        pieces: u8,
    },
    /// Two positions.
    #[error(
        "it is a position whether dark's or light's column comes first; write it as own/opponent"
    )]
    Ambiguous,
}

impl Ruleset {
    /// Reads a position; [`crate::notation`] describes how it is written. Blanks around numbers and signs do not matter,
    /// nor does the byte order mark that some editors begin a text with.
    ///
    /// # Errors
    /// If the text is no position of this ruleset; the error says what is wrong and what would
    /// be right.
    ///
    /// ```
    /// use ziggurat_game::{Position, Ruleset, Side};
    /// let finkel = Ruleset::builtin("finkel").unwrap();
    /// let position = finkel.parse_position("4,8+1/3,12").unwrap();
    /// assert_eq!(position.own, Side::new([4, 8], 1));
    /// assert_eq!(position.opponent.in_hand(finkel.pieces()), 5);
    /// assert_eq!(finkel.parse_position("start"), Ok(Position::start()));
    /// ```
    pub fn parse_position(&self, text: &str) -> Result<Position, NotationError> {
        let typed = without_mark(text).trim();
        let parse = || {
            if let Some(position) = self.parse_rows(typed) {
                return position;
            }
            if typed.eq_ignore_ascii_case("start") {
                return Ok(Position::start());
            }
            let (own, opponent) = typed.split_once('/').ok_or(NotationProblem::Sides)?;
            let position = Position {
                own: self.parse_side(Player::Own, own)?,
                opponent: self.parse_side(Player::Opponent, opponent)?,
            };
            self.check_position(&position)?;
            Ok(position)
        };
        parse().map_err(|problem| NotationError { text: text.to_owned(), problem })
    }

    fn parse_side(&self, player: Player, text: &str) -> Result<Side, NotationProblem> {
        let text = text.trim();
        if text.is_empty() || text.contains('/') {
            return Err(NotationProblem::Sides);
        }
        let (board, scored) = match text.split_once('+') {
            Some((board, scored)) => (board.trim_end(), self.parse_scored(scored.trim_start())?),
            None => (text, 0),
        };
        let mut side = Side::new([], scored);
        if board == "-" {
            return Ok(side);
        }
        for token in board.split(',').map(str::trim) {
            let at = self.parse_piece(player, token)?;
            if side.has(at) {
                return Err(NotationProblem::Doubled { player, at });
            }
            side.board |= 1 << at;
        }
        Ok(side)
    }

    /// A path position, or a square that is visited once.
    fn parse_piece(&self, player: Player, token: &str) -> Result<u8, NotationProblem> {
        let len = self.path().len();
        if let Some(square) = Square::parse(token) {
            return self.visit(player, square);
        }
        let at = number(token).filter(|at| (1..=len).contains(at));
        at.ok_or_else(|| NotationProblem::Piece { token: token.to_owned(), len })
    }

    /// The path position of a player's piece on a square, the player to move sitting at column A.
    pub(crate) fn visit(&self, player: Player, square: Square) -> Result<u8, NotationProblem> {
        let seen = if player == Player::Own { square } else { square.mirror() };
        let visits = self.path().positions().filter(|(_, visited)| *visited == seen);
        let visits: Vec<u8> = visits.map(|(at, _)| at).collect();
        match visits[..] {
            [at] => Ok(at),
            [] => Err(NotationProblem::NotOnPath { player, name: square.name() }),
            _ => Err(NotationProblem::Visits { name: square.name(), visits }),
        }
    }

    fn parse_scored(&self, token: &str) -> Result<u8, NotationProblem> {
        let pieces = self.pieces();
        let scored = number(token).filter(|&scored| scored <= pieces);
        scored.ok_or_else(|| NotationProblem::Scored { token: token.to_owned(), pieces })
    }

    /// Writes a position so that [`Ruleset::parse_position`] reads it back.
    ///
    /// ```
    /// use ziggurat_game::{Position, Ruleset};
    /// let finkel = Ruleset::builtin("finkel").unwrap();
    /// assert_eq!(finkel.format_position(&Position::start()), "-/-");
    /// ```
    pub fn format_position(&self, position: &Position) -> String {
        let side = |side: &Side| format_side(side, |at| at.to_string());
        format!("{}/{}", side(&position.own), side(&position.opponent))
    }

    /// Writes a position by the names of squares, the player to move at column A; path positions on squares that the path
    /// visits more than once stay numbers. [`Ruleset::parse_position`] reads it back.
    ///
    /// ```
    /// use ziggurat_game::Ruleset;
    /// let finkel = Ruleset::builtin("finkel").unwrap();
    /// let position = finkel.parse_position("4,8+1/3,12").unwrap();
    /// assert_eq!(finkel.format_position_by_squares(&position), "A1,B4+1/C2,B8");
    /// assert_eq!(finkel.parse_position("A1,B4+1/C2,B8"), Ok(position));
    /// ```
    pub fn format_position_by_squares(&self, position: &Position) -> String {
        let name = |player: Player, at: u8| {
            let square = self.path().square(at);
            let square = if player == Player::Own { square } else { square.mirror() };
            self.visit(player, square).map_or_else(|_| at.to_string(), |_| square.name())
        };
        let own = format_side(&position.own, |at| name(Player::Own, at));
        format!("{own}/{}", format_side(&position.opponent, |at| name(Player::Opponent, at)))
    }
}

/// A number written with digits and nothing else.
fn number(token: &str) -> Option<u8> {
    token.bytes().all(|byte| byte.is_ascii_digit()).then(|| token.parse().ok())?
}

fn format_side(side: &Side, name: impl Fn(u8) -> String) -> String {
    let pieces: Vec<String> = side.positions().map(name).collect();
    let board = if pieces.is_empty() { "-".to_owned() } else { pieces.join(",") };
    if side.scored == 0 { board } else { format!("{board}+{}", side.scored) }
}
