//! What a long command shows while it runs: a drawing on a terminal, plain lines elsewhere,
//! both on standard error.

mod display;
pub mod drawing;
pub mod forecast;
mod solve;
mod watch;

pub use self::{solve::Progress, watch::watched};
