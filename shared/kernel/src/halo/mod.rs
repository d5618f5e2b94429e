//! Halo exchange: the values that the members of a team read of each other's shards, and their messages.

pub mod arrays;
mod bits;
pub mod codec;
pub mod partition;
pub mod parts;
pub mod places;
pub mod prediction;
pub mod reads;
pub mod team;
pub mod waves;
