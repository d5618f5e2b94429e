//! What a solved table says of whole games.
//!
//! A table has the chance of the player to move in every position, so also the best move for every roll. With a policy for each
//! player a game is a Markov chain, and all that may be asked of it is linear algebra: no simulation, and a bound on each number.
//!
//! ```no_run
//! use std::path::Path;
//! use ziggurat_advice::Advisor;
//! use ziggurat_analysis::Analyst;
//! use ziggurat_table::unheard;
//!
//! let advisor = Advisor::open(Path::new("finkel-7.zgt"))?;
//! let perfect = Analyst::new(&advisor).perfect(&unheard)?;
//! println!("{} rolls", perfect.shortest.rolls.mean.value);
//! # Ok::<(), ziggurat_analysis::AnalysisError>(())
//! ```
//!
//! | module | knows |
//! | --- | --- |
//! | `step` | the positions of a step, numbered, and those of the tiers it reads |
//! | `graph` | policy graphs: the successor of each position and roll |
//! | `sweep` | linear equations of a step, solved by in-place sweeps |
//! | `visits` | how often each position occurs |
//! | `distribution` | how likely games of each length are |
//! | `surface` | the mean chance by how far both players have come |
//! | `tally` | what happens in positions: choices, captures, luck, regret |
//! | `play` | the equations of lengths and chances, and their bounds |
//! | `bounded` | numbers with the interval of the true one |
//! | `memory` | how much memory questions take |
//! | `analyst` | what is asked of a table |

mod analyst;
mod bounded;
mod distribution;
mod error;
mod graph;
mod memory;
mod play;
mod step;
mod surface;
mod sweep;
mod tally;
mod visits;

pub use analyst::{Account, Analyst, Perfect};
pub use bounded::Bounded;
pub use distribution::Distribution;
pub use error::AnalysisError;
pub use memory::{Question, memory_bytes};
pub use play::{Games, Spread};
pub use surface::{SURFACE_BINS, Surface};
pub use tally::{Decisions, FREE_POINTS, GAP_BINS, HARD_POINTS, Hard, LUCK_BINS, Player};
