//! Extrapolation: where a row of supersteps is heading, without making them.
//!
//! Close to the solution a superstep multiplies the error by a matrix, so the differences
//! `d[i] = g[i] - x[i]` between values x and what a superstep makes of them, g, are all made of the same
//! slow modes. If weights with sum 1 make `sum w[i] d[i]` small, then `sum w[i] g[i]` is nearly a fixed point:
//! *reduced-rank extrapolation* (Mesina 1977, Eddy 1979). After every [`DIFFERENCES`] supersteps, a *row*,
//! the weights that make that sum smallest are found from the differences' inner products.
//!
//! A row by itself has forgotten what the one before has found out: it finds the same few modes again, and takes away
//! a part of them again. Restarted Krylov methods stall like this, and what helps is to remember where the last
//! rows have led to (Baker, Jessup and Manteuffel 2005). So there is one more *point*, the one before the last superstep of the
//! row before, with the difference that there was, and its *lead*: how far the values have come from
//! there to the start of the row. With x[0] for the start, d[i] the differences of the row, q the last of them, e and l the
//! difference and the lead of the earlier point, and v its weight,
//!
//! ```text
//! x' = sum w[i] g[i] + v (x[0] - l + e)
//!    = g[q] - sum over i of (v + w[0] + ... + w[i-1]) d[i] + v e - v l
//! ```
//!
//! A shard does not publish what a sweep has made of its values, but the values before, each changed by a
//! number of units that is a square (or minus one): that of a byte. So small changes are told as well as large ones, to a
//! few parts in a hundred. The unit is a power of two, the same for a *piece* of
//! at most [`PIECE`] values, and so large that no change of the piece is beyond the square of 127; where
//! little changes it is larger, since what is far below the last residual need not be told yet. What is left
//! over is not lost: the next sweep finds it again, as part of the change that it makes. So the differences
//! are known exactly, in a byte for each value, to whoever knows what was published: who reads a shard's
//! values can extrapolate them without being told. The unit of leads follows from the units of what they are made
//! of. The inner products of a piece are sums over every sixteenth value, added up in order; the pieces of
//! a range of a shard are added in order, then the ranges: the result does not depend on who computes which.

use std::ops::RangeInclusive;

use crate::{memory::look, simd::Simd, value::Value};

/// The supersteps between two extrapolations.
pub const DIFFERENCES: usize = 4;

/// The points that an extrapolation looks at: an earlier one, then those of the row.
pub const POINTS: usize = 1 + DIFFERENCES;

/// The vectors of bytes that are remembered: the lead of the earlier point, then the differences of all points.
pub const VECTORS: usize = 1 + POINTS;

/// The places of vectors: of the lead, of the earlier point's difference, and of that of the last superstep of a row.
const LEAD: usize = 0;
const EARLIER: usize = 1;
const LAST: usize = VECTORS - 1;

/// The most values a piece has: what is rounded together.
pub const PIECE: usize = 8 << 10;

/// A value is changed by the square of at most this, in units.
const MOST_ROOT: f32 = 127.0;

/// The largest change of a piece is this power of two times the unit, or up to twice that.
const BITS: i32 = 13;

/// The finest units there are, by exponent: `f32` has them all.
pub const FINEST_UNITS: RangeInclusive<i32> = -126..=-1;

/// Added to a small `f32`, this leaves its nearest integer in the lowest bits: 1.5 * 2^23.
const ROUND: f32 = 12_582_912.0;

/// So many values are computed at a time.
const LANES: usize = 16;

/// Part of the squares of the weights is made small too, so that they are never arbitrary.
const REGULARISATION: f64 = 1e-9;

/// Where the difference of a superstep is among the [`VECTORS`], by the superstep's place in its row.
pub const fn vector_of(row: usize) -> usize {
    EARLIER + 1 + row
}

/// A piece of the values of a step, and what its last supersteps changed.
pub struct Piece<'a, T> {
    /// The values as of the last barrier.
    pub published: &'a mut [T],
    /// The bytes of the vectors.
    pub vectors: [&'a mut [i8]; VECTORS],
    /// What a unit of each is worth.
    pub units: &'a mut Units,
}

/// What a unit of each of the vectors is worth.
pub type Units = [f32; VECTORS];

/// Those of vectors of zeros: the finest there are.
pub const NO_UNITS: Units = [f32::MIN_POSITIVE; VECTORS];

