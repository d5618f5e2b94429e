//! Supersteps: sweep the waves of a step, publish the changes, measure, extrapolate.

pub mod extrapolate;
pub mod state;
pub mod sweep;
#[cfg(test)]
mod tests;
pub mod unit;
