//! The Galerkin system of a [coarse correction](crate::correction): its sums over a sample of positions, and its
//! solution by Gaussian elimination with partial pivoting.

use std::{
    fmt::{self, Debug, Formatter},
    ops::RangeInclusive,
};

/// A chance is counted in quanta of one over this, so that sums are exact.
const CHANCE_QUANTA: f64 = (1 << 20) as f64;

/// Sums are of whole numbers, and no larger than this: so they are exact, and the order of additions does not matter.
const LARGEST: f64 = (1_u64 << 53) as f64;

/// The residual of a position is taken to be no more, in quanta: then no sum is too large, with functions of up to 15
/// pieces at 2^16 positions.
pub const LARGEST_RESIDUAL: f64 = (1 << 28) as f64;

/// Added to the diagonal, as a part of its mean: functions that hardly differ at a sample get no large multiples.
const REGULARISATION: f64 = 1e-9;

/// The sums over sampled positions in the equations for the multiples of functions.
#[derive(Clone, PartialEq)]
pub struct GalerkinSystem {
    /// The right side, by function: the residuals of values, in quanta of an order's, times the function.
    rhs: Vec<f64>,
    /// By function, row after row, and other function: how much less the residuals will be for one of the
    /// other function, in quanta of chances, times the function.
    matrix: Vec<f64>,
}

impl GalerkinSystem {
    /// Of no position.
    pub fn zero(functions: usize) -> Self {
        Self { rhs: vec![0.0; functions], matrix: vec![0.0; functions * functions] }
    }

    /// The system of another member: for so many functions the right side, and the matrix row after row. `None` if
    /// no sample has such sums.
    pub fn from_parts(rhs: Vec<f64>, matrix: Vec<f64>) -> Option<Self> {
        let this = Self { rhs, matrix };
        let fits = this.rhs.len().checked_pow(2) == Some(this.matrix.len());
        (fits && this.are_exact()).then_some(this)
    }

    /// The right side, and the matrix.
    pub fn parts(&self) -> [&[f64]; 2] {
        [&self.rhs, &self.matrix]
    }

    /// How many functions there are.
    pub fn functions(&self) -> usize {
        self.rhs.len()
    }

    fn are_exact(&self) -> bool {
        let is_exact = |sum: &f64| sum.abs() <= LARGEST && sum.fract() == 0.0;
        self.rhs.iter().chain(&self.matrix).all(is_exact)
    }

    /// A chance in whole quanta.
    pub fn whole(chance: f64) -> f64 {
        (chance * CHANCE_QUANTA).round()
    }

    /// Adds the residual of a position, where these functions are not 0.
    #[inline(always)]
    pub fn add_rhs(&mut self, rhs: f64, functions: &[(usize, f64)]) {
        for &(function, value) in functions {
            self.rhs[function] += rhs * value;
        }
    }

    /// Adds a row of the matrix at a position, by function, where these functions are not 0.
    #[inline(always)]
    pub fn add_matrix_row(&mut self, matrix: &[f64], functions: &[(usize, f64)]) {
        for &(function, value) in functions {
            let row = &mut self.matrix[function * matrix.len()..][..matrix.len()];
            for (sum, matrix) in row.iter_mut().zip(matrix) {
                *sum += value * matrix;
            }
        }
    }

    /// The same, with the right side 0.
    pub fn without_rhs(&self) -> Self {
        Self { rhs: vec![0.0; self.functions()], matrix: self.matrix.clone() }
    }

    /// Those of two samples of a step; `None` if they are not.
    pub fn and(mut self, more: &Self) -> Option<Self> {
        let is_one_step = self.functions() == more.functions();
        for (all, more) in [(&mut self.rhs, &more.rhs), (&mut self.matrix, &more.matrix)] {
            all.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        (is_one_step && self.are_exact()).then_some(self)
    }

    /// The multiples of all functions that solve the equations, if residuals are in quanta of 2 to the power of
    /// `quantum`. `None` if these have no solution.
    pub fn solve(&self, quantum: i32) -> Option<Vec<f64>> {
        let quantum = f64::from(quantum).exp2();
        let functions = self.functions();
        let mut rows = self.matrix.clone();
        let mut right: Vec<f64> =
            self.rhs.iter().map(|sum| sum * quantum * CHANCE_QUANTA).collect();
        let diagonal = |i: usize| i * functions + i;
        let sum: f64 = (0..functions).map(|i| rows[diagonal(i)].abs()).sum();
        for i in 0..functions {
            rows[diagonal(i)] += REGULARISATION * sum / functions as f64;
        }
        eliminate(&mut rows, &mut right);
        right.iter().all(|multiple| multiple.is_finite()).then_some(right)
    }
}

/// Solves equations, given row after row, by elimination with the largest pivot of a column. The right sides become the
/// solution, which is not finite if there is none.
fn eliminate(rows: &mut [f64], right: &mut [f64]) {
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

impl Debug for GalerkinSystem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "the system of {} functions", self.functions())
    }
}

/// The quanta of residuals there are, by exponent.
pub const SAMPLE_QUANTA: RangeInclusive<i32> = -1000..=0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_multiples_solve_the_equations() {
        let chances = |number: f64| number * CHANCE_QUANTA;
        let matrix =
            [[0.0, 2.0, 1.0], [1.0, 1.0, 0.0], [3.0, 0.0, -1.0]].map(|row| row.map(chances));
        // The right side for 2, -1 and 4, in quanta of a half.
        let rhs = [2.0, 1.0, 2.0].map(|number: f64| 2.0 * number);
        let system = GalerkinSystem::from_parts(rhs.to_vec(), matrix.concat()).unwrap();
        let multiples = system.solve(-1).unwrap();
        let wrong = multiples.iter().zip([2.0, -1.0, 4.0]).map(|(a, b)| (a - b).abs());
        assert!(wrong.fold(0.0, f64::max) < 1e-6, "{multiples:?}");
    }

    #[test]
    fn positions_that_tell_nothing_have_no_multiples() {
        assert_eq!(GalerkinSystem::zero(3).solve(0), None);
    }

    #[test]
    fn sums_are_whole_numbers_of_one_step() {
        let system =
            |rhs: &[f64], matrix: &[f64]| GalerkinSystem::from_parts(rhs.to_vec(), matrix.to_vec());
        assert!(system(&[1.0, -LARGEST], &[0.0; 4]).is_some());
        for wrong in [0.5, f64::NAN, f64::INFINITY, 2.0 * LARGEST] {
            assert!(system(&[1.0, wrong], &[0.0; 4]).is_none(), "{wrong}");
            assert!(system(&[1.0], &[wrong]).is_none(), "{wrong}");
        }
        assert!(system(&[1.0, 1.0], &[0.0; 3]).is_none());
        let one = system(&[LARGEST], &[1.0]).unwrap();
        assert!(one.clone().and(&one).is_none(), "too large");
        assert!(one.and(&system(&[1.0, 1.0], &[0.0; 4]).unwrap()).is_none(), "of two steps");
    }
}
