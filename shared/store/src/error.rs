//! What can go wrong with a store. Every message names the place and says what to do.

use std::{
    io,
    path::{Path, PathBuf},
};

use rocksdb::ErrorKind;
use thiserror::Error;
use ziggurat_files::{Limit, free_bytes, size};

use crate::{EpochKey, ValueType};

/// Why something could not be stored or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The operating system said no.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// There is no store.
    #[error("{} has no store; check the name, or create one", .dir.display())]
    Missing {
        /// The directory.
        dir: PathBuf,
    },
    /// There is a store already.
    #[error("{} has a store already; open it, or choose another directory", .dir.display())]
    Exists {
        /// The directory.
        dir: PathBuf,
    },
    /// Somebody else has the store open.
    #[error(
        "{} is in use by another process; wait until that ends, or choose another directory",
        .dir.display()
    )]
    InUse {
        /// The directory.
        dir: PathBuf,
    },
    /// The directory cannot be written to.
    #[error(
        "cannot write to {}: {why}; make it writable, or choose another directory", .dir.display()
    )]
    NotWritable {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The directory has no locks, so that another process could write to the same store.
    #[error(
        "cannot lock {}{}: {why}; choose a directory on a file system with locks", .file.display(), on(.file_system)
    )]
    NoLocks {
        /// The file that was to be locked.
        file: PathBuf,
        /// What its file system is called, if that is known.
        file_system: Option<String>,
        /// What the system said.
        why: String,
    },
    /// The process, its user or the file system may have no more of something. What was committed is intact.
    #[error("cannot {action} {}: {limit}; {}, and resume", .path.display(), .limit.remedy())]
    Limited {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What it ran into.
        limit: Limit,
    },
    /// The disk is full, or too full for what is to come. What was committed is intact.
    #[error(
        "the disk of {} {}{}; free some, or choose a directory on \
         another disk, and resume", .dir.display(), free(*.free_bytes), needed(*.needed_bytes)
    )]
    DiskFull {
        /// The directory.
        dir: PathBuf,
        /// Bytes that can still be written, if that is known.
        free_bytes: Option<u64>,
        /// Bytes that would be needed, if that is known.
        needed_bytes: Option<u64>,
    },
    /// The store was written by another version of the program.
    #[error(
        "{} has store format {found}, this program knows {known}; \
         use the ziggurat that wrote it, or solve again", .dir.display()
    )]
    OtherFormat {
        /// The directory.
        dir: PathBuf,
        /// Its format.
        found: u32,
        /// The format known.
        known: u32,
    },
    /// The store is another's.
    #[error(
        "{} belongs to {found:#018x}, not to {expected:#018x}; choose another directory",
        .dir.display()
    )]
    OtherOwner {
        /// The directory.
        dir: PathBuf,
        /// Whose it is.
        found: u64,
        /// Whose it should be.
        expected: u64,
    },
    /// The memory budget is too small.
    #[error(
        "a memory budget of {} is too small for the store, which needs {}",
        size(*.given_bytes), size(*.needed_bytes)
    )]
    BudgetTooSmall {
        /// The budget.
        given_bytes: u64,
        /// The smallest possible.
        needed_bytes: u64,
    },
    /// Values are damaged or gone: exactly those of this shard epoch cannot be trusted.
    #[error(
        "{epoch} is damaged: {what} ({}); go back to an earlier epoch, or compute it again",
        .file.display()
    )]
    Damaged {
        /// Which shard at which epoch.
        epoch: EpochKey,
        /// The file, or the directory where it should be.
        file: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The small state is damaged, and with it the knowledge of what is committed.
    #[error(
        "the state in {} is damaged: {what}; restore the directory from a copy, or begin anew in \
         an empty one", .dir.display()
    )]
    StateDamaged {
        /// The directory.
        dir: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A committed epoch was to be written again.
    #[error("{epoch} is committed; drop it before writing it again")]
    Committed {
        /// Which shard at which epoch.
        epoch: EpochKey,
    },
    /// An epoch was to be committed that was never finished.
    #[error("{epoch} was not written; finish it before committing it")]
    NotWritten {
        /// Which shard at which epoch.
        epoch: EpochKey,
    },
    /// Values were asked for as another type.
    #[error("{epoch} has values of type {stored}, not {asked}")]
    OtherValueType {
        /// Which shard at which epoch.
        epoch: EpochKey,
        /// The type they have.
        stored: ValueType,
        /// The type asked for.
        asked: ValueType,
    },
    /// Values were asked for that are not there.
    #[error("{epoch} has {values} values, {start} to {end} are not among them")]
    OutOfRange {
        /// Which shard at which epoch.
        epoch: EpochKey,
        /// How many values there are.
        values: u64,
        /// The first index asked for.
        start: u64,
        /// One past the last index asked for.
        end: u64,
    },
    /// More values than pages can be numbered for.
    #[error("{epoch} is too large to store; cut it into smaller shards")]
    TooLarge {
        /// Which shard at which epoch.
        epoch: EpochKey,
    },
    /// A value of the state is not what the program expects.
    #[error(
        "the entry `{key}` of the state in {} cannot be read; \
         use the ziggurat that wrote it, or solve again", .dir.display()
    )]
    StateEntry {
        /// The directory.
        dir: PathBuf,
        /// The entry.
        key: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The disk fails to read values.
    #[error(
        "the values in {} cannot be read: {what}; if that lasts, copy the directory to another disk, without \
         the file that is named if it cannot be read: its values are computed again", .dir.display()
    )]
    Unreadable {
        /// The directory.
        dir: PathBuf,
        /// What RocksDB said.
        what: String,
    },
    /// RocksDB said no.
    #[error("cannot {action} {}", .dir.display())]
    RocksDb {
        /// The directory.
        dir: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What RocksDB said.
        source: rocksdb::Error,
    },
}

