//! What an `.rgu` file says about the game, and which rulesets it can say it of.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use ziggurat_game::{Captures, Dice, Overrides, PathPosition, Ruleset, RulesetParts};

use super::format::MAX_PIECES;
use crate::squares::{is_safe, squares_where};

/// The `game_settings` of an `.rgu` file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GameSettings {
    /// `standard` or `aseb`.
    pub board_shape: String,
    /// `bell`, `masters` or `aseb`; other programs know `skiriuk` and `murray`, too.
    pub paths: String,
    /// `four_binary` or `three_binary_0eq4`.
    pub dice: String,
    /// Pieces per player.
    pub start_pieces: u8,
    /// Whether a piece on a rosette cannot be captured.
    pub safe_rosettes: bool,
    /// Whether ending a move on a rosette grants another roll.
    pub rosettes_grant_rolls: bool,
    /// Whether a capture grants another roll.
    pub captures_grant_rolls: bool,
}

/// The format's boards with paths that it has keys for: its board and path, and the built-in
/// ruleset that is played there.
const GAMES: [(&str, &str, &str); 3] =
    [("standard", "bell", "finkel"), ("standard", "masters", "masters"), ("aseb", "aseb", "aseb")];

/// The format's dice and ours.
const DICE: [(&str, &str); 2] =
    [("four_binary", "binary4"), ("three_binary_0eq4", "binary3-zero-is-four")];

/// What the dice were called in early 2024, besides `FourBinary`, and what they are called today.
const OLD_DICE: (&str, &str) = ("ThreeBinary0Max", "three_binary_0eq4");

/// Built-in rulesets that an imported table may turn out to be of.
const BUILTIN: [&str; 5] = ["finkel", "masters", "masters-four-dice", "blitz", "aseb"];

/// Why the format cannot express a ruleset: the first property for which it has no word.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "an .rgu file cannot express {property} of {ruleset}: {found}, where the format has \
     {expressible}; use the .zgt format instead"
)]
pub struct NotExpressible {
    /// The ruleset's name.
    pub ruleset: String,
    /// The property.
    pub property: &'static str,
    /// What it is.
    pub found: String,
    /// What the format knows.
    pub expressible: String,
}

/// Why the settings in a file do not name a game that Ziggurat plays: the member and its value.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{member}` is {found}, where this program knows {known}")]
pub struct UnknownSetting {
    /// The member of `game_settings`.
    pub member: &'static str,
    /// Its value.
    pub found: String,
    /// The values this program knows.
    pub known: String,
}

impl GameSettings {
    /// The settings that express a ruleset.
    ///
    /// # Errors
    /// If the format has no word for one of the ruleset's properties.
    pub fn of(ruleset: &Ruleset) -> Result<Self, NotExpressible> {
        let refuse = |property, found: String, expressible: &str| NotExpressible {
            ruleset: ruleset.name().to_owned(),
            property,
            found,
            expressible: expressible.to_owned(),
        };
        let path = ruleset.path();
        if let Some((at, square)) = path.positions().find(|&(at, _)| path.lap(at) > 1) {
            let found = format!("path position {at} visits the square {square} again");
            return Err(refuse("the path", found, "paths that visit no square twice"));
        }
        let (board_shape, paths, played) = GAMES
            .into_iter()
            .filter_map(|(board, paths, name)| Some((board, paths, Ruleset::builtin(name)?)))
            .find(|(.., known)| known.path() == path)
            .ok_or_else(|| {
                let found =
                    path.name().map_or("squares of its own".to_owned(), |n| format!("`{n}`"));
                refuse("the path", found, "single-short, single-long and aseb")
            })?;
        let all_marked = Overrides {
            safe_rosettes: Some(true),
            rosettes_grant_rolls: Some(true),
            ..Overrides::default()
        };
        let all_marked = played.with(&all_marked).expect("flags fit every ruleset");
        // The format has one flag of the rosettes for each mark, and none of its boards has other rosettes.
        let flag = |property, own: bool, marks: fn(&Ruleset, PathPosition) -> bool| {
            let squares = |ruleset: &Ruleset| squares_where(ruleset, |at| marks(ruleset, at));
            let found = squares(ruleset);
            let property = if ruleset.marks_are_rosettes() { "the rosettes" } else { property };
            let rosettes = squares(&all_marked);
            let says = |flag: bool| found == if flag { rosettes.as_str() } else { "none" };
            match [own, !own].into_iter().find(|&flag| says(flag)) {
                Some(flag) => Ok(flag),
                None => Err(refuse(property, found, &format!("{rosettes} or none on this path"))),
            }
        };
        let safe_rosettes = flag("the safe squares", ruleset.safe_rosettes(), is_safe)?;
        let rosettes_grant_rolls =
            flag("the squares granting rolls", ruleset.rosettes_grant_rolls(), |ruleset, at| {
                ruleset.is_roll_granted_on(at)
            })?;
        let dice = DICE
            .into_iter()
            .find(|(_, ours)| {
                Dice::named(ours).is_some_and(|dice| dice.rolls() == ruleset.dice().rolls())
            })
            .ok_or_else(|| {
                let known = DICE.map(|(_, ours)| ours).join(" and ");
                refuse("the dice", ruleset.dice().name().to_owned(), &known)
            })?;
        let start_pieces = ruleset.pieces();
        if start_pieces > MAX_PIECES {
            let known = format!("at most {MAX_PIECES}");
            return Err(refuse("the number of pieces", start_pieces.to_string(), &known));
        }
        Ok(Self {
            board_shape: board_shape.to_owned(),
            paths: paths.to_owned(),
            dice: dice.0.to_owned(),
            start_pieces,
            safe_rosettes,
            rosettes_grant_rolls,
            captures_grant_rolls: ruleset.captures_grant_rolls(),
        })
    }

