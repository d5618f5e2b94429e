//! What a lean program has in place of `full`: commands and options that say how to get a full one.

use std::ffi::OsString;

use clap::ArgMatches;

use crate::failure::{Exit, Failure};

/// Reads the command line.
///
/// # Errors
/// None; where something is wrong with the command line, this ends the process.
pub fn read_arguments(
    command: clap::Command,
    arguments: Vec<OsString>,
) -> Result<ArgMatches, Failure> {
    Ok(command.try_get_matches_from(arguments).unwrap_or_else(|error| crate::end_with(&error)))
}

/// What is missing, and how to get it.
fn missing(what: &str) -> Failure {
    Failure::bad_input(format!("this is a lean program, without {what}")).help(
        "./ziggurat in the repository builds a full one when it is asked for that; so does `cargo build --release`",
    )
}

/// The commands of a full program, with whatever is typed after them.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// Go on with a solve in a directory, or a job of a cluster (not in this lean program)
    Resume(Anything),
    /// Print how far a solve in a directory is, or a job of a cluster (not in this lean program)
    Status(Anything),
    /// Print what happened to a job of a cluster, or a solve in a directory (not in this lean program)
    Events(Anything),
    /// Write the page of one job, or of a solve in a directory, as one file (not in this lean program)
    Report(Anything),
    /// Run the coordinator of a cluster (not in this lean program)
    Coordinator(Anything),
    /// Run a worker of a cluster (not in this lean program)
    Worker(Anything),
    /// List the workers of a cluster (not in this lean program)
    Workers(Anything),
    /// Give a job to a cluster (not in this lean program)
    Submit(Anything),
    /// List the jobs of a cluster (not in this lean program)
    Jobs(Anything),
    /// Follow a job of a cluster (not in this lean program)
    Watch(Anything),
    /// Stop a job of a cluster for a while (not in this lean program)
    Pause(Anything),
    /// End a job of a cluster for good (not in this lean program)
    Cancel(Anything),
    /// Serve tables over HTTP, and a page to explore them (not in this lean program)
    Serve(Anything),
    /// Write the pages of the manual (not in this lean program)
    #[command(hide = true)]
    Man(Anything),
}

/// Arguments that only a full program knows.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Anything {
    #[arg(hide = true, num_args = .., trailing_var_arg = true, allow_hyphen_values = true)]
    typed: Vec<OsString>,
}

/// Says how to get a command.
pub fn run(command: &Command) -> Result<Exit, Failure> {
    Err(missing(match command {
        Command::Resume(_) => "`resume`",
        Command::Status(_) => "`status`",
        Command::Events(_) => "`events`",
        Command::Report(_) => "`report`",
        Command::Coordinator(_) => "`coordinator`",
        Command::Worker(_) => "`worker`",
        Command::Workers(_) => "`workers`",
        Command::Submit(_) => "`submit`",
        Command::Jobs(_) => "`jobs`",
        Command::Watch(_) => "`watch`",
        Command::Pause(_) => "`pause`",
        Command::Cancel(_) => "`cancel`",
        Command::Serve(_) => "`serve`",
        Command::Man(_) => "`man`",
    }))
}

/// The options that name a coordinator.
#[derive(clap::Args, Debug)]
pub struct CoordinatorArgs {
    #[arg(long, hide = true)]
    coordinator: Option<OsString>,
    #[arg(long, hide = true)]
    token_file: Option<OsString>,
    #[arg(long, hide = true)]
    tls_ca: Option<OsString>,
    #[arg(long, hide = true)]
    tls_cert: Option<OsString>,
    #[arg(long, hide = true)]
    tls_key: Option<OsString>,
}

/// The terminal, on which nothing is drawn but progress.
pub mod terminal {
    /// Gives it back as it was.
    pub fn restore() {}
}

/// The table of a job of a cluster.
pub mod fetch {
    use std::path::PathBuf;

    use ziggurat_game::Ruleset;
    use ziggurat_table::ValueType;

    use crate::{failure::Failure, target::Wish};

    /// Says how to get it.
    pub fn fetch(
        _coordinator: &super::CoordinatorArgs,
        _job: u64,
        _wish: &Wish<'_>,
    ) -> Result<(PathBuf, Ruleset, ValueType), Failure> {
        Err(super::missing("`export JOB`"))
    }
}

/// Solves that are looked at while they run.
pub mod solved_alone {
    use std::{net::SocketAddr, path::Path};

    use crate::{
        failure::Failure,
        solving::{Solving, Witness},
    };

    /// Says how to get what is asked for.
    pub fn watch(
        _solving: &Solving<'_>,
        _dir: Option<&Path>,
        http: Option<SocketAddr>,
    ) -> Result<Option<Box<dyn Witness>>, Failure> {
        match http {
            Some(_) => Err(super::missing("`solve --http`")),
            None => Ok(None),
        }
    }
}

/// Solves that are written down in a directory.
pub mod directory {
    use std::{convert::Infallible, path::Path, time::Duration};

    use crate::{failure::Failure, solving::Solving, writing::WrittenDown};

    /// Says how to get them.
    pub fn check_free(_dir: &Path) -> Result<(), Failure> {
        Err(super::missing("`solve --dir`"))
    }

    /// Likewise.
    pub fn manifest(_solving: &Solving<'_>) -> Result<Infallible, Failure> {
        Err(super::missing("`solve --dir`"))
    }

    /// Cannot be called.
    pub fn create(
        _dir: &Path,
        manifest: Infallible,
        _checkpoint_every: Duration,
    ) -> Result<Box<dyn WrittenDown>, Failure> {
        match manifest {}
    }
}
