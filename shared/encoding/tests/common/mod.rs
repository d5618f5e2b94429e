//! The seventeen tracks with the published numbers of positions.

use std::collections::BTreeSet;

use ziggurat_game::{Board, Captures, Dice, Path, Ruleset, RulesetParts, Square};

/// A track shape and, by number of pieces, (states, undecided positions, largest tier).
pub struct Track {
    pub name: String,
    pub path: Vec<Square>,
    #[allow(dead_code)] // not every test counts
    pub sizes: Vec<(u8, [u64; 3])>,
}

/// All tracks of `rulesets.json`.
pub fn tracks() -> Vec<Track> {
    let text = std::fs::read_to_string("../../tests/data/rulesets.json")
        .expect("tests/data is part of the project");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let tracks = json.as_object().unwrap().iter().map(|(name, track)| {
        let number = |value: &serde_json::Value| value.as_u64().unwrap();
        let square =
            |xy: &serde_json::Value| Square::new(number(&xy[0]) as u8, number(&xy[1]) as u8);
        let path = track["path"].as_array().unwrap().iter().map(square).collect();
        let mut sizes: Vec<_> = track["pieces"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(pieces, sizes)| {
                let names = ["states", "non_terminal", "largest_tier"];
                (pieces.parse().unwrap(), names.map(|name| number(&sizes[name])))
            })
            .collect();
        sizes.sort();
        Track { name: name.clone(), path, sizes }
    });
    let tracks: Vec<_> = tracks.collect();
    assert_eq!(tracks.len(), 17);
    tracks
}

impl Track {
    /// A ruleset on this track.
    pub fn ruleset(&self, pieces: u8) -> Ruleset {
        let board = if self.name == "aseb" { "aseb" } else { "standard" };
        Ruleset::new(RulesetParts {
            name: self.name.clone(),
            board: Board::named(board).unwrap(),
            path: Path::new(self.path.clone()),
            rosettes: BTreeSet::from([Square::new(2, 4)]),
            dice: Dice::named("binary4").unwrap(),
            pieces,
            safe_rosettes: true,
            rosettes_grant_rolls: true,
            captures_grant_rolls: false,
            captures: Captures::Any,
            safe: None,
            rolls_again: None,
        })
        .unwrap()
    }
}
