//! Solving: the steps of a ruleset one after the other, alone or as a member of a team.

pub mod certifier;
pub mod error;
pub mod ground;
pub mod journal;
pub mod kept;
pub mod member;
pub mod plan;
pub mod solve;
pub mod timing;
pub mod values;
pub mod work;
