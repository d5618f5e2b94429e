//! The block kernel and the solver around it.

mod accelerate;
mod array;
mod block;
mod certificate;
mod context;
mod convergence;
mod course;
mod dense;
mod gather;
mod grid;
mod inner;
mod journal;
mod layout;
mod lists;
mod memory;
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
mod work;

pub use accelerate::{Multiples, Products};
pub use certificate::{Certificate, Certified, Certifier, Growth, Proof};

pub use course::{Course, Goal, Order, Outcome};
pub use grid::Grid;
pub use journal::{Column, Data, Found, Journal, JournalError, Part};
pub use memory::{Memory, MemoryError};
pub use simd::{NoSuchSimd, Simd};
pub use solve::{
    Cancelled, Event, Plan, Precision, Settings, SolveError, Step, Summary, Surroundings,
    TierStatistics, TierValues, plan, shards, solve, time_supersteps,
};
pub use step::{both, first_of_step, read_by, waves};
