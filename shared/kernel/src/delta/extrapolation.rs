//! Reduced rank extrapolation: adding the changes of the last supersteps, by their
//! [weights](ziggurat_planning::weights), to values.
//!
//! The changes are [known in bytes](crate::delta::encoding). The quantum of displacements follows from those of their
//! terms. The inner products of a piece are sums over every sixteenth value, added up in order; the pieces of a range
//! of a shard are added in order, then the ranges: the result does not depend on who computes which.

use ziggurat_planning::{
    quanta::{QUANTUM_EXPONENTS, most},
    weights::{DISPLACEMENT, LAST, Multiples, POINTS, Products, RESTART, VECTORS},
};

use crate::{
    delta::encoding::{LANES, byte_for, quantum_for, read_lanes},
    memory::budget::enforce_budget,
    simd::{dispatch::Simd, value::Value},
};

/// A piece of the values of a step, and their changes in the last supersteps.
pub struct Piece<'a, T> {
    /// The values as of the last barrier.
    pub published: &'a mut [T],
    /// The bytes of the vectors.
    pub vectors: [&'a mut [i8]; VECTORS],
    /// The quantum of each.
    pub quanta: &'a mut Quanta,
}

/// The quantum of each of the vectors.
pub type Quanta = [f32; VECTORS];

/// Those of vectors of zeros: the finest there are.
pub const NO_QUANTA: Quanta = [f32::MIN_POSITIVE; VECTORS];

impl<T: Value> Piece<'_, T> {
    /// The inner products of the differences.
    pub fn products(&self, simd: Simd) -> Products {
        enforce_budget();
        let differences = std::array::from_fn(|point| &*self.vectors[RESTART + point]);
        let mut products = simd.compute(
            #[inline(always)]
            || inner_products(&differences),
        );
        let quanta = &self.quanta[RESTART..];
        for (row, one) in products.iter_mut().zip(quanta) {
            for (product, other) in row.iter_mut().zip(quanta) {
                *product *= f64::from(*one) * f64::from(*other);
            }
        }
        products
    }
}

