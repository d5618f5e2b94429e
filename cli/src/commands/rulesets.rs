//! `ziggurat rulesets`: the built-in rulesets, and a check for those of the user.

use std::{collections::BTreeSet, path::PathBuf};

use serde_json::json;
use ziggurat_encoding::Encoding;
use ziggurat_game::{Ruleset, Square};

use crate::{
    failure::{Exit, Explain, Failure},
    output::{columns, print, print_json},
    selection, suggested,
};

/// List the built-in rulesets, show one, or check a file
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// List the built-in rulesets
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Draw the board, both paths and the rosettes of a ruleset, and list its rules
    Show {
        /// Name of a built-in ruleset, or a ruleset file
        #[arg(value_name = "RULESET|FILE", value_parser = suggested::RULESETS, hide_possible_values = true)]
        name: String,
        /// Print the ruleset as a TOML file, to start one of your own from
        #[arg(long, conflicts_with = "json")]
        toml: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a ruleset file
    Check {
        /// The TOML file
        file: PathBuf,
    },
}

/// Runs the command.
pub fn run(command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::List { json } => list(*json)?,
        Command::Show { name, toml, json } => {
            let ruleset = find(name)?;
            match (toml, json) {
                (true, _) => print(&ruleset.to_toml())?,
                (_, true) => print_json(&as_json(&ruleset))?,
                _ => print(&ruleset.draw())?,
            }
        }
        Command::Check { file } => {
            let ruleset = selection::read(file)?;
            // Some are rulesets, but have more positions than there are numbers or tables for.
            Encoding::new(&ruleset).context(format!("{} cannot be solved", file.display()))?;
            print(&format!("{} is a ruleset:\n\n{}", file.display(), ruleset.draw()))?;
        }
    }
    Ok(Exit::Success)
}

/// A built-in ruleset, or one from a file if the name is a path.
fn find(name: &str) -> Result<Ruleset, Failure> {
    if name.contains('/') || name.ends_with(".toml") {
        selection::read(name.as_ref())
    } else {
        Ruleset::find(name)
            .or_bad_input()
            .or_help("a ruleset of your own is shown by the path of its file, such as ./mine.toml")
    }
}

fn list(json: bool) -> Result<(), Failure> {
    let rulesets: Vec<Ruleset> = Ruleset::builtin_names().filter_map(Ruleset::builtin).collect();
    if json {
        return print_json(&rulesets.iter().map(as_json).collect::<Vec<_>>());
    }
    let mut rows = vec![
        ["name", "pieces", "squares", "dice", "rosettes", "rolls again on"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(rulesets.iter().map(|ruleset| {
        vec![
            ruleset.name().to_owned(),
            ruleset.pieces().to_string(),
            ruleset.path().len().to_string(),
            ruleset.dice().name().to_owned(),
            if ruleset.safe_rosettes() { "safe" } else { "not safe" }.to_owned(),
            rolls_again_on(ruleset).to_owned(),
        ]
    }));
    print(&columns(&rows))
}

fn rolls_again_on(ruleset: &Ruleset) -> &'static str {
    match (ruleset.rosettes_grant_rolls(), ruleset.captures_grant_rolls()) {
        (true, true) => "rosettes, captures",
        (true, false) => "rosettes",
        (false, true) => "captures",
        (false, false) => "nothing",
    }
}

fn as_json(ruleset: &Ruleset) -> serde_json::Value {
    let squares = |squares: &BTreeSet<Square>| -> Vec<[u8; 2]> {
        squares.iter().map(|at| [at.x, at.y]).collect()
    };
    json!({
        "name": ruleset.name(),
        "pieces": ruleset.pieces(),
        "board": ruleset.board().name(),
        "path": ruleset.path().squares().iter().map(|at| [at.x, at.y]).collect::<Vec<_>>(),
        "rosettes": squares(&ruleset.parts().rosettes),
        "safe": squares(&ruleset.safe_squares()),
        "rolls_again": squares(&ruleset.squares_that_grant_rolls()),
        "dice": ruleset.dice().name(),
        "rolls": ruleset.dice().rolls().iter().map(|roll| {
            json!({ "roll": roll.value, "probability": roll.chance() })
        }).collect::<Vec<_>>(),
        "safe_rosettes": ruleset.safe_rosettes(),
        "rosettes_grant_rolls": ruleset.rosettes_grant_rolls(),
        "captures_grant_rolls": ruleset.captures_grant_rolls(),
        "captures": ruleset.captures().name(),
    })
}
