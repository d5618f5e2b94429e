//! `ziggurat best`: the best move, and every other, for a position and a roll.

use std::path::PathBuf;

use serde_json::json;
use ziggurat_game::{Position, Roll, Ruleset};
use ziggurat_table::AnyTable;

use crate::{
    advice::{Advice, advise, bound_of, tell_if_unproven},
    failure::{Exit, Failure},
    output::{percent, pieces, print, print_json},
    selection::undecided,
};

/// Show every legal move in a position with the chance of winning it leads to, best first
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:\n\
\x20 ziggurat best finkel-7.zgt start\n\
\x20 ziggurat best finkel-7.zgt 4,8+1/3,12 --roll 2")]
pub struct Args {
    /// A solved table, .zgt or .rgu
    file: PathBuf,

    /// The position: own/opponent, such as 4,8+1/3,12, or `start` (see docs/CLI.md)
    position: String,

    /// The roll; without it, every roll there is
    #[arg(long, value_name = "R")]
    roll: Option<u8>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let table = AnyTable::open(&args.file)?;
    let ruleset = table.ruleset();
    let position = undecided(ruleset, args.position.trim())?;
    let advice = rolls(ruleset, args.roll)?
        .into_iter()
        .map(|roll| advise(&table, &position, roll))
        .collect::<Result<Vec<Advice>, _>>()?;
    let chance = table.value(&position)?;
    if args.json {
        print_json(&json!({
            "ruleset": ruleset.name(),
            "pieces": ruleset.pieces(),
            "position": ruleset.format_position(&position),
            "percent": chance * 100.0,
            "certificate": table.certificate(),
            "rolls": advice.iter().map(|advice| advice.json(ruleset)).collect::<Vec<_>>(),
        }))?;
    } else {
        let chance = percent(chance, bound_of(&table));
        print(&text(ruleset, &position, &chance, &advice))?;
        tell_if_unproven(&table);
    }
    Ok(Exit::Success)
}

/// The rolls to show.
fn rolls(ruleset: &Ruleset, wanted: Option<u8>) -> Result<Vec<Roll>, Failure> {
    let dice = ruleset.dice();
    let Some(wanted) = wanted else { return Ok(dice.rolls().to_vec()) };
    let known = dice.rolls().iter().find(|roll| roll.value == wanted);
    known.map(|roll| vec![*roll]).ok_or_else(|| {
        let values: Vec<String> = dice.rolls().iter().map(|roll| roll.value.to_string()).collect();
        Failure::bad_input(format!("the dice of {} never show {wanted}", ruleset.name()))
            .help(format!("rolls are {}", values.join(", ")))
    })
}

fn text(ruleset: &Ruleset, position: &Position, chance: &str, advice: &[Advice]) -> String {
    let mut text = format!(
        "{}, {}: {}\n\n{}\nBefore the roll, the player to move (●) wins with {chance}\n",
        ruleset.name(),
        pieces(ruleset),
        ruleset.format_position(position),
        ruleset.draw_position(position),
    );
    for advice in advice {
        text += "\n";
        text += &advice.text(ruleset);
    }
    text
}