/// Inner products of decoded bytes; the lower triangle.
#[inline(always)]
fn inner_products(differences: &[&[i8]; POINTS]) -> Products {
    let mut sums = [[[0.0_f32; LANES]; POINTS]; POINTS];
    let mut quanta = [[0.0_f32; LANES]; POINTS];
    for start in (0..differences[0].len()).step_by(LANES) {
        for (quanta, bytes) in quanta.iter_mut().zip(differences) {
            read_lanes(bytes, start, quanta);
        }
        for i in 0..POINTS {
            for j in 0..=i {
                for lane in 0..LANES {
                    sums[i][j][lane] += quanta[i][lane] * quanta[j][lane];
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

/// The quanta of the vectors of a piece after an extrapolation: no displacement is longer than all that it is made of.
pub fn quanta_after(quanta: &Quanta, multiples: &Multiples) -> Quanta {
    let step: f64 =
        quanta.iter().zip(multiples).map(|(&quantum, by)| most(quantum) * by.abs()).sum();
    let mut after = *quanta;
    after[DISPLACEMENT] = quantum_for(step + most(quanta[LAST]), *QUANTUM_EXPONENTS.start());
    after[RESTART] = quanta[LAST];
    after
}

/// Adds multiples of the vectors to the values of a piece, which remain between a loss and a win, and makes the last
/// point of the cycle the restart point. Its vectors then have other quanta than before.
pub fn extrapolate<T: Value>(
    values: &mut [T],
    mut vectors: [&mut [i8]; VECTORS],
    [before, after]: [&Quanta; 2],
    multiples: &Multiples,
    simd: Simd,
) {
    let factor = |i: usize| (multiples[i] * f64::from(before[i])) as f32;
    let factors: Quanta = std::array::from_fn(factor);
    simd.compute(
        #[inline(always)]
        || add_multiples(values, &mut vectors, &factors, [before[LAST], after[DISPLACEMENT]]),
    );
}

#[inline(always)]
fn add_multiples<T: Value>(
    values: &mut [T],
    vectors: &mut [&mut [i8]; VECTORS],
    factors: &Quanta,
    [last_quantum, displacement_quantum]: [f32; 2],
) {
    let mut quanta = [[0.0_f32; LANES]; VECTORS];
    let per_quantum = 1.0 / displacement_quantum;
    let len = values.len();
    for start in (0..len).step_by(LANES) {
        let end = len.min(start + LANES);
        for (quanta, bytes) in quanta.iter_mut().zip(vectors.iter()) {
            read_lanes(bytes, start, quanta);
        }
        let mut steps = [0.0_f32; LANES];
        for (quanta, factor) in quanta.iter().zip(factors) {
            for (step, quantum) in steps.iter_mut().zip(quanta) {
                *step += factor * quantum;
            }
        }
        // The last superstep of the cycle led to where the extrapolation began.
        let mut displacements = [0_i8; LANES];
        for lane in 0..LANES {
            displacements[lane] =
                byte_for((steps[lane] + last_quantum * quanta[LAST][lane]) * per_quantum);
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
        vectors[DISPLACEMENT][start..end].copy_from_slice(&displacements[..end - start]);
    }
    let [_, restart, .., last] = vectors;
    restart.copy_from_slice(last);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::encoding::{EncodedDelta, change, changed, encode, quanta_of};
    use ziggurat_planning::weights::{CycleSlot, multiples};

    /// How far values are from their limit, 0, after so many cycles of supersteps, of which each takes a part of the
    /// distance away.
    fn extrapolated(cycles: usize, may_look_back: bool) -> f64 {
        let rates = [0.99, 0.97, 0.9, -0.8, 0.6, 0.3];
        let errors = (0..3000).map(|i| 1e-3 * (0.37 * f64::from(i)).sin());
        let mut values: Vec<f64> = errors.collect();
        let mut bytes = vec![vec![0; values.len()]; VECTORS];
        let mut quanta = [0.0; VECTORS];
        for cycle in 0..cycles {
            let mut before_last = Vec::new();
            let mut rest = bytes.iter_mut();
            let vectors = std::array::from_fn(|_| &mut rest.next().unwrap()[..]);
            let mut piece = Piece { published: &mut values, vectors, quanta: &mut quanta };
            for slot in CycleSlot::all() {
                let by_rate = piece.published.iter().zip(rates.iter().cycle());
                let live: Vec<f64> = by_rate.map(|(x, rate)| rate * x).collect();
                before_last = piece.published.to_vec();
                publish(&mut piece, &live, (slot, -126));
            }
            let products = vec![(0, piece.products(Simd::best()))];
            let multiples = multiples(products, cycle > 0 && may_look_back).unwrap();
            let Piece { published, vectors, quanta: before } = piece;
            let after = quanta_after(before, &multiples);
            extrapolate(published, vectors, [before, &after], &multiples, Simd::best());
            quanta = after;
            // The displacement goes from the values before the last superstep to those after the extrapolation.
            for ((now, before), &displacement) in
                values.iter().zip(before_last).zip(&bytes[DISPLACEMENT])
            {
                let led = f64::from(quanta_of(displacement) * quanta[DISPLACEMENT]);
                let fine = f64::from((f32::from(displacement).abs() + 2.0) * quanta[DISPLACEMENT]);
                assert!((now - before - led).abs() <= fine, "{now} {before} {led}");
            }
            assert_eq!(bytes[RESTART], bytes[LAST]);
        }
        values.iter().map(|x| x.abs()).fold(0.0, f64::max)
    }

    #[test]
    fn a_restart_point_tells_what_a_cycle_has_forgotten() {
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
                let terms = all[i].iter().zip(&all[j]).map(|(&a, &b)| quanta_of(a) * quanta_of(b));
                assert_eq!(products[i][j], terms.map(f64::from).sum::<f64>(), "{len} {i} {j}");
            }
        }
    }

    fn slot(before: usize) -> CycleSlot {
        CycleSlot::new(before).unwrap()
    }

    /// Changes a piece towards new values, in the superstep at a slot of a cycle.
    fn publish(piece: &mut Piece<'_, f64>, new: &[f64], (slot, finest): (CycleSlot, i32)) -> f64 {
        let Piece { published, vectors, quanta } = piece;
        let (vector, simd) = (slot.vector(), Simd::best());
        let EncodedDelta { residual, quantum } =
            encode(new, published, vectors[vector], finest, simd);
        quanta[vector] = quantum;
        change(published, vectors[vector], quantum, simd);
        residual
    }

    fn with_piece<R>(
        published: &mut [f64],
        check: impl FnOnce(&mut Piece<'_, f64>) -> R,
    ) -> (R, Vec<Vec<i8>>, Quanta) {
        let mut bytes = vec![vec![0; published.len()]; VECTORS];
        let mut rest = bytes.iter_mut();
        let mut quanta = [0.0; VECTORS];
        let result = check(&mut Piece {
            published,
            vectors: std::array::from_fn(|_| &mut rest.next().unwrap()[..]),
            quanta: &mut quanta,
        });
        (result, bytes, quanta)
    }

    #[test]
    fn values_change_by_whole_quanta_which_are_known() {
        for scale in [0.4, 1e-3, 1e-9, 1e-15] {
            let exact: Vec<f64> = (0..1000).map(|i| scale * f64::from(i).sin()).collect();
            let mut published = vec![0.0; 1000];
            let (residual, bytes, quanta) =
                with_piece(&mut published, |piece| publish(piece, &exact, (slot(2), -126)));
            let largest = exact.iter().map(|new| new.abs()).fold(0.0, f64::max);
            assert_eq!(residual, largest);
            let (quantum, bytes) = (quanta[slot(2).vector()], &bytes[slot(2).vector()]);
            assert!((8192.0..16384.0).contains(&(residual / f64::from(quantum))));
            for ((&new, published), &byte) in exact.iter().zip(published).zip(bytes) {
                assert_eq!(published, changed(0.0, byte, quantum));
                let fine = f64::from(f32::from(byte).abs() + 2.0) * f64::from(quantum);
                assert!((new - published).abs() <= fine, "{new} {published} {byte}");
            }
        }
    }

    #[test]
    fn what_publishing_leaves_over_is_found_again() {
        let exact: Vec<f64> = (0..1000).map(|i| 0.3 * f64::from(i).sin()).collect();
        let mut published = vec![0.0; 1000];
        for _ in 0..10 {
            with_piece(&mut published, |piece| publish(piece, &exact, (slot(0), -126)));
        }
        let errors = exact.iter().zip(&published).map(|(a, b)| (a - b).abs());
        assert!(errors.fold(0.0, f64::max) <= 1e-16);
    }

    #[test]
    fn no_change_is_none() {
        let exact = vec![0.25; 100];
        let mut published = exact.clone();
        let (residual, bytes, _) =
            with_piece(&mut published, |piece| publish(piece, &exact, (slot(1), -126)));
        assert_eq!((residual, published), (0.0, exact));
        assert!(bytes.iter().flatten().all(|&byte| byte == 0));
    }

    #[test]
    fn changes_far_below_the_finest_quantum_wait() {
        let mut published = vec![0.1; 100];
        let (residual, bytes, quanta) =
            with_piece(&mut published, |piece| publish(piece, &[0.101; 100], (slot(3), -7)));
        assert!((residual - 0.001).abs() < 1e-15);
        assert_eq!((published, quanta[slot(3).vector()]), (vec![0.1; 100], 1.0 / 128.0));
        assert!(bytes[slot(3).vector()].iter().all(|&byte| byte == 0));
    }
}
