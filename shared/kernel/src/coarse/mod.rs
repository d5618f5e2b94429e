//! The coarse correction's basis functions on values, and the sample that its sums are taken over.

pub mod regions;
pub mod sample;
#[cfg(test)]
mod tests;
