//! The history of a job, for people: its events, its residuals, and where its time went.
//!
//! A history is bounded however long its job takes. Each of its parts forgets in a way of its own:
//!
//! | part | keeps |
//! | --- | --- |
//! | [`Events`] | the newest of each of two kinds: failures and the like, and what happens all the time |
//! | [`Curve`] | of a step, residuals whose superstep has at most six significant bits, the first and the last |
//! | [`Work`] | by worker, seconds in slices of time, which double in width when there are too many |
//!
//! Curves are a function of the job, as its residuals are: a step that goes back to a checkpoint draws the same curve
//! again.
//!
//! ```
//! use ziggurat_history::{Event, History, Kind, Phase, Spent};
//!
//! let mut history = History::default();
//! history.tell(Event::new(1.0, Kind::Submitted, "job 1 submitted"));
//! for superstep in 1..=1000 {
//!     history.superstep("5-4", Phase::F32, superstep, 0.9_f64.powi(superstep as i32));
//! }
//! history.spend("one", 2.0, 3.0, Spent { sweeping: 0.75, waiting: 0.25, ..Spent::default() });
//! assert_eq!(history.events.iter().count(), 1);
//! assert!(history.steps["5-4"].f32.points().len() < 250);
//! ```

mod curve;
mod events;
mod work;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use curve::{Curve, Phase, Series};
pub use events::{Event, Events, Kind, MOST_EVENTS};
pub use work::{MOST_SLICES, MOST_WORKERS, OTHERS, Spent, Work, Worked};

/// The most steps that a history has curves of; jobs have at most 120.
pub const MOST_STEPS: usize = 1024;

/// What has become of a job.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct History {
    /// What happened.
    pub events: Events,
    /// Residuals and proofs, by the step's first tier as text.
    pub steps: BTreeMap<String, Curve>,
    /// Where the time went.
    pub work: Work,
    /// Memory that the plan says one process alone would take, in bytes; 0 if that is not known.
    pub planned_memory_bytes: u64,
}

impl History {
    /// Takes note of an event.
    pub fn tell(&mut self, event: Event) {
        self.events.tell(event);
    }

    /// A superstep of a step was made in a type of values, with this residual. Later points of the step are forgotten: it has
    /// gone back to a checkpoint.
    pub fn superstep(&mut self, step: &str, phase: Phase, superstep: u32, residual: f64) {
        if let Some(curve) = self.curve(step) {
            curve.superstep(phase, superstep, residual);
        }
    }

    /// The first so many supersteps of a step were made in `f32`, the others in `f64`.
    pub fn widened(&mut self, step: &str, in_f32: u32) {
        if let Some(curve) = self.steps.get_mut(step).filter(|_| in_f32 > 0) {
            curve.widened(in_f32);
        }
    }

    /// An interval sweep of a proof was made, counted from 1; the largest distance of a bound from its value is then this.
    pub fn interval_sweep(&mut self, step: &str, sweep: u32, distance: f64) {
        if let Some(curve) = self.curve(step) {
            curve.proof.push(sweep, distance);
        }
    }

    /// A worker spent the time from one moment to another, in seconds since 1970, like this.
    pub fn spend(&mut self, worker: &str, from: f64, to: f64, spent: Spent) {
        self.work.spend(worker, from, to, spent);
    }

    fn curve(&mut self, step: &str) -> Option<&mut Curve> {
        if self.steps.len() >= MOST_STEPS && !self.steps.contains_key(step) {
            return None;
        }
        Some(self.steps.entry(step.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_the_same_after_it_was_written_down() {
        let mut history = History::default();
        history.tell(Event::new(1.5, Kind::Submitted, "job 1 submitted"));
        for superstep in 1..=300 {
            history.superstep("5-4", Phase::F32, superstep, 0.9_f64.powi(superstep as i32));
        }
        history.superstep("5-4", Phase::F64, 301, 1e-9);
        history.interval_sweep("5-4", 1, 1e-12);
        history.spend("one", 2.0, 5.0, Spent { sweeping: 3.0, ..Spent::default() });
        history.work.resides("one", 7, 9);
        let text = serde_json::to_string(&history).unwrap();
        assert_eq!(serde_json::from_str::<History>(&text).unwrap(), history);
        // What was written before there was any of it is none.
        assert_eq!(serde_json::from_str::<History>("{}").unwrap(), History::default());
    }

    #[test]
    fn however_long_a_job_takes_its_history_is_small() {
        let mut history = History::default();
        for step in 0..120 {
            for superstep in 1..=5000 {
                history.superstep(&format!("{step}-1"), Phase::F64, superstep, 1e-9);
            }
        }
        for i in 0..20_000 {
            let at = f64::from(i);
            history.tell(Event::new(at, Kind::Failure, "f".repeat(1000)));
            history.spend(&format!("worker {}", i % 100), at, at + 1.0, Spent::default());
        }
        let bytes = serde_json::to_vec(&history).unwrap().len();
        assert!(bytes < 1 << 20, "{bytes}");
    }
}
