//! Interval iteration from a guess: the intervals of a proof, as offsets from the stored values, and their sweeps.

pub mod bounds;
pub mod offsets;
pub mod pair;
pub mod problem;
pub mod rounding;
pub mod sweep;
#[cfg(test)]
mod tests;
