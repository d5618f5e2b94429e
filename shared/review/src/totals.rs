//! Sums over a player's actions.

use std::ops::AddAssign;

/// What a player did, in one game or in several.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Totals {
    /// Rolls.
    pub rolls: usize,
    /// Rolls with more than one legal move.
    pub decisions: usize,
    /// Decisions for a move that is best, as far as can be told.
    pub right: usize,
    /// The luck of all rolls.
    pub luck: f64,
    /// What all moves lost.
    pub loss: f64,
}

impl Totals {
    /// The performance rating: 1000 times the mean loss over decisions, ten times that in percentage points. The less the
    /// better; 0 is perfect, and nothing without a decision.
    pub fn rating(&self) -> Option<f64> {
        (self.decisions > 0).then(|| 1000.0 * self.loss / self.decisions as f64)
    }

    /// The share of decisions that were right.
    pub fn accuracy(&self) -> Option<f64> {
        (self.decisions > 0).then(|| self.right as f64 / self.decisions as f64)
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.rolls += other.rolls;
        self.decisions += other.decisions;
        self.right += other.right;
        self.luck += other.luck;
        self.loss += other.loss;
    }
}
