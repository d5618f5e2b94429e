//! Why there are no exact values.

use thiserror::Error;
use ziggurat_encoding::EncodingError;

/// Why a ruleset is not solved exactly. Every message says what would work.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ExactError {
    /// Equations too many for exact arithmetic.
    #[error(
        "{ruleset} with {pieces} pieces has {positions} positions in one step, and exact fractions \
         go up to {limit}; {}", remedy(*.pieces_that_fit)
    )]
    TooManyPositions {
        /// The name of the ruleset.
        ruleset: String,
        /// Its number of pieces per player.
        pieces: u8,
        /// Positions of its largest step.
        positions: u64,
        /// The most that are solved.
        limit: u64,
        /// The largest number of pieces that fits, if any does.
        pieces_that_fit: Option<u8>,
    },
    /// Probabilities with too large a denominator.
    #[error(
        "the probabilities of the dice {dice} have a common denominator above 2^59; use simpler \
         fractions"
    )]
    DiceTooFine {
        /// The dice.
        dice: String,
    },
    /// Play need not end.
    #[error(
        "from {position} the players can go on for ever whatever they roll, so that it is not \
         certain that the rules give every position one value; use other dice{}",
        if *.safe_squares { ", or squares that are not safe" } else { "" }
    )]
    Endless {
        /// A position that need not lead to an end.
        position: String,
        /// Whether the ruleset has squares that are safe.
        safe_squares: bool,
    },
    /// No optimal policy was found.
    #[error(
        "no optimal policy of {ruleset} after {rounds} rounds of improvement; this should not \
         happen: please report it with the ruleset"
    )]
    NotOptimal {
        /// The name of the ruleset.
        ruleset: String,
        /// Rounds made.
        rounds: u32,
    },
    /// The equations have no solution modulo 2^61 - 1.
    #[error(
        "the equations of {ruleset} are singular modulo 2^61 - 1, a coincidence that one in 10^15 \
         rulesets may have; change a rule or the dice a little"
    )]
    Coincidence {
        /// The name of the ruleset.
        ruleset: String,
    },
    /// The positions cannot be counted.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
}

fn remedy(pieces_that_fit: Option<u8>) -> String {
    match pieces_that_fit {
        Some(1) => "use 1 piece".to_owned(),
        Some(pieces) => format!("use at most {pieces} pieces"),
        None => "use a shorter path".to_owned(),
    }
}
