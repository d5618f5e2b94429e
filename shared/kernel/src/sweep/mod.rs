//! The Bellman operator on a pair of slabs: from the values of their successors to new values.

pub mod block;
pub mod context;
pub mod dense;
pub mod elimination;
pub mod gather;
pub mod order;
pub mod pair;
pub mod pass;
pub mod rows;
pub mod scratch;
pub mod slab;
pub mod sources;
pub mod successors;
pub mod transpose;
pub mod view;
