//! `ziggurat table get`: the chance of winning some positions.

use std::path::PathBuf;

use serde_json::json;
use ziggurat_advice::Advisor;
use ziggurat_game::Position;

use crate::{
    advice::tell_if_unproven,
    failure::{Exit, Failure},
    output::print,
    questions,
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
    let advisor = Advisor::open(&args.file)?;
    let parse = |text: &str| Ok(advisor.ruleset().parse_position(text.trim())?);
    match &args.positions[..] {
        [one] if one == "-" => {
            questions::answer(parse, |positions| print(&answers(&advisor, positions, args.json)?))?;
        }
        // All or nothing: a mistake in the last position prints no chance of the first.
        typed => {
            let positions: Vec<Position> =
                typed.iter().map(|text| parse(text)).collect::<Result<_, Failure>>()?;
            print(&answers(&advisor, &positions, args.json)?)?;
        }
    }
    if !args.json {
        tell_if_unproven(advisor.table());
    }
    Ok(Exit::Success)
}

/// A line for each position.
fn answers(advisor: &Advisor, positions: &[Position], as_json: bool) -> Result<String, Failure> {
    let chances = advisor.values(positions)?;
    let certificate = advisor.table().certificate();
    let line = |(position, chance): (&Position, f64)| {
        let position = advisor.ruleset().format_position(position);
        if as_json {
            let percent = chance * 100.0;
            let line =
                json!({"position": position, "percent": percent, "certificate": certificate});
            format!("{line}\n")
        } else {
            // The width of a line does not depend on those after it, which may not be there yet.
            format!("{position:<23} {}\n", advisor.bound().percent(chance))
        }
    };
    Ok(positions.iter().zip(chances).map(line).collect())
}
