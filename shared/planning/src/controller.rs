//! The controller of a step: the control loop of an iterative method, without the iteration.
//!
//! A step is swept in `f32` first, to about the precision of `f32`, then in `f64`, then proven; a proof that
//! fails sends it back. A [`StepController`] decides all of this from residuals and proofs alone: it holds no
//! values and does nothing itself. It gives [orders](Order) and takes their [outcomes](Outcome), so it is
//! the same in one process and on many machines, and written down it is all that is needed, beside
//! the values, to go on.

use serde::{Deserialize, Serialize};

use crate::{
    convergence::{Convergence, Next},
    correction::Corrected,
    galerkin::SAMPLE_QUANTA,
    goal::Goal,
    order::{Order, Outcome},
    proof::{Certificate, Growth, Proof, USELESS_BOUND, Verdict},
    quanta::{QUANTUM_EXPONENTS, exponent_of},
    settings::Precision,
    statistics::TierStatistics,
    weights::{CycleSlot, DIFFERENCES, multiples},
};

/// The finest quantum that changes are published in is smaller than the last residual by so many powers of two, for
/// each superstep of a cycle: the remainder of the last one is in the way of the extrapolation.
const FINEST_BITS: [i32; DIFFERENCES] = [13, 13, 13, 15];

/// The residuals of sampled values are counted in a quantum that is smaller than the last residual by so many powers
/// of two.
const SAMPLE_BITS: i32 = 20;

/// In place of the last residual before the first superstep.
const FIRST_RESIDUAL: f64 = 0.25;

/// How much smaller the estimated error has to be if a proof failed.
const TRY_HARDER: f64 = 4.0;

/// Decides the next order of a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepController {
    goal: Goal,
    /// The next order; `None` if the step is solved.
    order: Option<Order>,
    precision: Precision,
    convergence: Convergence,
    /// The next superstep in its cycle.
    slot: CycleSlot,
    /// Whether the next extrapolation has a restart point to look at.
    has_restart: bool,
    statistics: TierStatistics,
}

impl StepController {
    /// The type in which every step begins.
    pub const FIRST: Precision = Precision::F32;

    /// The controller of a step of which nothing is known yet.
    pub fn new(goal: Goal) -> Self {
        let convergence = match goal.precision {
            Precision::F32 => Convergence::new(Precision::F32, goal.error),
            Precision::F64 => Convergence::rough(goal.error),
        };
        let mut this = Self {
            goal,
            order: None,
            precision: Self::FIRST,
            convergence,
            slot: CycleSlot::FIRST,
            has_restart: false,
            statistics: TierStatistics::default(),
        };
        let is_corrected = this.goal.corrected != Corrected::Never;
        this.order = Some(if is_corrected { this.sample() } else { this.sweep() });
        this
    }

    /// The next order; `None` if the step is solved.
    pub fn order(&self) -> Option<Order> {
        self.order.clone()
    }

    /// Whether this is a place to go on from later, with the values, [`StepController::vectors`] and
    /// [`StepController::offsets`].
    pub fn can_be_saved(&self) -> bool {
        matches!(self.order, Some(Order::Sweep { .. } | Order::Prove(_)))
    }

    /// The type of the values at the moment.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// How many of the vectors of changes, the first ones, are to be remembered for the next extrapolation.
    pub fn vectors(&self) -> usize {
        match self.order {
            Some(Order::Sweep { slot, .. }) if slot > CycleSlot::FIRST || self.has_restart => {
                slot.vector()
            }
            // Before a proof, they are forgotten.
            _ => 0,
        }
    }

    /// Whether there is as little to be remembered as there ever is of such a step: between two cycles, or before a proof.
    pub fn is_light(&self) -> bool {
        self.vectors() <= CycleSlot::FIRST.vector() && !self.offsets()
    }

    /// Whether the offsets of a proof are to be remembered.
    pub fn offsets(&self) -> bool {
        self.proof().is_some_and(|proof| proof.sweeps() > 0)
    }

    /// The proof under way.
    pub fn proof(&self) -> Option<&Proof> {
        match &self.order {
            Some(Order::Prove(proof)) => Some(proof),
            _ => None,
        }
    }

    /// The statistics so far.
    pub fn statistics(&self) -> &TierStatistics {
        &self.statistics
    }

    /// Takes note of the outcome of the last order.
    ///
    /// # Panics
    /// If it is not an outcome of that order.
    pub fn apply(&mut self, outcome: Outcome) {
        *self = self.after(outcome).expect("an outcome of the last order");
    }

    /// Whether [`StepController::apply`] can take an outcome.
    pub fn expects(&self, outcome: &Outcome) -> bool {
        self.after(outcome.clone()).is_some()
    }

