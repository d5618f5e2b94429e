//! Supersteps: sweep the waves of a step, publish the changes, measure, extrapolate.

pub mod shard;
pub mod state;
