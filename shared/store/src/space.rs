//! Space on the disk.

use crate::{ValueType, page};

/// What so many values of a shard take on disk at most, whatever they are: noise does not shrink.
pub fn largest_bytes(values: u64, value_type: ValueType) -> u64 {
    /// RocksDB's part of a file: an entry of the index per page, properties, and the footer.
    const FILE_BYTES: u64 = 4096;
    const PAGE_BYTES: u64 = 128;
    let raw = values.saturating_mul(value_type.bytes() as u64);
    let pages = values.div_ceil(value_type.values_per_page() as u64);
    let page = page::HEADER_BYTES as u64 + PAGE_BYTES;
    // Zstandard adds less than one part in 256, and a few bytes to a short page.
    raw.saturating_add(raw / 256).saturating_add(pages * page).saturating_add(FILE_BYTES)
}
