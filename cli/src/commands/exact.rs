//! `ziggurat exact`: values as fractions, and an optimal policy that is proven.

use std::io::{IsTerminal, stderr};

use clap::builder::Resettable;
use serde_json::{Value, json};
use ziggurat_encoding::Encoding;
use ziggurat_exact::{BigRational, Exact, ExactError, Proof, decimal};
use ziggurat_game::{Move, Position, Ruleset};

use crate::{
    advice,
    failure::{Exit, Explain, Failure},
    output::{grouped, note, pieces, print, print_json},
    selection::{Selection, undecided},
};

/// Decimals of a chance in percent.
const DECIMALS: u32 = 10;

/// Digits of a long number on one line.
const LINE_DIGITS: usize = 72;

/// From so many positions on, a terminal is told that it takes a while.
const MANY_POSITIONS: u64 = 4_000;

/// Solve a small ruleset exactly: chances as fractions, and the best moves, proven best
#[derive(clap::Args, Debug)]
// With a file there is no name: what stands in its place is a position.
#[command(mut_arg("file", |file| file.conflicts_with(Resettable::Reset)))]
pub struct Args {
    #[command(flatten)]
    selection: Selection,

    /// Positions to show beside the start: own/opponent, such as 4/12 (see docs/CLI.md)
    #[arg(value_name = "POSITION")]
    positions: Vec<String>,

    /// Show every undecided position
    #[arg(long)]
    all: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let ruleset = args.selection.ruleset()?;
    let in_place_of_name = args.selection.file.as_ref().and(args.selection.name.as_ref());
    let mut shown = vec![Position::start()];
    for text in in_place_of_name.into_iter().chain(&args.positions) {
        let position = undecided(&ruleset, text.trim())?;
        if !shown.contains(&position) {
            shown.push(position);
        }
    }
    announce(&ruleset)?;
    let exact = ziggurat_exact::solve(&ruleset).map_err(failure)?;
    let value = |position: &Position| exact.value(position).map(|value| (*position, value));
    let shown: Vec<(Position, BigRational)> = match args.all && args.json {
        true => exact.iter().map(|(position, value)| (*position, value)).collect(),
        false => shown.iter().filter_map(value).collect(),
    };
    if args.json {
        print_json(&as_json(&exact, &shown))?;
        return Ok(Exit::Success);
    }
    print(&headline(&exact))?;
    for (position, value) in &shown {
        print(&in_full(&exact, position, value))?;
    }
    if args.all {
        print("\nChances of the player to move in all undecided positions\n")?;
        for (position, value) in exact.iter() {
            let position = ruleset.format_position(position);
            print(&format!("  {position}  {}  {value}\n", percent(&value)))?;
        }
    }
    Ok(Exit::Success)
}

/// Tells a person at a terminal if it takes a while.
fn announce(ruleset: &Ruleset) -> Result<(), Failure> {
    let positions = Encoding::new(ruleset).or_bad_input()?.undecided();
    let long = (MANY_POSITIONS..=2 * ziggurat_exact::MOST_POSITIONS).contains(&positions);
    if long && stderr().is_terminal() {
        note!("{} positions: this takes half a minute or more", grouped(positions));
    }
    Ok(())
}

/// What went wrong, and whose fault it is.
fn failure(error: ExactError) -> Failure {
    match error {
        ExactError::NotOptimal { .. } | ExactError::Coincidence { .. } => error.into(),
        _ => Failure::bad_input(error),
    }
}

/// What was solved, and what is proven about it.
fn headline(exact: &Exact) -> String {
    let (ruleset, proof) = (exact.ruleset(), exact.proof());
    let Proof { positions, rolls, choices, ties, .. } = proof;
    let cases = format!(
        "{} undecided positions with {} rolls each: {} cases",
        grouped(positions),
        ruleset.dice().rolls().len(),
        grouped(rolls)
    );
    let compared = match (choices, ties) {
        (0, _) => "No roll leaves a choice of moves, so that there is but one policy.".to_owned(),
        (_, ties) => format!(
            "In {} of them there is a choice of moves; all were compared, and none is better than\n  \
             the chosen one. {}",
            grouped(choices),
            match ties {
                0 => "Nowhere is another exactly as good.".to_owned(),
                _ => format!("In {} of them another is exactly as good.", grouped(ties)),
            }
        ),
    };
    format!(
        "{} with {}, solved exactly\n\n\
         Proven optimal\n  {cases}.\n  {compared}\n  \
         Every game ends whatever the players do, so that no other values satisfy the rules.\n",
        ruleset.name(),
        pieces(ruleset),
    )
}

/// A position with its chance as a fraction, and the best moves.
fn in_full(exact: &Exact, position: &Position, value: &BigRational) -> String {
    let ruleset = exact.ruleset();
    let name = match *position == Position::start() {
        true => "start".to_owned(),
        false => ruleset.format_position(position),
    };
    let (numerator, denominator) = (value.numer().to_string(), value.denom().to_string());
    let best = best_moves(exact, position).into_iter().map(|(roll, mv)| match mv {
        Some(mv) => format!("  {roll}  {}\n", advice::name(ruleset, mv)),
        None => format!("  {roll}  pass\n"),
    });
    format!(
        "\n{name}: the player to move wins with {}, exactly\n\n{}  /\n{}\n\
         \x20 a numerator of {} and a denominator of {} digits\n\n\
         Best moves by roll\n{}",
        percent(value),
        lines(&numerator),
        lines(&denominator),
        grouped(numerator.len() as u64),
        grouped(denominator.len() as u64),
        best.collect::<String>(),
    )
}

/// The digits of a long number on indented lines.
fn lines(digits: &str) -> String {
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i % LINE_DIGITS == 0 {
            text.push_str(if i == 0 { "    " } else { "\n    " });
        }
        text.push(digit);
    }
    text + "\n"
}

fn as_json(exact: &Exact, values: &[(Position, BigRational)]) -> Value {
    let (ruleset, proof) = (exact.ruleset(), exact.proof());
    let values = values.iter().map(|(position, value)| {
        let (numerator, denominator) = (value.numer().to_string(), value.denom().to_string());
        let moves = best_moves(exact, position).into_iter().map(|(roll, mv)| {
            json!({ "roll": roll, "from": mv.map(|mv| mv.from), "to": mv.map(|mv| mv.to) })
        });
        json!({
            "position": ruleset.format_position(position),
            "percent": decimal::percent(value, 20).parse::<f64>().unwrap_or(f64::NAN),
            "numerator_digits": numerator.len(),
            "denominator_digits": denominator.len(),
            "numerator": numerator,
            "denominator": denominator,
            "best_moves": moves.collect::<Vec<_>>(),
        })
    });
    json!({
        "ruleset": ruleset.name(),
        "pieces": ruleset.pieces(),
        "proof": {
            "positions": proof.positions,
            "positions_with_rolls": proof.rolls,
            "with_a_choice": proof.choices,
            "with_a_tie": proof.ties,
            "corrected": proof.improved,
        },
        "values": values.collect::<Vec<_>>(),
    })
}

/// For every roll of the dice the best move, `None` if the turn passes.
fn best_moves(exact: &Exact, position: &Position) -> Vec<(u8, Option<Move>)> {
    let rolls = exact.ruleset().dice().rolls().iter().map(|roll| roll.value);
    rolls.map(|roll| (roll, exact.policy(position, roll))).collect()
}

fn percent(value: &BigRational) -> String {
    format!("{} %", decimal::percent(value, DECIMALS))
}