    /// The ruleset that the settings express, named like the built-in one where there is one
    /// that differs at most in the number of pieces, and like the path otherwise.
    ///
    /// # Errors
    /// If the settings name something that Ziggurat or the format's keys do not know.
    pub fn ruleset(&self) -> Result<Ruleset, UnknownSetting> {
        let this = self.in_words_of_today();
        let unknown = |member, found: &str, known: &[&str]| UnknownSetting {
            member,
            found: format!("`{found}`"),
            known: known.join(", "),
        };
        let on_board: Vec<_> =
            GAMES.into_iter().filter(|(board, ..)| *board == this.board_shape).collect();
        if on_board.is_empty() {
            return Err(unknown("board_shape", &self.board_shape, &["standard", "aseb"]));
        }
        let (.., name) =
            on_board.iter().find(|(_, paths, _)| *paths == this.paths).ok_or_else(|| {
                let known: Vec<&str> = on_board.iter().map(|(_, paths, _)| *paths).collect();
                unknown("paths", &self.paths, &known)
            })?;
        let dice = DICE.iter().find(|(theirs, _)| *theirs == this.dice);
        let dice = dice.and_then(|(_, ours)| Dice::named(ours));
        let dice =
            dice.ok_or_else(|| unknown("dice", &self.dice, &DICE.map(|(theirs, _)| theirs)))?;
        let pieces = || UnknownSetting {
            member: "start_pieces",
            found: self.start_pieces.to_string(),
            known: format!("1 to {MAX_PIECES}"),
        };
        if !(1..=MAX_PIECES).contains(&self.start_pieces) {
            return Err(pieces());
        }
        let played = Ruleset::builtin(name).expect("the games of the format are built in");
        let parts = RulesetParts {
            dice,
            pieces: self.start_pieces,
            safe_rosettes: self.safe_rosettes,
            rosettes_grant_rolls: self.rosettes_grant_rolls,
            captures_grant_rolls: self.captures_grant_rolls,
            captures: Captures::Any,
            safe: None,
            rolls_again: None,
            ..played.parts().clone()
        };
        let known = BUILTIN.into_iter().filter_map(Ruleset::builtin).find_map(|known| {
            let same = Self { start_pieces: self.start_pieces, ..Self::of(&known).ok()? } == this;
            same.then(|| known.name().to_owned())
        });
        let name = known.unwrap_or_else(|| format!("{}-variant", this.paths));
        Ruleset::new(RulesetParts { name, ..parts }).map_err(|_| pieces())
    }

    /// The same settings with names as they are spelled today: files in circulation have them in any case, with or
    /// without the lines below, and old names of dice.
    fn in_words_of_today(&self) -> Self {
        let plain = |name: &str| -> String {
            let kept = name.chars().filter(|c| c.is_alphanumeric());
            kept.flat_map(char::to_lowercase).collect()
        };
        let today = |name: &str, known: &[&str]| -> String {
            let same = known.iter().find(|known| plain(known) == plain(name));
            same.map_or(name, |known| *known).to_owned()
        };
        let (old, new) = OLD_DICE;
        let dice = if plain(&self.dice) == plain(old) { new } else { &self.dice };
        Self {
            board_shape: today(&self.board_shape, &GAMES.map(|(board, ..)| board)),
            paths: today(&self.paths, &GAMES.map(|(_, paths, _)| paths)),
            dice: today(dice, &DICE.map(|(theirs, _)| theirs)),
            ..self.clone()
        }
    }
}
