//! The rulesets and tracks that come with Ziggurat, embedded as the files of `rulesets/`.
//!
//! Beside the popular games, every track is a ruleset of its own name: that track with the rules
//! of finkel.

use std::sync::LazyLock;

use crate::{Path, Ruleset, UnknownName, file};

/// The popular games: name and file.
const GAMES: [(&str, &str); 7] = [
    ("finkel", include_str!("../rulesets/finkel.toml")),
    ("masters", include_str!("../rulesets/masters.toml")),
    ("masters-four-dice", include_str!("../rulesets/masters-four-dice.toml")),
    ("blitz", include_str!("../rulesets/blitz.toml")),
    ("aseb", include_str!("../rulesets/aseb.toml")),
    ("skiriuk", include_str!("../rulesets/skiriuk.toml")),
    ("murray", include_str!("../rulesets/murray.toml")),
];

/// The tracks by name, in the order of `rulesets/tracks.toml`.
fn tracks() -> &'static [(String, Path)] {
    static TRACKS: LazyLock<Vec<(String, Path)>> = LazyLock::new(|| {
        file::read_tracks(include_str!("../rulesets/tracks.toml"))
            .expect("the embedded tracks are well-formed")
    });
    &TRACKS
}

impl Path {
    /// A built-in track by name, such as `single-short`; [`Path::names`] lists them.
    pub fn named(name: &str) -> Option<Self> {
        tracks().iter().find(|(known, _)| known == name).map(|(_, path)| path.clone())
    }

    /// The names [`Path::named`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        tracks().iter().map(|(name, _)| name.as_str())
    }

    /// The name of the built-in track with these squares.
    pub fn name(&self) -> Option<&'static str> {
        tracks().iter().find(|(_, path)| path == self).map(|(name, _)| name.as_str())
    }
}

impl Ruleset {
    /// A built-in ruleset by name, `None` if there is none; [`Ruleset::builtin_names`] lists them.
    ///
    /// ```
    /// use ziggurat_game::Ruleset;
    /// let blitz = Ruleset::builtin("blitz").unwrap();
    /// assert_eq!((blitz.pieces(), blitz.path().len()), (5, 16));
    /// assert!(Ruleset::builtin("chess").is_none());
    /// ```
    pub fn builtin(name: &str) -> Option<Self> {
        let read = |text: &str| {
            Self::from_toml(text, &format!("{name}.toml")).expect("built-in rulesets are valid")
        };
        if let Some((_, text)) = GAMES.iter().find(|(known, _)| *known == name) {
            return Some(read(text));
        }
        Path::names()
            .any(|track| track == name)
            .then(|| read(&format!("extends = \"finkel\"\npath = \"{name}\"\n")))
    }

    /// The names [`Ruleset::builtin`] knows: the popular games, then the tracks.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        let games = GAMES.map(|(name, _)| name);
        games.into_iter().chain(Path::names().filter(move |track| !games.contains(track)))
    }

    /// A built-in ruleset by name.
    ///
    /// # Errors
    /// If there is none of that name; the error suggests the nearest and lists all.
    pub fn find(name: &str) -> Result<Self, UnknownName> {
        Self::builtin(name).ok_or_else(|| UnknownName::new("ruleset", name, Self::builtin_names()))
    }
}
