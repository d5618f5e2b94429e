//! Working memory that threads take and give back.

use std::sync::{Mutex, PoisonError};

/// Working memory that no thread uses at the moment.
#[derive(Debug)]
pub struct Pool<W>(Mutex<Vec<W>>);

impl<W> Default for Pool<W> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<W> Pool<W> {
    /// Some that is there already.
    pub fn of(memory: Vec<W>) -> Self {
        Self(Mutex::new(memory))
    }

    /// Works with some of it, which is made if there is none.
    pub fn with<R>(&self, make: impl FnOnce() -> W, work: impl FnOnce(&mut W) -> R) -> R {
        let free = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = free().pop();
        let mut memory = kept.unwrap_or_else(make);
        let result = work(&mut memory);
        free().push(memory);
        result
    }
}
