//! Supersteps: sweep the waves of a step, publish what changed, measure, extrapolate.

pub mod shard;
pub mod state;
