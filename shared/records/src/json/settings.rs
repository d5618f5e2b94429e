//! The rules in the notation's words.

use serde::{Deserialize, Serialize};
use ziggurat_game::{Dice, Overrides, Ruleset, RulesetParts};

use crate::{NotExpressible, rules::are_the_same};

/// The `settings` of a record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Settings {
    pub(super) board_shape: String,
    pub(super) paths: String,
    pub(super) dice: String,
    pub(super) start_pieces: u8,
    pub(super) safe_rosettes: bool,
    pub(super) rosettes_grant_rolls: bool,
    pub(super) captures_grant_rolls: bool,
}

/// Boards with their paths, and a built-in ruleset that is played there.
const PATHS: [(&str, &str, &str); 5] = [
    ("standard", "bell", "finkel"),
    ("standard", "masters", "masters"),
    ("standard", "skiriuk", "skiriuk"),
    ("standard", "murray", "murray"),
    ("aseb", "aseb", "aseb"),
];

/// The notation's dice and ours.
const DICE: [(&str, &str); 2] =
    [("four_binary", "binary4"), ("three_binary_0eq4", "binary3-zero-is-four")];

/// A name as it is compared: older programs write `FourBinary` for `four_binary`.
fn folded(name: &str) -> String {
    name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

impl Settings {
    /// The ruleset, called as a built-in one if it differs from that in the number of pieces at most.
    pub(super) fn ruleset(&self) -> Result<Ruleset, String> {
        let is = |name: &str, theirs: &str| folded(name) == folded(theirs);
        let path = PATHS
            .into_iter()
            .find(|(board, paths, _)| is(board, &self.board_shape) && is(paths, &self.paths));
        let Some((_, paths, base)) = path else {
            let known: Vec<String> =
                PATHS.iter().map(|(board, paths, _)| format!("{paths} on {board}")).collect();
            return Err(format!(
                "`paths` is `{}` and `board_shape` is `{}`; known are {}",
                self.paths.escape_debug(),
                self.board_shape.escape_debug(),
                known.join(", ")
            ));
        };
        let dice = DICE.into_iter().find(|(theirs, _)| is(theirs, &self.dice));
        let dice = dice.and_then(|(_, ours)| Dice::named(ours)).ok_or_else(|| {
            let known = DICE.map(|(theirs, _)| theirs).join(", ");
            format!("`dice` is `{}`; known are {known}", self.dice.escape_debug())
        })?;
        let overrides = Overrides {
            pieces: Some(self.start_pieces),
            dice: Some(dice),
            safe_rosettes: Some(self.safe_rosettes),
            rosettes_grant_rolls: Some(self.rosettes_grant_rolls),
            captures_grant_rolls: Some(self.captures_grant_rolls),
            ..Overrides::default()
        };
        let base = Ruleset::builtin(base).expect("a built-in ruleset");
        let made = base.with(&overrides).map_err(|error| format!("`settings`: {error}"))?;
        let usual = Ruleset::builtin_names().filter_map(Ruleset::builtin);
        let pieces = Overrides { pieces: Some(made.pieces()), ..Overrides::default() };
        let known = usual
            .filter_map(|usual| usual.with(&pieces).ok())
            .find(|known| are_the_same(known, &made));
        let name = known.map_or_else(|| format!("{paths}-variant"), |it| it.name().to_owned());
        Ruleset::new(RulesetParts { name, ..made.parts().clone() })
            .map_err(|error| format!("`settings`: {error}"))
    }

    /// The settings that say these rules.
    pub(super) fn of(ruleset: &Ruleset) -> Result<Self, NotExpressible> {
        let candidates = PATHS.iter().flat_map(|path| DICE.iter().map(move |dice| (path, dice)));
        let mut candidates = candidates.map(|((board, paths, _), (dice, _))| Self {
            board_shape: (*board).to_owned(),
            paths: (*paths).to_owned(),
            dice: (*dice).to_owned(),
            start_pieces: ruleset.pieces(),
            safe_rosettes: ruleset.safe_rosettes(),
            rosettes_grant_rolls: ruleset.rosettes_grant_rolls(),
            captures_grant_rolls: ruleset.captures_grant_rolls(),
        });
        let says = |it: &Self| it.ruleset().is_ok_and(|said| are_the_same(&said, ruleset));
        candidates.find(says).ok_or_else(|| NotExpressible {
            notation: "the JSON notation",
            what: format!("the rules of {}: it knows the paths bell, masters, skiriuk, murray and aseb, four binary dice, or three on which 0 counts as 4", ruleset.name()),
        })
    }
}
