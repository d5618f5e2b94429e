//! Quantised deltas: the changes of supersteps, in a byte for each value; and the extrapolation from them.

pub mod encoding;
pub mod extrapolation;
