//! Rulesets as TOML files.
//!
//! ```toml
//! extends = "finkel"                # optional: what the file leaves out is as in this ruleset
//! name = "pocket"                   # the file's name without .toml if left out
//! board = ["*o*", ".o.", "*o*"]     # or a named board; row 1 first, * rosette, o square, . none
//! path = [[1, 1], [2, 1], [2, 2], [2, 3], [1, 3]]                    # or the name of a track
//! rosettes = [[2, 2]]               # those drawn or printed on the board if left out
//! dice = { 0 = "1/4", 1 = "1/2", 2 = 0.25 }                          # or the name of dice
//! pieces = 3
//! safe_rosettes = true              # or a list: safe = [[2, 2]]
//! rosettes_grant_rolls = true       # or a list: rolls_again = [[2, 1], [2, 3]]
//! captures_grant_rolls = false
//! captures = "any"                  # or "same-lap"; "any" if left out
//! ```
//!
//! The document is walked by hand, not derived, so that every mistake is reported where it
//! stands, with what to write instead.

mod values;

use std::{borrow::Cow, collections::BTreeSet, ops::Range};

use thiserror::Error;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    Board, DiceError, Path, Ruleset, RulesetError, RulesetParts, Square, UnknownName,
    check::{ROLLS_AGAIN, SAFE},
};
use values::{
    read_board, read_bool, read_captures, read_dice, read_extends, read_path, read_pieces,
    read_squares, read_text,
};

/// The keys of a ruleset file, each with how it is written.
const KEYS: [(&str, &str); 13] = [
    ("name", r#"name = "my-game""#),
    ("extends", r#"extends = "finkel""#),
    ("board", r#"board = "standard" or, row by row, board = ["*o*", ".o.", "ooo"]"#),
    ("path", r#"path = "single-short" or path = [[1, 4], [1, 3], [1, 2]]"#),
    ("rosettes", "rosettes = [[1, 1], [3, 1], [2, 4]]"),
    ("dice", r#"dice = "binary4" or dice = { 0 = "1/4", 1 = "1/2", 2 = "1/4" }"#),
    ("pieces", "pieces = 7"),
    ("safe_rosettes", "safe_rosettes = true"),
    ("rosettes_grant_rolls", "rosettes_grant_rolls = true"),
    ("captures_grant_rolls", "captures_grant_rolls = false"),
    (SAFE, "safe = [[2, 4]]"),
    (ROLLS_AGAIN, "rolls_again = [[1, 1], [3, 1], [2, 4]]"),
    ("captures", r#"captures = "any" or captures = "same-lap""#),
];

/// How a key is written.
fn example(key: &str) -> &'static str {
    KEYS.iter().find(|(known, _)| *known == key).map_or("", |(_, example)| example)
}

/// What is wrong in a ruleset file, and where.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct RulesetFileError {
    /// The file's name, as the caller gave it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong and what would be right.
    pub problem: RulesetFileProblem,
}

/// What is wrong in a ruleset file and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RulesetFileProblem {
    /// Bytes that are no text.
    #[error("this is not UTF-8 text; save the file as UTF-8")]
    NotUtf8,
    /// Text that is no TOML.
    #[error("this is not TOML: {0}; every line reads `key = value`, texts stand in quotes")]
    Syntax(String),
    /// A key that every ruleset needs.
    #[error("`{key}` is missing; add {}, or take everything you leave out from a built-in ruleset, like extends = \"finkel\"", example(.key))]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A key of the ruleset in the section of the dice.
    #[error(
        "`{key}` belongs to the dice here, as all keys after [dice]; move that section to the end, or write {}",
        example("dice")
    )]
    InDice {
        /// The key.
        key: String,
    },
    /// A value of another kind than the key takes.
    #[error("`{key}` cannot be {found}; write {}", example(.key))]
    WrongType {
        /// The key.
        key: &'static str,
        /// What there is instead.
        found: String,
    },
    /// Something in a list of squares that is none.
    #[error("this is not a square; a square is [column, row], such as [1, 4]")]
    NotASquare,
    /// A key, ruleset, board, track, dice or kind of captures that does not exist.
    #[error("{0}")]
    UnknownName(UnknownName),
    /// Something in the drawing of a board that is not a row of three squares.
    #[error(
        "`{}` is not a row of a board; a row is three characters: `*` a rosette, `o` another square, `.` no square",
        .row.escape_debug()
    )]
    BoardRow {
        /// The row.
        row: String,
    },
    /// Rosettes both in the drawing of the board and as a list.
    #[error("the rosettes are already drawn on the board, as `*`; leave out either these or those")]
    RosettesTwice,
    /// A flag of the rosettes and a list of squares that say different things of a rosette.
    #[error(
        "`{flag} = {value}`, but the rosette {square} is {}in `{list}`; leave out `{flag}`: `{list}` says it all",
        if *.value { "not " } else { "" }
    )]
    Contradiction {
        /// The flag.
        flag: &'static str,
        /// Its value.
        value: bool,
        /// The list.
        list: &'static str,
        /// A rosette of which they say different things.
        square: Square,
    },
    /// Dice that cannot be.
    #[error("{0}")]
    Dice(DiceError),
    /// A file without a name in it whose own name is none for a ruleset.
    #[error("{}; it comes from the name of the file: add {}", .0, example("name"))]
    NameOfFile(RulesetError),
    /// Parts that do not fit each other.
    #[error("{0}")]
    Ruleset(RulesetError),
}

