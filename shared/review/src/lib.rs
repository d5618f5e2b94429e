//! The account of a game.
//!
//! For the player to move q(s, r) is the value of the best move for a roll, or of the pass, and v(s) = sum p(r) q(s, r). The luck
//! of a roll is q(s, r) - v(s), and the loss of a move q(s, r) minus its own value. From light's side
//!
//! ```text
//! result = v(start) + luck(light) - loss(light) - luck(dark) + loss(dark) + rest
//! ```
//!
//! where the rest is what the table's values are short of that equation: at most its certificate times the number of actions and
//! one, and what adding rounds. All numbers of a [`Review`] are probabilities.
//!
//! | module | knows |
//! | --- | --- |
//! | `account` | the account of a game |
//! | `marks` | which rolls and moves are marked, and how |
//! | `totals` | sums over a player's actions, of one game or of several |
//! | `text` | the account for a terminal |
//! | `json` | the account for machines |
//! | `outlook` | positions with the values of their moves, for machines |
//! | `steps` | the board and its pieces at every step, for what draws them |
//! | `page` | the account as a page to step through |

mod account;
mod json;
mod marks;
mod outlook;
mod page;
mod steps;
mod text;
mod totals;

pub use account::{Ledger, Review, ReviewError, Reviewed, review};
pub use json::{to_json, totals_json};
pub use marks::{LuckMark, MoveMark};
pub use outlook::{advice_json, by_squares, outlook_json};
pub use page::page;
pub use steps::{board_json, steps_json};
pub use text::{table, text};
pub use totals::Totals;
