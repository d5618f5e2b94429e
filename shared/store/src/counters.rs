//! Counters of the pages that the store reads and writes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is counted while the store is open.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) pages_written: AtomicU64,
    pub(crate) page_bytes_written: AtomicU64,
    pub(crate) file_bytes_ingested: AtomicU64,
    pub(crate) pages_read: AtomicU64,
    pub(crate) page_bytes_read: AtomicU64,
}

impl Counters {
    /// Counts epochs that were ingested, as their pages and the bytes of these, in files of so many bytes in all.
    pub(crate) fn wrote(&self, epochs: impl Iterator<Item = (u64, u64)>, file_bytes: u64) {
        for (pages, page_bytes) in epochs {
            self.pages_written.fetch_add(pages, Relaxed);
            self.page_bytes_written.fetch_add(page_bytes, Relaxed);
        }
        self.file_bytes_ingested.fetch_add(file_bytes, Relaxed);
    }

    /// Counts a page that was read.
    pub(crate) fn read(&self, bytes: usize) {
        self.pages_read.fetch_add(1, Relaxed);
        self.page_bytes_read.fetch_add(bytes as u64, Relaxed);
    }
}
