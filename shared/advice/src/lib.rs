//! What a solved table says about positions.
//!
//! For the player to move in position s, a roll r is worth q(s, r), the value of the best move or of the pass, and the position
//! before the roll v(s) = sum p(r) q(s, r). The *luck* of a roll is q(s, r) - v(s), which is zero on average, and a move *loses*
//! q(s, r) minus its own value. Moves whose values are nearer to each other than the table proves are a *tie*.
//!
//! ```no_run
//! use std::path::Path;
//! use ziggurat_advice::Advisor;
//!
//! let advisor = Advisor::open(Path::new("finkel-7.zgt"))?;
//! let position = advisor.ruleset().parse_position("4,8+1/3,12").unwrap();
//! let outlook = advisor.outlook(&position)?;
//! for advice in &outlook.rolls {
//!     println!("{}: {:?}, luck {:+.2}", advice.roll.value, advice.best(), outlook.luck(advice));
//! }
//! # Ok::<(), ziggurat_table::TableError>(())
//! ```
//!
//! | module | knows |
//! | --- | --- |
//! | `bound` | how far the chances of a table may be from the true ones, proven or not |
//! | `ranking` | the order of moves, and which are a tie |
//! | `advisor` | an open table, and the moves of positions in it |
//! | `dice` | dice from a seed |
//! | `policy` | ways to choose a move: by name, or by weights of features from a file |
//! | `puzzles` | decisions that a rule of thumb gets wrong |
//! | `mainline` | play from a position in which nobody is lucky |

mod advisor;
mod bound;
mod dice;
mod mainline;
mod policy;
mod puzzles;
mod ranking;

pub use advisor::{Advice, Advisor, Outlook};
pub use bound::Bound;
pub use dice::SeededDice;
pub use mainline::{MainLine, Step};
pub use policy::{Pick, Policy, PolicyFileError, Weights};
pub use puzzles::{Puzzle, Wanted};
pub use ranking::ValuedMove;
