//! Certificates: a proof that stored values are close to the true ones, by interval iteration from a guess.
//!
//! That supersteps hardly change the values any more does not prove that the values are right. So take for every value
//! v of a step the interval [v - e, v + e], and apply the equation to intervals: the upper bound of a mover comes from
//! the upper bounds where the turn passes and from the other player's *lower* bounds where the mover rolls again, and
//! the other way round. Every rounding goes outwards, by more than it can be. If after some such *interval sweeps*
//! every interval lies inside the one it started from, or inside the one before the last sweep, the true values lie
//! there too (docs/ARCHITECTURE.md, "The certificate", says why). Interval iteration is due to Haddad and Monmege
//! (2018); to start it from a guess and verify that, to Hartmanns and Kaminski (optimistic value iteration, 2020).
//!
//! An interval is kept as the offsets of its bounds from v, 15 bits each, in units of a power of two near e / 2^11
//! (finer ones make proofs no shorter, and the messages of teams longer): 4 bytes per position besides the values. The
//! first sweeps round to multiples of four units. A sweep takes the shards in *waves*, those with the pieces furthest
//! along first, so that a shard reads new bounds of all positions that moves forward lead to; shards of one wave are
//! swept at the same time and see each other's bounds as they were before it.
//!
//! The sixteenth bit of an offset says that it has *grown* in the last sweep of its shard. A slab that reads no offset
//! that has is *stable*: the inputs of its bounds have only shrunk since, so these would come out no larger, and the
//! next sweep passes over it. (A shard that reads another as it was before the wave sees its growth in the next
//! sweep.)

use serde::{Deserialize, Serialize};

/// A proof that no stored value of a step is further from the true one than `bound`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Certificate {
    /// The bound, as a probability.
    pub bound: f64,
    /// How many interval sweeps it took.
    pub sweeps: u32,
}

/// The most interval sweeps that are tried.
const MOST_SWEEPS: u32 = 64;

/// A bound that is as large says nothing and is not tried: no chance is further from one half.
pub const USELESS_BOUND: f64 = 0.5;

/// Some intervals grow before they shrink, so all start with this part of the room beyond the
/// bounds of the tiers that are read.
const START: f64 = 0.6;

/// If some have grown too large, all start anew with less, so that their growth fits, and this much of it besides:
/// smaller intervals grow by a little more. No start is smaller than this part.
const SPARE: f64 = 1.125;
const LEAST_START: f64 = 0.3;

/// Where the largest offset is beyond the bound by more than this part of the room that the start had left for it, and
/// has not grown in the last sweep, it is not waited for: it would shrink by less.
const HARDLY: f64 = 1.0 / 16.0;

/// Where the largest offset is beyond the bound and still grows, it is taken to grow by as much as in the last sweep
/// this many times more, at least: in long proofs it shrinks by a tenth or less from sweep to sweep.
const TO_COME: u16 = 8;

/// The first sweeps round offsets to multiples of so many units, which take fewer bytes. Long proofs
/// would take more sweeps for it, so their later sweeps do not.
const COARSE: f64 = 4.0;
const COARSE_SWEEPS: u32 = 4;

/// The bit of an offset that says that it has grown.
pub const GROWN: u16 = 1 << 15;

/// An offset that is too large to be counted.
pub const FAR: u16 = GROWN - 1;

/// The growth of offsets in an interval sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Growth {
    /// The largest offset.
    pub largest: u16,
    /// Whether any offset has grown.
    pub grew: bool,
}

impl Growth {
    /// The growth in two sweeps of different positions.
    #[inline(always)]
    pub fn and(self, other: Self) -> Self {
        Self { largest: self.largest.max(other.largest), grew: self.grew | other.grew }
    }
}

/// The state of a proof between two interval sweeps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Proof {
    bound: f64,
    /// The unit of the offsets: a power of two.
    unit: f64,
    /// The offsets at the start, and at the first one, if it has begun anew.
    start: u16,
    first_start: u16,
    /// The largest offset after the last sweep.
    largest: u16,
    /// Sweeps since the start, and before it, from larger ones.
    sweeps: u32,
    sweeps_before: u32,
}

