//! Files that are there completely or not at all: written under a temporary name in the same
//! directory, synced, then renamed.
//!
//! A temporary file goes when its [`Output`] is dropped. Two ways around that are closed: a process
//! that ends at once calls [`abandon_outputs`]; and what a killed process leaves is told from a file
//! being written by the lock that its writer holds, see [`remove_leftovers`]. A finished file is never removed: one that
//! cannot get its name gets another, or stays where it is, and the error says so.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, Permissions},
    io::{self, BufWriter, Read, Write},
    mem,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tempfile::{NamedTempFile, PersistError};
use ziggurat_files::{publish, sync, sync_dir};

use crate::TableError;

/// What to do where a file of that name already exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Existing {
    /// Keep it, and fail. If it only came while the new one was made, be content if that has the same bytes; otherwise give the new one
    /// another name, which the error tells.
    #[default]
    Keep,
    /// Keep it, and be content if the new one has the same bytes; otherwise fail, once that is complete.
    Expect,
    /// Replace it, once the new one is complete.
    Replace,
}

/// How many bytes of two files are compared at a time.
const COMPARED_BYTES: usize = 1 << 20;

/// The random part of the name of a temporary file.
const RANDOM_LETTERS: usize = 6;

/// The temporary files of this process. Whoever makes one or renames one holds the lock.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of this process, and lets it neither make nor finish another: for a
/// process that is about to end at once.
pub fn abandon_outputs() {
    abandon(unfinished());
}

/// The same for a process that may be anywhere: what is being done to the list at the moment is let be.
pub fn abandon_outputs_at_once() {
    if let Ok(unfinished) = UNFINISHED.try_lock() {
        abandon(unfinished);
    }
}

fn abandon(unfinished: MutexGuard<'static, Vec<PathBuf>>) {
    for path in unfinished.iter() {
        drop(fs::remove_file(path)); // the process ends in any case
    }
    mem::forget(unfinished);
}

/// Removes the temporary files that killed processes have left of a file called `path`: those that
/// nobody has locked, nor finished and kept in place. Returns their names.
pub fn remove_leftovers(path: &Path) -> Vec<PathBuf> {
    let prefix = temporary_prefix(path);
    let is_temporary = |name: &OsStr| {
        let random = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
        random.is_some_and(|random| {
            random.len() == RANDOM_LETTERS && random.iter().all(u8::is_ascii_alphanumeric)
        })
    };
    let Ok(entries) = fs::read_dir(directory(path)) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter(|entry| is_temporary(&entry.file_name()))
        .map(|entry| directory(path).join(entry.file_name()))
        .filter(|left| left.metadata().is_ok_and(|left| !left.permissions().readonly()))
        .filter(|left| {
            let removed = |file: File| file.try_lock().is_ok() && fs::remove_file(left).is_ok();
            File::open(left).is_ok_and(removed)
        })
        .collect()
}

/// The name of a temporary file, up to its random part.
fn temporary_prefix(path: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(".partial-");
    prefix
}

/// A file that is there for a while only: it goes when this is dropped, and when the process ends at once after
/// [`abandon_outputs`].
#[derive(Debug)]
pub struct Interim(Listed);

impl Interim {
    /// A file that need not be there yet.
    pub fn new(path: PathBuf) -> Self {
        unfinished().push(path.clone());
        Self(Listed(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.0
    }
}

impl Drop for Interim {
    fn drop(&mut self) {
        drop(fs::remove_file(self.path())); // whoever needs the name next replaces it
    }
}

/// A file being written. Dropped before [`Output::finish`], it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    existing: Existing,
    file: BufWriter<NamedTempFile>,
    listed: Listed,
}

/// An entry of [`UNFINISHED`].
#[derive(Debug)]
struct Listed(PathBuf);

impl Drop for Listed {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

impl Output {
    /// Starts a file that will be called `path`.
    pub(crate) fn create(path: &Path, existing: Existing) -> Result<Self, TableError> {
        if existing == Existing::Keep && path.symlink_metadata().is_ok() {
            return Err(TableError::Exists { path: path.to_owned() });
        }
        if path.is_dir() {
            return Err(TableError::IsADirectory { path: path.to_owned() });
        }
        let mut unfinished = unfinished();
        let file = temporary_file(path).map_err(TableError::io(path, "create"))?;
        let listed = Listed(file.path().to_owned());
        unfinished.push(listed.0.clone());
        let file = BufWriter::with_capacity(1 << 20, file);
        Ok(Self { path: path.to_owned(), existing, file, listed })
    }

