//! Whether this worker may write to the checkpoint store, and delete there: see [`CheckpointStore::hold`].

use std::{future::pending, time::Duration};

use tokio::{sync::watch, task::JoinHandle};
use tracing::info;
use ziggurat_checkpoints::{CheckpointStore, Holder, Standing};

/// The holding of the checkpoint store in the name of a coordinator, until this is dropped.
pub struct Tenure {
    standing: watch::Receiver<Standing>,
    holding: JoinHandle<()>,
}

impl Tenure {
    /// Begins to hold it.
    pub fn begin(store: CheckpointStore, holder: Holder, lease: Duration) -> Self {
        let (tell, standing) = watch::channel(Standing::Waits);
        let changes = move |now: Standing| {
            let is_new = tell.send_if_modified(|standing| {
                let is_new = *standing != now;
                *standing = now.clone();
                is_new
            });
            if is_new {
                info!(standing = ?now, "the checkpoint store");
            }
        };
        let holding = tokio::spawn(store.hold(holder, lease, changes));
        Self { standing, holding }
    }

    /// How that stands, now and later.
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        self.holding.abort();
    }
}

/// Waits until the store may be written to; `false` if that will never be.
pub async fn held(standing: Option<watch::Receiver<Standing>>) -> bool {
    match standing {
        Some(mut standing) => standing.wait_for(|it| *it == Standing::Holds).await.is_ok(),
        None => false,
    }
}

/// Waits until another coordinator is known to have the store.
pub async fn fenced(standing: &mut Option<watch::Receiver<Standing>>) -> Holder {
    if let Some(standing) = standing
        && let Ok(found) = standing.wait_for(|it| matches!(it, Standing::Fenced(_))).await
        && let Standing::Fenced(holder) = &*found
    {
        return holder.clone();
    }
    pending().await
}
