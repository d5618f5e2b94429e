//! Solving a ruleset tier by tier.

use std::sync::atomic::AtomicBool;

use thiserror::Error;
use ziggurat_encoding::{Encoding, Tier};

/// The floating-point type values are computed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 64 bits.
    #[default]
    F64,
}

/// What decides the bytes of a result, beside the ruleset (and `threads`, which does not).
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The type values are computed in.
    pub precision: Precision,
    /// Supersteps end when the residual is at most this, as a probability.
    pub tolerance: f64,
    /// The most positions a shard may hold, unless a single block is larger; `None` for the
    /// default: 1/64 of the tier, at least 64 Ki, at most 4 Mi.
    pub shard_positions: Option<u64>,
    /// The number of threads; 0 for one per core.
    pub threads: usize,
}

/// A job step: the tiers (n, m) and (m, n), solved together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The tier with the most pieces left for the player who just moved; with its swap it is
    /// the step.
    pub tier: Tier,
    /// Positions of both tiers.
    pub positions: u64,
    /// Shards the step is cut into.
    pub shards: usize,
}

/// What a solve will do and need.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The steps in the order they are solved.
    pub steps: Vec<Step>,
    /// Undecided positions of the ruleset.
    pub positions: u64,
    /// The most memory the solver will hold at once, in bytes.
    pub peak_memory_bytes: u64,
}

/// How the solution of a tier came about. A pure function of the job.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TierStatistics {
    /// Supersteps made.
    pub supersteps: u32,
    /// The residual of the last one, as a probability.
    pub residual: f64,
}

/// The values of a solved tier: the chance of the player who just moved, in index order.
#[derive(Clone, Copy, Debug)]
pub enum TierValues<'a> {
    /// 32-bit values.
    F32(&'a [f32]),
    /// 64-bit values.
    F64(&'a [f64]),
}

/// What happens during a solve, for progress displays. Told from the thread that called
/// [`solve`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    /// A step begins.
    StepStarted {
        /// Its place in [`Plan::steps`].
        step: usize,
    },
    /// A superstep of a step is done.
    Superstep {
        /// The step's place in [`Plan::steps`].
        step: usize,
        /// Supersteps made in this step so far.
        superstep: u32,
        /// Largest change of any value in it, as a probability.
        residual: f64,
        /// Positions swept so far, over all steps and supersteps.
        positions_swept: u64,
    },
    /// A step is solved and frozen.
    StepFinished {
        /// Its place in [`Plan::steps`].
        step: usize,
    },
}

/// What a finished solve has to say.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// The chance that the first player wins from the starting position.
    pub first_player_wins: f64,
    /// Statistics of every tier, in the order of [`Encoding::tiers`].
    pub tiers: Vec<(Tier, TierStatistics)>,
    /// Positions swept over all steps and supersteps.
    pub positions_swept: u64,
}

/// A sign that somebody asked a solve to stop.
pub type Cancelled = AtomicBool;

/// Why a solve ended early.
#[derive(Debug, Error)]
pub enum SolveError {
    /// Somebody asked for it.
    #[error("the solve was cancelled")]
    Cancelled,
    /// The receiver of a tier's values failed.
    #[error("could not store tier {tier}")]
    Store {
        /// The tier.
        tier: Tier,
        /// What the receiver said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What solving `encoding`'s ruleset with `settings` will do and need.
pub fn plan(_encoding: &Encoding, _settings: &Settings) -> Plan {
    todo!()
}

/// Solves every tier in dependency order and hands each, once solved, to `store`, which keeps
/// what it needs (the slice is gone afterwards).
///
/// # Errors
/// If `store` fails or `cancelled` becomes true.
pub fn solve(
    _encoding: &Encoding,
    _settings: &Settings,
    _cancelled: &Cancelled,
    _tell: &mut dyn FnMut(Event),
    _store: &mut dyn FnMut(
        Tier,
        TierStatistics,
        TierValues<'_>,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>,
) -> Result<Summary, SolveError> {
    todo!()
}
