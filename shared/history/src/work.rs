//! Where the time goes: by worker, in slices of time.
//!
//! All workers of a job share the slices. When time goes on beyond the last slice that there may be, each two become one: the
//! width doubles, and sums stay.

use std::{array, collections::BTreeMap, ops::AddAssign};

use serde::{Deserialize, Serialize};

/// The most slices.
pub const MOST_SLICES: usize = 128;

/// The most workers that are told apart. Those that come later are added up under the name [`OTHERS`].
pub const MOST_WORKERS: usize = 64;

/// The name under which further workers are added up.
pub const OTHERS: &str = "others";

/// The width of a slice at first, in seconds.
const FIRST_WIDTH_SECONDS: f64 = 1.0;

/// What became of some time of a worker.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "[f32; 6]", into = "[f32; 6]")]
pub struct Spent {
    /// Seconds in which it worked on values.
    pub sweeping: f32,
    /// Seconds in which it waited for others, at barriers and after its part of an order was done.
    pub waiting: f32,
    /// Seconds in which it packed, sent, and unpacked what workers exchange.
    pub exchanging: f32,
    /// Seconds in which it wrote checkpoints.
    pub saving: f32,
    /// Positions that it swept.
    pub positions: f32,
    /// Bytes that it sent to other workers.
    pub bytes: f32,
}

impl From<[f32; 6]> for Spent {
    fn from([sweeping, waiting, exchanging, saving, positions, bytes]: [f32; 6]) -> Self {
        Self { sweeping, waiting, exchanging, saving, positions, bytes }
    }
}

impl From<Spent> for [f32; 6] {
    fn from(spent: Spent) -> Self {
        let Spent { sweeping, waiting, exchanging, saving, positions, bytes } = spent;
        [sweeping, waiting, exchanging, saving, positions, bytes]
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        let (a, b): ([f32; 6], [f32; 6]) = ((*self).into(), other.into());
        *self = Self::from(array::from_fn(|i| a[i] + b[i]));
    }
}

impl Spent {
    fn times(self, factor: f32) -> Self {
        Self::from(<[f32; 6]>::from(self).map(|number| number * factor))
    }

    /// Whether it can be: workers may report anything.
    fn is_sound(self) -> bool {
        <[f32; 6]>::from(self).iter().all(|number| number.is_finite() && *number >= 0.0)
    }
}

/// The work of one worker.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Worked {
    /// Memory that it may use, in bytes; 0 if that is not known.
    pub memory_bytes: u64,
    /// The most that it was seen to use while it worked on the job.
    pub peak_resident_bytes: u64,
    /// What became of its time, slice by slice.
    pub slices: Vec<Spent>,
}

/// The work of all workers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Work {
    /// When the first slice begins, in seconds since 1970.
    pub begin: f64,
    /// How long each is, in seconds.
    pub width: f64,
    /// By the worker's name.
    pub workers: BTreeMap<String, Worked>,
}

impl Default for Work {
    fn default() -> Self {
        Self { begin: 0.0, width: FIRST_WIDTH_SECONDS, workers: BTreeMap::new() }
    }
}

impl Work {
    /// A worker spent the time from one moment to another like this.
    pub fn spend(&mut self, worker: &str, from: f64, to: f64, spent: Spent) {
        if !(from.is_finite() && to.is_finite() && spent.is_sound()) {
            return;
        }
        if self.workers.is_empty() || self.begin == 0.0 {
            self.begin = from.floor();
        }
        // A clock that was set back does not make work undone.
        let from = from.max(self.begin);
        let to = to.max(from);
        while to - self.begin >= self.width * MOST_SLICES as f64 {
            self.widen();
        }
        let (begin, width) = (self.begin, self.width);
        let slices = &mut self.worker(worker).slices;
        let [first, last] = [from, to].map(|at| ((at - begin) / width) as usize);
        if slices.len() <= last {
            slices.resize(last + 1, Spent::default());
        }
        for (slice, sum) in slices.iter_mut().enumerate().take(last + 1).skip(first) {
            let start = begin + slice as f64 * width;
            let inside = to.min(start + width) - from.max(start);
            let part = if first == last { 1.0 } else { inside / (to - from) };
            *sum += spent.times(part as f32);
        }
    }

    /// A worker that works on the job uses so much memory, of so much that it may use.
    pub fn resides(&mut self, worker: &str, resident_bytes: u64, memory_bytes: u64) {
        let worked = self.worker(worker);
        worked.peak_resident_bytes = worked.peak_resident_bytes.max(resident_bytes);
        worked.memory_bytes = memory_bytes;
    }

    fn worker(&mut self, name: &str) -> &mut Worked {
        let is_known = self.workers.contains_key(name) || self.workers.len() + 1 < MOST_WORKERS;
        self.workers.entry(if is_known { name } else { OTHERS }.to_owned()).or_default()
    }

    fn widen(&mut self) {
        self.width *= 2.0;
        for worked in self.workers.values_mut() {
            let halves = worked.slices.chunks(2).map(|pair| {
                let mut sum = pair[0];
                pair[1..].iter().for_each(|&other| sum += other);
                sum
            });
            worked.slices = halves.collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(seconds: f32) -> Spent {
        Spent { sweeping: seconds, positions: 100.0 * seconds, ..Spent::default() }
    }

    #[test]
    fn time_goes_into_the_slices_it_was_spent_in() {
        let mut work = Work::default();
        work.spend("one", 100.5, 103.0, sweep(2.5));
        let swept: Vec<f32> = work.workers["one"].slices.iter().map(|s| s.sweeping).collect();
        assert_eq!(swept, [0.5, 1.0, 1.0, 0.0]);
        assert_eq!((work.begin, work.width), (100.0, 1.0));
    }

    #[test]
    fn slices_are_bounded_and_sums_stay() {
        let mut work = Work::default();
        let mut at = 5e8;
        for _ in 0..10_000 {
            work.spend("one", at, at + 7.0, sweep(7.0));
            at += 7.0;
        }
        // A year later.
        work.spend("two", at + 3e7, at + 3e7 + 1.0, sweep(1.0));
        for worked in work.workers.values() {
            assert!(worked.slices.len() <= MOST_SLICES);
        }
        let sum: f32 = work.workers["one"].slices.iter().map(|spent| spent.sweeping).sum();
        assert!((sum - 70_000.0).abs() < 1.0, "{sum}");
    }

    #[test]
    fn further_workers_are_added_up() {
        let mut work = Work::default();
        for i in 0..1000 {
            work.spend(&format!("worker {i}"), 1.0, 1.5, sweep(0.5));
        }
        assert_eq!(work.workers.len(), MOST_WORKERS);
        let others: f32 = work.workers[OTHERS].slices.iter().map(|spent| spent.sweeping).sum();
        assert_eq!(others, 0.5 * (1000 - (MOST_WORKERS - 1)) as f32);
    }

    #[test]
    fn what_cannot_be_is_left_out() {
        let mut work = Work::default();
        work.spend("one", 10.0, 11.0, sweep(f32::NAN));
        work.spend("one", f64::NAN, 11.0, sweep(1.0));
        work.spend("one", 10.0, f64::INFINITY, sweep(1.0));
        work.spend("one", 10.0, 11.0, sweep(-1.0));
        assert!(work.workers.is_empty());
        work.spend("one", 10.0, 9.0, sweep(1.0));
        assert_eq!(work.workers["one"].slices, [sweep(1.0)]);
    }
}
