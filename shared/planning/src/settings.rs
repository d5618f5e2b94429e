//! Settings: the inputs that decide the bytes of a result.

use serde::{Deserialize, Serialize};

use crate::correction::CorrectedFrom;

/// The floating-point type values are computed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 64 bits.
    #[default]
    F64,
}

impl Precision {
    /// Bytes of a value.
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 => size_of::<f32>(),
            Self::F64 => size_of::<f64>(),
        }
    }

    /// The distance between numbers from 1/4 to 1/2, the largest between values.
    pub fn unit(self) -> f64 {
        match self {
            Self::F32 => f64::from(f32::EPSILON) / 4.0,
            Self::F64 => f64::EPSILON / 4.0,
        }
    }
}

/// The inputs that decide the bytes of a result, beside the ruleset (and `threads`, which do not).
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The type values are computed in.
    pub precision: Precision,
    /// No value is to be further from the true one than this, a probability: proven if
    /// [`Settings::certified`], else estimated from how fast the changes of supersteps shrink.
    pub tolerance: f64,
    /// Whether the tolerance is proven, tier by tier.
    pub certified: bool,
    /// The most positions a shard may hold, unless a single block is larger; `None` for the
    /// default: 1/64 of the tier, at least 64 Ki, at most 4 Mi.
    pub shard_positions: Option<u64>,
    /// Which steps are corrected coarsely. (For tests: those who ask for a job leave this alone.)
    pub corrected_from: CorrectedFrom,
    /// The number of threads; 0 for one per core.
    pub threads: usize,
}

impl Settings {
    /// A certified solve on all cores, in shards of the default size: to 1e-12 in `f64`, to 5e-6 in
    /// `f32`.
    pub fn new(precision: Precision) -> Self {
        let tolerance = match precision {
            Precision::F32 => 5e-6,
            Precision::F64 => 1e-12,
        };
        Self {
            precision,
            tolerance,
            certified: true,
            shard_positions: None,
            corrected_from: CorrectedFrom::DEFAULT,
            threads: 0,
        }
    }

    /// The number of threads that [`Settings::threads`] means.
    pub fn thread_count(&self) -> usize {
        thread_count(self.threads)
    }
}

/// So many threads as are asked for; one per core where that is 0.
pub fn thread_count(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}
