//! What happened to a job: the newest events, of two kinds.
//!
//! Attempts begin and checkpoints are saved all the time. They have a ring of their own, so that they do not push out
//! what is rare and asked for later: failures, losses, and who cancelled.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// So many events of each kind are kept.
pub const MOST_EVENTS: usize = 256;

/// The most bytes of a text; the rest is left out.
const MOST_BYTES: usize = 500;

/// The kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The job was submitted.
    Submitted,
    /// An attempt at a step begins.
    Begun,
    /// A checkpoint is complete.
    Saved,
    /// A step is solved.
    StepSolved,
    /// An attempt is over: why, the text says.
    Over,
    /// A worker could not do its part, or did not answer.
    Failure,
    /// Saved values are lost, or given up.
    Lost,
    /// A worker came, went, or wants to leave.
    Worker,
    /// Somebody paused the job.
    Paused,
    /// Somebody resumed it.
    Resumed,
    /// The job that it waits for has ended.
    After,
    /// All of it is solved.
    Solved,
    /// It failed.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Submitted,
        Self::Begun,
        Self::Saved,
        Self::StepSolved,
        Self::Over,
        Self::Failure,
        Self::Lost,
        Self::Worker,
        Self::Paused,
        Self::Resumed,
        Self::After,
        Self::Solved,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Its name in JSON and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Begun => "begun",
            Self::Saved => "saved",
            Self::StepSolved => "step-solved",
            Self::Over => "over",
            Self::Failure => "failure",
            Self::Lost => "lost",
            Self::Worker => "worker",
            Self::Paused => "paused",
            Self::Resumed => "resumed",
            Self::After => "after",
            Self::Solved => "solved",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether such events happen all the time.
    pub fn is_routine(self) -> bool {
        matches!(self, Self::Begun | Self::Saved | Self::StepSolved | Self::Over)
    }
}

/// Something that happened.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Counts up from 1 in a job; 0 before it is told.
    pub number: u64,
    /// When, in seconds since 1970.
    pub at: f64,
    /// Its kind.
    pub kind: Kind,
    /// For people.
    pub text: String,
    /// The step's first tier, if it is about a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The attempt; 0 for none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub attempt: u32,
    /// The checkpoint; 0 for none.
    #[serde(default, skip_serializing_if = "is_none")]
    pub epoch: u32,
    /// The name of the worker, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Who asked for it, if somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

impl Event {
    /// An event about nothing in particular.
    pub fn new(at: f64, kind: Kind, text: impl Into<String>) -> Self {
        let (step, worker, by) = (None, None, None);
        Self { number: 0, at, kind, text: text.into(), step, attempt: 0, epoch: 0, worker, by }
    }
}

/// The newest events.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Events {
    /// How many there ever were.
    count: u64,
    routine: VecDeque<Event>,
    rare: VecDeque<Event>,
}

impl Events {
    /// Adds an event, and gives it its number.
    pub fn tell(&mut self, mut event: Event) {
        self.count += 1;
        event.number = self.count;
        if event.text.len() > MOST_BYTES {
            event.text.truncate(event.text.floor_char_boundary(MOST_BYTES));
            event.text.push('…');
        }
        let ring = if event.kind.is_routine() { &mut self.routine } else { &mut self.rare };
        if ring.len() >= MOST_EVENTS {
            ring.pop_front();
        }
        ring.push_back(event);
    }

    /// Events as they were told elsewhere, with their numbers, and how many there ever were.
    pub fn from_parts(count: u64, events: impl IntoIterator<Item = Event>) -> Self {
        let (routine, rare) = events.into_iter().partition(|event| event.kind.is_routine());
        Self { count, routine, rare }
    }

    /// Those that are kept, in the order in which they happened.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        let mut all: Vec<&Event> = self.routine.iter().chain(&self.rare).collect();
        all.sort_by_key(|event| event.number);
        all.into_iter()
    }

    /// How many there ever were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many are kept no more.
    pub fn left_out(&self) -> u64 {
        self.count.saturating_sub((self.routine.len() + self.rare.len()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rare_outlives_what_happens_all_the_time() {
        let mut events = Events::default();
        events.tell(Event::new(1.0, Kind::Failure, "the disk of one is full"));
        for i in 0..10_000 {
            events.tell(Event::new(2.0 + f64::from(i), Kind::Saved, "step 5-4 is saved"));
        }
        assert_eq!(events.iter().count(), 1 + MOST_EVENTS);
        assert_eq!(events.left_out(), 10_000 - MOST_EVENTS as u64);
        let first = events.iter().next().unwrap();
        assert_eq!((first.number, first.kind), (1, Kind::Failure));
        let numbers: Vec<u64> = events.iter().map(|event| event.number).collect();
        assert!(numbers.is_sorted() && numbers.last() == Some(&10_001));
    }

    #[test]
    fn every_kind_has_a_name_of_its_own_which_is_that_in_json() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(Kind::named("something"), None);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let mut events = Events::default();
        events.tell(Event::new(0.0, Kind::Failure, "ö".repeat(1000)));
        let text = &events.iter().next().unwrap().text;
        assert_eq!(text.chars().count(), MOST_BYTES / 2 + 1);
    }
}