use RulesetFileProblem as Problem;

/// A problem and the bytes of the text it is about.
struct Located {
    span: Range<usize>,
    problem: Problem,
}

type Read<T> = Result<T, Located>;
type Value<'t> = Spanned<DeValue<'t>>;

impl Ruleset {
    /// Reads a ruleset file's text; `file` is its name, for errors and for the name of a ruleset
    /// whose file gives none. [`mod@crate::file`] describes the format.
    ///
    /// # Errors
    /// The first mistake, with its place and what would be right.
    ///
    /// ```
    /// use ziggurat_game::Ruleset;
    /// let text = "extends = \"finkel\"\npeices = 3\n";
    /// let error = Ruleset::from_toml(text, "short.toml").unwrap_err();
    /// assert!(error.to_string().starts_with(
    ///     "short.toml:2:1: unknown key `peices`; did you mean `pieces`?"
    /// ));
    /// ```
    pub fn from_toml(text: &str, file: &str) -> Result<Self, RulesetFileError> {
        let text = without_mark(text);
        read_ruleset(text, file).map_err(|error| locate(text.as_bytes(), file, error))
    }

    /// Reads a ruleset file's bytes, see [`Ruleset::from_toml`].
    ///
    /// # Errors
    /// If they are not UTF-8 text, or as for [`Ruleset::from_toml`].
    pub fn from_toml_bytes(bytes: &[u8], file: &str) -> Result<Self, RulesetFileError> {
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(bytes);
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let at = error.valid_up_to();
            locate(bytes, file, Located { span: at..at, problem: Problem::NotUtf8 })
        })?;
        Self::from_toml(text, file)
    }
}

/// With this, U+FEFF in UTF-8, some editors begin every text; it is no part of it.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A text without the byte order mark that it may begin with.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// The error for a problem: line and column of where its bytes begin.
fn locate(text: &[u8], file: &str, Located { span, problem }: Located) -> RulesetFileError {
    let before = String::from_utf8_lossy(&text[..span.start.min(text.len())]).into_owned();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    RulesetFileError { file: file.to_owned(), line, column, problem }
}

