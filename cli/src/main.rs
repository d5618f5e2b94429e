//! `ziggurat`: strongly solves the Royal Game of Ur and its relatives.
//!
//! The binary is thin glue: it reads the command line, calls the crates that know how, and
//! prints what they say. One module per command.

// A standard error that cannot be written makes those panic: `note!` is for it.
#![warn(clippy::print_stderr)]
// What a full program alone uses is a lean one's, too; a full one shows what nobody uses.
#![cfg_attr(not(feature = "full"), allow(dead_code))]

mod advice;
mod characters;
mod choices;
#[cfg(feature = "full")]
mod cluster;
mod commands;
mod ending;
mod exhausted;
mod failure;
mod format;
#[cfg(feature = "full")]
mod full;
#[cfg(not(feature = "full"))]
#[path = "lean.rs"]
mod full;
mod interrupt;
mod job;
mod needs;
mod output;
mod progress;
mod questions;
mod resources;
mod selection;
mod showcase;
mod solving;
mod suggested;
mod target;
mod writing;

use std::{
    ffi::OsString,
    panic::{self, AssertUnwindSafe},
};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use failure::{Exit, Failure};
use output::note;

/// The exit code of a bug, which is that of a Rust program that panics.
const BUG: u8 = 101;

const EXIT_CODES: &str = "\
Exit codes:
  0    all went well
  1    the work failed, a table is damaged or not right, or two tables differ
  2    the command line, or a file named on it, is not right
  3    refused: there is not enough memory or disk
  101  a bug in ziggurat
  130  interrupted";

/// The version, the commit it was built from, if that is known, and which kind of program it is.
const VERSION: &str = env!("ZIGGURAT_VERSION");

/// Strongly solves the Royal Game of Ur and its relatives.
#[derive(Parser, Debug)]
#[command(version = VERSION, after_help = EXIT_CODES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Solve(commands::solve::Args),
    Best(commands::best::Args),
    Review(commands::review::Args),
    Play(commands::play::Args),
    Puzzles(commands::puzzles::Args),
    Analyse(commands::analyse::Args),
    #[command(subcommand)]
    Table(commands::table::Command),
    Export(commands::export::Args),
    Count(commands::count::Args),
    Exact(commands::exact::Args),
    Plan(commands::plan::Args),
    Bench(commands::bench::Args),
    #[command(subcommand)]
    Rulesets(commands::rulesets::Command),
    #[command(flatten)]
    Full(Box<full::Command>),
    Completions(commands::completions::Args),
}

fn main() {
    panic::set_hook(Box::new(|bug| {
        full::terminal::restore();
        exhausted::on_panic(bug);
    }));
    resources::raise_open_files();
    resources::outlive_file_size_limit();
    resources::leave_processor_time_to_end();
    exhausted::explain_aborts();
    let code = match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(exit)) => exit as u8,
        Ok(Err(failure)) => {
            note!("{}", failure.report());
            failure.exit as u8
        }
        Err(_) => BUG,
    };
    ending::end(code)
}

/// Ends with what `clap` has to say: of a mistake on the command line, or help that was asked for.
fn end_with(said: &clap::Error) -> ! {
    let _ = said.print(); // nobody reads it
    ending::end(said.exit_code() as u8)
}

/// Does what the command line says.
fn run() -> Result<Exit, Failure> {
    let arguments = std::env::args_os().map(shielded).collect();
    let matches = full::read_arguments(Cli::command(), arguments)?;
    match Cli::from_arg_matches(&matches).unwrap_or_else(|error| end_with(&error)).command {
        Command::Solve(args) => commands::solve::run(&args),
        Command::Best(args) => commands::best::run(&args),
        Command::Review(args) => commands::review::run(&args),
        Command::Play(args) => commands::play::run(&args),
        Command::Puzzles(args) => commands::puzzles::run(&args),
        Command::Analyse(args) => commands::analyse::run(&args),
        Command::Table(command) => commands::table::run(&command),
        Command::Export(args) => commands::export::run(&args),
        Command::Count(args) => commands::count::run(&args),
        Command::Exact(args) => commands::exact::run(&args),
        Command::Plan(args) => commands::plan::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Rulesets(command) => commands::rulesets::run(&command),
        Command::Full(command) => full::run(&command),
        Command::Completions(args) => commands::completions::run(&args),
    }
}

/// Positions without an own piece on the board begin with `-` and are no options. A space before
/// them says so to the parser of the command line, and nothing to that of positions.
fn shielded(argument: OsString) -> OsString {
    match argument.to_str() {
        Some(text) if text.starts_with("-/") || text.starts_with("-+") => format!(" {text}").into(),
        _ => argument,
    }
}

/// How the user called this program, for hints that can be typed back.
fn program_name() -> String {
    let name = std::env::args_os().next();
    name.map_or_else(|| "ziggurat".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the parser of the command line says.
    fn parsed(line: &str) -> Result<Cli, String> {
        Cli::try_parse_from(line.split(' ')).map_err(|error| error.to_string())
    }

    #[test]
    fn the_parser_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_version_says_which_kind_of_program_it_is() {
        let kind = if cfg!(feature = "full") { "full" } else { "lean" };
        assert!(VERSION.starts_with(concat!(env!("CARGO_PKG_VERSION"), " (")), "{VERSION}");
        assert!(VERSION.ends_with(&format!("{kind})")), "{VERSION}");
    }

    #[test]
    #[cfg(feature = "full")]
    fn commands_for_clusters_say_what_is_wrong_with_their_arguments() {
        for (line, part) in [
            ("ziggurat watch", "<JOB>"),
            ("ziggurat pause finkel", "invalid value 'finkel'"),
            ("ziggurat cancel -- -1", "invalid value '-1'"),
            ("ziggurat jobs --coordinator nowhere", "write HOST:PORT"),
            ("ziggurat jobs --tls-ca a.pem", "--tls-cert"),
            ("ziggurat jobs --tls-ca a --tls-cert b --tls-key c --token-file d", "cannot be used"),
            ("ziggurat submit", "<RULESET"),
            ("ziggurat submit blitz --tolerance 0.5", "between 0 and 0.5"),
            ("ziggurat submit blitz --checkpoint-every soon", "is not a time"),
            ("ziggurat export 3 --format csv", "invalid value 'csv'"),
        ] {
            let message = parsed(line).map(drop).unwrap_err();
            assert!(message.contains(part), "{line}: {message}");
        }
    }

    #[test]
    #[cfg(feature = "full")]
    fn commands_for_clusters_take_what_their_page_shows() {
        for line in [
            "ziggurat submit blitz --pieces 3 --precision f32 --uncertified --name mine --wait --json",
            "ziggurat jobs --coordinator [::1]:7400",
            "ziggurat status 3 --json --token-file token",
            "ziggurat events 3 --json",
            "ziggurat report 3 --html job.html --force",
            "ziggurat coordinator --dir c --http 127.0.0.1:7401 --http-token-file token",
            "ziggurat watch 3 --tls-ca ca.pem --tls-cert me.pem --tls-key me.key",
            "ziggurat resume 3",
            "ziggurat export 3 --value-type f32 --out a.parquet --force",
        ] {
            assert!(parsed(line).is_ok(), "{line}: {}", parsed(line).map(drop).unwrap_err());
        }
    }
}
