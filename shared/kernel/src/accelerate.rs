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
//! A shard does not publish what a sweep has made of its values, but the values before, each changed by a
//! whole number of units: at most 127 of them, a byte. The unit is a power of two, the same for a *piece* of
//! at most [`PIECE`] values, and so large that the largest change of the piece is at most 127 units; where
//! little changes it is larger, since what is far below the last residual need not be told yet. What is left
//! over is not lost: the next sweep finds it again, as part of the change that it makes. So the differences
//! are known exactly, in a byte for each value, to whoever knows what was published: who reads a shard's
//! values can extrapolate them without being told. The inner products of a piece are integers; the pieces of
//! a range of a shard are added in order, then the ranges: the result does not depend on who computes which.

use std::ops::RangeInclusive;

use crate::{memory::look, simd::Simd, value::Value};

/// The supersteps between two extrapolations.
pub const DIFFERENCES: usize = 4;

/// The most values a piece has: what is rounded together. The sum of so many products of bytes
/// fits 32 bits.
pub const PIECE: usize = 8 << 10;

/// The most units a value is changed by.
const MOST_UNITS: f32 = 127.0;

/// The largest change of a piece is this power of two times the unit, or up to twice that.
const BITS: i32 = 6;

/// The finest units there are, by exponent: `f32` has them all.
pub const FINEST_UNITS: RangeInclusive<i32> = -126..=-1;

/// Numbers halfway between two integers are rounded to the larger one, by making all a little larger: 1 + 2^-20.
const AWAY_FROM_ZERO: f64 = 1.0 + 1.0 / 1_048_576.0;

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
    /// Changes the values towards new ones by whole units, no finer than 2 to the power of `finest`, keeps
    /// the changes as a row of the differences, and returns the largest difference there was.
    pub fn publish(&mut self, live: &[T], (row, finest): (usize, i32), simd: Simd) -> f64 {
        look();
        let Self { published, differences, units } = self;
        let residual = simd.compute(
            #[inline(always)]
            || largest_difference(live, published),
        );
        let unit = unit((exponent_of(residual) - BITS).max(finest));
        units[row] = unit;
        simd.compute(
            #[inline(always)]
            || change_towards(live, published, differences[row], unit),
        );
        residual
    }

    /// The inner products of the differences.
    pub fn products(&self, simd: Simd) -> Products {
        look();
        let mut products = Products::default();
        for (i, row) in products.iter_mut().enumerate() {
            for (j, product) in row.iter_mut().enumerate().take(i + 1) {
                let [one, other] = [&*self.differences[i], &*self.differences[j]];
                let sum = simd.compute(
                    #[inline(always)]
                    || inner_product(one, other),
                );
                *product = f64::from(sum) * f64::from(self.units[i]) * f64::from(self.units[j]);
            }
        }
        products
    }

    /// Adds multiples of the differences to the values.
    pub fn add(&mut self, multiples: &Multiples, simd: Simd) {
        look();
        let differences = self.differences.each_ref().map(|changes| &**changes);
        add_multiples(self.published, differences, self.units, multiples, simd);
    }
}

/// The largest difference between values; several at a time, since each maximum waits for the one before it.
#[inline(always)]
fn largest_difference<T: Value>(new: &[T], old: &[T]) -> f64 {
    const LANES: usize = 32;
    let mut largest = [T::default(); LANES];
    let (new, last_new) = new.as_chunks::<LANES>();
    let (old, last_old) = old.as_chunks::<LANES>();
    for (new, old) in new.iter().zip(old) {
        for ((largest, &new), &old) in largest.iter_mut().zip(new).zip(old) {
            *largest = largest.larger(new.distance(old));
        }
    }
    for ((largest, &new), &old) in largest.iter_mut().zip(last_new).zip(last_old) {
        *largest = largest.larger(new.distance(old));
    }
    largest.into_iter().fold(T::default(), T::larger).to_f64()
}

/// Changes values towards new ones by whole units, and says by how many.
#[inline(always)]
fn change_towards<T: Value>(new: &[T], old: &mut [T], changes: &mut [i8], unit: f32) {
    let per_unit = AWAY_FROM_ZERO / f64::from(unit);
    for ((&new, old), difference) in new.iter().zip(old).zip(changes) {
        let change = ((new.to_f64() - old.to_f64()) * per_unit) as f32;
        *difference = (change.clamp(-MOST_UNITS, MOST_UNITS) + ROUND).to_bits() as i8;
        *old = changed(*old, *difference, unit);
    }
}

#[inline(always)]
fn inner_product(one: &[i8], other: &[i8]) -> i32 {
    one.iter().zip(other).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
}

/// The largest power of two that is no larger than a positive number, by its exponent; -1023 for what is
/// smaller than 2^-1022.
pub fn exponent_of(number: f64) -> i32 {
    (number.to_bits() >> 52) as i32 - 1023
}

/// 2 to the power of an exponent among the [`FINEST_UNITS`].
pub fn unit(exponent: i32) -> f32 {
    f32::from_bits(((127 + exponent) as u32) << 23)
}

/// The most that a value is changed by at once, in units of this size.
pub fn most(unit: f32) -> f64 {
    f64::from(MOST_UNITS * unit)
}