impl<T: Value> Piece<'_, T> {
    /// The inner products of the differences.
    pub fn products(&self, simd: Simd) -> Products {
        look();
        let differences = std::array::from_fn(|point| &*self.vectors[EARLIER + point]);
        let mut products = simd.compute(
            #[inline(always)]
            || inner_products(&differences),
        );
        let units = &self.units[EARLIER..];
        for (row, one) in products.iter_mut().zip(units) {
            for (product, other) in row.iter_mut().zip(units) {
                *product *= f64::from(*one) * f64::from(*other);
            }
        }
        products
    }
}

/// What a superstep has made of a piece, beside the bytes that say it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Told {
    /// The largest difference between an old value and a new one.
    pub residual: f64,
    /// What a unit of the bytes is worth.
    pub unit: f32,
}

/// Says in bytes by how many units, no finer than 2 to the power of `finest`, the values of a piece are to be changed to come
/// near new ones.
pub fn tell<T: Value>(new: &[T], old: &[T], bytes: &mut [i8], finest: i32, simd: Simd) -> Told {
    look();
    let residual = simd.compute(
        #[inline(always)]
        || largest_difference(new, old),
    );
    let unit = unit_for(residual, finest);
    simd.compute(
        #[inline(always)]
        || write_differences(new, old, bytes, unit),
    );
    Told { residual, unit }
}

/// The unit for a piece whose largest change this is.
fn unit_for(largest: f64, finest: i32) -> f32 {
    unit((exponent_of(largest) - BITS).max(finest))
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

/// How many units a byte stands for: its square, with its sign.
#[inline(always)]
fn units_of(byte: i8) -> f32 {
    f32::from(byte) * f32::from(byte).abs()
}

/// The byte that stands for nearly so many units.
#[inline(always)]
fn byte_for(units: f32) -> i8 {
    let root = units.abs().sqrt().min(MOST_ROOT).copysign(units);
    (root + ROUND).to_bits() as i8
}

/// Writes down differences in units.
#[inline(always)]
fn write_differences<T: Value>(new: &[T], old: &[T], bytes: &mut [i8], unit: f32) {
    let per_unit = 1.0 / unit;
    for ((&new, &old), byte) in new.iter().zip(old).zip(bytes) {
        *byte = byte_for(new.difference(old, per_unit));
    }
}

/// Inner products of what bytes stand for; the lower triangle.
#[inline(always)]
fn inner_products(differences: &[&[i8]; POINTS]) -> Products {
    let mut sums = [[[0.0_f32; LANES]; POINTS]; POINTS];
    let mut units = [[0.0_f32; LANES]; POINTS];
    for start in (0..differences[0].len()).step_by(LANES) {
        for (units, bytes) in units.iter_mut().zip(differences) {
            read_lanes(bytes, start, units);
        }
        for i in 0..POINTS {
            for j in 0..=i {
                for lane in 0..LANES {
                    sums[i][j][lane] += units[i][lane] * units[j][lane];
                }
            }
        }
    }
    let mut products = Products::default();
    for (product, sums) in products.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
        for &sum in sums {
            *product += f64::from(sum);
        }
    }
    products
}

/// How many units the bytes from one on stand for; 0 beyond the last byte.
#[inline(always)]
fn read_lanes(bytes: &[i8], start: usize, units: &mut [f32; LANES]) {
    let rest = &bytes[start..];
    if let Some(lanes) = rest.first_chunk::<LANES>() {
        for (units, &byte) in units.iter_mut().zip(lanes) {
            *units = units_of(byte);
        }
    } else {
        *units = [0.0; LANES];
        for (units, &byte) in units.iter_mut().zip(rest) {
            *units = units_of(byte);
        }
    }
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
    f64::from(MOST_ROOT * MOST_ROOT * unit)
}

/// A value that is changed by what a byte stands for. It remains between a loss and a win.
#[inline(always)]
pub fn changed<T: Value>(value: T, byte: i8, unit: f32) -> T {
    value.moved_by(units_of(byte) * unit)
}

/// Changes values by what bytes stand for.
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

/// The units of the vectors of a piece after an extrapolation: no lead is longer than all that it is made of.
pub fn units_after(units: &Units, multiples: &Multiples) -> Units {
    let step: f64 = units.iter().zip(multiples).map(|(&unit, by)| most(unit) * by.abs()).sum();
    let mut after = *units;
    after[LEAD] = unit_for(step + most(units[LAST]), *FINEST_UNITS.start());
    after[EARLIER] = units[LAST];
    after
}

