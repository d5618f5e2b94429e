//! What is wrong with a record, and where.

use std::fmt;

use thiserror::Error;

/// A place in a text, both counted from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// The first place of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The place after a text.
    pub fn after(text: &str) -> Self {
        let line = 1 + text.matches('\n').count();
        let last = text.rsplit('\n').next().unwrap_or_default();
        Self { line, column: 1 + last.chars().count() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a text is no record of a game: where, what was read, and what would be right there.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{place}: {problem}")]
pub struct RecordError {
    /// Where.
    pub place: Place,
    /// What was read there, and what would be right.
    pub problem: String,
    /// The number of actions before it, which are right.
    pub actions: usize,
}

impl RecordError {
    pub(crate) fn new(place: Place, problem: impl Into<String>) -> Self {
        Self { place, problem: problem.into(), actions: 0 }
    }
}

/// Why a notation has no words for a game.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{notation} cannot express {what}")]
pub struct NotExpressible {
    /// The notation.
    pub notation: &'static str,
    /// What it has no words for.
    pub what: String,
}

/// The most characters of a text that an error repeats.
const MOST_SHOWN: usize = 40;

/// A text as an error repeats it: in quotes, on one line, not too long.
pub(crate) fn quoted(text: &str) -> String {
    let shown = text.chars().take(MOST_SHOWN).map(|c| match c {
        '"' | '\'' | '\\' => c.to_string(),
        _ => c.escape_debug().to_string(),
    });
    let mut shown: String = shown.collect();
    if text.chars().nth(MOST_SHOWN).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}