    /// Appends to the file.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), TableError> {
        self.write_all(bytes).map_err(TableError::io(&self.path, "write"))
    }

    /// Makes the file durable under its name, or under another that the error tells.
    pub(crate) fn finish(self) -> Result<(), TableError> {
        let Self { path, existing, file, listed, .. } = self;
        let file = file
            .into_inner()
            .map_err(|error| TableError::io(&path, "write")(error.into_error()))?;
        sync(file.as_file()).map_err(TableError::io(&path, "sync"))?;
        let published = {
            let _unfinished = unfinished();
            publish(file, &path, existing == Existing::Replace)
        };
        if let Err(PersistError { error, file }) = published {
            let is_taken = error.kind() == io::ErrorKind::AlreadyExists;
            // What cannot be read is something else.
            if is_taken && have_same_bytes(file.path(), &path).unwrap_or(false) {
                return Ok(());
            }
            if is_taken && existing == Existing::Expect {
                return Err(TableError::Exists { path });
            }
            return Err(beside(&path, file, error));
        }
        drop(listed);
        sync_directory_of(&path)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

pub(crate) fn sync_directory_of(path: &Path) -> Result<(), TableError> {
    sync_dir(directory(path)).map_err(TableError::io(path, "sync the directory of"))
}

/// Gives a complete file a name like one that it cannot have, and tells which.
fn beside(path: &Path, mut file: NamedTempFile, why: io::Error) -> TableError {
    let is_taken = why.kind() == io::ErrorKind::AlreadyExists;
    let told = |kept: PathBuf, why: io::Error| match is_taken {
        true => TableError::Taken { path: path.to_owned(), kept },
        false => TableError::Unnamed { path: path.to_owned(), kept, source: why },
    };
    for number in 2_u32.. {
        let mut name = path.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{number}"));
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        let kept = path.with_file_name(name);
        match publish(file, &kept, false) {
            Ok(_) => {
                drop(sync_directory_of(&kept)); // it is there; that its name has no other is told
                return told(kept, why);
            }
            Err(PersistError { error, file: again }) => {
                file = again;
                if error.kind() != io::ErrorKind::AlreadyExists {
                    break;
                }
            }
        }
    }
    told(kept_in_place(file), why)
}

/// Lets a complete file have the name of an unfinished one, and be told from those: it can be read only.
fn kept_in_place(file: NamedTempFile) -> PathBuf {
    if let Ok(mut permissions) = file.as_file().metadata().map(|file| file.permissions()) {
        permissions.set_readonly(true);
        drop(file.as_file().set_permissions(permissions)); // where there are none, nothing removes it unasked but the next run
    }
    let path = file.path().to_owned();
    if let Err(PersistError { file, .. }) = file.keep() {
        mem::forget(file); // its end would remove it
    }
    path
}

pub(crate) fn have_same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let mut left = one.metadata()?.len();
    if left != other.metadata()?.len() {
        return Ok(false);
    }
    let mut bytes = [vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]];
    while left > 0 {
        let len = COMPARED_BYTES.min(usize::try_from(left).unwrap_or(COMPARED_BYTES));
        let [of_one, of_other] = bytes.each_mut().map(|bytes| &mut bytes[..len]);
        one.read_exact(of_one)?;
        other.read_exact(of_other)?;
        if of_one != of_other {
            return Ok(false);
        }
        left -= len as u64;
    }
    Ok(true)
}

/// A new temporary file for `path`, locked where the file system has locks.
fn temporary_file(path: &Path) -> io::Result<NamedTempFile> {
    loop {
        let file = tempfile::Builder::new()
            .prefix(&temporary_prefix(path))
            .rand_bytes(RANDOM_LETTERS)
            .permissions(Permissions::from_mode(0o666)) // less the umask, as for any new file
            .tempfile_in(directory(path))?;
        let locked = file.as_file().lock();
        // Another process may have taken it for a leftover before it was locked.
        if locked.is_err() || file.path().exists() {
            return Ok(file);
        }
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_for_a_while_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("interim");
        let interim = Interim::new(path.clone());
        assert!(unfinished().contains(&path));
        fs::write(interim.path(), "something").unwrap();
        drop(interim);
        assert!(!path.exists() && !unfinished().contains(&path));
    }
}