/// The verdict after an interval sweep.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// Nothing yet.
    Sweep,
    /// The bound.
    Proven(Certificate),
    /// That the bound cannot be proven.
    Refused,
}

impl Proof {
    /// A proof that values are within `bound` of the true ones, where those of the tiers that are
    /// read are within `read`; `None` if there can be none.
    pub fn new(bound: f64, read: f64) -> Option<Self> {
        let is_possible = read < bound && bound < USELESS_BOUND;
        if !is_possible {
            return None;
        }
        let unit = (bound.log2().floor() - 11.0).exp2();
        // No offset is ever less than the rounding margin; a unit that is 0 would make all of them fit.
        if !unit.is_normal() {
            return None;
        }
        let start = coarse((read + START * (bound - read)) / unit);
        Some(Self::begun(bound, unit, start))
    }

    /// A proof before its first sweep.
    fn begun(bound: f64, unit: f64, start: u16) -> Self {
        let (first_start, largest, sweeps, sweeps_before) = (start, 0, 0, 0);
        Self { bound, unit, start, first_start, largest, sweeps, sweeps_before }
    }

    /// A proof that goes on somewhere else, for those who only sweep: its verdicts so far are not
    /// told. `None` if no proof has such numbers.
    pub fn from_parts(bound: f64, unit: f64, start: u16, sweeps: u32) -> Option<Self> {
        let is_power_of_two = unit.is_normal() && unit.log2().round().exp2() == unit;
        // [`Proof::new`] chooses it between 2^11 and 2^12; logarithms may be rounded differently elsewhere.
        let is_fine_enough = (1024.0..=8192.0).contains(&(bound / unit));
        let fits = bound < USELESS_BOUND
            && is_power_of_two
            && is_fine_enough
            && f64::from(start) * unit <= bound
            && sweeps < MOST_SWEEPS;
        fits.then(|| Self { sweeps, ..Self::begun(bound, unit, start) })
    }

    /// The bound to be proven.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The unit of the offsets, as a probability.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// The distance of a bound from its value, as a probability, that an offset says.
    pub fn distance(&self, offset: u16) -> f64 {
        f64::from(offset) * self.unit
    }

    /// The offsets before the first interval sweep, in units.
    pub fn start(&self) -> u16 {
        self.start
    }

    /// Interval sweeps made since its start.
    pub fn sweeps(&self) -> u32 {
        self.sweeps
    }

    /// The next sweep rounds offsets to multiples of so many units.
    pub fn multiple(&self) -> f64 {
        if self.sweeps < COARSE_SWEEPS { COARSE } else { 1.0 }
    }

    /// Takes note of an interval sweep.
    pub fn after(&mut self, Growth { largest, grew }: Growth) -> Verdict {
        self.sweeps += 1;
        let fits = f64::from(largest) * self.unit <= self.bound;
        if fits && (largest <= self.start || !grew) {
            let sweeps = self.sweeps_before + self.sweeps;
            return Verdict::Proven(Certificate { bound: self.bound, sweeps });
        }
        // An offset that has not grown is stable, and stays as it is.
        let is_stable = !grew || self.is_past_its_peak(largest);
        // The first sweeps say less of how it goes on, since they round more.
        let grew_by = largest.saturating_sub(self.largest.max(self.start));
        let is_steady = self.sweeps > COARSE_SWEEPS + 1;
        let to_come = if is_steady { TO_COME * grew_by.min(FAR / TO_COME) } else { 0 };
        self.largest = largest;
        let goes_on = if is_stable {
            self.start_lower(largest)
        } else {
            // If no start leaves room for the growth to come, it will not get better.
            let has_hope = fits || self.lower_start(largest + to_come).is_some();
            largest < FAR && self.sweeps < MOST_SWEEPS && has_hope
        };
        if goes_on { Verdict::Sweep } else { Verdict::Refused }
    }

    /// Whether the largest offset is too large, and does not grow any more: it would hardly shrink.
    fn is_past_its_peak(&self, largest: u16) -> bool {
        let bound = self.bound / self.unit;
        let room = bound - f64::from(self.start);
        f64::from(largest) > bound + room * HARDLY && largest <= self.largest
    }

