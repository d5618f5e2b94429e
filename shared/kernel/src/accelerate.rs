//! Extrapolation: where a row of supersteps is heading, without making them.
//!
//! Close to the solution a superstep multiplies the error by a matrix, so the differences
//! `d[i] = x[i+1] - x[i]` of successive values are all made of the same few slow modes. If weights
//! with sum 1 make `sum w[i] d[i]` small, then `sum w[i] x[i+1]` is nearly a fixed point: *reduced-rank
//! extrapolation* (Mesina 1977, Eddy 1979). After every [`DIFFERENCES`] supersteps, a *row*, the
//! weights that make that sum smallest are found from the differences' inner products, and the
//! values are replaced by
//!
//! ```text
//! x' = sum w[i] x[i+1] = x[q] - sum over i > 0 of (w[0] + ... + w[i-1]) d[i]
//! ```
//!
//! The differences need little precision, being the small rest that is to be removed: a byte for each
//! value, and for each *piece* of [`PIECE`] values what a unit of its bytes is worth. The inner products
//! of a piece are integers; the pieces of a range of a shard are added in order, then the ranges: the
//! result does not depend on who computes which.

use crate::{grid::Grid, value::Value};

/// The supersteps between two extrapolations.
pub const DIFFERENCES: usize = 4;

/// The most values a piece has: what is rounded together. The sum of so many products of bytes
/// fits 32 bits.
pub const PIECE: usize = 8 << 10;

/// The largest byte a difference is stored as.
const LARGEST: f32 = 127.0;

/// Added to a small `f32`, this leaves its nearest integer in the lowest bits: 1.5 * 2^23.
const ROUND: f32 = 12_582_912.0;

/// Part of the squares of the weights is made small too, so that they are never arbitrary.
const REGULARISATION: f64 = 1e-9;

/// A piece of the values of a step, and what its last supersteps changed.
pub struct Piece<'a, T> {
    /// The values as of the last barrier.
    pub published: &'a mut [T],
    /// The changes of the last supersteps, by superstep, in units.
    pub differences: [&'a mut [i8]; DIFFERENCES],
    /// What a unit of them is worth.
    pub units: &'a mut [f32; DIFFERENCES],
}

impl<T: Value> Piece<'_, T> {
    /// Publishes the new values, on a grid, keeps what they changed as a row of the differences, and
    /// returns the largest change before rounding.
    pub fn publish(&mut self, live: &[T], row: usize, grid: Grid) -> f64 {
        let Self { published, differences, units } = self;
        let (mut residual, mut largest) = (T::default(), T::default());
        for (&new, &old) in live.iter().zip(&**published) {
            residual = residual.larger(new.distance(old));
            largest = largest.larger(T::from_f64(grid.round(new.to_f64())).distance(old));
        }
        let largest = largest.to_f64();
        // A reciprocal that overflows would make a change of nothing not a number.
        let unit = (largest as f32).max(1e-30) / LARGEST;
        units[row] = unit;
        let per_unit = 1.0 / unit;
        for ((&new, old), difference) in
            live.iter().zip(&mut **published).zip(&mut *differences[row])
        {
            let new = grid.round(new.to_f64());
            let change = (new - old.to_f64()) as f32;
            *difference = (change * per_unit + ROUND).to_bits() as i8;
            *old = T::from_f64(new);
        }
        residual.to_f64()
    }

    /// The inner products of the differences.
    pub fn products(&self) -> Products {
        let mut products = Products::default();
        for (i, row) in products.iter_mut().enumerate() {
            for (j, product) in row.iter_mut().enumerate().take(i + 1) {
                let pairs = self.differences[i].iter().zip(&*self.differences[j]);
                let sum: i32 = pairs.map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
                *product = f64::from(sum) * f64::from(self.units[i]) * f64::from(self.units[j]);
            }
        }
        products
    }

    /// Adds multiples of the differences to the values, which remain chances on the grid.
    pub fn add(&mut self, multiples: &Multiples, grid: Grid) {
        let Self { published, differences, units } = self;
        let factor = |i: usize| (multiples[i] * f64::from(units[i])) as f32;
        let factors: [f32; DIFFERENCES] = std::array::from_fn(factor);
        let [a, b, c, d] = differences.each_ref().map(|changes| &**changes);
        let changes = a.iter().zip(b).zip(c).zip(d);
        for (value, (((&a, &b), &c), &d)) in published.iter_mut().zip(changes) {
            let change = factors[0] * f32::from(a)
                + factors[1] * f32::from(b)
                + factors[2] * f32::from(c)
                + factors[3] * f32::from(d);
            let moved = (value.to_f64() + f64::from(change)).clamp(0.0, 1.0);
            *value = T::from_f64(grid.round(moved));
        }
    }
}

