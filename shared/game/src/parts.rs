//! The parts of a ruleset, before they are checked against each other.

use std::{collections::BTreeSet, fmt, str::FromStr};

use crate::{Board, Dice, Path, Square, UnknownName};

/// What a piece may capture on a path that visits squares more than once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Captures {
    /// An opponent piece on any lap.
    #[default]
    Any,
    /// Only an opponent piece on the same lap; one on another lap blocks the square.
    SameLap,
}

impl Captures {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Any, Self::SameLap];

    /// How it is called in ruleset files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::SameLap => "same-lap",
        }
    }
}

impl fmt::Display for Captures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Captures {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let names = Self::ALL.map(Self::name);
        let known = Self::ALL.into_iter().find(|captures| captures.name() == text);
        known.ok_or_else(|| UnknownName::new("kind of captures", text, names))
    }
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
    /// Whether a piece on a rosette cannot be captured; not looked at if there is a list of safe squares.
    pub safe_rosettes: bool,
    /// Whether ending a move on a rosette grants another roll; not looked at if there is a list of such squares.
    pub rosettes_grant_rolls: bool,
    /// Whether a capture grants another roll.
    pub captures_grant_rolls: bool,
    /// What a piece may capture on a path that visits squares more than once.
    pub captures: Captures,
    /// The squares on which a piece cannot be captured, on any lap, both players' included; `None` for the
    /// rosettes, if they are safe.
    pub safe: Option<BTreeSet<Square>>,
    /// The squares that grant another roll to a move that ends there, both players' included; `None` for the
    /// rosettes, if they grant one.
    pub rolls_again: Option<BTreeSet<Square>>,
}

impl RulesetParts {
    /// The most pieces per player.
    pub(crate) const MAX_PIECES: u8 = 15;

    /// The most characters of a name.
    pub(crate) const MAX_NAME_LEN: usize = 64;

    /// The most bytes of a name.
    pub(crate) const MAX_NAME_BYTES: usize = 200;

    /// The same parts with a list only where a flag does not say the same, and flags that say of the
    /// rosettes what a list says of them: equal rules are equal parts.
    pub(crate) fn canonical(mut self) -> Self {
        (self.safe_rosettes, self.safe) =
            canonical_mark(&self.rosettes, self.safe_rosettes, self.safe);
        (self.rosettes_grant_rolls, self.rolls_again) =
            canonical_mark(&self.rosettes, self.rosettes_grant_rolls, self.rolls_again);
        self
    }
}

/// A flag of the rosettes and a list of squares, the list only where the flag does not say the same.
fn canonical_mark(
    rosettes: &BTreeSet<Square>,
    flag: bool,
    listed: Option<BTreeSet<Square>>,
) -> (bool, Option<BTreeSet<Square>>) {
    let Some(listed) = listed else { return (flag, None) };
    if listed.is_empty() && rosettes.is_empty() {
        return (flag, None);
    }
    let all_rosettes = !rosettes.is_empty() && rosettes.is_subset(&listed);
    let said_by_the_flag = listed.is_empty() || listed == *rosettes;
    (all_rosettes, (!said_by_the_flag).then_some(listed))
}
