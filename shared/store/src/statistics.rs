//! What the store did, and what it takes.

use std::{collections::HashMap, sync::atomic::Ordering::Relaxed};

use rocksdb::statistics::Ticker;

use crate::{Store, StoreError};

/// What a store did since it was opened, and what it takes now.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Statistics {
    /// Pages ingested.
    pub pages_written: u64,
    /// Their bytes, compressed: what there is to write.
    pub page_bytes_written: u64,
    /// Bytes of the files they came in.
    pub file_bytes_ingested: u64,
    /// Bytes that RocksDB wrote flushing buffers, of the state only.
    pub flush_bytes: u64,
    /// Bytes that RocksDB wrote compacting files.
    pub compaction_bytes: u64,
    /// Bytes that RocksDB wrote to its logs, of the state only.
    pub wal_bytes: u64,
    /// Pages read.
    pub pages_read: u64,
    /// Their bytes, compressed.
    pub page_bytes_read: u64,
    /// Bytes of all files on disk, of values and state.
    pub disk_bytes: u64,
    /// Bytes of the files of committed epochs.
    pub committed_bytes: u64,
    /// Values of committed epochs.
    pub committed_values: u64,
    /// Bytes that RocksDB holds in memory.
    pub memory_bytes: u64,
}

impl Statistics {
    /// Bytes written to disk for every byte of pages.
    pub fn write_amplification(&self) -> f64 {
        let written =
            self.file_bytes_ingested + self.flush_bytes + self.compaction_bytes + self.wal_bytes;
        written as f64 / self.page_bytes_written.max(1) as f64
    }

    /// Bytes on disk for every committed value.
    pub fn bytes_per_value(&self) -> f64 {
        self.committed_bytes as f64 / self.committed_values.max(1) as f64
    }
}

impl Store {
    /// Bytes of pages read since it was opened, as in [`Statistics`], which asks the disk for the rest.
    pub fn read_bytes(&self) -> u64 {
        self.counters().page_bytes_read.load(Relaxed)
    }

    /// Bytes of files of values written since it was opened.
    pub fn written_bytes(&self) -> u64 {
        self.counters().file_bytes_ingested.load(Relaxed)
    }

    /// What the store did since it was opened, and what it takes now.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn statistics(&self) -> Result<Statistics, StoreError> {
        let counted = |ticker| self.values().count(ticker) + self.state().count(ticker);
        let (value_bytes, value_memory) = self.values().sizes();
        let (state_bytes, state_memory) = self.state().sizes();
        let files: HashMap<_, _> =
            self.values().files()?.into_iter().map(|file| (file.epoch, file.bytes)).collect();
        let epochs = self.epochs()?;
        let bytes = epochs.iter().filter_map(|epoch| files.get(&epoch.key));
        let counters = self.counters();
        Ok(Statistics {
            pages_written: counters.pages_written.load(Relaxed),
            page_bytes_written: counters.page_bytes_written.load(Relaxed),
            file_bytes_ingested: counters.file_bytes_ingested.load(Relaxed),
            flush_bytes: counted(Ticker::FlushWriteBytes),
            compaction_bytes: counted(Ticker::CompactWriteBytes),
            wal_bytes: counted(Ticker::WalFileBytes),
            pages_read: counters.pages_read.load(Relaxed),
            page_bytes_read: counters.page_bytes_read.load(Relaxed),
            disk_bytes: value_bytes + state_bytes,
            committed_bytes: bytes.sum(),
            committed_values: epochs.iter().map(|epoch| epoch.values).sum(),
            memory_bytes: value_memory + state_memory,
        })
    }
}
