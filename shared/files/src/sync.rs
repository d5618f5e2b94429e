//! Bringing files, and the names in directories, to the disk.
//!
//! Some file systems cannot sync a directory (SMB, many in user space, WSL), or cannot sync at all. They answer that the
//! call makes no sense for them. There is nothing to be had then, and nothing that waiting or failing would better.

use std::{
    fs::{self, File},
    io,
    path::{Path, absolute},
};

use rustix::io::Errno;

/// What systems answer to a call that a file system does not have.
const LACKING: [Errno; 4] = [Errno::INVAL, Errno::OPNOTSUPP, Errno::NOSYS, Errno::NOTTY];

/// Whether an error says that a file system does not have the call, and not that the call failed.
pub fn is_lacking(error: &io::Error) -> bool {
    Errno::from_io_error(error).is_some_and(|error| LACKING.contains(&error))
}

/// Waits until a file is on disk, if its file system can say so.
///
/// # Errors
/// What the system says.
pub fn sync(file: &File) -> io::Result<()> {
    unless_lacking(file.sync_all())
}

/// Waits until the names in a directory are on disk, if its file system can say so.
///
/// # Errors
/// What the system says.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    let opened = match File::open(dir) {
        // One may write to a directory without being allowed to read it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => return Ok(()),
        opened => opened?,
    };
    match opened.sync_all() {
        // A directory is never open for writing, which some systems want of what they sync.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::BADF) => Ok(()),
        synced => unless_lacking(synced),
    }
}

fn unless_lacking(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if is_lacking(&error) => Ok(()),
        done => done,
    }
}

/// Makes a directory if there is none, and those above it. When this returns, the names of those that are new are on
/// disk, as far as file systems bring them there.
///
/// # Errors
/// If one cannot be made.
pub fn make_dir(dir: &Path) -> io::Result<()> {
    let dir = absolute(dir)?;
    let missing = dir.ancestors().take_while(|dir| !dir.exists()).count();
    fs::create_dir_all(&dir)?;
    dir.ancestors().skip(1).take(missing).try_for_each(sync_dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_file_system_lacks_is_let_pass() {
        let done = |error: Errno| unless_lacking(Err(error.into())).map_err(|error| error.kind());
        for lacking in [Errno::INVAL, Errno::OPNOTSUPP, Errno::NOTSUP, Errno::NOSYS] {
            assert_eq!(done(lacking), Ok(()));
        }
        for failed in [Errno::IO, Errno::NOSPC, Errno::DQUOT, Errno::ROFS] {
            assert!(done(failed).is_err(), "{failed}");
        }
    }

    #[test]
    fn directories_are_made_with_those_above() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        make_dir(&deep).unwrap();
        assert!(deep.is_dir());
        make_dir(&deep).unwrap();
        assert!(sync_dir(&dir.path().join("none")).is_err());
    }
}
