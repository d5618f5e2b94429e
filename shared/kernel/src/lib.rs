//! The block kernel and the solver around it.

mod solve;

pub use solve::{
    Cancelled, Event, Plan, Precision, Settings, SolveError, Step, Summary, TierStatistics,
    TierValues, plan, solve,
};
