//! The arrays of a step, cut into shards.

pub mod columns;
pub mod ranges;
pub mod step;
pub mod waves;
