//! `ziggurat man`: the pages of the manual, for those who package the program.

use std::{fs, path::PathBuf};

use clap::CommandFactory;

use crate::{
    Cli,
    failure::{Exit, Explain, Failure},
};

/// Write the pages of the manual, one for each command, into a directory
#[derive(clap::Args, Debug)]
#[command(hide = true)]
pub struct Args {
    /// The directory; made if there is none
    dir: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let dir = &args.dir;
    fs::create_dir_all(dir).context(format!("cannot create {}", dir.display())).or_bad_input()?;
    clap_mangen::generate_to(Cli::command(), dir)
        .context(format!("cannot write into {}", dir.display()))?;
    Ok(Exit::Success)
}
