//! How many bytes a worker has moved: by that, the coordinator tells one that is slow from one that is stuck.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// A number of bytes that grows. Copies are of the same.
#[derive(Clone, Debug, Default)]
pub struct Moved(Arc<AtomicU64>);

impl Moved {
    /// So many more were moved.
    pub fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// All that were.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
