//! Failures: why a worker cannot run, and why it cannot carry an order out.

use std::{fmt, io, path::PathBuf};

use thiserror::Error;
use ziggurat_checkpoints::CheckpointError;
use ziggurat_kernel::StepStoreError;
use ziggurat_rpc::{
    RpcError,
    convert::{Failure, FailureKind, WireError},
};
use ziggurat_store::StoreError;
use ziggurat_telemetry::BindError;

/// Why a worker cannot run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Its store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot listen, or the security is not right.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// It cannot listen for those who want metrics.
    #[error(transparent)]
    Metrics(#[from] BindError),
    /// The directory was made by another version.
    #[error(
        "{} was made by another version of ziggurat (format {found}, this one knows {known}); \
         use that version, or another directory", .dir.display()
    )]
    OtherFormat {
        /// The directory.
        dir: PathBuf,
        /// Its format.
        found: u32,
        /// This program's.
        known: u32,
    },
    /// The identity that was written down is none.
    #[error("{} does not say whose it is; use another directory", .dir.display())]
    Identity {
        /// The directory.
        dir: PathBuf,
    },
    /// Nobody could reach it.
    #[error(
        "{address} is no address that others reach this worker at; name one, with --advertise HOST:PORT"
    )]
    Unreachable {
        /// What it would have told others.
        address: String,
    },
    /// The directory has what was saved for another cluster.
    #[error(
        "{} has what was saved for the cluster {found}, and the coordinator at {coordinator} is that of the cluster \
         {cluster}; use another directory, or delete this one if nobody wants its values any more", .dir.display()
    )]
    OtherCluster {
        /// The directory.
        dir: PathBuf,
        /// The cluster that it belongs to.
        found: String,
        /// The coordinator.
        coordinator: String,
        /// The cluster of the coordinator.
        cluster: String,
    },
    /// The coordinator does not want this worker.
    #[error("the coordinator at {coordinator} refuses this worker: {reason}")]
    Refused {
        /// The coordinator.
        coordinator: String,
        /// Why.
        reason: String,
        /// Whether that is for the secret or the certificate that the worker was started with.
        is_bad_input: bool,
    },
    /// There cannot be such a checkpoint store.
    #[error(transparent)]
    Checkpoints(#[from] CheckpointError),
    /// The threads could not be started.
    #[error("could not start the threads of the worker; ask for fewer")]
    Threads(#[source] rayon::ThreadPoolBuildError),
    /// The operating system said no.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried.
        action: String,
        /// What it said.
        source: io::Error,
    },
}

/// Values could not be read.
#[derive(Debug)]
pub struct Unread(pub Failure);

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Unread {}

/// A checkpoint that could not be written, and why.
pub fn not_saved(why: Failure) -> StepStoreError {
    StepStoreError { is_damage: false, source: Box::new(Unread(why)) }
}

/// A message that says something impossible.
pub fn wrong(error: WireError) -> Failure {
    Failure { message: error.to_string(), kind: None }
}

/// A worker lacks something.
pub fn unable(message: String) -> Failure {
    Failure { message, kind: Some(FailureKind::Unable) }
}

/// Why nothing more is done for an attempt that is over.
pub fn cancelled() -> Failure {
    Failure { message: "the attempt is over".to_owned(), kind: Some(FailureKind::Cancelled) }
}
