//! How operations on long files tell how far they are.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Is told now and then, from any thread, the share of an operation that is done, 0 to 1.
pub type Tell<'a> = dyn Fn(f64) + Sync + 'a;

/// A [`Tell`] for callers who need not know.
pub fn unheard(_share: f64) {}

/// Work of a known amount, in whatever units it comes.
pub(crate) struct Work<'a> {
    all: u64,
    done: AtomicU64,
    tell: &'a Tell<'a>,
}

impl<'a> Work<'a> {
    /// Nothing is done yet.
    pub(crate) fn new(all: u64, tell: &'a Tell<'a>) -> Self {
        Self { all, done: AtomicU64::new(0), tell }
    }

    /// So many more units are done.
    pub(crate) fn did(&self, units: u64) {
        let done = self.done.fetch_add(units, Relaxed) + units;
        (self.tell)(done as f64 / self.all.max(1) as f64);
    }
}
