//! The costs of a position, and how often it is swept.
//!
//! All of them are measured; the sources are beside them. Only their ratios count for a speed-up.

use ziggurat_encoding::Encoding;

use crate::settings::Precision;

/// A kind of work on a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A superstep of `f64`, its changes published and kept.
    Superstep,
    /// The same in a unit of the tail, which is swept twice.
    Tail,
    /// Both bounds of an interval.
    IntervalSweep,
}

/// The costs of a position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// Nanoseconds of a core in a superstep: `ziggurat bench` measures them ("kernel").
    pub superstep_nanoseconds: f64,
    /// The same in an interval sweep.
    pub interval_sweep_nanoseconds: f64,
    /// Nanoseconds of a core to send a position of a halo, as many as to receive one.
    pub halo_nanoseconds: f64,
    /// Bytes on the wire of a position of a halo, in a superstep.
    pub superstep_bytes: f64,
    /// The same in an interval sweep.
    pub interval_sweep_bytes: f64,
    /// Nanoseconds of a core to pack a position with its vectors for a checkpoint.
    pub checkpoint_nanoseconds: f64,
    /// Bytes on disk of a byte of values.
    pub packed: f64,
    /// Bytes that a disk writes in a second.
    pub disk_bytes_per_second: f64,
    /// Seconds between the waves of a sweep on one machine.
    pub barrier_seconds: f64,
}

impl Costs {
    /// Costs that were measured in one run, on one machine, where that is possible.
    ///
    /// | cost | source |
    /// | --- | --- |
    /// | superstep, halo | two workers of a thread each on blitz 5: `docs/experiments/scale.md` |
    /// | interval sweep | two supersteps: `docs/experiments/proofs.md` |
    /// | bytes of a halo | messages of blitz, finkel and masters: `docs/experiments/exchange.md` |
    /// | checkpoint | 657 MB/s and core for 14 bytes a position, packed as measured on solved games: `store.md` |
    /// | disk | 2.2 GB/s: `store.md` |
    pub const MEASURED: Self = Self {
        superstep_nanoseconds: 13.7,
        interval_sweep_nanoseconds: 27.4,
        halo_nanoseconds: 4.2,
        superstep_bytes: 0.75,
        interval_sweep_bytes: 1.1,
        checkpoint_nanoseconds: 21.3,
        packed: 0.9,
        disk_bytes_per_second: 2.2e9,
        barrier_seconds: 1e-6,
    };

    /// Costs of values of a precision. In `f32` a sweep takes about half as long (`docs/BENCHMARKS.md`).
    pub fn of(precision: Precision) -> Self {
        match precision {
            Precision::F64 => Self::MEASURED,
            Precision::F32 => {
                let half = Self::MEASURED.superstep_nanoseconds / 2.0;
                Self::MEASURED.with_superstep_nanoseconds(half)
            }
        }
    }

    /// The same where a superstep takes so many nanoseconds; an interval sweep takes twice as many.
    pub fn with_superstep_nanoseconds(self, nanoseconds: f64) -> Self {
        let twice = 2.0 * nanoseconds;
        Self { superstep_nanoseconds: nanoseconds, interval_sweep_nanoseconds: twice, ..self }
    }

    /// Seconds of a core for work of a kind on so many positions.
    pub fn seconds(&self, kind: Kind, positions: u64) -> f64 {
        let nanoseconds = match kind {
            Kind::Superstep => self.superstep_nanoseconds,
            Kind::Tail => self.superstep_nanoseconds * 2.0,
            Kind::IntervalSweep => self.interval_sweep_nanoseconds,
        };
        positions as f64 * nanoseconds * 1e-9
    }
}

/// How often a position is swept until its value is proven, on average.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Course {
    /// Supersteps; one in `f32` counts as half.
    pub supersteps: f64,
    /// Interval sweeps.
    pub interval_sweeps: f64,
}

impl Course {
    /// About what games take to a proven 1e-12: tracks of one lap as finkel 6, blitz 5 and masters 5, those that visit
    /// squares again as double-short 4 and skiriuk 3 (`docs/experiments/order.md`, `correction.md`).
    pub fn about(encoding: &Encoding) -> Self {
        match encoding.geometry().visits_squares_again() {
            false => Self { supersteps: 27.0, interval_sweeps: 3.5 },
            true => Self { supersteps: 80.0, interval_sweeps: 12.0 },
        }
    }
}