    /// The controller after an outcome; `None` if it is none of the last order.
    fn after(&self, outcome: Outcome) -> Option<Self> {
        let mut next = self.clone();
        next.order = match (next.order.take()?, outcome) {
            (Order::Sweep { .. }, Outcome::Swept(residual)) => next.after_superstep(residual),
            (Order::Measure, Outcome::Measured(products)) => {
                let multiples = multiples(products, std::mem::take(&mut next.has_restart));
                let extrapolate = multiples.map(|multiples| Order::Extrapolate { multiples });
                extrapolate.or_else(|| Some(next.correct_or_sweep()))
            }
            (Order::Extrapolate { .. }, Outcome::Done) => {
                next.has_restart = true;
                Some(next.correct_or_sweep())
            }
            (Order::Sample { quantum }, Outcome::Sampled(system))
                if system.functions() == self.goal.functions =>
            {
                let correct = system.solve(quantum).map(|multiples| Order::Correct { multiples });
                correct.or_else(|| Some(next.sweep()))
            }
            (Order::Correct { .. }, Outcome::Done) => Some(next.sweep()),
            (Order::Widen, Outcome::Done) => {
                next.precision = Precision::F64;
                next.sweep_again()
            }
            (Order::Prove(proof), Outcome::Proved(growth)) => {
                next.after_interval_sweep(proof, growth)
            }
            _ => return None,
        };
        Some(next)
    }

    /// A superstep was made, and this was its largest change.
    fn after_superstep(&mut self, residual: f64) -> Option<Order> {
        self.statistics.supersteps = self.statistics.supersteps.saturating_add(1);
        self.statistics.residual = residual;
        // Differences are kept slot by slot, whether they are extrapolated from or not.
        self.slot = self.slot.next();
        let next = self.convergence.after(residual);
        self.statistics.error_estimate =
            self.goal.estimate(self.convergence.error, residual, self.precision);
        match next {
            Next::Sweep => {
                if self.slot == CycleSlot::FIRST {
                    self.has_restart = false; // the cycle ends without an extrapolation
                }
                Some(self.correct_or_sweep())
            }
            Next::Extrapolate => Some(Order::Measure),
            Next::Done if self.precision != self.goal.precision => {
                self.statistics.supersteps_in_f32 = self.statistics.supersteps;
                Some(Order::Widen)
            }
            Next::Done if self.goal.certified => self.prove(),
            Next::Done => None,
        }
    }

    /// The next order when there is to be one more superstep.
    fn correct_or_sweep(&self) -> Order {
        match self.goal.corrected {
            Corrected::Always => self.sample(),
            Corrected::Never | Corrected::AtFirst => self.sweep(),
        }
    }

    fn sweep(&self) -> Order {
        let exponent = self.residual_exponent() - FINEST_BITS[self.slot.before()];
        let finest = exponent.clamp(*QUANTUM_EXPONENTS.start(), *QUANTUM_EXPONENTS.end());
        Order::Sweep { slot: self.slot, finest }
    }

    /// A coarse correction begins.
    fn sample(&self) -> Order {
        let exponent = self.residual_exponent() - SAMPLE_BITS;
        Order::Sample { quantum: exponent.clamp(*SAMPLE_QUANTA.start(), *SAMPLE_QUANTA.end()) }
    }

    /// The exponent of the last residual.
    fn residual_exponent(&self) -> i32 {
        exponent_of(match self.statistics.supersteps {
            0 => FIRST_RESIDUAL,
            _ => self.statistics.residual,
        })
    }

    fn sweep_again(&mut self) -> Option<Order> {
        self.convergence = Convergence::new(self.precision, self.goal.error);
        (self.slot, self.has_restart) = (CycleSlot::FIRST, false);
        Some(self.sweep())
    }

    fn prove(&mut self) -> Option<Order> {
        match Proof::new(self.goal.bound, self.goal.read) {
            Some(proof) => Some(Order::Prove(proof)),
            None => self.refused(),
        }
    }

    /// An interval sweep was made, with this growth.
    fn after_interval_sweep(&mut self, mut proof: Proof, growth: Growth) -> Option<Order> {
        match proof.after(growth) {
            Verdict::Sweep => Some(Order::Prove(proof)),
            Verdict::Refused => self.refused(),
            Verdict::Proven(certificate) => self.end_with(Some(certificate)),
        }
    }

    fn refused(&mut self) -> Option<Order> {
        let Goal { bound, error, read, .. } = &mut self.goal;
        if *bound >= USELESS_BOUND {
            return self.end_with(None);
        }
        let (unit, estimate) = (self.precision.unit(), self.convergence.error);
        if (f64::MIN_POSITIVE..=*error).contains(&estimate) && *error > unit {
            *error = estimate / TRY_HARDER;
            self.sweep_again()
        } else {
            // Rounding and the length of the game allow no less: prove a looser bound, twice as far beyond those that
            // are read.
            *bound = (*bound + (*bound - *read).max(unit)).max(bound.next_up());
            self.prove()
        }
    }

    fn end_with(&mut self, certificate: Option<Certificate>) -> Option<Order> {
        self.statistics.certificate = certificate;
        None
    }
}
