//! `ziggurat table get`: the chance of winning some positions.

use std::{io, path::PathBuf};

use serde_json::json;
use ziggurat_table::AnyTable;

use crate::{
    advice::{bound_of, tell_if_unproven},
    failure::{Exit, Explain, Failure},
    output::{columns, percent, print, print_json},
};

/// Print the chance that the player to move wins, for each position
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The table, .zgt or .rgu
    file: PathBuf,

    /// Positions: own/opponent, such as 4,8+1/3,12, or `start` (see docs/CLI.md); `-` for those on standard input, a line each
    #[arg(required = true, value_name = "POSITION")]
    positions: Vec<String>,

    /// Print a line of JSON for each position
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let table = AnyTable::open(&args.file)?;
    let ruleset = table.ruleset();
    // All or nothing: a mistake in the last position prints no chance of the first.
    let mut chances = Vec::new();
    let positions = match &args.positions[..] {
        [one] if one == "-" => {
            let lines = io::stdin()
                .lines()
                .filter(|line| !matches!(line, Ok(line) if line.trim().is_empty()));
            lines.collect::<Result<_, _>>().context("cannot read standard input")?
        }
        typed => typed.to_vec(),
    };
    for text in &positions {
        let position = ruleset.parse_position(text.trim())?;
        chances.push((ruleset.format_position(&position), table.value(&position)?));
    }
    if args.json {
        for (position, chance) in &chances {
            print_json(&json!({
                "position": position,
                "percent": chance * 100.0,
                "certificate": table.certificate(),
            }))?;
        }
    } else {
        let bound = bound_of(&table);
        let row = |(position, chance)| vec![position, percent(chance, bound)];
        let rows: Vec<Vec<String>> = chances.into_iter().map(row).collect();
        print(&columns(&rows))?;
        tell_if_unproven(&table);
    }
    Ok(Exit::Success)
}
