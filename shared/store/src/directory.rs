//! Directories whose names survive a power loss.

use std::{
    fs::{self, File},
    io,
    path::{Path, absolute},
};

/// Makes a directory if there is none, and those above it. When this returns, the names of those that are new are on disk.
///
/// # Errors
/// If one cannot be made.
pub fn make_dir(dir: &Path) -> io::Result<()> {
    let dir = absolute(dir)?;
    let missing = dir.ancestors().take_while(|dir| !dir.exists()).count();
    fs::create_dir_all(&dir)?;
    dir.ancestors().skip(1).take(missing).try_for_each(sync_dir)
}

/// Waits until the names in a directory are on disk.
///
/// # Errors
/// What the system says.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
