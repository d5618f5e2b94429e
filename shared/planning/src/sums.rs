//! What a sample of positions says, and what is to be added to all values.

use std::{
    fmt::{self, Debug, Formatter},
    ops::RangeInclusive,
};

use serde::{Deserialize, Serialize};

/// A chance is told in units of one over this, so that sums are exact.
const CHANCE_UNITS: f64 = (1 << 20) as f64;

/// Sums are of whole numbers, and no larger than this: so they are exact, and it does not matter who adds up what.
const LARGEST: f64 = (1_u64 << 53) as f64;

/// What a position is taken to be short of is no more, in units: then no sum is too large, with functions of up to 15 pieces
/// at 2^16 positions.
pub const LARGEST_MISSING: f64 = (1 << 28) as f64;

/// Added to the diagonal, as a part of its mean: functions that hardly differ at a sample get no large multiples.
const REGULARISATION: f64 = 1e-9;

/// The sums over sampled positions in the equations for the multiples of functions.
#[derive(Clone, PartialEq)]
pub struct Sums {
    /// By function: what values are short of, in units of an order's, times the function.
    missing: Vec<f64>,
    /// By function, row after row, and other function: how much less values will be short of for one of the
    /// other function, in units of chances, times the function.
    gained: Vec<f64>,
}

impl Sums {
    /// Of no position.
    pub fn zero(functions: usize) -> Self {
        Self { missing: vec![0.0; functions], gained: vec![0.0; functions * functions] }
    }

    /// Sums that somebody else has added up: for so many functions what is missing, and row after row what is gained. `None` if
    /// no sample has such sums.
    pub fn from_parts(missing: Vec<f64>, gained: Vec<f64>) -> Option<Self> {
        let this = Self { missing, gained };
        let fits = this.missing.len().checked_pow(2) == Some(this.gained.len());
        (fits && this.are_exact()).then_some(this)
    }

    /// What is missing, and what is gained.
    pub fn parts(&self) -> [&[f64]; 2] {
        [&self.missing, &self.gained]
    }

    /// How many functions there are.
    pub fn functions(&self) -> usize {
        self.missing.len()
    }

    fn are_exact(&self) -> bool {
        let is_exact = |sum: &f64| sum.abs() <= LARGEST && sum.fract() == 0.0;
        self.missing.iter().chain(&self.gained).all(is_exact)
    }

    /// A chance in whole units.
    pub fn whole(chance: f64) -> f64 {
        (chance * CHANCE_UNITS).round()
    }

    /// Adds what the value of a position is short of, where these functions are not 0.
    #[inline(always)]
    pub fn add_missing(&mut self, missing: f64, functions: &[(usize, f64)]) {
        for &(function, value) in functions {
            self.missing[function] += missing * value;
        }
    }

    /// Adds what is gained at a position, by function, where these functions are not 0.
    #[inline(always)]
    pub fn add_gained(&mut self, gained: &[f64], functions: &[(usize, f64)]) {
        for &(function, value) in functions {
            let row = &mut self.gained[function * gained.len()..][..gained.len()];
            for (sum, gained) in row.iter_mut().zip(gained) {
                *sum += value * gained;
            }
        }
    }

    /// The same, with nothing missing.
    pub fn without_missing(&self) -> Self {
        Self { missing: vec![0.0; self.functions()], gained: self.gained.clone() }
    }

