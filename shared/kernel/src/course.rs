//! The course of a step: what is to be done next, and what that depends on.
//!
//! A step is swept in `f32` first, to about what `f32` can tell, then in `f64`, then proven; a proof that
//! fails sends it back. A [`Course`] decides all of this from residuals and proofs alone: it holds no
//! values and does nothing itself, so it is the same in one process and on many machines, and
//! written down it is all that is needed, beside the values, to go on.

use serde::{Deserialize, Serialize};

use crate::{
    accelerate::DIFFERENCES,
    certificate::{Certificate, Growth, Proof, Verdict},
    convergence::{Convergence, Next},
    solve::{Precision, TierStatistics},
};

/// What is to be done next for a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Task {
    /// A superstep, or if there are no values yet, one that starts from one half everywhere.
    Sweep,
    /// An extrapolation from the last supersteps.
    Extrapolate,
    /// The conversion of all values from `f32` to `f64`.
    Widen,
    /// An interval sweep.
    Prove,
    /// Nothing: the step is solved.
    Done,
}

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
}

/// How much smaller the estimated error has to be if a proof failed.
const TRY_HARDER: f64 = 8.0;

/// Decides what is done for a step.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Course {
    goal: Goal,
    task: Task,
    precision: Precision,
    convergence: Convergence,
    /// The place of the next superstep in its row.
    row: usize,
    proof: Option<Proof>,
    statistics: TierStatistics,
}

impl Course {
    /// The course of a step of which nothing is known yet.
    pub fn new(goal: Goal) -> Self {
        let convergence = match goal.precision {
            Precision::F32 => Convergence::new(Precision::F32, goal.error),
            Precision::F64 => Convergence::rough(goal.error),
        };
        Self {
            goal,
            task: Task::Sweep,
            precision: Precision::F32,
            convergence,
            row: 0,
            proof: None,
            statistics: TierStatistics::default(),
        }
    }

    /// What is to be done next.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The type of the values at the moment.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// How many of the last supersteps are to be remembered for the next extrapolation, or all of
    /// them if it is due: the place of the next one in their row.
    pub fn row(&self) -> usize {
        self.row
    }

    /// The proof under way.
    pub fn proof(&self) -> Option<&Proof> {
        self.proof.as_ref()
    }

    /// What can be said so far.
    pub fn statistics(&self) -> &TierStatistics {
        &self.statistics
    }

    /// A superstep was made, and this was its largest change.
    pub fn swept(&mut self, residual: f64) {
        self.statistics.supersteps += 1;
        self.statistics.residual = residual;
        // Rows of differences are kept in turn, whether they are extrapolated from or not.
        self.row = (self.row + 1) % DIFFERENCES;
        let next = self.convergence.after(residual);
        self.statistics.error_estimate = self.convergence.error;
        self.task = match next {
            Next::Sweep => Task::Sweep,
            Next::Extrapolate => Task::Extrapolate,
            Next::Done if self.precision != self.goal.precision => Task::Widen,
            Next::Done if self.goal.certified => return self.prove(),
            Next::Done => Task::Done,
        };
        if self.task == Task::Widen {
            self.statistics.supersteps_in_f32 = self.statistics.supersteps;
        }
    }

    /// An extrapolation was made.
    pub fn extrapolated(&mut self) {
        (self.row, self.task) = (0, Task::Sweep);
    }

    /// The values are `f64` now.
    pub fn widened(&mut self) {
        self.precision = Precision::F64;
        self.sweep_again();
    }

    fn sweep_again(&mut self) {
        self.convergence = Convergence::new(self.precision, self.goal.error);
        (self.row, self.task) = (0, Task::Sweep);
    }

    fn prove(&mut self) {
        self.proof = Proof::new(self.goal.bound, self.goal.read);
        self.task = Task::Prove;
        if self.proof.is_none() {
            self.refused();
        }
    }

    /// An interval sweep was made, and this is what it did.
    ///
    /// # Panics
    /// If no proof is under way.
    pub fn proved(&mut self, growth: Growth) {
        match self.proof.as_mut().expect("a proof is under way").after(growth) {
            Verdict::Sweep => {}
            Verdict::Refused => self.refused(),
            Verdict::Proven(certificate) => self.end_with(Some(certificate)),
        }
    }

    fn refused(&mut self) {
        let Goal { bound, error, .. } = &mut self.goal;
        if *bound >= 1.0 {
            return self.end_with(None);
        }
        if self.convergence.error <= *error && *error > self.precision.epsilon() {
            *error /= TRY_HARDER;
        } else {
            // Rounding allows no less: prove what can be proven.
            *bound *= 2.0;
        }
        self.proof = None;
        self.sweep_again();
    }

    fn end_with(&mut self, certificate: Option<Certificate>) {
        self.statistics.certificate = certificate;
        (self.proof, self.task) = (None, Task::Done);
    }
}
