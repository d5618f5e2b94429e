//! Where a command writes its file, and that it never replaces one unasked.

use std::path::PathBuf;

use clap::Args;
use ziggurat_table::{Existing, remove_leftovers};

use crate::{failure::Failure, resources::directory_of};

/// The arguments that name the file to write.
#[derive(Args, Debug)]
pub struct TargetArgs {
    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace the file if it exists, once the new one is complete
    #[arg(long)]
    force: bool,
}

impl TargetArgs {
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
        if existing == Existing::Keep && file.symlink_metadata().is_ok() {
            return Err(Failure::bad_input(format!("{} exists already", file.display()))
                .help("choose another name (--out FILE), or replace it (--force)"));
        }
        for left in remove_leftovers(&file) {
            eprintln!("Removed {}, which a killed run had left.", left.display());
        }
        Ok(file)
    }

    /// What to do with a file of that name.
    pub fn existing(&self) -> Existing {
        if self.force { Existing::Replace } else { Existing::Keep }
    }
}