    /// Those of two samples of a step; `None` if they are not.
    pub fn and(mut self, more: &Self) -> Option<Self> {
        let is_one_step = self.functions() == more.functions();
        for (all, more) in [(&mut self.missing, &more.missing), (&mut self.gained, &more.gained)] {
            all.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        (is_one_step && self.are_exact()).then_some(self)
    }

    /// The multiples of all functions that make what the sample was asked. `None` if it does not tell.
    pub fn multiples(&self, asked: Asked) -> Option<Vec<f64>> {
        let unit = asked.unit();
        let functions = self.functions();
        let mut rows = self.gained.clone();
        let mut right: Vec<f64> =
            self.missing.iter().map(|sum| sum * unit * CHANCE_UNITS).collect();
        let diagonal = |i: usize| i * functions + i;
        let sum: f64 = (0..functions).map(|i| rows[diagonal(i)].abs()).sum();
        for i in 0..functions {
            rows[diagonal(i)] += REGULARISATION * sum / functions as f64;
        }
        solve(&mut rows, &mut right);
        right.iter().all(|multiple| multiple.is_finite()).then_some(right)
    }
}

/// Solves equations, given row after row, by elimination with the largest pivot of a column. The right sides become the
/// solution, which is not finite if there is none.
fn solve(rows: &mut [f64], right: &mut [f64]) {
    let functions = right.len();
    for i in 0..functions {
        let size = |row: usize| rows[row * functions + i].abs();
        let pivot = (i..functions).max_by(|&a, &b| size(a).total_cmp(&size(b))).unwrap_or(i);
        if pivot != i {
            let (above, below) = rows.split_at_mut(pivot * functions);
            above[i * functions..][..functions].swap_with_slice(&mut below[..functions]);
            right.swap(i, pivot);
        }
        let (done, rest) = rows.split_at_mut((i + 1) * functions);
        let of_pivot = &done[i * functions..];
        for (row, below) in rest.chunks_mut(functions).zip(i + 1..) {
            let factor = row[i] / of_pivot[i];
            for (number, above) in row[i..].iter_mut().zip(&of_pivot[i..]) {
                *number -= factor * above;
            }
            right[below] -= factor * right[i];
        }
    }
    for i in (0..functions).rev() {
        let row = &rows[i * functions..][..functions];
        let known: f64 = (i + 1..functions).map(|j| row[j] * right[j]).sum();
        right[i] = (right[i] - known) / row[i];
    }
}

impl Debug for Sums {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "the sums of {} functions", self.functions())
    }
}

/// What a sample is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Asked {
    /// What is to be added to values that are short of something, for a coarse correction.
    Missing {
        /// What they are short of is told in units of 2 to the power of this: one of [`SAMPLE_UNITS`].
        unit: i32,
    },
    /// How many more turns the step goes on, for the start of a proof.
    Turns,
}

/// The units there are of what values are short of, by exponent.
pub const SAMPLE_UNITS: RangeInclusive<i32> = -1000..=0;

impl Asked {
    /// What a sample's answer is told in units of.
    pub fn unit(self) -> f64 {
        match self {
            Self::Missing { unit } => f64::from(unit).exp2(),
            Self::Turns => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_multiples_solve_the_equations() {
        let chances = |number: f64| number * CHANCE_UNITS;
        let gained =
            [[0.0, 2.0, 1.0], [1.0, 1.0, 0.0], [3.0, 0.0, -1.0]].map(|row| row.map(chances));
        // The right side for 2, -1 and 4, in units of a half.
        let missing = [2.0, 1.0, 2.0].map(|number: f64| 2.0 * number);
        let sums = Sums::from_parts(missing.to_vec(), gained.concat()).unwrap();
        let multiples = sums.multiples(Asked::Missing { unit: -1 }).unwrap();
        let wrong = multiples.iter().zip([2.0, -1.0, 4.0]).map(|(a, b)| (a - b).abs());
        assert!(wrong.fold(0.0, f64::max) < 1e-6, "{multiples:?}");
    }

    #[test]
    fn positions_that_tell_nothing_have_no_multiples() {
        assert_eq!(Sums::zero(3).multiples(Asked::Turns), None);
    }

    #[test]
    fn sums_are_whole_numbers_of_one_step() {
        let sums =
            |missing: &[f64], gained: &[f64]| Sums::from_parts(missing.to_vec(), gained.to_vec());
        assert!(sums(&[1.0, -LARGEST], &[0.0; 4]).is_some());
        for wrong in [0.5, f64::NAN, f64::INFINITY, 2.0 * LARGEST] {
            assert!(sums(&[1.0, wrong], &[0.0; 4]).is_none(), "{wrong}");
            assert!(sums(&[1.0], &[wrong]).is_none(), "{wrong}");
        }
        assert!(sums(&[1.0, 1.0], &[0.0; 3]).is_none());
        let one = sums(&[LARGEST], &[1.0]).unwrap();
        assert!(one.clone().and(&one).is_none(), "too large");
        assert!(one.and(&sums(&[1.0, 1.0], &[0.0; 4]).unwrap()).is_none(), "of two steps");
    }
}
