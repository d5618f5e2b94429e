//! The oracle for small games: the value of every position, straight from the definition.
//!
//! Nothing here is clever. All arrangements of pieces are written down, one after the other, into
//! a hash map, and the Bellman equation is applied to each of them until no value changes any
//! more. The rules come from [`ziggurat_game`]; nothing is shared with the encoding or the kernel,
//! so that an agreement with them means something.
//!
//! Only [`baseline`], which benchmarks measure the kernel against, uses the encoding.
//!
//! | module | knows |
//! | --- | --- |
//! | [`arrangements`] | every way of placing the pieces, and how many choices it leaves |
//! | [`solve`](mod@solve) | the chance of the player to move in each of them |
//! | [`baseline`] | the same by way of a successor table, as a rival in benchmarks |

pub mod arrangements;
pub mod baseline;
pub mod solve;

pub use arrangements::{choices, decided, enumerate};
pub use solve::{Reference, solve, solve_to};
