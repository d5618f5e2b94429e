//! The coarse correction: a two-level method whose coarse level is a sum of basis functions, by Galerkin's condition.
//!
//! Where games are long, the error that supersteps leave over is smooth: it changes little from a position to the
//! next, and mostly with the number of pieces of each player in each *region* of the path (the kernel's `Regions`),
//! above all on safe squares. Supersteps take little of that away, and an extrapolation, which sees a few points, no
//! more than a few modes of it. So it is looked for among sums of *basis functions*: 1, the numbers of pieces of both
//! players in each region, and their products by two. The coarse level has a hundred or so of them, and its equations
//! are Galerkin's (A. Brandt 1977 for the method, Bertsekas and Castanon 1989 for aggregation in dynamic programming).
//! With x the values, P x their Bellman update, M the part of it that reads values of the step, as it is for the moves
//! that are best now, f the basis functions and c their multiples,
//!
//! ```text
//! sum over positions of f[i] ((P x - x) - sum over j of c[j] (f[j] - M f[j])) = 0     for every i
//! ```
//!
//! The sums are over a `Sample` of the positions: there are few functions, so few positions are enough. The
//! functions, so many times, are then added to all values; supersteps do the rest. Where values solve the
//! equation, all c are 0.
//!
//! Before the first superstep all values are one half, no move is better than another unless it scores, and c says
//! roughly who leads and by how much. Steps of one lap begin with that, from a small sample, and are not corrected any
//! more.

use serde::{Deserialize, Serialize};
use ziggurat_encoding::{Encoding, Tier};

use crate::basis::{basis_len_of_orientation, is_dense};

/// When the values of a step are corrected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Corrected {
    /// Never.
    Never,
    /// Before the first superstep.
    AtFirst,
    /// Then, and after every superstep.
    Always,
}

/// From how many positions on steps are corrected: smaller ones are solved sooner without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CorrectedFrom {
    /// Before the first superstep, where players come by every square once. The remaining error shrinks fast there, and
    /// corrections between them are in the way of extrapolations.
    pub at_first: u64,
    /// Always, where players come by a square twice.
    pub always: u64,
}

impl CorrectedFrom {
    /// As measured (docs/experiments/correction.md).
    pub const DEFAULT: Self = Self { at_first: 1 << 20, always: 1 << 22 };
    /// No step is.
    pub const NOTHING: Self = Self { at_first: u64::MAX, always: u64::MAX };
    /// All steps are.
    pub const ALL: Self = Self { at_first: 0, always: 0 };

    /// When the values of the step of a tier are corrected.
    pub fn when(self, encoding: &Encoding, tier: Tier) -> Corrected {
        let when = Usage::of(encoding).when;
        let from = if when == Corrected::Always { self.always } else { self.at_first };
        let is_corrected = encoding.step_len(tier) >= from && functions(encoding, tier) > 0;
        if is_corrected { when } else { Corrected::Never }
    }
}

/// How the steps of a ruleset are corrected, as measured (docs/experiments/correction.md).
pub struct Usage {
    /// When large steps are corrected.
    pub when: Corrected,
    /// The most functions of an orientation that pay. With more, where steps are always corrected, sums take longer to
    /// add up than they save; a correction before the first superstep saves none, and its tables are large.
    most_functions: usize,
    /// The most positions of a step that are sampled. To begin with, few tell as much as many.
    pub most_positions: u64,
}

impl Usage {
    const ONE_LAP: Self =
        Self { when: Corrected::AtFirst, most_functions: 64, most_positions: 1 << 12 };
    const TWO_LAPS: Self =
        Self { when: Corrected::Always, most_functions: 128, most_positions: 1 << 16 };

    /// That of an encoding's ruleset.
    pub fn of(encoding: &Encoding) -> Self {
        if encoding.geometry().visits_squares_again() { Self::TWO_LAPS } else { Self::ONE_LAP }
    }
}

/// How many functions there are for the step of a tier; 0 if they do not pay. Where a block is one position they do
/// not: finding out which it is takes too long.
pub fn functions(encoding: &Encoding, tier: Tier) -> usize {
    let functions = basis_len_of_orientation(encoding);
    let pays = functions <= Usage::of(encoding).most_functions && !is_dense(encoding);
    if pays { tier.both().count() * functions } else { 0 }
}

#[cfg(test)]
mod tests {
    use ziggurat_game::{Overrides, Ruleset};

    use super::*;

    fn encoding(game: &str) -> Encoding {
        let overrides = Overrides { pieces: Some(2), ..Overrides::default() };
        Encoding::new(&Ruleset::builtin(game).unwrap().with(&overrides).unwrap()).unwrap()
    }

    #[test]
    fn where_squares_are_come_by_twice_steps_are_corrected_always_and_elsewhere_at_first() {
        let games = ["finkel", "blitz", "masters", "double-short", "short-backtrack"];
        let when = |from: CorrectedFrom, game| from.when(&encoding(game), Tier::new(2, 1));
        let (at_first, always) = (Corrected::AtFirst, Corrected::Always);
        let all = games.map(|game| when(CorrectedFrom::ALL, game));
        assert_eq!(all, [at_first, at_first, at_first, always, always]);
        // These steps are small.
        for from in [CorrectedFrom::NOTHING, CorrectedFrom::DEFAULT] {
            assert!(games.iter().all(|game| when(from, game) == Corrected::Never));
        }
    }

    #[test]
    fn games_without_private_squares_or_with_many_functions_are_not_corrected() {
        for game in ["murray", "skiriuk", "aseb"] {
            let (encoding, tier) = (encoding(game), Tier::new(2, 1));
            assert_eq!(functions(&encoding, tier), 0, "{game}");
            assert_eq!(CorrectedFrom::ALL.when(&encoding, tier), Corrected::Never, "{game}");
        }
    }
}
