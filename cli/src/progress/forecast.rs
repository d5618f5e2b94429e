//! How far a solve is, and how long it will take.
//!
//! The work of a step is its positions times its supersteps. A residual falls by nearly the same
//! factor in every superstep, so a step under way will need about
//! `supersteps * ln(tolerance) / ln(residual)` of them; a step that waits, about as many as those
//! before it did.

use ziggurat_kernel::{Event, Plan};

/// Supersteps of a step before anything is known: what finkel needs on average.
const TYPICAL_SUPERSTEPS: f64 = 60.0;

/// The state of a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum StepState {
    /// Not begun.
    Waiting,
    /// Being swept.
    Active {
        /// Supersteps made.
        superstep: u32,
        /// The residual of the last one.
        residual: f64,
    },
    /// Solved.
    Done {
        /// Supersteps it took.
        supersteps: u32,
    },
}

/// What is known about a solve under way.
pub struct Forecast {
    positions: Vec<u64>,
    tolerance: f64,
    states: Vec<StepState>,
    positions_swept: u64,
    latest: usize,
}

impl Forecast {
    /// Nothing has happened yet. `tolerance` is the residual at which a step ends.
    pub fn new(plan: &Plan, tolerance: f64) -> Self {
        Self {
            positions: plan.steps.iter().map(|step| step.positions).collect(),
            tolerance,
            states: vec![StepState::Waiting; plan.steps.len()],
            positions_swept: 0,
            latest: 0,
        }
    }

    /// Takes note of an event.
    pub fn tell(&mut self, event: &Event) {
        match *event {
            Event::StepStarted { step } => {
                self.states[step] = StepState::Active { superstep: 0, residual: 1.0 };
                self.latest = step;
            }
            Event::Superstep { step, superstep, residual, positions_swept, .. } => {
                self.states[step] = StepState::Active { superstep, residual };
                self.positions_swept = positions_swept;
                self.latest = step;
            }
            Event::StepFinished { step, .. } => {
                if let StepState::Active { superstep, .. } = self.states[step] {
                    self.states[step] = StepState::Done { supersteps: superstep };
                }
            }
        }
    }

    /// The states of all steps, in the order of the plan.
    pub fn states(&self) -> &[StepState] {
        &self.states
    }

    /// The step of the latest event.
    pub fn latest(&self) -> usize {
        self.latest
    }

    /// Steps solved.
    pub fn done(&self) -> usize {
        self.states.iter().filter(|state| matches!(state, StepState::Done { .. })).count()
    }

    /// Positions swept so far, over all steps and supersteps.
    pub fn positions_swept(&self) -> u64 {
        self.positions_swept
    }

    /// The share of all work that is done, 0..=1, as far as can be told.
    pub fn fraction(&self) -> f64 {
        let (made, needed) = self.work();
        if needed > 0.0 { made / needed } else { 0.0 }
    }

    /// Seconds left at the speed so far; `None` before there is one.
    pub fn seconds_left(&self, seconds_gone: f64) -> Option<f64> {
        let (made, needed) = self.work();
        (made > 0.0).then(|| seconds_gone * (needed - made) / made)
    }

    /// Position-sweeps made, and those needed in all.
    fn work(&self) -> (f64, f64) {
        let known: Vec<(f64, f64)> =
            self.states.iter().map(|&state| self.supersteps(state)).collect();
        let (weight, sum) = known
            .iter()
            .zip(&self.positions)
            .filter(|((made, _), _)| *made > 0.0)
            .fold((0.0, 0.0), |(weight, sum), ((_, needed), &positions)| {
                (weight + positions as f64, sum + needed * positions as f64)
            });
        let expected = if weight > 0.0 { sum / weight } else { TYPICAL_SUPERSTEPS };
        let mut work = (0.0, 0.0);
        for (&(made, needed), &positions) in known.iter().zip(&self.positions) {
            let needed = if made > 0.0 { needed } else { expected };
            work.0 += made * positions as f64;
            work.1 += needed * positions as f64;
        }
        work
    }

    /// Supersteps made, and those needed in all.
    fn supersteps(&self, state: StepState) -> (f64, f64) {
        match state {
            StepState::Waiting => (0.0, TYPICAL_SUPERSTEPS),
            StepState::Done { supersteps } => (f64::from(supersteps), f64::from(supersteps)),
            StepState::Active { superstep, residual } => {
                let made = f64::from(superstep);
                let ratio = self.tolerance.ln() / residual.ln();
                let needed = if residual < 0.1 && ratio.is_finite() && residual > 0.0 {
                    made * ratio
                } else {
                    TYPICAL_SUPERSTEPS
                };
                (made, needed.max(made + 1.0))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast(positions: &[u64]) -> Forecast {
        Forecast {
            positions: positions.to_vec(),
            tolerance: 1e-12,
            states: vec![StepState::Waiting; positions.len()],
            positions_swept: 0,
            latest: 0,
        }
    }

    #[test]
    fn waiting_steps_are_expected_to_need_what_finished_ones_did() {
        let mut forecast = forecast(&[100, 300]);
        forecast.states[0] = StepState::Done { supersteps: 40 };
        assert_eq!(forecast.fraction(), 0.25);
        assert_eq!(forecast.seconds_left(10.0), Some(30.0));
    }

    #[test]
    fn half_the_digits_are_half_the_supersteps() {
        let mut forecast = forecast(&[100]);
        forecast.states[0] = StepState::Active { superstep: 20, residual: 1e-6 };
        assert!((forecast.fraction() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_solve_that_has_not_begun_has_no_time_left_to_tell() {
        assert_eq!(forecast(&[5, 5]).seconds_left(1.0), None);
        assert_eq!(forecast(&[5, 5]).fraction(), 0.0);
    }
}
