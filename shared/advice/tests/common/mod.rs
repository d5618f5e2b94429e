//! Solved tables for the tests.

#![allow(dead_code, reason = "no test file uses all of it")]

use std::path::{Path, PathBuf};

use ziggurat_advice::Advisor;
use ziggurat_table::{AnyTable, Compression, Existing, TableWriter, TierStatistics, ValueType};

/// What the tables of the tests claim: they were computed elsewhere to a residual of 3e-15, and the claim holds.
pub const CERTIFICATE: f64 = 1e-12;

/// Writes the table of a game with 2 pieces (`finkel`, `masters`, `blitz` or `aseb`), which was computed elsewhere, with a claim, in each
/// value type and compression, and returns the paths.
pub fn tables(directory: &Path, game: &str, kinds: &[(ValueType, Compression)]) -> Vec<PathBuf> {
    let computed = PathBuf::from(format!("../../tests/data/{game}2-f64.rgu"));
    let computed = AnyTable::open(&computed).unwrap();
    let encoding = computed.encoding();
    let write = |(value_type, compression): &(ValueType, Compression)| {
        let path = directory.join(format!("{game}-{value_type}-{compression}.zgt"));
        let keep = Existing::Keep;
        let writer = TableWriter::create(&path, keep, encoding, *value_type, *compression);
        let mut writer = writer.unwrap();
        for tier in encoding.tiers() {
            let statistics =
                TierStatistics { certificate: Some(CERTIFICATE), ..TierStatistics::default() };
            writer.write_tier(tier, statistics, &computed.read_tier(tier).unwrap()).unwrap();
        }
        writer.finish().unwrap();
        path
    };
    kinds.iter().map(write).collect()
}

/// A table of a game with 2 pieces, open for advice, and the directory it is in.
pub fn advisor(game: &str) -> (tempfile::TempDir, Advisor) {
    let directory = tempfile::tempdir().unwrap();
    let kind = [(ValueType::F64, Compression::Zstd)];
    let paths = tables(directory.path(), game, &kind);
    let advisor = Advisor::open(&paths[0]).unwrap();
    (directory, advisor)
}
