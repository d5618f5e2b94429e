//! The commands, and the parts of others, that need a store or a cluster: RocksDB, gRPC, TLS.
//!
//! A program that is built without the feature `full`, a *lean* one, has `lean.rs` in its place, which says how to get them.

mod cancel;
mod coordinator;
mod dashboard;
pub mod directory;
mod events;
pub mod fetch;
mod jobs;
mod man;
mod pause;
mod report;
mod resume;
mod serve;
pub mod solved_alone;
mod status;
mod submit;
pub mod terminal;
mod watch;
mod worker;
mod workers;

pub use crate::cluster::{config::read as read_arguments, flags::CoordinatorArgs};
use crate::failure::{Exit, Failure};

/// The commands.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    Resume(resume::Args),
    Status(status::Args),
    Events(events::Args),
    Report(report::Args),
    Coordinator(coordinator::Args),
    Worker(worker::Args),
    Workers(workers::Args),
    Submit(submit::Args),
    Jobs(jobs::Args),
    Watch(watch::Args),
    Pause(pause::Args),
    Cancel(cancel::Args),
    Serve(serve::Args),
    Man(man::Args),
}

/// Runs a command.
pub fn run(command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Resume(args) => resume::run(args),
        Command::Status(args) => status::run(args),
        Command::Events(args) => events::run(args),
        Command::Report(args) => report::run(args),
        Command::Coordinator(args) => coordinator::run(args),
        Command::Worker(args) => worker::run(args),
        Command::Workers(args) => workers::run(args),
        Command::Submit(args) => submit::run(args),
        Command::Jobs(args) => jobs::run(args),
        Command::Watch(args) => watch::run(args),
        Command::Pause(args) => pause::run(args),
        Command::Cancel(args) => cancel::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Man(args) => man::run(args),
    }
}
