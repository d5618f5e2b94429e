//! Where a command writes its file, and that it never replaces one unasked.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use ziggurat_game::Ruleset;
use ziggurat_table::{Compression, Existing, ValueType, remove_leftovers};

use crate::{
    failure::Failure,
    format::Format,
    output::{note, typed},
    program_name,
    resources::directory_of,
};

/// What a user types for the solve or job that a command is about: a job of a cluster by its number, or
/// something on disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JobOrPath {
    /// The number of a job.
    Job(u64),
    /// A file or directory. One whose name is a number is written with its directory: `./7`.
    Path(PathBuf),
}

impl From<OsString> for JobOrPath {
    fn from(typed: OsString) -> Self {
        match typed.to_str().map(str::parse) {
            Some(Ok(job)) => Self::Job(job),
            _ => Self::Path(typed.into()),
        }
    }
}

/// The arguments that name the file to write.
#[derive(Args, Debug)]
pub struct TargetArgs {
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace the file if it exists, once the new one is complete
    #[arg(long)]
    force: bool,
}

impl TargetArgs {
    /// The file that the user named, if any.
    pub fn named(&self) -> Option<&Path> {
        self.out.as_deref()
    }

    /// The same, where the user may have named the file in another way.
    pub fn or(&self, named: Option<&Path>) -> Self {
        let named = || named.map(Path::to_owned);
        Self { out: self.out.clone().or_else(named), ..*self }
    }

    /// The file to write, `default` unless the user named one. Removes what killed runs have left of
    /// it.
    ///
    /// # Errors
    /// If it is there already and is not to be replaced: before any work is done.
    pub fn file(&self, default: impl FnOnce() -> PathBuf) -> Result<PathBuf, Failure> {
        self.checked(self.out.clone().unwrap_or_else(default), self.existing())
    }

    /// Likewise, where `existing` says what to do with a file of that name.
    ///
    /// # Errors
    /// As for [`TargetArgs::file`].
    pub fn file_or(&self, default: PathBuf, existing: Existing) -> Result<PathBuf, Failure> {
        self.checked(self.out.clone().unwrap_or(default), existing)
    }

    fn checked(&self, file: PathBuf, existing: Existing) -> Result<PathBuf, Failure> {
        if file.as_os_str() == "-" {
            return Err(Failure::bad_input("a table cannot be written to standard output")
                .help("name a file: --out FILE (./- if it is to be called so)"));
        }
        let directory = directory_of(&file);
        if !directory.is_dir() {
            return Err(Failure::bad_input(format!(
                "there is no directory {}",
                directory.display()
            ))
            .help("create it, or name a file elsewhere: --out FILE"));
        }
        if file.is_dir() {
            return Err(Failure::bad_input(format!("{} is a directory", file.display()))
                .help("give the name of a file: --out FILE"));
        }
        let there = file.symlink_metadata().ok();
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            return Err(Failure::bad_input(format!("{} is no regular file", file.display()))
                .help("it is never replaced; choose another name: --out FILE"));
        }
        if existing == Existing::Keep && there.is_some() {
            let look = match file.extension().is_some_and(|extension| extension == "zgt") {
                true => format!("look at it ({} table info {}), ", program_name(), typed(&file)),
                false => String::new(),
            };
            return Err(Failure::bad_input(format!("{} exists already", file.display()))
                .help(format!("{look}choose another name (--out FILE), or replace it (--force)")));
        }
        for left in remove_leftovers(&file) {
            note!("Removed {}, which a killed run had left.", left.display());
        }
        Ok(file)
    }

    /// What to do with a file of that name.
    pub fn existing(&self) -> Existing {
        if self.force { Existing::Replace } else { Existing::Keep }
    }
}

/// How many of the values of a job are held against the rules before a table is made of them.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Extent {
    /// Every one
    All,
    /// Some 10,000, spread over all shards
    Sample,
    /// None: the table is as the workers reported it
    None,
}

/// The table of a job that is wanted.
pub struct Wish<'a> {
    /// Where it goes.
    pub target: &'a TargetArgs,
    /// Its format.
    pub format: Format,
    /// The type of its values, by the ruleset and the type that loses nothing.
    pub value_type: &'a dyn Fn(&Ruleset, ValueType) -> ValueType,
    /// How they are packed, in a `.zgt` file.
    pub compression: Compression,
    /// How much of them is verified.
    pub verify: Extent,
    /// Whether machines read what is printed.
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_job_and_all_else_a_path() {
        let read = |text: &str| JobOrPath::from(OsString::from(text));
        assert_eq!(read("7"), JobOrPath::Job(7));
        for path in ["./7", "7.zgt", "m8", "-1"] {
            assert_eq!(read(path), JobOrPath::Path(path.into()));
        }
    }
}
