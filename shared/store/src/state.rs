//! The small state: what is committed, and whatever the caller has to remember with it.
//!
//! Every write is one batch, there as a whole or not at all, and on disk when it returns.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread::sleep,
    time::{Duration, Instant},
};

use rocksdb::{DB, Direction, IteratorMode, Options, WriteBatch, properties};
use rustix::process::{Flock, FlockType, fcntl_getlk};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use xxhash_rust::xxh3::xxh3_64;
use ziggurat_files::file_system;

use crate::{
    EpochKey, ShardEpoch, StoreError, ValueType,
    error::is_damage,
    failpoint::failpoint,
    recovery::tables,
    rollback_guard::{self, RollbackGuard, StateDigest},
    settings,
};

/// Version of the layout of a store.
const FORMAT_VERSION: u32 = 1;
/// The key of the manifest, and the first bytes of the keys of committed epochs and of entries.
const MANIFEST: &[u8] = b"manifest";
const EPOCH: &[u8] = b"epoch/";
const ENTRY: &[u8] = b"state/";
/// A process that was killed holds its store until the system has taken all of its memory back. Opening waits for it, this long.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What a store says of itself.
#[derive(Serialize, Deserialize)]
struct Manifest {
    format: u32,
    owner: u64,
}

/// What is known of a committed epoch.
#[derive(Serialize, Deserialize)]
struct Committed {
    value_type: ValueType,
    values: u64,
}

/// Changes of the state that happen together.
#[derive(Default)]
pub struct StateBatch {
    /// What is to be under each key: nothing, if it is to be gone.
    changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl StateBatch {
    /// No changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an entry.
    ///
    /// # Errors
    /// If the value cannot be written as JSON, as a map whose keys are not texts.
    pub fn put<T: Serialize>(&mut self, key: &str, value: &T) -> Result<(), serde_json::Error> {
        self.changes.insert(entry_key(key), Some(serde_json::to_vec(value)?));
        Ok(())
    }

    /// Removes an entry, if there is one.
    pub fn delete(&mut self, key: &str) {
        self.changes.insert(entry_key(key), None);
    }

    pub(crate) fn commit(&mut self, epoch: &ShardEpoch) {
        let ShardEpoch { key, value_type, values } = *epoch;
        let committed = serde_json::json!(Committed { value_type, values });
        self.changes.insert(epoch_key(&key.to_bytes()), Some(committed.to_string().into_bytes()));
    }

    pub(crate) fn uncommit(&mut self, epoch: EpochKey) {
        self.changes.insert(epoch_key(&epoch.to_bytes()), None);
    }
}

/// The open database of the state. Nobody else can open it as long as it is.
pub(crate) struct State {
    db: DB,
    settings: Options,
    /// The store's directory.
    root: PathBuf,
    /// Held as long as the state changes.
    seen: Mutex<Seen>,
}

/// The state as the rollback guard is to see it.
struct Seen {
    guard: RollbackGuard,
    /// The [checksum](State::checksum) of all there is; `None` after a write that failed, which may have changed something.
    checksum: Option<u64>,
}

impl State {
    /// Opens the state of the store in `root`; `create` makes it if there is none. Somebody who has it open is waited for, but not for long.
    pub(crate) fn open(root: &Path, owner: u64, create: bool) -> Result<Self, StoreError> {
        let dir = root.join("state");
        let current = is_store(root).map_err(StoreError::io(&dir, "look into"))?;
        // A process that was killed while it made the database leaves files of RocksDB's, but neither a
        // table, of which the first has the manifest, nor values.
        let values = root.join("values");
        let any_values = || values.read_dir().is_ok_and(|mut files| files.next().is_some());
        let file = root.join(rollback_guard::FILE);
        let digest = rollback_guard::read(root).map_err(StoreError::io(&file, "read"))?;
        if !current && (digest.is_some() || !tables(&dir)?.is_empty() || any_values()) {
            let what = format!("{} is gone", dir.join("CURRENT").display());
            return Err(StoreError::StateDamaged { dir: root.to_owned(), what });
        }
        if !current && !create {
            return Err(StoreError::Missing { dir: root.to_owned() });
        }
        let settings = settings::state();
        let mut opening = settings.clone();
        opening.create_if_missing(create);
        let begun = Instant::now();
        let db = loop {
            match DB::open(&opening, &dir).map_err(|error| cannot_open(root, error)) {
                Err(StoreError::InUse { .. }) if begun.elapsed() < PATIENCE => sleep(LOOK),
                opened => break opened?,
            }
        };
        let guard = RollbackGuard::open(root).map_err(StoreError::io(&file, "open"))?;
        let seen = Mutex::new(Seen { guard, checksum: None });
        let state = Self { db, settings, root: root.to_owned(), seen };
        let is_earlier = match digest {
            Some(digest) => {
                let checksum = state.checksum()?;
                lock(&state.seen).checksum = Some(checksum);
                !digest.allows(state.digest(checksum))
            }
            // A store without a digest was made by an earlier version, and committed something before it had values.
            None => !tables(&values)?.is_empty() && state.epochs()?.is_empty(),
        };
        if is_earlier {
            let what = "changes that were on disk are gone".to_owned();
            return Err(StoreError::StateDamaged { dir: root.to_owned(), what });
        }
        match (state.read::<Manifest>(MANIFEST, "manifest")?, create) {
            (None, true) => state.found(owner)?,
            // What was begun here was never a store.
            (None, false) => return Err(StoreError::Missing { dir: root.to_owned() }),
            (Some(_), true) => return Err(StoreError::Exists { dir: root.to_owned() }),
            (Some(manifest), false) => manifest.check(root, owner)?,
        }
        state.guard(&mut lock(&state.seen));
        Ok(state)
    }

