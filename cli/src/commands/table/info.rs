//! `ziggurat table info`: what a table says about itself.

use std::{fs, path::PathBuf};

use serde_json::json;
use ziggurat_advice::Bound;
use ziggurat_encoding::Tier;
use ziggurat_game::Position;
use ziggurat_table::{AnyTable, Compression, TierStatistics};

use crate::{
    failure::{Exit, Failure},
    output::{bound, bytes, columns, grouped, pieces, print, print_json},
};

/// Print the ruleset of a table, its values' type and size, and how it was solved
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The table, .zgt or .rgu
    file: PathBuf,

    /// List every tier
    #[arg(long)]
    tiers: bool,

    /// Print the ruleset as a TOML file
    #[arg(long, conflicts_with_all = ["tiers", "json"])]
    ruleset: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A tier, its positions, and how it was solved.
type TierInfo = (Tier, u64, TierStatistics);

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let table = AnyTable::open(&args.file)?;
    if args.ruleset {
        print(&table.ruleset().to_toml())?;
        return Ok(Exit::Success);
    }
    let encoding = table.encoding();
    let tiers: Vec<TierInfo> = encoding
        .tiers()
        .into_iter()
        .map(|tier| (tier, encoding.tier_len(tier), table.statistics(tier)))
        .collect();
    let start = table.value(&Position::start())?;
    let size = fs::metadata(&args.file)?.len();
    if args.json {
        print_json(&as_json(&table, &tiers, start, size))?;
    } else {
        print(&as_text(&table, &tiers, start, size, args.tiers))?;
    }
    Ok(Exit::Success)
}

/// Name of the format, and how the values are packed.
fn format(table: &AnyTable) -> (&'static str, Compression) {
    match table {
        AnyTable::Rgu(_) => ("rgu", Compression::Raw),
        AnyTable::Zgt(table) => ("zgt", table.compression()),
    }
}

/// The checksum of the whole file, if its format has one.
fn checksum(table: &AnyTable) -> Option<u64> {
    match table {
        AnyTable::Rgu(_) => None,
        AnyTable::Zgt(table) => Some(table.checksum()),
    }
}

/// The largest residual, if every tier has one.
fn largest_residual(tiers: &[TierInfo]) -> Option<f64> {
    tiers.iter().try_fold(0.0_f64, |largest, (.., made)| Some(largest.max(made.residual?)))
}

fn as_text(table: &AnyTable, tiers: &[TierInfo], start: f64, size: u64, list: bool) -> String {
    let ruleset = table.ruleset();
    let (format, packing) = format(table);
    let unknown = || "unknown".to_owned();
    let residual = |value: Option<f64>| value.map_or_else(unknown, |value| format!("{value:.1e}"));
    let certificate = |value: Option<f64>| value.map_or_else(unknown, bound);
    let lines = [
        ("ruleset", format!("{}, {}, {}", ruleset.name(), pieces(ruleset), ruleset.dice().name())),
        ("format", format!("{format}, {} values, {packing}", table.value_type())),
        ("positions", format!("{} undecided", grouped(table.encoding().undecided()))),
        ("size", format!("{} ({} bytes)", bytes(size), grouped(size))),
        ("residual", residual(largest_residual(tiers))),
        ("certificate", certificate(table.certificate())),
        ("first player wins", Bound::of(table).percent(start)),
    ];
    let mut text = format!("{}\n", table.path().display());
    for (what, value) in lines {
        text += &format!("  {what:<18} {value}\n");
    }
    if list {
        let mut rows = vec![
            ["  tier", "positions", "supersteps", "residual", "certificate"]
                .map(str::to_owned)
                .to_vec(),
        ];
        rows.extend(tiers.iter().map(|(tier, positions, statistics)| {
            vec![
                format!("  {tier}"),
                grouped(*positions),
                Some(statistics.supersteps)
                    .filter(|&made| made > 0)
                    .map_or_else(unknown, |made| made.to_string()),
                residual(statistics.residual),
                certificate(statistics.certificate),
            ]
        }));
        text += &format!("\n{}", columns(&rows));
    }
    text
}

fn as_json(table: &AnyTable, tiers: &[TierInfo], start: f64, size: u64) -> serde_json::Value {
    let ruleset = table.ruleset();
    let (format, packing) = format(table);
    json!({
        "file": table.path().to_string_lossy(),
        "format": format,
        "compression": packing,
        "value_type": table.value_type(),
        "ruleset": ruleset.name(),
        "pieces": ruleset.pieces(),
        "ruleset_toml": ruleset.to_toml(),
        "positions": table.encoding().undecided(),
        "bytes": size,
        "residual": largest_residual(tiers),
        "certificate": table.certificate(),
        "checksum": checksum(table).map(|checksum| format!("{checksum:016x}")),
        "first_player_percent": start * 100.0,
        "tiers": tiers.iter().map(|(tier, positions, statistics)| json!({
            "tier": tier.to_string(),
            "positions": positions,
            "supersteps": Some(statistics.supersteps).filter(|&made| made > 0),
            "residual": statistics.residual,
            "certificate": statistics.certificate,
        })).collect::<Vec<_>>(),
    })
}