/// Adds multiples of the vectors to the values of a piece, which remain between a loss and a win, and makes the last point
/// of the row the earlier one. Its vectors then have other units than before.
pub fn extrapolate<T: Value>(
    values: &mut [T],
    mut vectors: [&mut [i8]; VECTORS],
    [before, after]: [&Units; 2],
    multiples: &Multiples,
    simd: Simd,
) {
    let factor = |i: usize| (multiples[i] * f64::from(before[i])) as f32;
    let factors: Units = std::array::from_fn(factor);
    simd.compute(
        #[inline(always)]
        || add_multiples(values, &mut vectors, &factors, [before[LAST], after[LEAD]]),
    );
}

#[inline(always)]
fn add_multiples<T: Value>(
    values: &mut [T],
    vectors: &mut [&mut [i8]; VECTORS],
    factors: &Units,
    [last_unit, lead_unit]: [f32; 2],
) {
    let mut units = [[0.0_f32; LANES]; VECTORS];
    let per_unit = 1.0 / lead_unit;
    let len = values.len();
    for start in (0..len).step_by(LANES) {
        let end = len.min(start + LANES);
        for (units, bytes) in units.iter_mut().zip(vectors.iter()) {
            read_lanes(bytes, start, units);
        }
        let mut steps = [0.0_f32; LANES];
        for (units, factor) in units.iter().zip(factors) {
            for (step, unit) in steps.iter_mut().zip(units) {
                *step += factor * unit;
            }
        }
        // The last superstep of the row led to where the extrapolation began.
        let mut leads = [0_i8; LANES];
        for lane in 0..LANES {
            leads[lane] = byte_for((steps[lane] + last_unit * units[LAST][lane]) * per_unit);
        }
        if let Some(values) = values[start..end].as_mut_array::<LANES>() {
            for lane in 0..LANES {
                values[lane] = values[lane].moved_by(steps[lane]);
            }
        } else {
            for (value, &step) in values[start..end].iter_mut().zip(&steps) {
                *value = value.moved_by(step);
            }
        }
        vectors[LEAD][start..end].copy_from_slice(&leads[..end - start]);
    }
    let [_, earlier, .., last] = vectors;
    earlier.copy_from_slice(last);
}

/// Inner products of the differences of the points; the lower triangle counts.
pub type Products = [[f64; POINTS]; POINTS];

/// What multiple of each vector an extrapolation adds to the values.
pub type Multiples = [f64; VECTORS];

/// Adds inner products.
pub fn add(total: &mut Products, more: &Products) {
    for (total, more) in total.as_flattened_mut().iter_mut().zip(more.as_flattened()) {
        *total += more;
    }
}

/// What leads to where supersteps were heading, from the inner products of all ranges of shards,
/// each with its place, and whether there is an earlier point; `None` if that is nowhere.
pub fn multiples(mut ranges: Vec<(u32, Products)>, has_earlier: bool) -> Option<Multiples> {
    ranges.sort_by_key(|&(place, _)| place);
    let mut products = Products::default();
    for (_, part) in &ranges {
        add(&mut products, part);
    }
    let [earlier, row @ ..] = weights(products, has_earlier)?;
    let mut multiples = Multiples::default();
    (multiples[LEAD], multiples[EARLIER]) = (-earlier, earlier);
    let mut before = earlier;
    for (multiple, weight) in multiples[vector_of(0)..].iter_mut().zip(row) {
        *multiple = -before;
        before += weight;
    }
    Some(multiples)
}

