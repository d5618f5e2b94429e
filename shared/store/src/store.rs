//! The store: shard epochs and small state, in one directory.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use rustix::fs::{Mode, OFlags};
use serde::de::DeserializeOwned;

use ziggurat_files::{free_bytes, make_dir, sync_dir};

use crate::{
    Recovery, StateBatch, StoreError,
    counters::Counters,
    failpoint::failpoint,
    recovery,
    settings::{self, Reads, StoreOptions},
    state::{State, is_absence},
    values::{STAGING, Values},
};

/// Shard epochs and small state in one directory, which nobody else can open at the same time.
///
/// All methods may be called from many threads at once.
pub struct Store {
    // Closed in this order; the state has the lock.
    values: Values,
    state: State,
    dir: PathBuf,
    recovery: Option<Recovery>,
    counters: Counters,
    staged: AtomicU64,
}

impl Store {
    /// Makes a store in a directory, which is made, too, if there is none.
    ///
    /// # Errors
    /// If there is a store already, the directory cannot be written to, is in use, or the memory
    /// budget is too small.
    pub fn create(dir: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        failpoint!("store::before-create", dir);
        make_dir(dir).map_err(StoreError::io(dir, "create"))?;
        Self::start(dir, options, true)
    }

    /// Opens the store in a directory, or makes one if there is none, or one that somebody was killed over
    /// while making it.
    ///
    /// # Errors
    /// Those of [`Store::open`] and [`Store::create`].
    pub fn open_or_create(dir: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        match Self::open(dir, options) {
            Err(StoreError::Missing { .. }) => match Self::create(dir, options) {
                // Somebody else has made it meanwhile.
                Err(StoreError::Exists { .. }) => Self::open(dir, options),
                made => made,
            },
            opened => opened,
        }
    }

    /// Opens the store in a directory, and waits for three seconds if another process has it open. What was not committed is gone. What was damaged is repaired
    /// as far as it can be: see [`Store::recovery`] and [`Store::missing_epochs`].
    ///
    /// # Errors
    /// If there is no store, it is in use, is another's, was written by another version, its
    /// state is damaged, the directory cannot be written to, or the memory budget is too small.
    pub fn open(dir: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        match fs::metadata(dir) {
            Ok(found) if found.is_dir() => Self::start(dir, options, false),
            Err(error) if !is_absence(&error) => Err(StoreError::io(dir, "find")(error)),
            _ => Err(StoreError::Missing { dir: dir.to_owned() }),
        }
    }

    fn start(dir: &Path, options: &StoreOptions, create: bool) -> Result<Self, StoreError> {
        let mut options = options.clone();
        settings::values(&options)?;
        let state = State::open(dir, options.owner, create)?;
        // From here on, nobody else is in the directory.
        let staging = dir.join(STAGING);
        recovery::remove(&staging)?;
        fs::create_dir(&staging).map_err(StoreError::io(&staging, "create"))?;
        if !takes_direct_reads(&staging) {
            options.reads = Reads::PageCache;
        }
        let (values, recovery) = recovery::open_values(dir, &settings::values(&options)?)?;
        // What is committed is on disk only if the databases' own names are.
        sync_dir(dir).map_err(StoreError::io(dir, "sync"))?;
        let (counters, staged) = Default::default();
        let store = Self { values, state, dir: dir.to_owned(), recovery, counters, staged };
        store.drop_uncommitted()?;
        Ok(store)
    }

    /// Deletes the files that a process left behind which did not get to committing them.
    fn drop_uncommitted(&self) -> Result<(), StoreError> {
        let committed: HashSet<_> =
            self.state.epochs()?.into_iter().map(|epoch| epoch.key).collect();
        self.values.drop_files(|epoch| !committed.contains(&epoch))
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What had to be repaired when the store was opened.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Makes changes of the state, all or none, durable when this returns.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn put_state(&self, batch: StateBatch) -> Result<(), StoreError> {
        self.state.write(batch)
    }

    /// An entry of the state, if there is one.
    ///
    /// # Errors
    /// If it cannot be read, or is of another type.
    pub fn get_state<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, StoreError> {
        self.state.entry(key)
    }

    /// Bytes that can still be written; `None` if the file system does not tell.
    pub fn free_bytes(&self) -> Option<u64> {
        free_bytes(&self.dir)
    }

    /// Refuses if so many bytes cannot be written; see [`largest_bytes`](crate::largest_bytes).
    ///
    /// # Errors
    /// If it is known that they cannot.
    pub fn require_space(&self, needed_bytes: u64) -> Result<(), StoreError> {
        match self.free_bytes() {
            Some(free) if free < needed_bytes => {
                let (dir, needed_bytes) = (self.dir.clone(), Some(needed_bytes));
                Err(StoreError::DiskFull { dir, free_bytes: Some(free), needed_bytes })
            }
            _ => Ok(()),
        }
    }

    /// A name for a new file in the staging directory.
    pub(crate) fn staging_file(&self) -> PathBuf {
        let number = self.staged.fetch_add(1, Relaxed);
        self.dir.join(STAGING).join(format!("{number:08}.sst"))
    }

    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// Whether files in a directory can be read past the page cache: some file systems open them so, and then refuse to read.
fn takes_direct_reads(dir: &Path) -> bool {
    /// Of files and of memory, as far as RocksDB asks for no more.
    const ALIGNMENT: usize = 4096;
    let probe = dir.join("probe");
    let read = || {
        fs::write(&probe, [0; ALIGNMENT]).ok()?;
        let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
        let file = rustix::fs::open(&probe, flags, Mode::empty()).ok()?;
        let mut bytes = vec![0; 2 * ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        let read = rustix::io::pread(file, bytes.get_mut(start..start + ALIGNMENT)?, 0).ok()?;
        (read == ALIGNMENT).then_some(())
    };
    let took = read().is_some();
    let _ = fs::remove_file(&probe); // opening removes what is in that directory
    took
}
