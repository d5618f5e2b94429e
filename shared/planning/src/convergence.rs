//! When a step is solved, when `f32` has done its part, and when to extrapolate.
//!
//! The estimate is the a posteriori bound of a contraction (Banach 1922) with an observed rate in place of a proven
//! one. The residual r, the largest change of a superstep, does not bound the error: if supersteps shrink changes by a
//! factor q, then all that follow add up to r q / (1 - q). Rates swing (some modes are complex), and two supersteps
//! with an extrapolation between them have none; so P, the product of L successive rates, is looked at, the largest of
//! the last two cycles. For geometric sequences
//!
//! ```text
//! q / (1 - q)  is nearly  L P / (1 - P) + (L - 1) / 2
//! ```
//!
//! and r times that, which takes no roots (they differ from system to system), is the estimate.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::{settings::Precision, weights::DIFFERENCES};

/// The next action after a superstep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Another superstep.
    Sweep,
    /// An extrapolation, then another superstep.
    Extrapolate,
    /// Nothing: the step is solved as well as asked for.
    Done,
}

/// Follows the residuals of a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Convergence {
    tolerance: f64,
    /// The distance between large values.
    unit: f64,
    is_rough: bool,
    /// The residual of the last superstep.
    pub residual: f64,
    /// The best guess of the error after it.
    pub error: f64,
    best: f64,
    since_best: u32,
    /// Rates between successive supersteps, the latest last.
    rates: VecDeque<f64>,
    /// Supersteps since the last extrapolation.
    since_extrapolation: usize,
    /// The last residual before the last extrapolation.
    before_extrapolation: f64,
    /// Cycles of supersteps still to be made without an extrapolation, and how many after the next
    /// one that does harm.
    pause: u32,
    next_pause: u32,
}

impl Convergence {
    /// A residual below this many units of precision may be the last that rounding allows.
    const FLOOR_UNITS: f64 = 64.0;
    /// How many supersteps without a new smallest residual mean that it has stopped falling.
    const PATIENCE: u32 = 8;
    /// Changes of at most this many units of precision are much rounding: they point nowhere.
    const NOISE_UNITS: f64 = 4.0;
    /// Where a step goes on in `f64`, it does so from here: a few units before rounding slows supersteps down.
    const ROUGH_UNITS: f64 = 16.0;
    /// The rates within a cycle of supersteps: as many are averaged.
    const CYCLE: usize = DIFFERENCES - 1;
    /// No product of a cycle's rates is believed to be larger.
    const SLOWEST_CYCLE: f64 = 0.97;
    /// So all changes to come are believed to be at most so many times the last one.
    pub const MOST_CHANGES: f64 = Self::CYCLE as f64 * Self::SLOWEST_CYCLE
        / (1.0 - Self::SLOWEST_CYCLE)
        + (Self::CYCLE as f64 - 1.0) / 2.0;

    /// Nothing known yet. The step is solved when the error is guessed to be at most `tolerance`.
    pub fn new(precision: Precision, tolerance: f64) -> Self {
        Self {
            tolerance,
            unit: precision.unit(),
            is_rough: false,
            residual: 1.0,
            error: 1.0,
            best: f64::MAX,
            since_best: 0,
            rates: VecDeque::new(),
            since_extrapolation: 0,
            before_extrapolation: f64::MAX,
            pause: 0,
            next_pause: 1,
        }
    }

    /// For supersteps in `f32` whose result is to go on from in `f64`: done near where
    /// extrapolation ends because of rounding, or when the error is guessed to be at most `tolerance`.
    pub fn rough(tolerance: f64) -> Self {
        Self { is_rough: true, ..Self::new(Precision::F32, tolerance) }
    }

    /// Takes note of the residual of a superstep.
    pub fn after(&mut self, residual: f64) -> Next {
        // How rounding changes, once it is all that does, is not how fast errors shrink.
        let says_nothing = self.is_noise(residual) && !self.rates.is_empty();
        if self.since_extrapolation > 0 && !says_nothing {
            self.rates.push_back(residual / self.residual);
            if self.rates.len() > 2 * Self::CYCLE {
                self.rates.pop_front();
            }
        }
        self.since_extrapolation += 1;
        self.residual = residual;
        self.error = residual * self.changes_to_come();
        if residual < self.best {
            (self.best, self.since_best) = (residual, 0);
        } else {
            self.since_best += 1;
        }
        if self.is_done() {
            Next::Done
        } else if self.since_extrapolation < DIFFERENCES {
            Next::Sweep
        } else {
            self.end_of_cycle()
        }
    }

