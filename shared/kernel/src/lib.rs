//! The block kernel and the solver around it.

mod block;
mod context;
mod gather;
mod occupancy;
mod pass;
mod rows;
mod rules;
mod scratch;
mod simd;
mod solve;
mod step;
mod value;

pub use simd::{NoSuchSimd, Simd};
pub use solve::{
    Cancelled, Event, Plan, Precision, Settings, SolveError, Step, Summary, TierStatistics,
    TierValues, plan, solve,
};
