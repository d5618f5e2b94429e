//! Rulesets: path, rosettes, dice, piece count and rule flags, checked against each other.

use std::collections::BTreeSet;

use crate::{
    Board, Captures, Dice, Path, RulesetError, RulesetParts, Square, check, path::PathPosition,
};

/// The flag and the list after a change of the flag, which speaks of the rosettes only: squares of the list
/// that are none stay.
fn overridden_mark(
    rosettes: &BTreeSet<Square>,
    flag: bool,
    listed: &Option<BTreeSet<Square>>,
    change: Option<bool>,
) -> (bool, Option<BTreeSet<Square>>) {
    let listed = listed.as_ref().map(|listed| match change {
        Some(true) => listed | rosettes,
        Some(false) => listed - rosettes,
        None => listed.clone(),
    });
    (change.unwrap_or(flag), listed)
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
    /// The path positions whose squares are safe.
    safe: u64,
    /// The path positions that grant another roll to a move that ends there.
    rolls_again: u64,
}

impl Ruleset {
    /// The most pieces a player may have.
    pub const MAX_PIECES: u8 = RulesetParts::MAX_PIECES;

    /// The most characters a name may have.
    pub const MAX_NAME_LEN: usize = RulesetParts::MAX_NAME_LEN;

    /// The most bytes a name may have: a file name has 255 at most, and tables are called after their ruleset.
    pub const MAX_NAME_BYTES: usize = RulesetParts::MAX_NAME_BYTES;

    /// Checks the parts against each other and precomputes who meets whom where.
    ///
    /// # Errors
    /// The first thing that is wrong, see [`RulesetError`].
    pub fn new(parts: RulesetParts) -> Result<Self, RulesetError> {
        check::check(&parts)?;
        let parts = parts.canonical();
        let path = &parts.path;
        let len = path.len();
        let mask = |wanted: &dyn Fn(PathPosition, Square) -> bool| -> u64 {
            path.positions()
                .filter(|&(at, s)| wanted(at, s))
                .fold(0, |mask, (at, _)| mask | 1 << at)
        };
        let of_squares = |squares: &BTreeSet<Square>| mask(&|_, square| squares.contains(&square));
        let rosettes = of_squares(&parts.rosettes);
        let marked = |flag: bool, listed: &Option<BTreeSet<Square>>| match listed {
            Some(listed) => of_squares(listed),
            None if flag => rosettes,
            None => 0,
        };
        let safe = marked(parts.safe_rosettes, &parts.safe);
        let rolls_again = marked(parts.rosettes_grant_rolls, &parts.rolls_again);
        let per_position = |f: &dyn Fn(PathPosition) -> u64| -> Vec<u64> {
            (0..=len).map(|at| if at == 0 { 0 } else { f(at) }).collect()
        };
        let own_on_square_of = per_position(&|at| mask(&|_, square| square == path.square(at)));
        let opponent_on_square_of =
            per_position(&|at| mask(&|_, square| square.mirror() == path.square(at)));
        let capturable_from = per_position(&|at| {
            let is_safe = safe >> at & 1 == 1;
            let same_lap = mask(&|other, _| path.lap(other) == path.lap(at));
            match parts.captures {
                _ if is_safe => 0,
                Captures::Any => opponent_on_square_of[at as usize],
                Captures::SameLap => opponent_on_square_of[at as usize] & same_lap,
            }
        });
        Ok(Self {
            own_on_square_of,
            opponent_on_square_of,
            capturable_from,
            rosettes,
            safe,
            rolls_again,
            parts,
        })
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
        let (safe_rosettes, safe) =
            overridden_mark(&old.rosettes, old.safe_rosettes, &old.safe, overrides.safe_rosettes);
        let (rosettes_grant_rolls, rolls_again) = overridden_mark(
            &old.rosettes,
            old.rosettes_grant_rolls,
            &old.rolls_again,
            overrides.rosettes_grant_rolls,
        );
        let parts = RulesetParts {
            pieces,
            dice: overrides.dice.clone().unwrap_or_else(|| old.dice.clone()),
            safe_rosettes,
            rosettes_grant_rolls,
            safe,
            rolls_again,
            captures_grant_rolls: overrides
                .captures_grant_rolls
                .unwrap_or(old.captures_grant_rolls),
            captures: overrides.captures.unwrap_or(old.captures),
            ..old.clone()
        };
        let mut parts = parts.canonical();
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

    /// Whether a piece on any rosette cannot be captured. Other squares may be safe, too: [`Ruleset::is_safe`].
    pub fn safe_rosettes(&self) -> bool {
        self.parts.safe_rosettes
    }

    /// Whether ending a move on any rosette grants another roll. Other squares may grant one, too:
    /// [`Ruleset::is_roll_granted_on`].
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

    /// Whether a piece on path position `at` cannot be captured because of its square, whatever lap it is on.
    pub fn is_safe(&self, at: PathPosition) -> bool {
        self.safe >> at & 1 == 1
    }

    /// Whether a move that ends on path position `at` grants another roll because of its square.
    pub fn is_roll_granted_on(&self, at: PathPosition) -> bool {
        self.rolls_again >> at & 1 == 1
    }

    /// The squares on which a piece cannot be captured, both players' included.
    pub fn safe_squares(&self) -> BTreeSet<Square> {
        let parts = &self.parts;
        parts.safe.clone().unwrap_or_else(|| self.rosettes_if(parts.safe_rosettes))
    }

    /// The squares that grant another roll to a move that ends there, both players' included.
    pub fn squares_that_grant_rolls(&self) -> BTreeSet<Square> {
        let parts = &self.parts;
        parts.rolls_again.clone().unwrap_or_else(|| self.rosettes_if(parts.rosettes_grant_rolls))
    }

    fn rosettes_if(&self, flag: bool) -> BTreeSet<Square> {
        if flag { self.parts.rosettes.clone() } else { BTreeSet::new() }
    }

    /// Whether the rosettes and their flags say which squares are safe and which grant rolls: there are no lists.
    pub fn marks_are_rosettes(&self) -> bool {
        self.parts.safe.is_none() && self.parts.rolls_again.is_none()
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
