//! Whether a service is ready.

use std::sync::{PoisonError, RwLock};

/// Whether a service is ready for work, and if not, why. That it is alive it says by answering.
#[derive(Debug)]
pub struct Health(RwLock<Option<String>>);

impl Health {
    /// A service that is not ready yet: `reason`, for people.
    pub fn starting(reason: impl Into<String>) -> Self {
        Self(RwLock::new(Some(reason.into())))
    }

    /// It is ready now.
    pub fn ready(&self) {
        self.set(None);
    }

    /// It is not ready any more: `reason`, for people.
    pub fn not_ready(&self, reason: impl Into<String>) {
        self.set(Some(reason.into()));
    }

    /// Why it is not ready; nothing if it is.
    pub fn why_not_ready(&self) -> Option<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, reason: Option<String>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = reason;
    }
}
