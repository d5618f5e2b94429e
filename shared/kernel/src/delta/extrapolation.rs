//! Extrapolation: adding to values what [weights](ziggurat_planning::weights) of the last supersteps make of their changes.
//!
//! The changes are [known in bytes](crate::delta::encoding). The unit of leads follows from the units of what they are made
//! of. The inner products of a piece are sums over every sixteenth value, added up in order; the pieces of
//! a range of a shard are added in order, then the ranges: the result does not depend on who computes which.

use ziggurat_planning::{
    quanta::{FINEST_UNITS, most},
    weights::{EARLIER, LAST, LEAD, Multiples, POINTS, Products, VECTORS},
};

use crate::{
    delta::encoding::{LANES, byte_for, read_lanes, unit_for},
    memory::budget::look,
    simd::{dispatch::Simd, value::Value},
};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::encoding::{Told, change, changed, tell, units_of};
    use ziggurat_planning::weights::{DIFFERENCES, multiples, vector_of};

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
}
