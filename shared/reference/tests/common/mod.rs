//! Rulesets and published figures for the tests.

#![allow(dead_code)] // no test file uses all of it

use std::path::PathBuf;

use serde_json::Value;
use ziggurat_game::{Board, Captures, Dice, Path, Ruleset, RulesetParts, Square};

/// A file of published figures, see `tests/data/README.md`.
pub fn published(file: &str) -> Value {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../tests/data", file].iter().collect();
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("published data is JSON")
}

/// The track shapes of the published data: name, path, and the rest of the entry.
pub fn tracks() -> Vec<(String, Path, Value)> {
    let Value::Object(tracks) = published("rulesets.json") else { panic!("not an object") };
    let squares = |value: &Value| -> Vec<Square> {
        serde_json::from_value(value.clone()).expect("a path is a list of squares")
    };
    tracks
        .into_iter()
        .map(|(name, track)| (name, Path::new(squares(&track["path"])), track))
        .collect()
}

/// A ruleset over a track of the published data, with the rules of finkel.
pub fn on_track(track: &str, pieces: u8) -> RulesetParts {
    let (name, path, _) = tracks().into_iter().find(|(name, ..)| name == track).expect("a track");
    let (board, rosettes) = match track {
        "aseb" => ("aseb", vec![(1, 1), (3, 1), (2, 4), (2, 8), (2, 12)]),
        _ => ("standard", vec![(1, 1), (3, 1), (2, 4), (1, 7), (3, 7)]),
    };
    RulesetParts {
        name,
        board: Board::named(board).expect("a board"),
        path,
        rosettes: rosettes.into_iter().map(Square::from).collect(),
        dice: Dice::named("binary4").expect("dice"),
        pieces,
        safe_rosettes: true,
        rosettes_grant_rolls: true,
        captures_grant_rolls: false,
        captures: Captures::Any,
    }
}

/// Finkel, with fewer pieces.
pub fn finkel(pieces: u8) -> Ruleset {
    Ruleset::new(on_track("single-short", pieces)).expect("finkel is a ruleset")
}

/// Masters, with fewer pieces.
pub fn masters(pieces: u8) -> Ruleset {
    let dice = Dice::named("binary3-zero-is-four").expect("dice");
    let parts = RulesetParts { dice, safe_rosettes: false, ..on_track("single-long", pieces) };
    Ruleset::new(parts).expect("masters is a ruleset")
}
