//! Whether a service is alive, and whether it is ready.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::Duration,
};

use tokio::time::timeout;

/// A service that has not answered its probe for so long is not alive.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the part of a service that does the work whether it does; without an answer it does not.
type Probe = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// Whether a service is alive and ready for work, and if not, why. One without a [probe](Health::ask_by) is alive as long as
/// it answers.
pub struct Health {
    not_ready: RwLock<Option<String>>,
    probe: OnceLock<Probe>,
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health").field("not_ready", &self.not_ready).finish_non_exhaustive()
    }
}

impl Health {
    /// A service that is not ready yet: `reason`, for people.
    pub fn starting(reason: impl Into<String>) -> Self {
        Self { not_ready: RwLock::new(Some(reason.into())), probe: OnceLock::new() }
    }

    /// From now on, whether it is alive is asked like this. The first probe counts.
    pub fn ask_by<F>(&self, probe: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = bool> + Send + 'static,
    {
        let _ = self.probe.set(Arc::new(move || Box::pin(probe())));
    }

    /// Whether it is alive: it answers its probe within five seconds.
    pub async fn is_alive(&self) -> bool {
        let Some(probe) = self.probe.get() else { return true };
        timeout(PATIENCE, probe()).await.unwrap_or(false)
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
        self.not_ready.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, reason: Option<String>) {
        *self.not_ready.write().unwrap_or_else(PoisonError::into_inner) = reason;
    }
}
