//! The one TOML text of a ruleset: everything spelled out, nothing named, so that it means the
//! same to every later version, and equal rulesets have equal texts.

use std::fmt::Write;

use crate::{
    Board, Ruleset, Square,
    check::{ROLLS_AGAIN, SAFE},
};

impl Ruleset {
    /// The ruleset as the text of a ruleset file that needs nothing else to be understood: board
    /// and rosettes drawn, the path square by square, the dice roll by roll. It is deterministic,
    /// and [`Ruleset::from_toml`] reads it back to an equal ruleset.
    ///
    /// ```
    /// use ziggurat_game::Ruleset;
    /// let aseb = Ruleset::builtin("aseb").unwrap();
    /// assert_eq!(Ruleset::from_toml(&aseb.to_toml(), "").unwrap(), aseb);
    /// ```
    pub fn to_toml(&self) -> String {
        let parts = self.parts();
        let mut toml = String::new();
        let mut line = |key: &str, value: String| {
            // Writing to a String cannot fail.
            let _ = writeln!(toml, "{key} = {value}");
        };
        line("name", format!("\"{}\"", parts.name));
        line("board", list(board_rows(&parts.board, |square| parts.rosettes.contains(&square)), 1));
        line("path", squares(parts.path.squares()));
        let rolls = parts.dice.rolls().iter();
        let rolls = rolls.map(|roll| format!("{} = \"{}\"", roll.value, roll.probability));
        line("dice", format!("{{ {} }}", rolls.collect::<Vec<_>>().join(", ")));
        line("pieces", parts.pieces.to_string());
        match &parts.safe {
            Some(safe) => line(SAFE, squares(safe)),
            None => line("safe_rosettes", parts.safe_rosettes.to_string()),
        }
        match &parts.rolls_again {
            Some(rolls_again) => line(ROLLS_AGAIN, squares(rolls_again)),
            None => line("rosettes_grant_rolls", parts.rosettes_grant_rolls.to_string()),
        }
        line("captures_grant_rolls", parts.captures_grant_rolls.to_string());
        line("captures", format!("\"{}\"", parts.captures));
        toml
    }
}

/// Squares as a TOML array.
fn squares<'s>(squares: impl IntoIterator<Item = &'s Square>) -> String {
    list(squares.into_iter().map(|square| format!("[{}, {}]", square.x, square.y)), 8)
}

/// A TOML array over several lines, with so many elements in each.
fn list(elements: impl Iterator<Item = String>, per_line: usize) -> String {
    let elements: Vec<String> = elements.collect();
    let lines = elements.chunks(per_line).map(|line| format!("    {},\n", line.join(", ")));
    format!("[\n{}]", lines.collect::<String>())
}

/// The rows of a board's drawing, as quoted strings.
fn board_rows(board: &Board, is_rosette: impl Fn(Square) -> bool) -> impl Iterator<Item = String> {
    (1..=board.rows()).map(move |y| {
        let row = (1..=3).map(|x| Square::new(x, y)).map(|square| match board.has(square) {
            true if is_rosette(square) => '*',
            true => 'o',
            false => '.',
        });
        format!("\"{}\"", row.collect::<String>())
    })
}
