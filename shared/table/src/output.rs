//! Files that are there completely or not at all: written under a temporary name in the same
//! directory, synced, then renamed.

use std::{
    fs::{File, Permissions},
    io::{self, BufWriter, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::TableError;

/// What to do where a file of that name already exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Existing {
    /// Keep it, and fail.
    #[default]
    Keep,
    /// Replace it, once the new one is complete.
    Replace,
}

/// A file being written. Dropped before [`Output::finish`], it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    existing: Existing,
    file: BufWriter<NamedTempFile>,
    written: u64,
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
        let mut prefix = std::ffi::OsString::from(".");
        prefix.push(path.file_name().unwrap_or_default());
        prefix.push(".partial-");
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .permissions(Permissions::from_mode(0o666)) // less the umask, as for any new file
            .tempfile_in(directory(path))
            .map_err(TableError::io(path, "create"))?;
        let file = BufWriter::with_capacity(1 << 20, file);
        Ok(Self { path: path.to_owned(), existing, file, written: 0 })
    }

    /// The name the file will have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written so far.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Appends to the file.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), TableError> {
        self.write_all(bytes).map_err(TableError::io(&self.path, "write"))
    }

    /// Makes the file durable under its name.
    pub(crate) fn finish(self) -> Result<(), TableError> {
        let Self { path, existing, file, .. } = self;
        let file = file
            .into_inner()
            .map_err(|error| TableError::io(&path, "write")(error.into_error()))?;
        file.as_file().sync_all().map_err(TableError::io(&path, "sync"))?;
        let persisted = match existing {
            Existing::Keep => file.persist_noclobber(&path),
            Existing::Replace => file.persist(&path),
        };
        persisted.map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => TableError::Exists { path: path.clone() },
            _ => TableError::io(&path, "rename the finished file to")(error.error),
        })?;
        let directory = File::open(directory(&path)).and_then(|directory| directory.sync_all());
        directory.map_err(TableError::io(&path, "sync the directory of"))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
