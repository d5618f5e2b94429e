//! Rulesets and published figures for the tests.

#![allow(dead_code)] // no test file uses all of it

use std::path::Path;

use serde_json::Value;
use ziggurat_game::{Overrides, Ruleset};

/// A file of published figures, see `tests/data/README.md`.
pub fn published(file: &str) -> Value {
    let path = Path::new("../../tests/data").join(file);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("published data is JSON")
}

/// A built-in ruleset with `pieces` pieces.
pub fn builtin(name: &str, pieces: u8) -> Ruleset {
    let overrides = Overrides { pieces: Some(pieces), ..Overrides::default() };
    Ruleset::builtin(name).expect("a built-in").with(&overrides).expect("any number of pieces")
}
