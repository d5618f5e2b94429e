//! The database of values: files of pages, each with one shard epoch.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
    thread,
};

use rocksdb::{DB, DBPinnableSlice, Options, SstFileWriter, properties, statistics::Ticker};

use crate::{
    EpochKey, StoreError,
    key::{MOST_PAGES, PAGE_KEY_BYTES, pages_before},
    settings,
};

/// Where files wait until they are ingested. Whatever is there when a store is opened was left
/// behind by a process that was killed.
pub(crate) const STAGING: &str = "staging";

/// The open database of values.
pub(crate) struct Values {
    db: DB,
    settings: Options,
    dir: PathBuf,
    /// Whether files can have a second name, so that they are moved in and not copied.
    links: bool,
    /// Keeps files from coming while others go: those that go are listed first, and all between two of
    /// them goes along.
    changing: RwLock<()>,
}

/// Parts in which many files are ingested at a time. RocksDB syncs each file once more and reads its
/// ends, one after the other, and that is waiting for the disk, not work: measured on 800 files, four
/// parts take 0.4 of the time of one, and eight no less.
const PARTS: usize = 4;
/// Fewer files than this are not worth a part, and a write of RocksDB's manifest.
const LEAST_PART: usize = 16;

/// A file of the database.
pub(crate) struct File {
    /// The shard epoch it holds.
    pub(crate) epoch: EpochKey,
    pub(crate) pages: u64,
    pub(crate) bytes: u64,
    pub(crate) path: PathBuf,
}

impl Values {
    /// Opens the database in `dir`, an empty one if there is none. Whether the files it has are
    /// whole is for [`Values::fault`] to say.
    pub(crate) fn open(dir: &Path, settings: Options) -> Result<Self, rocksdb::Error> {
        let mut opening = settings.clone();
        opening.create_if_missing(true);
        let db = DB::open(&opening, dir)?;
        let links = takes_links(&dir.with_file_name(STAGING));
        Ok(Self { db, settings, dir: dir.to_owned(), links, changing: RwLock::default() })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What is wrong with the files, as far as their lengths tell.
    pub(crate) fn fault(&self) -> Result<Option<String>, StoreError> {
        for file in self.files()? {
            let found = match fs::metadata(&file.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                found => Some(found.map_err(StoreError::io(&file.path, "find"))?.len()),
            };
            if found != Some(file.bytes) {
                let name = file.path.display();
                return Ok(Some(match found {
                    None => format!("{name} is gone"),
                    Some(found) => format!("{name} has {found} bytes, not {}", file.bytes),
                }));
            }
        }
        Ok(None)
    }

    /// A writer of files that can be [ingested](Values::ingest).
    pub(crate) fn file_writer(&self) -> SstFileWriter<'_> {
        SstFileWriter::create(&self.settings)
    }

    /// Moves files of pages in: all of them or none, synced, with one write of RocksDB's manifest.
    pub(crate) fn ingest(&self, files: &[&Path]) -> Result<(), rocksdb::Error> {
        let _changing = self.changing.read().unwrap_or_else(PoisonError::into_inner);
        self.db.ingest_external_file_opts(&settings::ingestion(self.links), files.to_vec())
    }

    /// Moves files of pages in, synced, in a few parts at a time. After an error, some may be in.
    pub(crate) fn ingest_many(&self, files: &[&Path]) -> Result<(), rocksdb::Error> {
        thread::scope(|scope| {
            let parts = files.chunks(files.len().div_ceil(PARTS).max(LEAST_PART));
            let parts: Vec<_> = parts.map(|part| scope.spawn(|| self.ingest(part))).collect();
            parts.into_iter().try_for_each(|part| part.join().expect("no panic while ingesting"))
        })
    }

    /// The bytes of a page, if it is there.
    pub(crate) fn page(
        &self,
        key: &[u8; PAGE_KEY_BYTES],
    ) -> Result<Option<DBPinnableSlice<'_>>, rocksdb::Error> {
        self.db.get_pinned_opt(key, &settings::page_reads())
    }

    /// Whether there is a file of a shard epoch; cheap if there is none. One that cannot be read is
    /// there.
    pub(crate) fn has(&self, epoch: EpochKey) -> bool {
        !matches!(self.page(&epoch.head()), Ok(None))
    }

    /// Deletes the files of these shard epochs. Neighbours go at once, with one synced write of
    /// RocksDB's manifest, and so do all that a checkpoint wrote.
    pub(crate) fn drop_files(
        &self,
        is_dropped: impl Fn(EpochKey) -> bool,
    ) -> Result<(), StoreError> {
        let _changing = self.changing.write().unwrap_or_else(PoisonError::into_inner);
        let mut epochs: Vec<_> = self.files()?.into_iter().map(|file| file.epoch).collect();
        epochs.sort_unstable();
        for run in epochs.chunk_by(|&one, &next| is_dropped(one) == is_dropped(next)) {
            let (first, last) = (run[0], run[run.len() - 1]);
            if is_dropped(first) {
                self.db
                    .delete_file_in_range(first.head(), last.tail(MOST_PAGES))
                    .map_err(StoreError::rocksdb(&self.dir, "drop values in"))?;
            }
        }
        Ok(())
    }

    /// All files.
    pub(crate) fn files(&self) -> Result<Vec<File>, StoreError> {
        let files =
            self.db.live_files().map_err(StoreError::rocksdb(&self.dir, "list files in"))?;
        let file = |file: rocksdb::LiveFile| {
            // The last level is the only one, or dropping would leave files behind.
            debug_assert_eq!(file.level, 1, "{}", file.name);
            Some(File {
                epoch: EpochKey::from_bytes(file.start_key.as_deref()?)?,
                // RocksDB remembers the last key; how many there are, only while it is open.
                pages: u64::from(pages_before(file.end_key.as_deref()?)?),
                bytes: file.size as u64,
                path: self.dir.join(file.name.trim_start_matches('/')),
            })
        };
        Ok(files.into_iter().filter_map(file).collect())
    }

    /// The file of a shard epoch, or the directory where it should be; for messages.
    pub(crate) fn whereabouts(&self, epoch: EpochKey) -> PathBuf {
        let files = self.files().unwrap_or_default();
        let file = files.into_iter().find(|file| file.epoch == epoch);
        file.map_or_else(|| self.dir.clone(), |file| file.path)
    }

    /// What RocksDB counted since the database was opened.
    pub(crate) fn count(&self, ticker: Ticker) -> u64 {
        self.settings.get_ticker_count(ticker)
    }

    /// Bytes of files, and bytes of memory that RocksDB holds.
    pub(crate) fn sizes(&self) -> (u64, u64) {
        let int = |name| self.db.property_int_value(name).ok().flatten().unwrap_or(0);
        let memory =
            int(properties::ESTIMATE_TABLE_READERS_MEM) + int(properties::SIZE_ALL_MEM_TABLES);
        (int(properties::TOTAL_SST_FILES_SIZE), memory)
    }
}

/// Whether a file in a directory can have a second name.
fn takes_links(dir: &Path) -> bool {
    let (probe, link) = (dir.join("probe"), dir.join("probe-link"));
    let took = fs::File::create(&probe).and_then(|_| fs::hard_link(&probe, &link)).is_ok();
    for left in [probe, link] {
        let _ = fs::remove_file(left); // opening removes what is in that directory
    }
    took
}