fn read_ruleset(text: &str, file: &str) -> Read<Ruleset> {
    let document = parse(text)?;
    let table = document.get_ref();
    let keys = KEYS.map(|(key, _)| key);
    let known = |key: &str| keys.contains(&key);
    if let Some((key, _)) = in_text_order(table).into_iter().find(|(key, _)| !known(key.as_ref())) {
        let unknown = UnknownName::new("key", key.as_ref(), keys);
        return Err(Located { span: key.span(), problem: Problem::UnknownName(unknown) });
    }
    let dice = table.get("dice").and_then(|dice| dice.get_ref().as_table()).map(in_text_order);
    if let Some((key, _)) = dice.into_iter().flatten().find(|(key, _)| known(key.as_ref())) {
        let problem = Problem::InDice { key: key.to_string() };
        return Err(Located { span: key.span(), problem });
    }

    let base = table.get("extends").map(read_extends).transpose()?;
    let base = base.as_ref().map(Ruleset::parts);
    let drawn = table.get("board").map(read_board).transpose()?;
    let listed = table.get("rosettes").map(|value| read_squares("rosettes", value)).transpose()?;
    if let (Some(value), Some((_, Some(drawn)))) = (table.get("rosettes"), &drawn)
        && !drawn.is_empty()
    {
        return Err(Located { span: value.span(), problem: Problem::RosettesTwice });
    }
    let (board, drawn_rosettes) = drawn.unwrap_or_else(|| {
        let standard = || Board::named("standard").expect("a board of that name");
        (base.map_or_else(standard, |base| base.board.clone()), None)
    });
    let path = required(table, "path", read_path, base.map(|base| base.path.clone()))?;
    let printed_on_path = || {
        let visits = |square: Square| path.squares().contains(&square);
        let on_path = |square: &Square| visits(*square) || visits(square.mirror());
        board.rosettes().into_iter().filter(on_path).collect()
    };
    let rosettes = match (&listed, drawn_rosettes) {
        (Some(listed), _) => listed.iter().copied().collect(),
        (None, Some(drawn)) => drawn,
        (None, None) => printed_on_path(),
    };
    let flag = |key: &'static str, base: Option<bool>| {
        required(table, key, |value| read_bool(key, value), base)
    };
    let base_safe = base.map(|base| base.safe_rosettes);
    let (safe_rosettes, safe) = read_mark(table, "safe_rosettes", SAFE, base_safe, &rosettes)?;
    let base_again = base.map(|base| base.rosettes_grant_rolls);
    let (rosettes_grant_rolls, rolls_again) =
        read_mark(table, "rosettes_grant_rolls", ROLLS_AGAIN, base_again, &rosettes)?;
    let parts = RulesetParts {
        name: table.get("name").map_or_else(|| Ok(name_from(file)), |v| read_text("name", v))?,
        dice: required(table, "dice", read_dice, base.map(|base| base.dice.clone()))?,
        pieces: required(table, "pieces", read_pieces, base.map(|base| base.pieces))?,
        safe_rosettes,
        rosettes_grant_rolls,
        safe,
        rolls_again,
        captures_grant_rolls: flag(
            "captures_grant_rolls",
            base.map(|base| base.captures_grant_rolls),
        )?,
        captures: table.get("captures").map_or_else(
            || Ok(base.map(|base| base.captures).unwrap_or_default()),
            read_captures,
        )?,
        board,
        path,
        rosettes,
    };
    Ruleset::new(parts).map_err(|error| {
        if matches!(error, RulesetError::Name { .. }) && !table.contains_key("name") {
            return Located { span: 0..0, problem: Problem::NameOfFile(error) };
        }
        let span = span_of(&error, table);
        Located { span, problem: Problem::Ruleset(error) }
    })
}

