//! What the tests share: rulesets, reference files, and tables of made-up values.

use std::path::{Path, PathBuf};

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Ruleset, RulesetParts};
use ziggurat_table::{Compression, Existing, TableError, TableWriter, TierStatistics, ValueType};

/// The path of a reference file.
#[allow(dead_code, reason = "not every test file reads one")]
pub fn reference(name: &str) -> PathBuf {
    PathBuf::from(format!("../../tests/data/{name}.rgu"))
}

/// A built-in ruleset with another number of pieces.
pub fn ruleset(name: &str, pieces: u8) -> Ruleset {
    let builtin = Ruleset::builtin(name).unwrap();
    Ruleset::new(RulesetParts { pieces, ..builtin.parts().clone() }).unwrap()
}

/// A made-up value for each position of a tier, a chance less one half: many digits, but no pattern.
pub fn made_up(encoding: &Encoding, tier: Tier) -> Vec<f64> {
    let seed = u64::from(tier.just_moved) << 60 | u64::from(tier.to_move) << 56;
    let value = |offset: u64| {
        let hash = xxhash_rust::xxh3::xxh3_64(&(seed | offset).to_le_bytes());
        (hash >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    (0..encoding.tier_len(tier)).map(value).collect()
}

/// Writes a table of made-up values.
#[allow(dead_code, reason = "not every test file makes tables up")]
pub fn write_made_up(
    path: &Path,
    encoding: &Encoding,
    value_type: ValueType,
    compression: Compression,
) -> Result<(), TableError> {
    let mut writer = TableWriter::create(path, Existing::Keep, encoding, value_type, compression)?;
    for tier in encoding.tiers() {
        let statistics = TierStatistics {
            supersteps: 10 * u32::from(tier.just_moved),
            residual: Some(1e-13 / 3.0),
            certificate: Some(1e-12 * f64::from(tier.to_move)),
        };
        writer.write_tier(tier, statistics, &made_up(encoding, tier))?;
    }
    writer.finish()
}
