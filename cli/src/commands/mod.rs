//! The commands, one module each: their arguments, and what they print.

pub mod bench;
pub mod best;
pub mod cancel;
pub mod completions;
pub mod coordinator;
pub mod count;
pub mod exact;
pub mod export;
pub mod jobs;
pub mod pause;
pub mod plan;
pub mod play;
pub mod puzzles;
pub mod resume;
pub mod review;
pub mod rulesets;
pub mod solve;
pub mod status;
pub mod submit;
pub mod table;
pub mod watch;
pub mod worker;
