//! What a long command shows while it runs: a drawing on a terminal, plain lines elsewhere,
//! both on standard error.

mod display;
mod drawing;
mod forecast;
mod solve;
mod watch;

pub use self::{solve::Progress, watch::watched};