/// What a file says of a mark that squares can have: a flag of the rosettes, and a list of squares in its place.
/// A list stands in place of the flag of the ruleset that a file extends.
fn read_mark(
    table: &DeTable<'_>,
    flag: &'static str,
    list: &'static str,
    base: Option<bool>,
    rosettes: &BTreeSet<Square>,
) -> Read<(bool, Option<BTreeSet<Square>>)> {
    let Some(listed) = table.get(list) else {
        return Ok((required(table, flag, |value| read_bool(flag, value), base)?, None));
    };
    let listed: BTreeSet<Square> = read_squares(list, listed)?.into_iter().collect();
    let Some(said) = table.get(flag) else { return Ok((false, Some(listed))) };
    let value = read_bool(flag, said)?;
    match rosettes.iter().find(|square| listed.contains(square) != value) {
        Some(&square) => {
            let problem = Problem::Contradiction { flag, value, list, square };
            Err(Located { span: said.span(), problem })
        }
        None => Ok((value, Some(listed))),
    }
}

/// The tracks of a file that gives each as `name = [[x, y], ...]`, in the order of the file.
pub(crate) fn read_tracks(text: &str) -> Result<Vec<(String, Path)>, RulesetFileError> {
    let read = || -> Read<Vec<(String, Path)>> {
        let document = parse(text)?;
        in_text_order(document.get_ref())
            .into_iter()
            .map(|(name, value)| Ok((name.to_string(), Path::new(read_squares("path", value)?))))
            .collect()
    };
    read().map_err(|error| locate(text.as_bytes(), "tracks.toml", error))
}

fn parse(text: &str) -> Read<Spanned<DeTable<'_>>> {
    DeTable::parse(text).map_err(|error| Located {
        span: error.span().unwrap_or_default(),
        problem: Problem::Syntax(error.message().to_owned()),
    })
}

/// The entries of a table as they follow each other in the text.
fn in_text_order<'v, 't>(
    table: &'v DeTable<'t>,
) -> Vec<(&'v Spanned<Cow<'t, str>>, &'v Value<'t>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The value of a key, or that of the ruleset the file extends.
fn required<T>(
    table: &DeTable<'_>,
    key: &'static str,
    read: impl FnOnce(&Value<'_>) -> Read<T>,
    base: Option<T>,
) -> Read<T> {
    match table.get(key) {
        Some(value) => read(value),
        None => base.ok_or(Located { span: 0..0, problem: Problem::MissingKey { key } }),
    }
}

/// Where in the text the part that an error is about stands.
fn span_of(error: &RulesetError, table: &DeTable<'_>) -> Range<usize> {
    use RulesetError as E;
    let in_list = |list: &'static str, square: &Square| {
        let squares = table.get(list).map(|value| read_squares(list, value));
        squares.and_then(Result::ok)?.iter().position(|listed| listed == square)
    };
    let (key, element) = match error {
        E::Name { .. } => ("name", None),
        E::BoardEmpty => ("board", None),
        E::BoardSquare { square } | E::BoardNotSymmetric { square } => {
            ("board", Some(usize::from(square.y) - 1))
        }
        E::PathEmpty | E::PathTooLong { .. } => ("path", None),
        E::PathLeavesBoard { at, .. } | E::PathStays { at, .. } | E::PathJumps { at, .. } => {
            ("path", Some(usize::from(*at) - 1))
        }
        E::RosetteOffPath { square } | E::RosettesNotSymmetric { square } => {
            match in_list("rosettes", square) {
                Some(element) => ("rosettes", Some(element)),
                None => ("board", Some(usize::from(square.y) - 1)),
            }
        }
        E::ListedOffPath { list, square } | E::ListedNotSymmetric { list, square } => {
            (*list, in_list(list, square))
        }
        E::Pieces { .. } => ("pieces", None),
    };
    let value = table.get(key).or_else(|| table.get("extends"));
    value.map_or(0..0, |value| {
        let element = element.and_then(|element| value.get_ref().as_array()?.get(element));
        element.unwrap_or(value).span()
    })
}

/// A ruleset's name from its file's: without folder and ending, what no name may have as `-`.
fn name_from(file: &str) -> String {
    let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = file.strip_suffix(".toml").unwrap_or(file);
    stem.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect()
}
