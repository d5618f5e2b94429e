//! `ziggurat puzzles`: decisions to find the best move in.

use std::path::PathBuf;

use serde_json::json;
use ziggurat_advice::{Advisor, Policy, Puzzle, Wanted};
use ziggurat_game::UnknownName;
use ziggurat_review::advice_json;

use crate::{
    advice::{self, name, tell_if_unproven},
    failure::{Exit, Failure},
    output::{points, print, print_json},
};

/// Show positions from games between perfect players where one move is best and a rule of thumb goes wrong
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A solved table, .zgt or .rgu
    file: PathBuf,

    /// How many
    #[arg(long, value_name = "N", default_value_t = 5)]
    count: usize,

    /// The seed of the dice: the same puzzles for the same seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The best move is better than all others by more than so many percentage points
    #[arg(long, value_name = "POINTS", default_value_t = 1.0)]
    gap: f64,

    /// The rule of thumb that goes wrong: gain, greedy, furthest, rearmost or random
    #[arg(long, value_name = "NAME", default_value_t = Policy::Greedy)]
    thumb: Policy,

    /// Show the puzzles without their solutions
    #[arg(long)]
    no_solutions: bool,

    /// Print a line of JSON for each puzzle
    #[arg(long)]
    json: bool,
}

/// So many games are played for each puzzle, before there are no more.
const GAMES_PER_PUZZLE: usize = 50;

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    if !(0.0..=100.0).contains(&args.gap) {
        return Err(Failure::bad_input(format!("--gap {} is not between 0 and 100", args.gap))
            .help("it is in percentage points"));
    }
    if args.thumb == Policy::Perfect {
        let known = Policy::ALL.iter().filter(|it| **it != Policy::Perfect).map(Policy::name);
        return Err(UnknownName::new("rule of thumb", args.thumb.name(), known).into());
    }
    let advisor = Advisor::open(&args.file)?;
    let wanted = Wanted {
        seed: args.seed,
        count: args.count,
        gap: args.gap / 100.0,
        thumb: args.thumb.clone(),
        games: args.count.saturating_mul(GAMES_PER_PUZZLE),
    };
    let puzzles = advisor.puzzles(&wanted)?;
    for (number, puzzle) in puzzles.iter().enumerate() {
        if args.json {
            print_json(&as_json(puzzle, &advisor))?;
        } else {
            print(&as_text(number + 1, puzzle, args, &advisor))?;
        }
    }
    if puzzles.len() < args.count && !args.json {
        print(&format!(
            "{} of {} puzzles were found in {} games; ask for a smaller --gap or another --seed.\n",
            puzzles.len(),
            args.count,
            wanted.games
        ))?;
    }
    if !args.json {
        tell_if_unproven(advisor.table());
    }
    Ok(Exit::Success)
}

fn as_text(number: usize, puzzle: &Puzzle, args: &Args, advisor: &Advisor) -> String {
    let ruleset = advisor.ruleset();
    let mut text = format!(
        "Puzzle {number}: {}, a roll of {}. What is the best move?\n\n{}",
        ruleset.format_position(&puzzle.position),
        puzzle.advice.roll.value,
        ruleset.draw_position(&puzzle.position),
    );
    if !args.no_solutions {
        text += &format!(
            "\nA {} player plays {}, and loses {}.\n{}",
            args.thumb,
            name(ruleset, puzzle.thumb.mv),
            points(puzzle.loss()),
            advice::text(&puzzle.advice, advisor),
        );
    }
    text + "\n"
}

fn as_json(puzzle: &Puzzle, advisor: &Advisor) -> serde_json::Value {
    let ruleset = advisor.ruleset();
    let mut line = advice_json(&puzzle.advice, ruleset);
    line["position"] = ruleset.format_position(&puzzle.position).into();
    line["thumb"] = json!({
        "from": puzzle.thumb.mv.from,
        "to": puzzle.thumb.mv.to,
        "loss_points": puzzle.loss() * 100.0,
    });
    line
}
