//! What a process takes in memory beside the arrays of what it solves.

/// The program itself, and what packing values for a file takes.
pub const PROGRAM_MEMORY_BYTES: u64 = 96 << 20;

/// What the store of a job may hold in memory, beside [`PAGES_BYTES`] per thread.
pub const STORE_MEMORY_BYTES: u64 = 5 << 20;

/// What a thread takes to pack or unpack pages of the store.
const PAGES_BYTES: u64 = 3 << 20;

/// What a process on so many threads, with a store, takes beside what it solves.
pub fn base_memory_bytes(threads: usize) -> u64 {
    PROGRAM_MEMORY_BYTES + STORE_MEMORY_BYTES + threads as u64 * PAGES_BYTES
}
