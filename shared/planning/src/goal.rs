//! Goals: what the values of a step are to come to.

use serde::{Deserialize, Serialize};
use ziggurat_encoding::{Encoding, Tier};

use crate::{
    correction,
    correction::Corrected,
    settings::{Precision, Settings},
};

/// What the values of a step are to come to.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Goal {
    /// The type of the values.
    pub precision: Precision,
    /// Whether a bound of their errors is to be proven.
    pub certified: bool,
    /// What is to be proven.
    pub bound: f64,
    /// What is proven of the tiers that the step reads.
    pub read: f64,
    /// The estimated error at which to try.
    pub error: f64,
    /// When values are corrected.
    pub corrected: Corrected,
    /// How many functions are added to them then.
    pub functions: usize,
}

/// The part of a level's share of the tolerance that is left to the error of its values: the
/// smaller it is, the more supersteps, and the fewer interval sweeps. In `f32` it is soon less than rounding allows.
/// Where players come by a square twice, errors are guessed too small, and a proof that fails costs more than a few supersteps.
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
    /// tolerance to what is proven of the levels below it. Part of the tolerance is shared out evenly, since small
    /// levels have rounding errors too, and the rest by positions: more is saved where there is more to sweep.
    pub fn new(encoding: &Encoding, settings: &Settings, tier: Tier, read: f64) -> Self {
        let Settings { tolerance, certified, precision, .. } = *settings;
        let corrected = settings.corrected_from.when(encoding, tier);
        let functions = correction::functions(encoding, tier);
        if !certified {
            let (bound, error) = (1.0, tolerance);
            return Self { precision, certified, bound, read, error, corrected, functions };
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
        }
    }
}
