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
    galerkin::{SAMPLE_QUANTA, SampleQuery},
    goal::Goal,
    order::{Order, Outcome},
    proof::{Certificate, Growth, Proof, USELESS_BOUND, Verdict},
    quanta::{QUANTUM_EXPONENTS, exponent_of},
    settings::Precision,
    statistics::TierStatistics,
    weights::{CycleSlot, DIFFERENCES, Multiples, multiples},
};

/// Which of the orders is next.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
enum Task {
    Sweep,
    Measure,
    Extrapolate(Multiples),
    Sample(SampleQuery),
    Correct(Vec<f64>),
    Widen,
    Prove,
    Done,
}

/// The finest unit that changes are published in is smaller than the last residual by so many powers of two, for
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
    task: Task,
    precision: Precision,
    convergence: Convergence,
    /// The next superstep in its cycle.
    row: CycleSlot,
    /// Whether the next extrapolation has a restart point to look at.
    has_earlier: bool,
    proof: Option<Proof>,
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
            task: Task::Sweep,
            precision: Self::FIRST,
            convergence,
            row: CycleSlot::FIRST,
            has_earlier: false,
            proof: None,
            statistics: TierStatistics::default(),
        };
        if this.goal.corrected != Corrected::Never {
            this.task = this.ask_what_is_missing();
        }
        this
    }

    /// The next order; `None` if the step is solved.
    pub fn order(&self) -> Option<Order> {
        let (slot, finest) = (self.row, self.finest());
        Some(match &self.task {
            Task::Sweep => Order::Sweep { slot, finest },
            Task::Measure => Order::Measure,
            &Task::Extrapolate(multiples) => Order::Extrapolate { multiples },
            &Task::Sample(query) => Order::Sample(query),
            Task::Correct(multiples) => Order::Correct { multiples: multiples.clone() },
            Task::Widen => Order::Widen,
            Task::Prove => Order::Prove(self.proof.clone().expect("a proof is under way")),
            Task::Done => return None,
        })
    }

    /// The residual of the last superstep.
    fn last_residual(&self) -> f64 {
        match self.statistics.supersteps {
            0 => FIRST_RESIDUAL,
            _ => self.statistics.residual,
        }
    }

    /// The finest unit of changes that is worth having, by its exponent: a small part of the last residual.
    fn finest(&self) -> i32 {
        (exponent_of(self.last_residual()) - FINEST_BITS[self.row.before()])
            .clamp(*QUANTUM_EXPONENTS.start(), *QUANTUM_EXPONENTS.end())
    }

    /// The quantum of the residuals of sampled values, by its exponent.
    fn sample_quantum(&self) -> i32 {
        (exponent_of(self.last_residual()) - SAMPLE_BITS)
            .clamp(*SAMPLE_QUANTA.start(), *SAMPLE_QUANTA.end())
    }

    /// Whether this is a place to go on from later, with the values, [`StepController::vectors`] and
    /// [`StepController::offsets`].
    pub fn can_be_saved(&self) -> bool {
        matches!(self.task, Task::Sweep | Task::Prove)
    }

    /// The type of the values at the moment.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// How many of the vectors of changes, the first ones, are to be remembered for the next extrapolation.
    pub fn vectors(&self) -> usize {
        // Before a proof, they are forgotten.
        let are_needed =
            self.task == Task::Sweep && (self.row > CycleSlot::FIRST || self.has_earlier);
        if are_needed { self.row.vector() } else { 0 }
    }

    /// Whether the offsets of a proof are to be remembered.
    pub fn offsets(&self) -> bool {
        self.proof().is_some_and(|proof| proof.sweeps() > 0)
    }

    /// The proof under way.
    pub fn proof(&self) -> Option<&Proof> {
        self.proof.as_ref()
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
        match (&self.task, outcome) {
            (Task::Sweep, Outcome::Swept(residual)) => self.swept(residual),
            (Task::Measure, Outcome::Measured(products)) => {
                let multiples = multiples(products, self.has_earlier);
                self.has_earlier = false;
                self.task = multiples.map_or_else(|| self.correct_or_sweep(), Task::Extrapolate);
            }
            (Task::Extrapolate(_), Outcome::Done) => {
                self.has_earlier = true;
                self.task = self.correct_or_sweep();
            }
            (&Task::Sample(query), Outcome::Sampled(system)) => {
                let multiples = system.solve(query);
                match query {
                    SampleQuery::Correction { .. } => {
                        self.task = multiples.map_or(Task::Sweep, Task::Correct);
                    }
                    SampleQuery::Turns => self.prove_with(multiples.unwrap_or_default()),
                }
            }
            (Task::Correct(_), Outcome::Done) => self.task = Task::Sweep,
            (Task::Widen, Outcome::Done) => {
                self.precision = Precision::F64;
                self.sweep_again();
            }
            (Task::Prove, Outcome::Proved(growth)) => self.proved(growth),
            (task, outcome) => panic!("{outcome:?} is no outcome of {task:?}"),
        }
    }

    /// Whether [`StepController::apply`] can take an outcome.
    pub fn expects(&self, outcome: &Outcome) -> bool {
        if let (Task::Sample(_), Outcome::Sampled(system)) = (&self.task, outcome) {
            return system.functions() == self.goal.functions;
        }
        matches!(
            (&self.task, outcome),
            (Task::Sweep, Outcome::Swept(_))
                | (Task::Measure, Outcome::Measured(_))
                | (Task::Extrapolate(_) | Task::Correct(_) | Task::Widen, Outcome::Done)
                | (Task::Prove, Outcome::Proved(_))
        )
    }

    /// A superstep was made, and this was its largest change.
    fn swept(&mut self, residual: f64) {
        self.statistics.supersteps = self.statistics.supersteps.saturating_add(1);
        self.statistics.residual = residual;
        // Differences are kept slot by slot, whether they are extrapolated from or not.
        self.row = self.row.next();
        let next = self.convergence.after(residual);
        self.statistics.error_estimate =
            self.goal.estimate(self.convergence.error, residual, self.precision);
        if next == Next::Sweep && self.row == CycleSlot::FIRST {
            self.has_earlier = false; // the cycle ends without an extrapolation
        }
        self.task = match next {
            Next::Sweep => self.correct_or_sweep(),
            Next::Extrapolate => Task::Measure,
            Next::Done if self.precision != self.goal.precision => Task::Widen,
            Next::Done if self.goal.certified => return self.prove(),
            Next::Done => Task::Done,
        };
        if self.task == Task::Widen {
            self.statistics.supersteps_in_f32 = self.statistics.supersteps;
        }
    }

    /// The next order when there is to be one more superstep.
    fn correct_or_sweep(&self) -> Task {
        match self.goal.corrected {
            Corrected::Always => self.ask_what_is_missing(),
            Corrected::Never | Corrected::AtFirst => Task::Sweep,
        }
    }

    /// A coarse correction begins.
    fn ask_what_is_missing(&self) -> Task {
        Task::Sample(SampleQuery::Correction { quantum: self.sample_quantum() })
    }

    fn sweep_again(&mut self) {
        self.convergence = Convergence::new(self.precision, self.goal.error);
        (self.row, self.has_earlier, self.task) = (CycleSlot::FIRST, false, Task::Sweep);
    }

    fn prove(&mut self) {
        match self.goal.corrected {
            Corrected::Always => self.task = Task::Sample(SampleQuery::Turns),
            Corrected::Never | Corrected::AtFirst => self.prove_with(Vec::new()),
        }
    }

    /// Begins a proof that starts with larger offsets where the step goes on for more turns, if that is known.
    fn prove_with(&mut self, turns: Vec<f64>) {
        self.proof = Proof::with_turns(self.goal.bound, self.goal.read, turns);
        self.task = Task::Prove;
        if self.proof.is_none() {
            self.refused();
        }
    }

    /// An interval sweep was made, with this growth.
    fn proved(&mut self, growth: Growth) {
        match self.proof.as_mut().expect("a proof is under way").after(growth) {
            Verdict::Sweep => {}
            Verdict::Refused => self.refused(),
            Verdict::Proven(certificate) => self.end_with(Some(certificate)),
        }
    }

    fn refused(&mut self) {
        let Goal { bound, error, read, .. } = &mut self.goal;
        if *bound >= USELESS_BOUND {
            return self.end_with(None);
        }
        let (unit, estimate) = (self.precision.unit(), self.convergence.error);
        if (f64::MIN_POSITIVE..=*error).contains(&estimate) && *error > unit {
            *error = estimate / TRY_HARDER;
            self.proof = None;
            self.sweep_again();
        } else {
            // Rounding and the length of the game allow no less: prove a looser bound, twice as far beyond those that
            // are read.
            *bound = (*bound + (*bound - *read).max(unit)).max(bound.next_up());
            self.prove();
        }
    }

    fn end_with(&mut self, certificate: Option<Certificate>) {
        self.statistics.certificate = certificate;
        (self.proof, self.task) = (None, Task::Done);
    }
}