/// A value that is changed by so many units. It remains a chance.
#[inline(always)]
pub fn changed<T: Value>(value: T, units: i8, unit: f32) -> T {
    let moved = value.to_f64() + f64::from(units) * f64::from(unit);
    T::from_f64(moved.clamp(0.0, 1.0))
}

/// Changes values by so many units each.
pub fn change<T: Value>(values: &mut [T], changes: &[i8], unit: f32, simd: Simd) {
    simd.compute(
        #[inline(always)]
        || {
            for (value, &change) in values.iter_mut().zip(changes) {
                *value = changed(*value, change, unit);
            }
        },
    );
}

/// Adds multiples of differences to values of a piece, which remain chances.
pub fn add_multiples<T: Value>(
    values: &mut [T],
    differences: [&[i8]; DIFFERENCES],
    units: &[f32; DIFFERENCES],
    multiples: &Multiples,
    simd: Simd,
) {
    let factor = |i: usize| (multiples[i] * f64::from(units[i])) as f32;
    let factors: [f32; DIFFERENCES] = std::array::from_fn(factor);
    simd.compute(
        #[inline(always)]
        || add_products(values, differences, factors),
    );
}

#[inline(always)]
fn add_products<T: Value>(
    values: &mut [T],
    [a, b, c, d]: [&[i8]; DIFFERENCES],
    factors: [f32; DIFFERENCES],
) {
    let changes = a.iter().zip(b).zip(c).zip(d);
    for (value, (((&a, &b), &c), &d)) in values.iter_mut().zip(changes) {
        let change = factors[0] * f32::from(a)
            + factors[1] * f32::from(b)
            + factors[2] * f32::from(c)
            + factors[3] * f32::from(d);
        *value = T::from_f64((value.to_f64() + f64::from(change)).clamp(0.0, 1.0));
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
    fn units_are_powers_of_two() {
        for exponent in FINEST_UNITS {
            assert_eq!(unit(exponent), (exponent as f32).exp2());
            assert_eq!(exponent_of(unit(exponent).into()), exponent);
            assert_eq!(exponent_of(1.99 * f64::from(unit(exponent))), exponent);
        }
    }

    #[test]
    fn no_change_gives_no_weights() {
        assert_eq!(weights(Products::default()), None);
    }

    fn with_piece<R>(
        published: &mut [f64],
        check: impl FnOnce(&mut Piece<'_, f64>) -> R,
    ) -> (R, Vec<Vec<i8>>, [f32; DIFFERENCES]) {
        let mut bytes = vec![vec![0; published.len()]; DIFFERENCES];
        let mut rest = bytes.iter_mut();
        let mut units = [0.0; DIFFERENCES];
        let result = check(&mut Piece {
            published,
            differences: std::array::from_fn(|_| &mut rest.next().unwrap()[..]),
            units: &mut units,
        });
        (result, bytes, units)
    }

    #[test]
    fn values_change_by_whole_units_which_are_known() {
        for scale in [0.4, 1e-3, 1e-9, 1e-15] {
            let exact: Vec<f64> = (0..1000).map(|i| 0.5 + scale * f64::from(i).sin()).collect();
            let mut published = vec![0.5; 1000];
            let (residual, bytes, units) =
                with_piece(&mut published, |piece| piece.publish(&exact, (2, -126), Simd::best()));
            let largest = exact.iter().map(|new| (new - 0.5).abs()).fold(0.0, f64::max);
            assert_eq!(residual, largest);
            let unit = f64::from(units[2]);
            assert!((64.0..128.0).contains(&(residual / unit)));
            for ((&new, published), &byte) in exact.iter().zip(published).zip(&bytes[2]) {
                assert_eq!(published, 0.5 + f64::from(byte) * unit);
                assert!((new - published).abs() <= unit);
            }
        }
    }

    #[test]
    fn what_publishing_leaves_over_is_found_again() {
        let exact: Vec<f64> = (0..1000).map(|i| 0.5 + 0.3 * f64::from(i).sin()).collect();
        let mut published = vec![0.5; 1000];
        for _ in 0..10 {
            with_piece(&mut published, |piece| piece.publish(&exact, (0, -126), Simd::best()));
        }
        let errors = exact.iter().zip(&published).map(|(a, b)| (a - b).abs());
        assert!(errors.fold(0.0, f64::max) <= 1e-16);
    }

    #[test]
    fn no_change_is_none() {
        let exact = vec![0.25; 100];
        let mut published = exact.clone();
        let (residual, bytes, _) =
            with_piece(&mut published, |piece| piece.publish(&exact, (1, -126), Simd::best()));
        assert_eq!((residual, published), (0.0, exact));
        assert!(bytes.iter().flatten().all(|&byte| byte == 0));
    }

    #[test]
    fn changes_far_below_the_finest_unit_wait() {
        let mut published = vec![0.5; 100];
        let (residual, bytes, units) =
            with_piece(&mut published, |piece| piece.publish(&[0.501; 100], (3, -7), Simd::best()));
        assert!((residual - 0.001).abs() < 1e-15);
        assert_eq!((published, units[3]), (vec![0.5; 100], 1.0 / 128.0));
        assert!(bytes[3].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn values_remain_chances() {
        assert_eq!(changed(0.9_f64, 127, 0.01), 1.0);
        assert_eq!(changed(0.1_f32, -127, 0.01), 0.0);
    }
}