    /// A start that leaves room for the growth of the largest offset, if that is not too small.
    fn lower_start(&self, largest: u16) -> Option<u16> {
        let bound = self.bound / self.unit;
        let beyond_read = (bound - f64::from(self.first_start)) / (1.0 - START);
        let growth = f64::from(largest) - f64::from(self.start);
        let start = coarse(bound - SPARE * growth);
        (f64::from(start) >= bound - (1.0 - LEAST_START) * beyond_read).then_some(start)
    }

    /// Begins anew with such a start, if there is one.
    fn start_lower(&mut self, largest: u16) -> bool {
        let Some(start) = self.lower_start(largest) else { return false };
        (self.start, self.largest) = (start, 0);
        self.sweeps_before += std::mem::take(&mut self.sweeps);
        true
    }
}

/// The multiple of [`COARSE`] units that an offset has room for.
fn coarse(units: f64) -> u16 {
    ((units / COARSE).floor() * COARSE) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step whose largest interval grows by `growth` times its start and `error`, then no more: the verdict of a
    /// proof, and how many sweeps that takes.
    fn prove(growth: f64, error: f64, bound: f64, read: f64) -> (Verdict, u32) {
        let mut proof = Proof::new(bound, read).unwrap();
        let mut verdict = Verdict::Sweep;
        let mut sweeps = 0;
        while verdict == Verdict::Sweep {
            let units = f64::from(proof.start()) * (1.0 + growth) + error / proof.unit();
            verdict = proof.after(Growth { largest: units as u16, grew: proof.sweeps() < 2 });
            sweeps += 1;
        }
        (verdict, sweeps)
    }

    #[test]
    fn intervals_that_grow_too_large_start_anew_with_less() {
        let proven = |sweeps| Verdict::Proven(Certificate { bound: 1e-6, sweeps });
        assert_eq!(prove(0.0, 2e-7, 1e-6, 0.0), (proven(3), 3));
        // Two sweeps show that the largest is far beyond the bound and grows no more, three if it is hardly beyond.
        assert_eq!(prove(0.0, 5e-7, 1e-6, 0.0), (proven(5), 5));
        assert_eq!(prove(0.0, 4.1e-7, 1e-6, 0.0), (proven(6), 6));
        assert_eq!(prove(-0.4, 7.6e-7, 1e-6, 0.0), (proven(8), 8));
        assert_eq!(prove(0.0, 9e-8, 1e-6, 7e-7), (proven(3), 3));
        assert_eq!(prove(0.0, 1.5e-7, 1e-6, 7e-7), (proven(5), 5));
    }

    #[test]
    fn what_cannot_be_proven_is_refused_as_soon_as_that_is_known() {
        assert_eq!(prove(0.0, 7e-7, 1e-6, 0.0), (Verdict::Refused, 1));
        assert_eq!(prove(-0.4, 8.5e-7, 1e-6, 0.0), (Verdict::Refused, 3));
        assert_eq!(prove(0.0, 2.5e-7, 1e-6, 7e-7), (Verdict::Refused, 1));
        assert_eq!(prove(0.0, 1.0, 1e-6, 0.0), (Verdict::Refused, 1));
    }

    #[test]
    fn intervals_that_grow_little_by_little_are_refused_once_no_start_has_room_for_it() {
        let mut proof = Proof::new(1e-6, 0.0).unwrap();
        let mut largest = proof.start();
        let step = (1e-7 / proof.unit()) as u16;
        let mut sweeps = 0;
        let verdict = loop {
            (largest, sweeps) = (largest + step, sweeps + 1);
            match proof.after(Growth { largest, grew: true }) {
                Verdict::Sweep => assert_eq!(proof.sweeps(), sweeps, "it has begun anew"),
                verdict => break verdict,
            }
        };
        // 0.6 and six steps of 0.1, by which it is beyond the bound, and eight more to come: more than the least
        // start, 0.3, has room for.
        assert_eq!((verdict, sweeps), (Verdict::Refused, 6));
    }
}
