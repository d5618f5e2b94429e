//! Why a solve ended early.

use thiserror::Error;
use ziggurat_encoding::Tier;

use crate::{
    halo::team::ExchangeError, memory::budget::MemoryError, solver::step_store::StepStoreError,
};

/// Why a solve ended early.
#[derive(Debug, Error)]
pub enum SolveError {
    /// Somebody asked for it.
    #[error("the solve was cancelled")]
    Cancelled,
    /// The threads could not be started.
    #[error("could not start the threads of the solver; ask for fewer")]
    Threads(#[source] rayon::ThreadPoolBuildError),
    /// There is no room for an array.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Another member of a team could not be reached.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// An order does not fit where the step is.
    #[error("the order does not fit where the step is")]
    Order,
    /// A checkpoint could not be written or read.
    #[error(transparent)]
    StepStore(#[from] StepStoreError),
    /// The receiver of a tier's values failed.
    #[error("could not store tier {tier}")]
    Store {
        /// The tier.
        tier: Tier,
        /// The receiver's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A pool of so many threads, one per core for 0.
pub fn thread_pool(threads: usize) -> Result<rayon::ThreadPool, SolveError> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(SolveError::Threads)
}
