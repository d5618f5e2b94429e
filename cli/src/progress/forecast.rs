//! How far a solve is, and how long it will take.
//!
//! The work of a step is its positions times its supersteps. A residual falls by nearly the same
//! factor in every superstep, so a step under way will need about
//! `supersteps * ln(tolerance) / ln(residual)` of them; a step that waits, about as many as those
//! before it did.

use std::collections::VecDeque;

use ziggurat_kernel::{Event, Plan};

/// Supersteps of a step before anything is known: what finkel needs on average.
const TYPICAL_SUPERSTEPS: f64 = 60.0;

/// Before this share of the work is done, the speed says little: the first steps are tiny.
const LEAST_FRACTION: f64 = 0.005;

/// The speed is that of this many seconds past.
const SPEED_WINDOW_SECONDS: f64 = 20.0;

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
    /// Seconds gone and positions swept, over all steps and supersteps, at some times past.
    swept: VecDeque<(f64, u64)>,
    latest: usize,
}

impl Forecast {
    /// Nothing has happened yet. `tolerance` is the residual at which a step ends.
    pub fn new(plan: &Plan, tolerance: f64) -> Self {
        Self {
            positions: plan.steps.iter().map(|step| step.positions).collect(),
            tolerance,
            states: vec![StepState::Waiting; plan.steps.len()],
            swept: VecDeque::from([(0.0, 0)]),
            latest: 0,
        }
    }

    /// Takes note of an event, `seconds` after the solve began.
    pub fn tell(&mut self, event: &Event, seconds: f64) {
        match *event {
            Event::StepStarted { step } => {
                self.states[step] = StepState::Active { superstep: 0, residual: 1.0 };
                self.latest = step;
            }
            Event::Superstep { step, superstep, residual, positions_swept, .. } => {
                self.states[step] = StepState::Active { superstep, residual };
                self.swept.push_back((seconds, positions_swept));
                while self.swept.len() > 2 && self.swept[1].0 < seconds - SPEED_WINDOW_SECONDS {
                    self.swept.pop_front();
                }
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

    /// Positions swept per second, of late.
    pub fn speed(&self) -> f64 {
        let ((began, before), (now, after)) = (self.swept[0], self.swept[self.swept.len() - 1]);
        (after - before) as f64 / (now - began).max(1e-9)
    }

    /// The share of all work that is done, 0..=1, as far as can be told.
    pub fn fraction(&self) -> f64 {
        let (made, needed) = self.work();
        if needed > 0.0 { made / needed } else { 0.0 }
    }

    /// Seconds left at the speed of late; `None` before that can be told.
    pub fn seconds_left(&self) -> Option<f64> {
        let (made, needed) = self.work();
        let speed = self.speed();
        (made >= LEAST_FRACTION * needed && speed > 0.0).then(|| (needed - made) / speed)
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
            swept: VecDeque::from([(0.0, 0)]),
            latest: 0,
        }
    }

    #[test]
    fn waiting_steps_are_expected_to_need_what_finished_ones_did() {
        let mut forecast = forecast(&[100, 300]);
        forecast.states[0] = StepState::Done { supersteps: 40 };
        assert_eq!(forecast.fraction(), 0.25);
        forecast.swept.push_back((10.0, 4000));
        assert_eq!(forecast.seconds_left(), Some(30.0));
    }

    #[test]
    fn half_the_digits_are_half_the_supersteps() {
        let mut forecast = forecast(&[100]);
        forecast.states[0] = StepState::Active { superstep: 20, residual: 1e-6 };
        assert!((forecast.fraction() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn the_speed_is_that_of_late() {
        let mut forecast = forecast(&[1_000_000]);
        for second in 1..=100u32 {
            let swept =
                if second <= 50 { u64::from(second) } else { 50 + 1000 * u64::from(second - 50) };
            let event = Event::Superstep {
                step: 0,
                superstep: second,
                residual: 0.1,
                positions_swept: swept,
            };
            forecast.tell(&event, f64::from(second));
        }
        assert!((forecast.speed() - 1000.0).abs() < 1.0);
    }

    #[test]
    fn a_solve_that_has_not_begun_has_no_time_left_to_tell() {
        assert_eq!(forecast(&[5, 5]).seconds_left(), None);
        assert_eq!(forecast(&[5, 5]).fraction(), 0.0);
    }
}