    fn found(&self, owner: u64) -> Result<(), StoreError> {
        let manifest = serde_json::json!(Manifest { format: FORMAT_VERSION, owner });
        let action = "write the manifest of";
        lock(&self.seen).checksum = None; // it is another then
        self.db
            .put_opt(MANIFEST, manifest.to_string(), &settings::synced())
            // In a file of its own, so that a log that is gone does not take the manifest along.
            .and_then(|()| self.db.flush())
            .map_err(StoreError::rocksdb(&self.root, action))
    }

    /// Makes the changes of a batch, durably.
    pub(crate) fn write(&self, batch: StateBatch) -> Result<(), StoreError> {
        failpoint!("store::before-state-sync", self.root);
        let mut seen = lock(&self.seen);
        let after = seen.checksum.map(|before| self.checksum_after(before, &batch)).transpose()?;
        let mut changes = WriteBatch::default();
        for (key, value) in batch.changes {
            match value {
                Some(value) => changes.put(key, value),
                None => changes.delete(key),
            }
        }
        seen.checksum = None;
        self.db
            .write_opt(changes, &settings::synced())
            .map_err(StoreError::rocksdb(&self.root, "write the state in"))?;
        seen.checksum = after;
        self.guard(&mut seen);
        Ok(())
    }

    /// Writes the digest of the state. If that fails, the state is on disk all the same, and the next change is
    /// seen.
    fn guard(&self, seen: &mut Seen) {
        if seen.checksum.is_none() {
            seen.checksum = self.checksum().ok();
        }
        if let Some(checksum) = seen.checksum {
            let _ = seen.guard.write(self.digest(checksum));
        }
    }

    fn digest(&self, checksum: u64) -> StateDigest {
        StateDigest { sequence: self.db.latest_sequence_number(), checksum }
    }

    /// A checksum of all keys and values: a sum, so that a change of a few takes no reading of the others.
    fn checksum(&self) -> Result<u64, StoreError> {
        self.db.iterator(IteratorMode::Start).try_fold(0_u64, |sum, item| {
            let (key, value) = item.map_err(|error| self.unreadable(error))?;
            Ok(sum.wrapping_add(checksum_of(&key, &value)))
        })
    }

    /// What the checksum is after changes, if it was `before`.
    fn checksum_after(&self, before: u64, batch: &StateBatch) -> Result<u64, StoreError> {
        batch.changes.iter().try_fold(before, |sum, (key, value)| {
            let replaced = self.db.get_pinned(key).map_err(|error| self.unreadable(error))?;
            let gone = replaced.map_or(0, |replaced| checksum_of(key, &replaced));
            let new = value.as_ref().map_or(0, |value| checksum_of(key, value));
            Ok(sum.wrapping_sub(gone).wrapping_add(new))
        })
    }

    /// An entry.
    pub(crate) fn entry<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, StoreError> {
        self.read(&entry_key(key), key)
    }

    /// A committed epoch.
    pub(crate) fn epoch(&self, epoch: EpochKey) -> Result<Option<ShardEpoch>, StoreError> {
        let committed = self.read(&epoch_key(&epoch.to_bytes()), &epoch.to_string())?;
        Ok(committed.map(|Committed { value_type, values }| ShardEpoch {
            key: epoch,
            value_type,
            values,
        }))
    }

    /// All committed epochs, in the order of their keys.
    pub(crate) fn epochs(&self) -> Result<Vec<ShardEpoch>, StoreError> {
        let mut epochs = Vec::new();
        for item in self.db.iterator(IteratorMode::From(EPOCH, Direction::Forward)) {
            let (key, value) = item.map_err(|error| self.unreadable(error))?;
            let Some(key) = key.strip_prefix(EPOCH) else { break };
            let Some(key) = EpochKey::from_bytes(key) else {
                let what = "a key is not one of this program's".to_owned();
                return Err(StoreError::StateDamaged { dir: self.root.clone(), what });
            };
            let Committed { value_type, values } = self.parse(&key.to_string(), &value)?;
            epochs.push(ShardEpoch { key, value_type, values });
        }
        Ok(epochs)
    }

