//! Solving: the steps of a ruleset one after the other, alone or as a member of a team.

pub mod cache;
pub mod certifier;
pub mod error;
pub mod executor;
pub mod inputs;
pub mod member;
pub mod plan;
pub mod solve;
pub mod step_store;
pub mod timing;
pub mod values;
