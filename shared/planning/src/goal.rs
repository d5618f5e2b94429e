//! Goals: the precision, tolerance and bound that a step is solved to.

use serde::{Deserialize, Serialize};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::Ruleset;

use crate::{
    convergence::Convergence,
    correction,
    correction::Corrected,
    settings::{Precision, Settings},
};

/// The goal of a step.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Goal {
    /// The type of the values.
    pub precision: Precision,
    /// Whether a bound of their errors is to be proven.
    pub certified: bool,
    /// The bound to be proven.
    pub bound: f64,
    /// The proven bound of the tiers that the step reads.
    pub read: f64,
    /// The estimated error at which to try.
    pub error: f64,
    /// When values are corrected.
    pub corrected: Corrected,
    /// How many functions are added to them then.
    pub functions: usize,
    /// The rolls that a piece needs to score, if games are so slow that residuals alone say little of errors, else 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slow_rolls: f64,
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// The rolls that a piece needs to score in a game so slow that residuals alone say little of errors; `None` for other
/// games.
pub fn slow_rolls(ruleset: &Ruleset) -> Option<f64> {
    Some(ruleset.rolls_to_score()).filter(|&rolls| rolls > Convergence::MOST_CHANGES)
}

/// The part of a level's share of the tolerance that is left to the error of its values: the smaller it is, the more
/// supersteps, and the fewer interval sweeps. In `f32` it is soon less than rounding allows. Where players come by a
/// square twice, errors are guessed too small, and a proof that fails costs more than a few supersteps.
pub fn error_of_level(precision: Precision, encoding: &Encoding) -> f64 {
    let once = match precision {
        Precision::F32 => 0.5,
        Precision::F64 => 0.25,
    };
    if encoding.geometry().visits_squares_again() { once / 2.0 } else { once }
}

/// The part of the tolerance of which every level gets the same; the rest goes by positions.
pub const EVENLY: f64 = 0.3;

impl Goal {
    /// For the step of a tier, if the tiers it reads are proven to `read`. A level adds its share of the
    /// tolerance to the bounds of the levels below it. Part of the tolerance is shared out evenly, since small
    /// levels have rounding errors too, and the rest by positions: more is saved where there is more to sweep.
    pub fn new(encoding: &Encoding, settings: &Settings, tier: Tier, read: f64) -> Self {
        let Settings { tolerance, certified, precision, .. } = *settings;
        let corrected = settings.corrected_from.when(encoding, tier);
        let functions = correction::functions(encoding, tier);
        let slow_rolls = slow_rolls(encoding.ruleset()).unwrap_or(0.0);
        if !certified {
            // Then no residual is larger than the tolerance divided by the length of the game.
            let error = tolerance / slow_rolls.max(1.0);
            let bound = 1.0;
            return Self {
                precision,
                certified,
                bound,
                read,
                error,
                corrected,
                functions,
                slow_rolls,
            };
        }
        let tiers = encoding.tiers();
        let positions = |levels: u8| -> u64 {
            let up_to = tiers.iter().filter(|&&tier| tier.level() <= levels);
            up_to.map(|&tier| encoding.tier_len(tier)).sum()
        };
        let levels = 2 * encoding.ruleset().pieces() - 1;
        let all = positions(levels) as f64;
        let shares_up_to = |level: u8| {
            let evenly = f64::from(level) / f64::from(levels);
            let by_positions = positions(level) as f64 / all;
            tolerance * (EVENLY * evenly + (1.0 - EVENLY) * by_positions)
        };
        let up_to = shares_up_to(tier.level());
        let share = up_to - shares_up_to(tier.level() - 1);
        let bound = up_to.max(read + share / 2.0);
        Self {
            precision,
            certified,
            bound,
            read,
            error: share * error_of_level(precision, encoding),
            corrected,
            functions,
            slow_rolls,
        }
    }

    /// The best guess of an error after a residual, if rates of residuals say that it is `guess`: in a slow game an
    /// error shrinks no faster than games end, and rounding that swallows a change is not in the residual. 1 says that
    /// nothing is known.
    pub fn estimate(&self, guess: f64, residual: f64, precision: Precision) -> f64 {
        if self.slow_rolls == 0.0 {
            return guess;
        }
        guess.max(residual.max(precision.unit()) * self.slow_rolls).min(1.0)
    }
}