    fn read<T: DeserializeOwned>(&self, key: &[u8], name: &str) -> Result<Option<T>, StoreError> {
        let value = self.db.get_pinned(key).map_err(|error| self.unreadable(error))?;
        value.map(|value| self.parse(name, &value)).transpose()
    }

    fn parse<T: DeserializeOwned>(&self, name: &str, value: &[u8]) -> Result<T, StoreError> {
        serde_json::from_slice(value).map_err(|source| StoreError::StateEntry {
            dir: self.root.clone(),
            key: name.to_owned(),
            source,
        })
    }

    fn unreadable(&self, error: rocksdb::Error) -> StoreError {
        if is_damage(&error) {
            let (dir, what) = (self.root.clone(), error.into_string());
            return StoreError::StateDamaged { dir, what };
        }
        StoreError::rocksdb(&self.root, "read the state in")(error)
    }

    /// What RocksDB counted since the state was opened.
    pub(crate) fn count(&self, ticker: rocksdb::statistics::Ticker) -> u64 {
        self.settings.get_ticker_count(ticker)
    }

    /// Bytes of files, and bytes of memory that RocksDB holds.
    pub(crate) fn sizes(&self) -> (u64, u64) {
        let int = |name| self.db.property_int_value(name).ok().flatten().unwrap_or(0);
        let memory = int(properties::ESTIMATE_TABLE_READERS_MEM)
            + int(properties::SIZE_ALL_MEM_TABLES)
            + int(properties::BLOCK_CACHE_USAGE);
        (int(properties::TOTAL_SST_FILES_SIZE), memory)
    }
}

impl Manifest {
    fn check(&self, root: &Path, expected: u64) -> Result<(), StoreError> {
        let (dir, known) = (root.to_owned(), FORMAT_VERSION);
        if self.format != known {
            return Err(StoreError::OtherFormat { dir, found: self.format, known });
        }
        if self.owner != expected {
            return Err(StoreError::OtherOwner { dir, found: self.owner, expected });
        }
        Ok(())
    }
}

/// Whether there is a store in a directory, or the beginning of one.
///
/// # Errors
/// If that cannot be told.
pub fn is_store(root: &Path) -> io::Result<bool> {
    match root.join("state").join("CURRENT").try_exists() {
        Err(error) if is_absence(&error) => Ok(false),
        found => found,
    }
}

/// Whether an error says that there is nothing of that name.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether another process has the store in a directory open. Nobody who has it open may ask: closing a file of it gives up
/// the lock.
///
/// # Errors
/// If that cannot be told.
pub fn is_in_use(root: &Path) -> io::Result<bool> {
    let lock = match File::open(lock_file(root)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    let held = fcntl_getlk(lock, &Flock::from(FlockType::WriteLock));
    held.map(|lock| lock.is_some()).map_err(|error| {
        let why = no_locks(root, io::Error::from(error).to_string()).to_string();
        io::Error::new(io::Error::from(error).kind(), why)
    })
}

/// Why the state does not open.
fn cannot_open(root: &Path, error: rocksdb::Error) -> StoreError {
    let text = error.as_ref();
    let dir = root.to_owned();
    let says = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    if says(&["lock hold by current process"]) {
        StoreError::InUse { dir }
    } else if says(&["While lock file"]) {
        // Systems differ in how they say that somebody else has a lock.
        match says(&["temporarily unavailable", "Permission denied"]) {
            true => StoreError::InUse { dir },
            false => no_locks(root, text.rsplit(": ").next().unwrap_or(text).to_owned()),
        }
    } else if is_damage(&error) {
        StoreError::StateDamaged { dir, what: error.into_string() }
    } else {
        StoreError::rocksdb(root, "open the state in")(error)
    }
}

fn no_locks(root: &Path, why: String) -> StoreError {
    let file_system = file_system(root);
    StoreError::NoLocks { file: lock_file(root), file_system, why }
}

/// The file that is locked as long as a store is open.
fn lock_file(root: &Path) -> PathBuf {
    root.join("state").join("LOCK")
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The checksum of a key and its value, which others are added to.
fn checksum_of(key: &[u8], value: &[u8]) -> u64 {
    xxh3_64(&[&(key.len() as u64).to_le_bytes(), key, value].concat())
}

fn epoch_key(epoch: &[u8]) -> Vec<u8> {
    [EPOCH, epoch].concat()
}

fn entry_key(key: &str) -> Vec<u8> {
    [ENTRY, key.as_bytes()].concat()
}
