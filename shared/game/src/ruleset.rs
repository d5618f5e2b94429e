//! Rulesets: path, rosettes, dice, piece count and rule flags, checked against each other.

use std::{collections::BTreeSet, fmt, str::FromStr};

use crate::{Board, Dice, Path, RulesetError, Square, UnknownName, check, path::PathPosition};

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
    /// Whether a piece on a rosette cannot be captured.
    pub safe_rosettes: bool,
    /// Whether ending a move on a rosette grants another roll.
    pub rosettes_grant_rolls: bool,
    /// Whether a capture grants another roll.
    pub captures_grant_rolls: bool,
    /// What a piece may capture on a path that visits squares more than once.
    pub captures: Captures,
}

/// What a name ends in if the rules are not those of that name.
const VARIANT: &str = "-variant";

/// Changes to a ruleset; what is `None` stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Overrides {
    /// Pieces per player.
    pub pieces: Option<u8>,
    /// The dice.
    pub dice: Option<Dice>,
    /// Whether a piece on a rosette cannot be captured.
    pub safe_rosettes: Option<bool>,
    /// Whether ending a move on a rosette grants another roll.
    pub rosettes_grant_rolls: Option<bool>,
    /// Whether a capture grants another roll.
    pub captures_grant_rolls: Option<bool>,
    /// What a piece may capture on a path that visits squares more than once.
    pub captures: Option<Captures>,
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

    /// The most characters a name may have.
    pub const MAX_NAME_LEN: usize = 64;

    /// The most bytes a name may have: a file name has 255 at most, and tables are called after their ruleset.
    pub const MAX_NAME_BYTES: usize = 200;

    /// Checks the parts against each other and precomputes who meets whom where.
    ///
    /// # Errors
    /// The first thing that is wrong, see [`RulesetError`].
    pub fn new(parts: RulesetParts) -> Result<Self, RulesetError> {
        check::check(&parts)?;
        let path = &parts.path;
        let len = path.len();
        let mask = |wanted: &dyn Fn(PathPosition, Square) -> bool| -> u64 {
            path.positions()
                .filter(|&(at, s)| wanted(at, s))
                .fold(0, |mask, (at, _)| mask | 1 << at)
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

    /// The same ruleset with changes. With another number of pieces it keeps its name; with other rules it is a variant of
    /// that name.
    ///
    /// # Errors
    /// If the changed parts do not make a ruleset.
    ///
    /// ```
    /// use ziggurat_game::{Overrides, Ruleset};
    /// let finkel = Ruleset::builtin("finkel").unwrap();
    /// let short = finkel.with(&Overrides { pieces: Some(3), ..Overrides::default() }).unwrap();
    /// assert_eq!(short.pieces(), 3);
    /// assert_eq!((short.name(), short.path()), ("finkel", finkel.path()));
    /// let risky = Overrides { safe_rosettes: Some(false), ..Overrides::default() };
    /// assert_eq!(finkel.with(&risky).unwrap().name(), "finkel-variant");
    /// ```
    pub fn with(&self, overrides: &Overrides) -> Result<Self, RulesetError> {
        let old = &self.parts;
        let pieces = overrides.pieces.unwrap_or(old.pieces);
        let mut parts = RulesetParts {
            pieces,
            dice: overrides.dice.clone().unwrap_or_else(|| old.dice.clone()),
            safe_rosettes: overrides.safe_rosettes.unwrap_or(old.safe_rosettes),
            rosettes_grant_rolls: overrides
                .rosettes_grant_rolls
                .unwrap_or(old.rosettes_grant_rolls),
            captures_grant_rolls: overrides
                .captures_grant_rolls
                .unwrap_or(old.captures_grant_rolls),
            captures: overrides.captures.unwrap_or(old.captures),
            ..old.clone()
        };
        if parts != (RulesetParts { pieces, ..old.clone() }) && !parts.name.ends_with(VARIANT) {
            while parts.name.chars().count() > Self::MAX_NAME_LEN - VARIANT.len()
                || parts.name.len() > Self::MAX_NAME_BYTES - VARIANT.len()
            {
                parts.name.pop();
            }
            parts.name += VARIANT;
        }
        Self::new(parts)
    }

    /// The parts the ruleset was made from.
    pub fn parts(&self) -> &RulesetParts {
        &self.parts
    }

    /// How the ruleset is called.
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// Whether these are other rules than those of the name, which many may share.
    pub fn is_variant(&self) -> bool {
        self.name().ends_with(VARIANT)
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

    /// What a piece may capture on a path that visits squares more than once.
    pub fn captures(&self) -> Captures {
        self.parts.captures
    }

    /// The squares on both players' paths, in the order the near player first visits them.
    pub fn shared_squares(&self) -> Vec<Square> {
        self.squares_where(|at| self.opponent_on_square_of(at) != 0)
    }

    /// The squares on the near player's path only, in the order they are first visited. The far
    /// player's are their mirror images.
    pub fn private_squares(&self) -> Vec<Square> {
        self.squares_where(|at| self.opponent_on_square_of(at) == 0)
    }

    /// The squares of the path positions that are wanted, each once.
    fn squares_where(&self, wanted: impl Fn(PathPosition) -> bool) -> Vec<Square> {
        let path = self.path();
        let first_visits = path.positions().filter(|&(at, _)| path.lap(at) == 1 && wanted(at));
        first_visits.map(|(_, square)| square).collect()
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
