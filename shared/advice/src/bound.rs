//! How far the chances of a table may be from the true ones.

use ziggurat_table::AnyTable;

/// How far the chances of a table may be from the true ones, as a probability.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// No chance is further from the true one: that is proven.
    Proven(f64),
    /// Nothing is proven. Chances are shown, and moves told apart, as if they were no further than that; some may be.
    Unproven(f64),
}

/// What the error of a value is taken to be, in residuals of its tier: a residual is the change of one superstep, and errors of
/// games that last long are many times as large.
const ERROR_IN_RESIDUALS: f64 = 1e3;

/// In a game in which so many rolls of a piece score all pieces one after the other, or more, what a residual and a type of values
/// leave open is taken to add up over all of them.
const ROLLS_OF_SLOW_GAMES: f64 = 1e4;

/// An error that is not proven to be smaller is taken to be at least that: four decimals of a chance in percent.
const LEAST_UNPROVEN: f64 = 5e-7;

/// More decimals of a chance in percent are never shown.
const MOST_DECIMALS: f64 = 10.0;

impl Bound {
    /// Of a table: its certificate, or else an estimate from its type of values and its residuals.
    pub fn of(table: &AnyTable) -> Self {
        if let Some(certificate) = table.certificate() {
            return Self::Proven(certificate);
        }
        let tiers = table.encoding().tiers().into_iter();
        let residuals = tiers.filter_map(|tier| table.statistics(tier).residual);
        let ruleset = table.ruleset();
        let rolls = ruleset.rolls_to_score() * (2.0 * f64::from(ruleset.pieces()) - 1.0);
        if rolls > ROLLS_OF_SLOW_GAMES {
            let change = residuals.fold(table.quantum() / 2.0, f64::max);
            return Self::Unproven((change * rolls).min(1.0));
        }
        let error = residuals.map(|residual| residual * ERROR_IN_RESIDUALS);
        Self::Unproven(error.fold((table.quantum() / 2.0).max(LEAST_UNPROVEN), f64::max))
    }

    /// The distance, as a probability.
    pub fn distance(self) -> f64 {
        match self {
            Self::Proven(distance) | Self::Unproven(distance) => distance,
        }
    }

    /// Whether it is proven.
    pub fn is_proven(self) -> bool {
        matches!(self, Self::Proven(_))
    }

    /// Two chances that differ by no more than that may be equal: each may be off by the bound, and computing the
    /// difference rounds.
    pub fn told_apart(self) -> f64 {
        2.0 * self.distance() + 4.0 * f64::EPSILON
    }

    /// As many decimals of a chance in percent as are right, at most ten.
    pub fn decimals(self) -> usize {
        // A bound of 1e-12 is not always that to the last digit.
        (0.01 - (100.0 * self.distance()).log10()).floor().clamp(0.0, MOST_DECIMALS) as usize
    }

    /// A chance in percent with these decimals: `51.5404732509 %`.
    ///
    /// ```
    /// use ziggurat_advice::Bound;
    /// assert_eq!(Bound::Proven(1e-12).percent(0.515404732509), "51.5404732509 %");
    /// assert_eq!(Bound::Proven(5e-6).percent(0.515404732509), "51.540 %");
    /// assert_eq!(Bound::Unproven(5e-7).percent(0.515404732509), "51.5405 %");
    /// ```
    pub fn percent(self, chance: f64) -> String {
        format!("{:.*} %", self.decimals(), chance * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chance_has_as_many_decimals_as_are_right() {
        for (distance, shown) in [
            (1e-12, "51.5404732509 %"),
            (1.0001e-12, "51.5404732509 %"),
            (0.0, "51.5404732509 %"),
            (5e-6, "51.540 %"),
            (1.1e-5, "51.54 %"),
            (0.4, "52 %"),
        ] {
            assert_eq!(Bound::Proven(distance).percent(0.515404732509), shown);
        }
    }
}
