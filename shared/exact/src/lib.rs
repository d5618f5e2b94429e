//! Exact values of small games: every chance as a fraction, and the optimal policy, proven.
//!
//! A floating solution is close to the truth, and close is enough to guess the optimal policy:
//! which move to make in every position, for every roll. The values of *that policy* are the
//! solution of a system of linear equations with rational coefficients, and are computed exactly.
//! Then every move is compared with every other by these exact values. If none is better than the
//! chosen one, the values satisfy the Bellman optimality equation exactly; if some is, it is
//! chosen instead, and the policy is evaluated again (policy iteration, Howard 1960).
//!
//! ```
//! use ziggurat_game::{Overrides, Position, Ruleset};
//!
//! let finkel = Ruleset::builtin("finkel").unwrap();
//! let one_piece = finkel.with(&Overrides { pieces: Some(1), ..Overrides::default() }).unwrap();
//! let exact = ziggurat_exact::solve(&one_piece).unwrap();
//! assert_eq!(exact.first_player_wins().numer().to_string().len(), 227); // digits
//! ```
//!
//! # Why this is a proof
//!
//! *Every game ends.* Before a step is solved, [`solve`] checks that the players cannot put off its
//! end for ever even if they work together and whatever they do: it strikes out the positions
//! with a roll for which no move leads to one not struck out, until nothing changes, and demands
//! that nothing is left. So there are k and q < 1 such that, however the players play, the
//! chance that k turns do not end the step is at most q.
//!
//! *So the solution is unique.* The Bellman operator T takes maxima and averages, which bring
//! no two sets of values further apart, and values pass through it unchanged in distance only as
//! long as play stays in the step. So k applications of T bring any two sets of values closer by
//! the factor q; T has one fixed point, and it is the value of the game: who follows a policy that
//! attains the maxima wins with that chance at least, whatever the other does. By the same
//! argument the equations of any one policy have exactly one solution.
//!
//! *And this is it.* The fractions are put into the equations of the policy and into the
//! comparisons of moves in whole-number arithmetic. How they were found plays no part.
//!
//! Nothing is assumed but the rules of [`ziggurat_game`] and the list of positions of
//! [`ziggurat_reference`].
//!
//! | module | knows |
//! | --- | --- |
//! | `equations` | the Bellman equations of a step, and how policies are compared |
//! | `weights` | the dice as whole numbers |
//! | `linear` | solving sparse linear systems exactly, p-adic digit by digit |
//! | `elimination` | sparse Gaussian elimination modulo p |
//! | `fraction` | the fraction behind a residue |
//! | `field` | arithmetic modulo p = 2^61 - 1 |
//! | [`decimal`] | fractions as decimals, correctly rounded |

pub mod decimal;
mod elimination;
mod equations;
mod error;
mod field;
mod fraction;
mod linear;
mod solve;
mod weights;

pub use error::ExactError;
pub use num_rational::BigRational;
pub use solve::{Exact, MOST_POSITIONS, Proof, solve, solve_from};
