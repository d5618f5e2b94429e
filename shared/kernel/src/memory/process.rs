//! The memory of a process beside the arrays of a solve.

/// The program itself, and the packing of values for a file.
pub const PROGRAM_MEMORY_BYTES: u64 = 96 << 20;

/// The most memory of the store of a job, beside `PAGES_BYTES` per thread.
pub const STORE_MEMORY_BYTES: u64 = 5 << 20;

/// The memory of a thread that packs or unpacks pages of the store.
const PAGES_BYTES: u64 = 3 << 20;

/// What is mapped at a time at the least, if arrays are in files.
pub const LEAST_MAPPED_BYTES: u64 = 64 << 20;

/// The memory of a process on so many threads, with a store, beside the arrays of the solve.
pub fn base_memory_bytes(threads: usize) -> u64 {
    PROGRAM_MEMORY_BYTES + STORE_MEMORY_BYTES + threads as u64 * PAGES_BYTES
}