/// Inner products of the differences; the lower triangle counts.
pub type Products = [[f64; DIFFERENCES]; DIFFERENCES];

/// What multiple of each difference an extrapolation adds to the values.
pub type Multiples = [f64; DIFFERENCES];

/// Adds inner products.
pub fn add(total: &mut Products, more: &Products) {
    for (total, more) in total.as_flattened_mut().iter_mut().zip(more.as_flattened()) {
        *total += more;
    }
}

/// What leads to where supersteps were heading, from the inner products of all ranges of shards,
/// each with its place; `None` if that is nowhere.
pub fn multiples(mut ranges: Vec<(u32, Products)>) -> Option<Multiples> {
    ranges.sort_by_key(|&(place, _)| place);
    let mut products = Products::default();
    for (_, part) in &ranges {
        add(&mut products, part);
    }
    let mut before = 0.0;
    Some(weights(products)?.map(|weight| {
        let multiple = -before;
        before += weight;
        multiple
    }))
}

/// The weights with sum 1 that make the weighted sum of the differences smallest; `None` if
/// nothing changed or the differences say nothing.
fn weights(mut products: Products) -> Option<[f64; DIFFERENCES]> {
    // The solution of products * w = (1, ..., 1), divided by its sum; by Cholesky's method.
    for (i, row) in products.iter_mut().enumerate() {
        row[i] *= 1.0 + REGULARISATION;
    }
    let mut weights = [1.0; DIFFERENCES];
    for i in 0..DIFFERENCES {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| products[i][k] * products[j][k]).sum();
            let rest = products[i][j] - known;
            products[i][j] = if i == j { rest.sqrt() } else { rest / products[j][j] };
        }
        let known: f64 = (0..i).map(|k| products[i][k] * weights[k]).sum();
        weights[i] = (weights[i] - known) / products[i][i];
    }
    for i in (0..DIFFERENCES).rev() {
        let known: f64 = (i + 1..DIFFERENCES).map(|k| products[k][i] * weights[k]).sum();
        weights[i] = (weights[i] - known) / products[i][i];
    }
    let sum: f64 = weights.iter().sum();
    let weights = weights.map(|weight| weight / sum);
    weights.iter().all(|weight| weight.is_finite()).then_some(weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Precision;

    #[test]
    fn weights_find_the_limit_of_a_sum_of_as_many_geometric_sequences() {
        let rates = [0.9, -0.5, 0.2];
        let mut products = Products::default();
        for (i, row) in products.iter_mut().enumerate() {
            for (j, product) in row.iter_mut().enumerate() {
                *product = rates.map(|rate: f64| rate.powi((i + j) as i32)).iter().sum();
            }
        }
        let weights = weights(products).unwrap();
        for rate in rates {
            let terms = weights.iter().enumerate().map(|(i, weight)| weight * rate.powi(i as i32));
            assert!(terms.sum::<f64>().abs() < 1e-4, "{rate}: {weights:?}");
        }
    }

    #[test]
    fn no_change_gives_no_weights() {
        assert_eq!(weights(Products::default()), None);
    }

    #[test]
    fn published_changes_are_known_to_half_a_unit() {
        let exact: Vec<f64> = (0..1000).map(|i| 0.5 + 1e-9 * f64::from(i).sin()).collect();
        let before = vec![0.5; 1000];
        let mut published = before.clone();
        let mut bytes = vec![[0i8; 1000]; DIFFERENCES];
        let mut rest = bytes.iter_mut();
        let mut units = [0.0; DIFFERENCES];
        let mut piece = Piece {
            published: &mut published,
            differences: std::array::from_fn(|_| &mut rest.next().unwrap()[..]),
            units: &mut units,
        };
        let grid = Grid::FIRST.after(1e-9, Precision::F64);
        let residual = piece.publish(&exact, 2, grid);
        assert!(residual > 0.99e-9 && residual <= 1e-9);
        let errors = exact.iter().zip(&published).map(|(a, b)| (a - b).abs());
        assert!(errors.fold(0.0, f64::max) <= grid.unit() / 2.0);
        for ((new, old), &byte) in published.iter().zip(&before).zip(&bytes[2]) {
            let error = (new - old - f64::from(byte) * f64::from(units[2])).abs();
            assert!(error <= 0.501 * f64::from(units[2]), "{error}");
        }
    }
}
