//! The block kernel and the solver around it.

mod block;
mod context;
mod lanes;
mod occupancy;
mod rules;
mod simd;
mod solve;
mod step;
mod value;

pub use solve::{
    Cancelled, Event, Plan, Precision, Settings, SolveError, Step, Summary, TierStatistics,
    TierValues, plan, solve,
};
