//! The commands, one module each: their arguments, and what they print.

pub mod analyse;
pub mod bench;
pub mod best;
pub mod completions;
pub mod count;
pub mod exact;
pub mod export;
pub mod plan;
pub mod play;
pub mod puzzles;
pub mod review;
pub mod rulesets;
pub mod solve;
pub mod table;