    /// All further changes together, as a multiple of the last one.
    fn changes_to_come(&mut self) -> f64 {
        let length = Self::CYCLE.min(self.rates.len()).max(1);
        let cycles = self.rates.make_contiguous().windows(length);
        let slowest = cycles.map(|rates| rates.iter().product()).fold(0.0, f64::max);
        let product = slowest.min(Self::SLOWEST_CYCLE);
        let length = length as f64;
        (length * product / (1.0 - product) + (length - 1.0) / 2.0).max(1.0)
    }

    /// Whether a residual may be rounding for the most part.
    fn is_noise(&self, residual: f64) -> bool {
        residual <= Self::NOISE_UNITS * self.unit
    }

    fn is_done(&self) -> bool {
        let is_rough_enough = self.is_rough && self.residual <= Self::ROUGH_UNITS * self.unit;
        let is_good = self.error <= self.tolerance || is_rough_enough;
        let floor = Self::FLOOR_UNITS * self.unit;
        is_good || self.residual <= floor && self.since_best >= Self::PATIENCE
    }

    fn end_of_cycle(&mut self) -> Next {
        self.since_extrapolation = 0;
        if self.residual > self.before_extrapolation {
            // The extrapolation did harm, and its cycle has not made up for it.
            self.pause = self.next_pause;
            self.next_pause *= 2;
        }
        self.before_extrapolation = f64::MAX;
        if self.pause > 0 {
            self.pause -= 1;
            Next::Sweep
        } else if self.is_noise(self.residual) {
            Next::Sweep
        } else {
            self.before_extrapolation = self.residual;
            Next::Extrapolate
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_geometric_sequence_is_what_is_still_to_come() {
        let mut convergence = Convergence::new(Precision::F64, 1e-6);
        let mut residual = 1.0;
        loop {
            let next = convergence.after(residual);
            let error = residual * 0.9 / (1.0 - 0.9);
            match next {
                Next::Done => break assert!(error <= 1e-6),
                _ => assert!(error > 0.98e-6, "{error}"),
            }
            residual *= 0.9;
        }
    }

    #[test]
    fn every_cycle_of_supersteps_ends_with_an_extrapolation() {
        let mut convergence = Convergence::new(Precision::F64, 0.0);
        for superstep in 1..40 {
            let next = convergence.after(0.5f64.powi(superstep));
            let ends = (superstep as usize).is_multiple_of(DIFFERENCES);
            assert_eq!(next, if ends { Next::Extrapolate } else { Next::Sweep });
        }
    }

    #[test]
    fn extrapolations_that_do_harm_become_rare() {
        let mut convergence = Convergence::new(Precision::F64, 0.0);
        let mut extrapolations = 0;
        let mut residual = 0.1;
        for _ in 0..100 * DIFFERENCES {
            residual *= 0.99;
            if convergence.after(residual) == Next::Extrapolate {
                extrapolations += 1;
                residual *= 2.0;
            }
        }
        assert!((2..8).contains(&extrapolations), "{extrapolations}");
    }

    #[test]
    fn rounding_does_not_say_how_fast_errors_shrink() {
        let mut convergence = Convergence::new(Precision::F32, 4e-7);
        let shrinking = (1..).map(|superstep| 0.25f64.powi(superstep));
        for residual in shrinking.take_while(|&residual| residual > 2e-6) {
            assert_ne!(convergence.after(residual), Next::Done);
        }
        assert_ne!(convergence.after(5e-7), Next::Done);
        assert_ne!(convergence.after(4.9e-7), Next::Done);
        assert_eq!(convergence.after(1e-7), Next::Done);
    }

    #[test]
    fn a_residual_that_rounding_keeps_up_ends_a_step() {
        let mut convergence = Convergence::new(Precision::F64, 0.0);
        let dones = (0..100).filter(|_| convergence.after(2e-16) == Next::Done);
        assert!(dones.count() > 80);
    }
}
