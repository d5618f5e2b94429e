//! Small state: behind a lock in memory, and as entries of a store.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use ziggurat_store::StateBatch;

/// The contents of a mutex; a thread that panicked does not make them worse.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets an entry that JSON can express.
pub(crate) fn put<T: Serialize>(batch: &mut StateBatch, key: &str, value: &T) {
    batch.put(key, value).expect("records have texts for keys");
}
