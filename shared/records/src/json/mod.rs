//! The JSON notation, version 2, of the existing libraries.
//!
//! | member | content |
//! | --- | --- |
//! | `notation_version` | 2 |
//! | `metadata` | texts by key |
//! | `settings` | the rules, see `settings` |
//! | `initial_state` | the pieces on the board and of the players, and whose turn it is |
//! | `states` | rolls without a move, moves with their rolls, and the end |
//!
//! A piece is a number: its path position, counted from 1, positive for light and negative for dark. A move without `src` enters,
//! one without `dest` scores. Members that are not known are ignored; a state of a kind that is not known is an error.

mod read;
mod scan;
mod settings;
mod write;

pub use read::read;
pub use write::{to_value, write};
