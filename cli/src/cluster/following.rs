//! A job as it was seen so far, with its forecast.

use ziggurat_rpc::proto::{ClusterStatus, JobState, JobStatus, StepState as State, StepStatus};

use super::words;
use crate::progress::forecast::{Forecast, StepState};

/// What is known of a job that is being followed.
pub struct Following {
    /// Where its coordinator listens.
    pub coordinator: String,
    /// The job as it was told last.
    pub status: Option<ClusterStatus>,
    /// What is to be expected of it.
    pub forecast: Option<Forecast>,
    /// Why nothing is heard of it at the moment.
    pub silence: Option<String>,
}

impl Following {
    /// Nothing is known yet.
    pub fn new(coordinator: &str) -> Self {
        Self { coordinator: coordinator.to_owned(), status: None, forecast: None, silence: None }
    }

    /// The job, as far as it is known.
    pub fn job(&self) -> Option<&JobStatus> {
        self.status.as_ref()?.job.as_ref()
    }

    /// Whether the job goes on, as far as is known. What is measured of its speed is true only then.
    pub fn goes_on(&self) -> bool {
        let is_running = self.job().is_some_and(|job| job.state() == JobState::Running);
        let mut steps = self.status.iter().flat_map(|status| &status.steps);
        self.silence.is_none() && is_running && steps.any(|step| step.state() == State::Running)
    }

    /// Takes note of what the coordinator tells.
    pub fn hear(&mut self, status: ClusterStatus) {
        let job = status.job.clone().unwrap_or_default();
        let known = self.forecast.take();
        let fits = |known: &Forecast| known.states().len() == status.steps.len();
        let mut forecast = known.filter(fits).unwrap_or_else(|| {
            let steps = status.steps.iter().map(|step| (words::step_tier(step), step.positions));
            let spec = job.spec.clone().unwrap_or_default();
            Forecast::new(steps.collect(), spec.tolerance, spec.certified)
        });
        for (step, now) in status.steps.iter().enumerate() {
            forecast.see(step, state(now));
        }
        forecast.swept(job.seconds, job.swept_positions);
        forecast.time(job.seconds);
        self.forecast = Some(forecast);
        self.silence = None;
        self.status = Some(status);
    }
}

fn state(step: &StepStatus) -> StepState {
    let superstep = step.supersteps;
    match step.state() {
        State::Solved => StepState::Done { supersteps: superstep },
        State::Running if step.interval_sweeps > 0 => {
            StepState::Proving { superstep, sweep: step.interval_sweeps }
        }
        State::Running if superstep > 0 => StepState::Active { superstep, residual: step.residual },
        State::Running => StepState::Active { superstep: 0, residual: 1.0 },
        // What is told of a step that waits for its workers is where it will go on.
        State::Waiting | State::Unspecified => StepState::Waiting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_is_followed_has_speed_and_time_left() {
        let mut following = Following::new("a:1");
        let mut status = words::samples::under_way();
        following.hear(status.clone());
        for _ in 0..3 {
            let job = status.job.as_mut().unwrap();
            job.seconds += 15.0;
            job.swept_positions += 15 * 62_000_000;
            status.steps[4].supersteps += 1;
            status.steps[4].residual /= 2.0;
            following.hear(status.clone());
        }
        let forecast = following.forecast.as_ref().unwrap();
        assert_eq!(forecast.speed(), 62e6);
        assert_eq!(forecast.residuals(4)[..2], [(12, 3.4e-7), (13, 1.7e-7)]);
        assert!(forecast.seconds_left().unwrap() > 0.0);
        let is_done = |state: &&StepState| matches!(state, StepState::Done { .. });
        assert_eq!(forecast.states().iter().filter(is_done).count(), 4);
    }

    #[test]
    fn a_job_that_waits_is_paused_or_not_heard_of_does_not_go_on() {
        let mut following = Following::new("a:1");
        assert!(!following.goes_on());
        let mut status = words::samples::under_way();
        following.hear(status.clone());
        assert!(following.goes_on(), "one worker keeps the others waiting");
        status.steps[4].state = State::Waiting.into();
        following.hear(status.clone());
        assert!(!following.goes_on(), "no step is worked on");
        status.steps[4].state = State::Running.into();
        following.hear(status.clone());
        assert!(following.goes_on());
        following.silence = Some("connection refused".to_owned());
        assert!(!following.goes_on());
        status.job.as_mut().unwrap().state = JobState::Paused.into();
        following.hear(status);
        assert!(!following.goes_on());
    }
}
