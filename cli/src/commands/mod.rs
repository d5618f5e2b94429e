//! The commands, one module each: their arguments, and what they print.

pub mod count;
pub mod rulesets;