/// The weights with sum 1 that make the weighted sum of the differences smallest, 0 for an earlier point if there
/// is none; `None` if nothing changed or the differences say nothing.
fn weights(mut products: Products, has_earlier: bool) -> Option<[f64; POINTS]> {
    let mut weights = [1.0; POINTS];
    if !has_earlier {
        weights[0] = 0.0;
        products.iter_mut().for_each(|row| row[0] = 0.0);
        products[0][0] = 1.0;
    }
    // The solution of products * w = (1, ..., 1), divided by its sum; by Cholesky's method.
    for (i, row) in products.iter_mut().enumerate() {
        row[i] *= 1.0 + REGULARISATION;
    }
    for i in 0..POINTS {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| products[i][k] * products[j][k]).sum();
            let rest = products[i][j] - known;
            products[i][j] = if i == j { rest.sqrt() } else { rest / products[j][j] };
        }
        let known: f64 = (0..i).map(|k| products[i][k] * weights[k]).sum();
        weights[i] = (weights[i] - known) / products[i][i];
    }
    for i in (0..POINTS).rev() {
        let known: f64 = (i + 1..POINTS).map(|k| products[k][i] * weights[k]).sum();
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
        for i in 0..DIFFERENCES {
            for j in 0..DIFFERENCES {
                products[1 + i][1 + j] =
                    rates.map(|rate: f64| rate.powi((i + j) as i32)).iter().sum();
            }
        }
        let [earlier, weights @ ..] = weights(products, false).unwrap();
        assert_eq!(earlier, 0.0);
        for rate in rates {
            let terms = weights.iter().enumerate().map(|(i, weight)| weight * rate.powi(i as i32));
            assert!(terms.sum::<f64>().abs() < 1e-4, "{rate}: {weights:?}");
        }
    }

    /// How far values are from their limit, 0, after so many rows of supersteps, of which each takes a part of the
    /// distance away.
    fn extrapolated(rows: usize, may_look_back: bool) -> f64 {
        let rates = [0.99, 0.97, 0.9, -0.8, 0.6, 0.3];
        let errors = (0..3000).map(|i| 1e-3 * (0.37 * f64::from(i)).sin());
        let mut values: Vec<f64> = errors.collect();
        let mut bytes = vec![vec![0; values.len()]; VECTORS];
        let mut units = [0.0; VECTORS];
        for row in 0..rows {
            let mut before_last = Vec::new();
            let mut rest = bytes.iter_mut();
            let vectors = std::array::from_fn(|_| &mut rest.next().unwrap()[..]);
            let mut piece = Piece { published: &mut values, vectors, units: &mut units };
            for superstep in 0..DIFFERENCES {
                let by_rate = piece.published.iter().zip(rates.iter().cycle());
                let live: Vec<f64> = by_rate.map(|(x, rate)| rate * x).collect();
                before_last = piece.published.to_vec();
                publish(&mut piece, &live, (superstep, -126));
            }
            let products = vec![(0, piece.products(Simd::best()))];
            let multiples = multiples(products, row > 0 && may_look_back).unwrap();
            let Piece { published, vectors, units: before } = piece;
            let after = units_after(before, &multiples);
            extrapolate(published, vectors, [before, &after], &multiples, Simd::best());
            units = after;
            // The lead goes from the values before the last superstep to those after the extrapolation.
            for ((now, before), &lead) in values.iter().zip(before_last).zip(&bytes[LEAD]) {
                let led = f64::from(units_of(lead) * units[LEAD]);
                let fine = f64::from((f32::from(lead).abs() + 2.0) * units[LEAD]);
                assert!((now - before - led).abs() <= fine, "{now} {before} {led}");
            }
            assert_eq!(bytes[EARLIER], bytes[LAST]);
        }
        values.iter().map(|x| x.abs()).fold(0.0, f64::max)
    }

    #[test]
    fn an_earlier_point_tells_what_a_row_has_forgotten() {
        assert_eq!(extrapolated(1, true), extrapolated(1, false));
        let (with, without) = (extrapolated(6, true), extrapolated(6, false));
        assert!(with < 0.2 * without, "{with:e} {without:e}");
    }

    #[test]
    fn bytes_stand_for_squares() {
        for byte in -127..=127_i8 {
            assert_eq!(units_of(byte), f32::from(byte.signum()) * f32::from(byte).powi(2));
            assert_eq!(byte_for(units_of(byte)), byte);
        }
        assert_eq!([byte_for(1e9), byte_for(-1e9), byte_for(0.2)], [127, -127, 0]);
    }

    #[test]
    fn inner_products_are_those_of_all_bytes() {
        for len in [1, 15, 16, 100] {
            let bytes = |seed: i32| (0..len).map(|i| (seed * i * i % 11 - 5) as i8).collect();
            let all: [Vec<i8>; POINTS] = std::array::from_fn(|point| bytes(point as i32 + 1));
            let products = inner_products(&all.each_ref().map(|bytes| &bytes[..]));
            for (i, j) in (0..POINTS).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                let terms = all[i].iter().zip(&all[j]).map(|(&a, &b)| units_of(a) * units_of(b));
                assert_eq!(products[i][j], terms.map(f64::from).sum::<f64>(), "{len} {i} {j}");
            }
        }
    }

    #[test]
    fn units_are_powers_of_two() {
        for exponent in FINEST_UNITS {
            assert_eq!(unit(exponent), (exponent as f32).exp2());
            assert!(unit(exponent) >= NO_UNITS[0]);
            assert_eq!(exponent_of(unit(exponent).into()), exponent);
            assert_eq!(exponent_of(1.99 * f64::from(unit(exponent))), exponent);
        }
    }

    #[test]
    fn no_change_gives_no_weights() {
        assert_eq!(weights(Products::default(), false), None);
        assert_eq!(weights(Products::default(), true), None);
    }

    /// Changes a piece towards new values, in the superstep at a place of a row.
    fn publish(piece: &mut Piece<'_, f64>, new: &[f64], (row, finest): (usize, i32)) -> f64 {
        let Piece { published, vectors, units } = piece;
        let (vector, simd) = (vector_of(row), Simd::best());
        let Told { residual, unit } = tell(new, published, vectors[vector], finest, simd);
        units[vector] = unit;
        change(published, vectors[vector], unit, simd);
        residual
    }

    fn with_piece<R>(
        published: &mut [f64],
        check: impl FnOnce(&mut Piece<'_, f64>) -> R,
    ) -> (R, Vec<Vec<i8>>, Units) {
        let mut bytes = vec![vec![0; published.len()]; VECTORS];
        let mut rest = bytes.iter_mut();
        let mut units = [0.0; VECTORS];
        let result = check(&mut Piece {
            published,
            vectors: std::array::from_fn(|_| &mut rest.next().unwrap()[..]),
            units: &mut units,
        });
        (result, bytes, units)
    }

    #[test]
    fn values_change_by_whole_units_which_are_known() {
        for scale in [0.4, 1e-3, 1e-9, 1e-15] {
            let exact: Vec<f64> = (0..1000).map(|i| scale * f64::from(i).sin()).collect();
            let mut published = vec![0.0; 1000];
            let (residual, bytes, units) =
                with_piece(&mut published, |piece| publish(piece, &exact, (2, -126)));
            let largest = exact.iter().map(|new| new.abs()).fold(0.0, f64::max);
            assert_eq!(residual, largest);
            let (unit, bytes) = (units[vector_of(2)], &bytes[vector_of(2)]);
            assert!((8192.0..16384.0).contains(&(residual / f64::from(unit))));
            for ((&new, published), &byte) in exact.iter().zip(published).zip(bytes) {
                assert_eq!(published, changed(0.0, byte, unit));
                let fine = f64::from(f32::from(byte).abs() + 2.0) * f64::from(unit);
                assert!((new - published).abs() <= fine, "{new} {published} {byte}");
            }
        }
    }

    #[test]
    fn what_publishing_leaves_over_is_found_again() {
        let exact: Vec<f64> = (0..1000).map(|i| 0.3 * f64::from(i).sin()).collect();
        let mut published = vec![0.0; 1000];
        for _ in 0..10 {
            with_piece(&mut published, |piece| publish(piece, &exact, (0, -126)));
        }
        let errors = exact.iter().zip(&published).map(|(a, b)| (a - b).abs());
        assert!(errors.fold(0.0, f64::max) <= 1e-16);
    }

    #[test]
    fn no_change_is_none() {
        let exact = vec![0.25; 100];
        let mut published = exact.clone();
        let (residual, bytes, _) =
            with_piece(&mut published, |piece| publish(piece, &exact, (1, -126)));
        assert_eq!((residual, published), (0.0, exact));
        assert!(bytes.iter().flatten().all(|&byte| byte == 0));
    }

    #[test]
    fn changes_far_below_the_finest_unit_wait() {
        let mut published = vec![0.1; 100];
        let (residual, bytes, units) =
            with_piece(&mut published, |piece| publish(piece, &[0.101; 100], (3, -7)));
        assert!((residual - 0.001).abs() < 1e-15);
        assert_eq!((published, units[vector_of(3)]), (vec![0.1; 100], 1.0 / 128.0));
        assert!(bytes[vector_of(3)].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn values_remain_between_a_loss_and_a_win() {
        assert_eq!(changed(0.4_f64, 127, 0.01), 0.5);
        assert_eq!(changed(-0.4_f32, -127, 0.01), -0.5);
    }
}
