//! Giving a finished file its name, without replacing another.
//!
//! Most file systems can rename a file only if the new name is free, or give it a second name that has to be free. On
//! those that can do neither (exFAT, FAT, many in user space), the name is claimed with an empty file, which only one of several can make,
//! and the finished file is renamed over that. Who is killed between the two leaves an empty file.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
};

use tempfile::{NamedTempFile, PersistError};

/// Gives a finished file the name `path`, in the directory it is in already. A file of that name is replaced if
/// `replace` says so.
///
/// # Errors
/// Of kind [`io::ErrorKind::AlreadyExists`] if there is a file of that name that is not to be replaced, or as the
/// system says. The file is in the error, and goes when that is dropped.
pub fn publish(file: NamedTempFile, path: &Path, replace: bool) -> Result<File, PersistError> {
    match replace {
        true => file.persist(path),
        false => publish_new(file, path, |file| file.persist_noclobber(path)),
    }
}

/// Renames a file if the name is free, `at_once` where the file system can.
fn publish_new(
    file: NamedTempFile,
    path: &Path,
    at_once: impl FnOnce(NamedTempFile) -> Result<File, PersistError>,
) -> Result<File, PersistError> {
    let PersistError { error: why, file } = match at_once(file) {
        Err(failed) if failed.error.kind() != io::ErrorKind::AlreadyExists => failed,
        done => return done,
    };
    match OpenOptions::new().write(true).create_new(true).open(path) {
        // Closed before the rename: some servers keep the names of open files.
        Ok(claim) => drop(claim),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(PersistError { error, file });
        }
        Err(_) => return Err(PersistError { error: why, file }),
    }
    file.persist(path).inspect_err(|_| {
        if path.symlink_metadata().is_ok_and(|claim| claim.is_file() && claim.len() == 0) {
            drop(fs::remove_file(path)); // what failed first is told
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rustix::io::Errno;

    use super::*;

    /// A file with a text, published where names cannot be given at once.
    fn published(text: &str, path: &Path) -> Result<File, PersistError> {
        let mut file = NamedTempFile::new_in(path.parent().unwrap()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let lacking = |file| Err(PersistError { error: Errno::PERM.into(), file });
        publish_new(file, path, lacking)
    }

    #[test]
    fn a_file_gets_its_name_without_links_and_flags_of_renames() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table");
        published("first", &path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");

        let PersistError { error, file } = published("second", &path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "second");
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    }

    #[test]
    fn a_name_that_was_claimed_in_vain_is_free_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table");
        let file = NamedTempFile::new_in(dir.path()).unwrap();
        let gone = |file: NamedTempFile| {
            fs::remove_file(file.path()).unwrap(); // so that the rename fails, too
            Err(PersistError { error: Errno::PERM.into(), file })
        };
        assert!(publish_new(file, &path, gone).is_err());
        assert!(!path.exists());
    }

    #[test]
    fn what_is_to_be_replaced_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table");
        fs::write(&path, "old").unwrap();
        let file = || NamedTempFile::new_in(dir.path()).unwrap();
        assert!(publish(file(), &path, false).is_err());
        publish(file(), &path, true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }
}
