//! Halo exchange: what the members of a team read of each other's shards, and how it is sent.

pub mod arrays;
pub mod codec;
pub mod places;
pub mod prediction;
pub mod reads;
pub mod share;
pub mod team;