fn free(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "is full".to_owned(), |bytes| format!("has {} free", size(bytes)))
}

fn needed(bytes: Option<u64>) -> String {
    bytes.map(|bytes| format!(" and {} are needed", size(bytes))).unwrap_or_default()
}

fn on(file_system: &Option<String>) -> String {
    file_system.as_ref().map(|name| format!(" (on {name})")).unwrap_or_default()
}

impl StoreError {
    /// The shard epoch that is damaged, if that is what is wrong: all others can be trusted.
    pub fn damaged(&self) -> Option<EpochKey> {
        match self {
            Self::Damaged { epoch, .. } => Some(*epoch),
            _ => None,
        }
    }

    /// Whether that stays so however often the store is opened.
    pub fn lasts(&self) -> bool {
        matches!(
            self,
            Self::StateDamaged { .. }
                | Self::StateEntry { .. }
                | Self::OtherFormat { .. }
                | Self::OtherOwner { .. }
        )
    }

    /// What an I/O error becomes while trying to `action` a path; for `map_err`.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            _ if let Some(limit) = Limit::of(&source) => {
                Self::Limited { path: path.to_owned(), action, limit }
            }
            io::ErrorKind::StorageFull => Self::disk_full(path),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::NotWritable { dir: path.to_owned(), why: source.to_string() }
            }
            _ => Self::Io { path: path.to_owned(), action, source },
        }
    }

    /// What an error of RocksDB becomes while trying to `action` the database in `dir`. RocksDB
    /// passes on what the system said as text.
    pub(crate) fn rocksdb(dir: &Path, action: &'static str) -> impl FnOnce(rocksdb::Error) -> Self {
        move |source| {
            let text = source.as_ref();
            let says = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
            if let Some(limit) = Limit::in_text(text) {
                Self::Limited { path: dir.to_owned(), action, limit }
            } else if says(&["No space left on device"]) {
                Self::disk_full(dir)
            } else if says(&["Read-only file system", "Permission denied"]) {
                Self::NotWritable { dir: dir.to_owned(), why: text.to_owned() }
            } else {
                Self::RocksDb { dir: dir.to_owned(), action, source }
            }
        }
    }

    fn disk_full(path: &Path) -> Self {
        let free_bytes = free_bytes(path);
        Self::DiskFull { dir: path.to_owned(), free_bytes, needed_bytes: None }
    }
}

/// Whether an error of RocksDB says that files are not what they were, and not that the system is
/// in trouble.
pub(crate) fn is_damage(error: &rocksdb::Error) -> bool {
    error.kind() == ErrorKind::Corruption || error.as_ref().contains("No such file")
}

/// Whether the disk fails to give what is in the file: all other errors of the system are about who asks, or when.
pub(crate) fn is_unreadable(error: &rocksdb::Error) -> bool {
    let says = |part| error.as_ref().contains(part);
    error.kind() == ErrorKind::IOError
        && [
            "Input/output error",
            "No data available",
            "Structure needs cleaning",
            "Bad message",
            "I/O error",
        ]
        .into_iter()
        .any(says)
}
