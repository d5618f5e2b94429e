//! The block kernel and the solver around it.

mod accelerate;
mod array;
mod block;
mod certificate;
mod context;
mod convergence;
mod dense;
mod gather;
mod inner;
mod layout;
mod lists;
mod occupancy;
mod pass;
mod routes;
mod rows;
mod rules;
mod scratch;
mod simd;
mod slab;
mod solve;
mod step;
mod sweep;
mod turn;
mod value;
mod vector;

pub use certificate::{Certificate, Certified, Certifier};
pub use simd::{NoSuchSimd, Simd};
pub use solve::{
    Cancelled, Event, Plan, Precision, Settings, SolveError, Step, Summary, TierStatistics,
    TierValues, plan, solve, time_supersteps,
};
