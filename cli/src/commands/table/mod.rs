//! `ziggurat table`: what is in a table, and whether it is right.

mod diff;
mod get;
mod info;
mod proof;
mod verify;

use crate::failure::{Exit, Failure};

/// Look into a table, compare two, or verify one
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    Info(info::Args),
    Get(get::Args),
    Diff(diff::Args),
    Verify(verify::Args),
}

/// Runs the command.
pub fn run(command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Info(args) => info::run(args),
        Command::Get(args) => get::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Verify(args) => verify::run(args),
    }
}
