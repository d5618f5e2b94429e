//! Lines of the log that would be the same again and again: a peer that is refused comes back every few seconds.

use std::{
    collections::HashMap,
    hash::Hash,
    time::{Duration, Instant},
};

/// What was said is not said again for so long.
const QUIET: Duration = Duration::from_secs(10 * 60);

/// As many things are remembered; beyond that, what comes is said.
const REMEMBERED: usize = 1024;

/// What was said lately.
#[derive(Debug)]
pub struct Repeats<K>(HashMap<K, Said>);

#[derive(Debug)]
struct Said {
    at: Instant,
    /// How often it has happened since.
    since: u64,
}

impl<K> Default for Repeats<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Repeats<K> {
    /// Something happens. How often it has happened without being said, if it is to be said now: it is at first,
    /// and then every ten minutes.
    pub fn happens(&mut self, what: K, now: Instant) -> Option<u64> {
        let is_recent = |said: &Said| now.duration_since(said.at) < QUIET;
        if let Some(said) = self.0.get_mut(&what).filter(|said| is_recent(said)) {
            said.since += 1;
            return None;
        }
        let before = self.0.remove(&what).map_or(0, |said| said.since);
        // What has not happened for as long again is over.
        self.0.retain(|_, said| now.duration_since(said.at) < 2 * QUIET);
        if self.0.len() < REMEMBERED {
            self.0.insert(what, Said { at: now, since: 0 });
        }
        Some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_every_few_seconds_is_said_every_ten_minutes() {
        let (mut repeats, start) = (Repeats::default(), Instant::now());
        let said: Vec<(u64, u64)> = (0..=1500)
            .step_by(5)
            .filter_map(|second| {
                let now = start + Duration::from_secs(second);
                repeats.happens("a", now).map(|since| (second, since))
            })
            .collect();
        assert_eq!(said, [(0, 0), (600, 119), (1200, 119)]);
        assert_eq!(repeats.happens("b", start), Some(0), "something else is said");
    }

    #[test]
    fn what_is_remembered_has_an_end() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        for what in 0..2 * REMEMBERED {
            repeats.happens(what, now);
        }
        assert_eq!(repeats.0.len(), REMEMBERED);
        repeats.happens(usize::MAX, now + 3 * QUIET);
        assert_eq!(repeats.0.len(), 1);
    }
}
