//! RocksDB's settings, and why.
//!
//! Values and state are used in opposite ways, so they live in databases of their own. *Values* come
//! as whole files in key order, each with the key range of one shard epoch, are read a page at a
//! time, and go as whole files. *State* is a few kilobytes, written rarely, that must be on disk
//! when a write returns.

use rocksdb::{
    BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, IngestExternalFileOptions,
    LogLevel, Options, ReadOptions, WriteOptions,
};

use ziggurat_files::open_files_limit;

use crate::StoreError;

/// How pages are read from the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reads {
    /// Past the page cache of the system, where the file system can: whatever memory there is
    /// beside the budget stays with others.
    #[default]
    Direct,
    /// Through the page cache of the system, which keeps what was read in memory that nobody uses.
    PageCache,
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Whose the store is: the job, or the worker. Another's is refused.
    pub owner: u64,
    /// What RocksDB may hold in memory. The buffers of reads and writes under way come on top: about
    /// three mebibytes per thread.
    pub memory_budget_bytes: u64,
    /// How pages are read.
    pub reads: Reads,
}

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// What the state needs: a write buffer being filled and one being flushed, a cache, the rest.
const STATE_BYTES: u64 = 4 * MIB as u64;
/// What an open file of values needs at most: its index has an entry per page. Measured: 5 to 9 KiB.
const OPEN_FILE_BYTES: u64 = 16 * KIB as u64;
/// The least number of files that should be open at a time.
const LEAST_OPEN_FILES: u64 = 64;
/// No more files than leave room below the usual limit of 1024 per process.
const MOST_OPEN_FILES: u64 = 512;
/// What a process has open beside files of values, where it may have few: connections, files being written, the state.
const OTHER_OPEN_FILES: u64 = 64;
/// RocksDB takes fewer for so many.
const FEWEST_OPEN_FILES: u64 = 20;

/// The smallest memory budget a store can keep.
pub const LEAST_MEMORY_BUDGET_BYTES: u64 = STATE_BYTES + LEAST_OPEN_FILES * OPEN_FILE_BYTES;

/// How many files of values may be open, for the memory budget to be kept.
fn open_files(options: &StoreOptions) -> Result<u64, StoreError> {
    let given_bytes = options.memory_budget_bytes;
    if given_bytes < LEAST_MEMORY_BUDGET_BYTES {
        let needed_bytes = LEAST_MEMORY_BUDGET_BYTES;
        return Err(StoreError::BudgetTooSmall { given_bytes, needed_bytes });
    }
    let allowed = open_files_limit().map_or(MOST_OPEN_FILES, |limit| {
        limit.saturating_sub(OTHER_OPEN_FILES).max(FEWEST_OPEN_FILES)
    });
    Ok(((given_bytes - STATE_BYTES) / OPEN_FILE_BYTES).min(MOST_OPEN_FILES).min(allowed))
}

fn common() -> Options {
    let mut options = Options::default();
    options.set_compression_type(DBCompressionType::None);
    // Corrupt metadata is an error at once.
    options.set_paranoid_checks(true);
    options.enable_statistics();
    // RocksDB's own log is for finding faults: a few small files.
    options.set_log_level(LogLevel::Warn);
    options.set_max_log_file_size(MIB);
    options.set_keep_log_file_num(2);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    options.set_max_manifest_file_size(4 * MIB);
    // Space taken in advance would be missing on a small disk.
    options.set_manifest_preallocation_size(64 * KIB);
    options.set_max_background_jobs(2);
    options.set_max_file_opening_threads(1);
    options
}

/// For the database of values.
pub(crate) fn values(options: &StoreOptions) -> Result<Options, StoreError> {
    let mut table = BlockBasedOptions::default();
    // Whatever there is in a block, it is full, so that every page is a block of its own, read in one
    // go and alone.
    table.set_block_size(1);
    // A sweep reads everything once per superstep: whatever fits a cache is gone when it is wanted
    // again. What is worth keeping, the caller keeps decoded.
    table.disable_cache();

    let mut rocksdb = common();
    rocksdb.set_block_based_table_factory(&table);
    // Key ranges of files are disjoint, and files go as a whole: all are ingested into the last
    // level, and there is nothing that compaction could do but write everything again.
    rocksdb.set_num_levels(2);
    rocksdb.set_disable_auto_compactions(true);
    // The memory of files that are open is bounded by how many there are.
    rocksdb.set_max_open_files(open_files(options)? as i32);
    // Nothing is ever put, so that there is no write buffer to fill, nor a log to replay.
    rocksdb.set_write_buffer_size(64 * KIB);
    rocksdb.set_use_direct_reads(options.reads == Reads::Direct);
    // Opening must not read every file.
    rocksdb.set_skip_stats_update_on_db_open(true);
    Ok(rocksdb)
}

/// For the database of the state.
pub(crate) fn state() -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(256 * KIB));

    let mut rocksdb = common();
    rocksdb.set_block_based_table_factory(&table);
    rocksdb.set_write_buffer_size(MIB);
    rocksdb.set_max_write_buffer_number(2);
    rocksdb.set_max_open_files(32);
    // A record cut short at the end of the log is a write that never returned. A damaged one in
    // the middle is an error: what comes after it must not be forgotten in silence.
    rocksdb.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
    // A closed log that is gone is noticed; the last one is for the rollback guard.
    rocksdb.set_track_and_verify_wals_in_manifest(true);
    rocksdb
}

/// Writes of state are on disk when they return.
pub(crate) fn synced() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(true);
    options
}

/// Reads of pages: verified by RocksDB's checksum before ours, and never cached.
pub(crate) fn page_reads() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_verify_checksums(true);
    options.fill_cache(false);
    options
}

/// Files are moved in where they can have a second name, else copied. One whose key range overlaps what is there is refused: it would
/// end up in another level, where dropping does not reach it.
pub(crate) fn ingestion(links: bool) -> IngestExternalFileOptions {
    let mut options = IngestExternalFileOptions::default();
    options.set_move_files(links);
    options.set_allow_global_seqno(false);
    options.set_allow_blocking_flush(false);
    options
}
