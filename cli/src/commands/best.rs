//! `ziggurat best`: the best move, and every other, for a position and a roll.

use std::path::PathBuf;

use ziggurat_advice::{Advisor, Outlook};
use ziggurat_game::{Move, Position, Ruleset};
use ziggurat_review::{by_squares, outlook_json};

use crate::{
    advice::{self, best_moves, tell_if_unproven},
    failure::{Exit, Failure},
    output::{pieces, print, print_json},
    questions,
    selection::undecided,
};

/// Show every legal move in a position with the chance of winning it leads to, best first
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:\n\
\x20 ziggurat best finkel-7.zgt start\n\
\x20 ziggurat best finkel-7.zgt 4,8+1/3,12 --roll 2\n\
\x20 ziggurat best finkel-7.zgt - --json < positions")]
pub struct Args {
    /// A solved table, .zgt or .rgu
    file: PathBuf,

    /// The position: own/opponent, such as 4,8+1/3,12, or `start` (see docs/CLI.md); `-` for those on standard input, a line each, with a roll after a tab
    position: String,

    /// The roll; without it, every roll there is
    #[arg(long, value_name = "R")]
    roll: Option<u8>,

    /// Name squares (A4, B8, C1; the player to move sits at column A) instead of counting them along the path
    #[arg(long)]
    squares: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The moves of so many positions are in memory at a time, some 4 kB each.
const MOST_POSITIONS: usize = 1 << 14;

/// A position and the roll that is asked for, if it is one only.
type Question = (Position, Option<u8>);

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let advisor = Advisor::open(&args.file)?;
    let ruleset = advisor.ruleset();
    check_roll(ruleset, args.roll)?;
    if args.position.trim() == "-" {
        let parse = |line: &str| question(ruleset, line, args.roll);
        questions::answer(parse, |asked| {
            let mut groups = asked.chunks(MOST_POSITIONS);
            groups.try_for_each(|asked| print(&answers(&advisor, asked, args)?))
        })?;
    } else {
        let position = undecided(ruleset, args.position.trim())?;
        let outlook = advisor.outlook(&position)?;
        if args.json {
            print_json(&outlook_json(&outlook, args.roll, &advisor))?;
        } else {
            print(&text(&advisor, &outlook, args))?;
        }
    }
    if !args.json {
        tell_if_unproven(advisor.table());
    }
    Ok(Exit::Success)
}

/// A line of standard input: a position, and its roll after a tab unless that is the same for all.
fn question(ruleset: &Ruleset, line: &str, roll: Option<u8>) -> Result<Question, Failure> {
    let Some((position, column)) = line.split_once('\t') else {
        return Ok((undecided(ruleset, line)?, roll));
    };
    let column = column.trim();
    let of_line: u8 = column.parse().map_err(|_| {
        Failure::bad_input(format!("`{}` is not a roll", column.escape_debug()))
            .help("write a position, or a position, a tab and a roll")
    })?;
    check_roll(ruleset, Some(of_line))?;
    Ok((undecided(ruleset, position.trim())?, Some(roll.unwrap_or(of_line))))
}

/// A line for each position and roll, or of JSON for each position.
fn answers(advisor: &Advisor, asked: &[Question], args: &Args) -> Result<String, Failure> {
    let positions: Vec<Position> = asked.iter().map(|(position, _)| *position).collect();
    let mut lines = String::new();
    for (outlook, (_, only)) in advisor.outlooks(&positions)?.iter().zip(asked) {
        if args.json {
            lines += &format!("{}\n", outlook_json(outlook, *only, advisor));
            continue;
        }
        let position = shown(advisor.ruleset(), &outlook.position, args);
        for advice in
            outlook.rolls.iter().filter(|it| only.is_none_or(|roll| roll == it.roll.value))
        {
            let best = best_moves(advice, |mv| called(advisor.ruleset(), mv, args));
            let chance = advisor.bound().percent(advice.chance);
            lines += &format!("{position}\t{}\t{best}\t{chance}\n", advice.roll.value);
        }
    }
    Ok(lines)
}

/// Refuses a roll that the dice never show.
fn check_roll(ruleset: &Ruleset, roll: Option<u8>) -> Result<(), Failure> {
    let rolls = ruleset.dice().rolls();
    match roll {
        Some(wanted) if rolls.iter().all(|roll| roll.value != wanted) => {
            let values: Vec<String> = rolls.iter().map(|roll| roll.value.to_string()).collect();
            let message = format!("the dice of {} never show {wanted}", ruleset.name());
            Err(Failure::bad_input(message).help(format!("rolls are {}", values.join(", "))))
        }
        _ => Ok(()),
    }
}

/// A position as it is asked for.
fn shown(ruleset: &Ruleset, position: &Position, args: &Args) -> String {
    match args.squares {
        true => ruleset.format_position_by_squares(position),
        false => ruleset.format_position(position),
    }
}

/// A move as it is asked for.
fn called(ruleset: &Ruleset, mv: Move, args: &Args) -> String {
    if args.squares { by_squares(ruleset, mv) } else { advice::name(ruleset, mv) }
}

fn text(advisor: &Advisor, outlook: &Outlook, args: &Args) -> String {
    let ruleset = advisor.ruleset();
    let mut text = format!(
        "{}, {}: {}\n\n{}\nBefore the roll, the player to move (●) wins with {}\n",
        ruleset.name(),
        pieces(ruleset),
        shown(ruleset, &outlook.position, args),
        ruleset.draw_position(&outlook.position),
        advisor.bound().percent(outlook.chance),
    );
    let is_shown = |roll: u8| args.roll.is_none_or(|only| only == roll);
    for advice in outlook.rolls.iter().filter(|it| is_shown(it.roll.value)) {
        text += "\n";
        text += &advice::text_with(advice, advisor, |mv| called(ruleset, mv, args));
    }
    text
}
