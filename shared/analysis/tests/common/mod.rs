//! Tables solved for the tests, and figures that were computed elsewhere.

#![allow(dead_code, reason = "no test file uses all of it")]

use ziggurat_advice::Advisor;
use ziggurat_encoding::{Encoding, Index};
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_reference::solve_to;
use ziggurat_table::{Compression, Existing, TableWriter, TierStatistics, ValueType};

/// What the tables of the tests claim: the reference solves to a residual of 1e-15, and the claim holds for games as short as
/// these.
const CERTIFICATE: f64 = 1e-12;

/// A built-in ruleset with so many pieces.
pub fn ruleset(name: &str, pieces: u8) -> Ruleset {
    let overrides = Overrides { pieces: Some(pieces), ..Overrides::default() };
    Ruleset::builtin(name).unwrap().with(&overrides).unwrap()
}

/// A table that was solved by the reference solver, open for advice, and the directory it is in.
pub fn solved(ruleset: &Ruleset) -> (tempfile::TempDir, Advisor) {
    let reference = solve_to(ruleset, 1e-15);
    let encoding = Encoding::new(ruleset).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.zgt");
    let kind = (ValueType::F64, Compression::Zstd);
    let mut writer = TableWriter::create(&path, Existing::Keep, &encoding, kind.0, kind.1).unwrap();
    for tier in encoding.tiers() {
        let value = |offset| {
            let position = encoding.unrank(Index { tier, offset });
            0.5 - reference.value(&position).unwrap()
        };
        let values: Vec<f64> = (0..encoding.tier_len(tier)).map(value).collect();
        let statistics =
            TierStatistics { certificate: Some(CERTIFICATE), ..TierStatistics::default() };
        writer.write_tier(tier, statistics, &values).unwrap();
    }
    writer.finish().unwrap();
    (directory, Advisor::open(&path).unwrap())
}

/// Figures of a game by an independent oracle: `tests/data/analysis.txt`.
#[derive(Clone, Debug)]
pub struct Figures {
    pub track: String,
    pub pieces: u8,
    words: Vec<String>,
}

impl Figures {
    /// The number after a word; `place` counts words that are the same.
    pub fn get(&self, word: &str, place: usize) -> f64 {
        let mut found = self.words.iter().enumerate().filter(|(_, it)| *it == word);
        let at = found.nth(place).unwrap_or_else(|| panic!("{word} of {}", self.track)).0;
        self.words[at + 1].parse().unwrap()
    }
}

/// All of them.
pub fn oracle() -> Vec<Figures> {
    let text = std::fs::read_to_string("../../tests/data/analysis.txt").unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let figures: Vec<Figures> = lines
        .map(|line| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Figures { track: words[0].clone(), pieces: words[1].parse().unwrap(), words }
        })
        .collect();
    assert_eq!(figures.len(), 18);
    figures
}
