//! The effects of moves, worked out once for a ruleset: from the rules to lists of the rows that a move reads and
//! raises.

pub mod builder;
pub mod dense;
pub mod layout;
pub mod lists;
pub mod occupancy;
pub mod private;
pub mod routes;
pub mod rules;
pub mod tables;
