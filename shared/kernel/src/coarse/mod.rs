//! The coarse correction's basis functions on values, and the sample that its sums are taken over.

pub mod sample;
pub mod sections;
#[cfg(test)]
mod tests;
