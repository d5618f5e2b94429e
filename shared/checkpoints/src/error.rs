//! What can go wrong with the checkpoint store. Every message names the object and says what to do.

use std::io;

use thiserror::Error;

use crate::EpochKey;

/// Why something could not be kept or read.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// The URL is none of a checkpoint store.
    #[error(
        "`{url}` is no place for checkpoints: {why}; give a directory, file:///DIRECTORY, \
         s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX"
    )]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A variable that says how to reach a bucket cannot be right.
    #[error("{variable}: {problem}")]
    Setting {
        /// The variable.
        variable: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There are no keys for a bucket.
    #[error("no credentials for {url}: {how}: {why}")]
    Credentials {
        /// The URL.
        url: String,
        /// What is to be set.
        how: &'static str,
        /// What there was where they should be.
        why: String,
        /// Whether that stays so until somebody changes something.
        lasts: bool,
    },
    /// The name of the cluster cannot be used.
    #[error(
        "`{name}` is no name for a cluster; use 1 to 64 letters, digits, `-` and `_` without accents"
    )]
    Cluster {
        /// The name.
        name: String,
    },
    /// There is no such object.
    #[error(
        "{object} is not in the checkpoint store; go back to an earlier epoch, or compute it again"
    )]
    Missing {
        /// Where it should be.
        object: String,
        /// Whose numbers it should have.
        key: EpochKey,
    },
    /// An object is not what was written: exactly its numbers cannot be trusted.
    #[error("{object} is damaged: {what}; go back to an earlier epoch, or compute it again")]
    Damaged {
        /// Where it is.
        object: String,
        /// Whose numbers it should have.
        key: EpochKey,
        /// What is wrong with it.
        what: String,
    },
    /// Other numbers were to be written where some are.
    #[error(
        "{object} has other numbers already; save under a greater epoch, and if this cluster has never saved \
         it, let no other use the same place and name"
    )]
    OtherNumbers {
        /// Where it is.
        object: String,
        /// Whose numbers it has.
        key: EpochKey,
    },
    /// The file system said no.
    #[error("cannot {action} {object}; {}", remedy_of_system(.source))]
    System {
        /// The object, or the directory.
        object: String,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A bucket said no, or nothing.
    #[error("cannot {action} {object}: {why}")]
    Objects {
        /// The object, or the place.
        object: String,
        /// What was tried.
        action: &'static str,
        /// Why, and what to do about it.
        why: String,
        /// Whether that stays so until somebody changes something.
        lasts: bool,
    },
}

impl CheckpointError {
    /// Whose numbers are damaged or gone, if that is what is wrong: all others can be trusted.
    pub fn lost(&self) -> Option<EpochKey> {
        match self {
            Self::Missing { key, .. } | Self::Damaged { key, .. } => Some(*key),
            _ => None,
        }
    }

    /// Whether that stays so, however often it is tried, until somebody changes how the program was started, or the
    /// place.
    pub fn lasts(&self) -> bool {
        match self {
            Self::Url { .. } | Self::Setting { .. } | Self::Cluster { .. } => true,
            Self::Credentials { lasts, .. } | Self::Objects { lasts, .. } => *lasts,
            Self::Missing { .. }
            | Self::Damaged { .. }
            | Self::OtherNumbers { .. }
            | Self::System { .. } => false,
        }
    }
}

fn remedy_of_system(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space on its disk, or choose another directory"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make the directory writable for this user, or choose another one"
        }
        _ => "see that the directory is there and its disk works",
    }
}
