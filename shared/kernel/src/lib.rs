//! The block kernel and the solver around it.

mod accelerate;
mod array;
mod block;
mod certificate;
mod coarse;
mod context;
mod convergence;
mod course;
mod dense;
mod gather;
mod halo;
mod inner;
mod journal;
mod kept;
mod layout;
mod lists;
mod member;
mod memory;
mod occupancy;
mod pass;
mod predict;
mod reads;
mod routes;
mod rows;
mod rules;
mod scratch;
mod shortlist;
mod simd;
mod slab;
mod solve;
mod step;
mod sweep;
mod team;
mod turn;
mod value;
mod vector;
mod waves;
mod work;

pub use accelerate::{DIFFERENCES, FINEST_UNITS, Multiples, POINTS, Products, VECTORS};
pub use certificate::{Certificate, Certified, Certifier, Growth, Proof, USELESS_BOUND};
pub use coarse::{Asked, CorrectedFrom, SAMPLE_UNITS, Sums};
pub use context::Tables;
pub use course::{Course, Goal, Order, Outcome};
pub use journal::{Column, Data, Found, Journal, JournalError, Part};
pub use kept::Kept;
pub use member::{Assignment, Member, Sources, take_part};
pub use memory::{Memory, MemoryError, resident_bytes};
pub use reads::Places;
pub use simd::{NoSuchSimd, Simd};
pub use solve::{
    Cancelled, Event, Plan, Precision, Settings, SolveError, Step, Summary, Surroundings,
    TierStatistics, TierValues, plan, shards, solve, thread_count, time_supersteps,
};
pub use step::{both, first_of_step, read_by};
pub use team::{Exchange, ExchangeError, HaloPart, PART_BYTES};
pub use waves::{Wave, interval_waves, waves};
pub use work::Place;
