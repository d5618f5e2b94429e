//! Games as text.
//!
//! A [`Game`] is a ruleset, a start, the rolls with the moves they were answered with, and how it ended. It is read from RGN
//! (Royal Game Notation) and from the JSON notation of the existing libraries, and written as both. Every action is replayed by
//! the rules: what is read was played, and what cannot have been played is an error that names the line and the column, what
//! was read, and what would be legal there.
//!
//! ```
//! use ziggurat_game::Ruleset;
//! use ziggurat_records::{Rules, read, rgn};
//!
//! let text = "[Rules finkel]\n\n1. A@A1 * A@A2 / 0 --\n";
//! let game = read(text.as_bytes(), Rules::Infer).unwrap();
//! assert_eq!(game.actions.len(), 3);
//! assert_eq!(game.actions[1].roll, 3); // rolls that were moved with are inferred
//! assert_eq!(rgn::write(&game).unwrap(), text);
//!
//! let wrong = read(b"1. A@A1 / C@C3", Rules::Known(&Ruleset::builtin("finkel").unwrap()));
//! assert_eq!(wrong.unwrap_err().to_string(), "line 1, column 4: `A@A1` ends on a rosette; write ` *` after it");
//! ```
//!
//! | module | knows |
//! | --- | --- |
//! | `game` | games and how they are replayed |
//! | `tokens` | pieces of a text with their places |
//! | [`rgn`] | RGN |
//! | [`json`] | the JSON notation |
//! | `rules` | by which rules a record that does not say so was played |
//! | `error` | what is wrong with a record, and where |

mod error;
mod game;
pub mod json;
pub mod rgn;
mod rules;
mod tokens;

pub use error::{NotExpressible, Place, RecordError};
pub use game::{Action, End, Game, Player, Replay, Start, Turn, move_name};
pub use rules::Rules;
use ziggurat_game::without_mark;

/// Records of more bytes than this are refused: some 50,000 moves in JSON, 500,000 in RGN.
pub const MOST_BYTES: usize = 4 << 20;

/// Reads a record in whichever notation it is: JSON begins with a brace.
///
/// # Errors
/// If it is too long, no text, or no record of a game by these rules.
pub fn read(bytes: &[u8], rules: Rules<'_>) -> Result<Game, RecordError> {
    let text = text(bytes)?;
    if text.trim_start().starts_with('{') {
        json::read(text, rules)
    } else {
        rgn::read(text, rules)
    }
}

/// The text of a record, without a byte order mark.
fn text(bytes: &[u8]) -> Result<&str, RecordError> {
    if bytes.len() > MOST_BYTES {
        let problem = format!("the record has more than {MOST_BYTES} bytes; no game is that long");
        return Err(RecordError::new(Place::START, problem));
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        let before = str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        RecordError::new(Place::after(before), "here are bytes that are no text in UTF-8")
    })?;
    Ok(without_mark(text))
}
