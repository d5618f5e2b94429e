//! Reduced rank extrapolation with restarts: the limit of a cycle of supersteps, without making them.
//!
//! Close to the solution a superstep multiplies the error by a matrix, so the differences
//! `d[i] = g[i] - x[i]` between values x and the values g after a superstep are all made of the same
//! slow modes. If weights with sum 1 make `sum w[i] d[i]` small, then `sum w[i] g[i]` is nearly a fixed point:
//! *reduced-rank extrapolation* (Mesina 1977, Eddy 1979). After every [`DIFFERENCES`] supersteps, a *cycle*,
//! the weights that make that sum smallest are found from the differences' inner products.
//!
//! A cycle by itself has forgotten the modes that the one before has found: it finds the same few again, and takes
//! away a part of them again. Restarted Krylov methods stall like this, and the remedy is to remember the steps of the
//! last cycles (Baker, Jessup and Manteuffel 2005). So there is one more *point*, the restart point before the last
//! superstep of the cycle before, with its difference, and its *displacement*: how far the values have come from there
//! to the start of the cycle. With `x[0]` for the start, `d[i]` the differences of the cycle, q the last of them, e
//! and l the difference and the displacement of the restart point, and v its weight,
//!
//! ```text
//! x' = sum w[i] g[i] + v (x[0] - l + e)
//!    = g[q] - sum over i of (v + w[0] + ... + w[i-1]) d[i] + v e - v l
//! ```

use serde::{Deserialize, Serialize};

/// The supersteps between two extrapolations.
pub const DIFFERENCES: usize = 4;

/// The points that an extrapolation looks at: the restart point, then those of the cycle.
pub const POINTS: usize = 1 + DIFFERENCES;

/// The vectors of bytes that are remembered: the displacement of the restart point, then the differences of all points.
pub const VECTORS: usize = 1 + POINTS;

/// The place among the vectors of the displacement.
pub const DISPLACEMENT: usize = 0;

/// That of the restart point's difference.
pub const RESTART: usize = 1;

/// That of the difference of the last superstep of a cycle.
pub const LAST: usize = VECTORS - 1;

/// Part of the squares of the weights is made small too, so that they are never arbitrary.
pub const REGULARISATION: f64 = 1e-9;

/// The place of a superstep in its cycle.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct CycleSlot(usize);

impl CycleSlot {
    /// The first one.
    pub const FIRST: Self = Self(0);

    /// The slot of a superstep whose cycle has so many before it; `None` if cycles are shorter.
    pub fn new(before: usize) -> Option<Self> {
        (before < DIFFERENCES).then_some(Self(before))
    }

    /// All of a cycle.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + Clone {
        (0..DIFFERENCES).map(Self)
    }

    /// How many supersteps of the cycle are before it.
    pub fn before(self) -> usize {
        self.0
    }

    /// The next slot, in this cycle or the next one.
    pub fn next(self) -> Self {
        Self((self.0 + 1) % DIFFERENCES)
    }

    /// Where the difference of the superstep is among the [`VECTORS`].
    pub const fn vector(self) -> usize {
        RESTART + 1 + self.0
    }
}

/// Inner products of the differences of the points; the lower triangle counts.
pub type Products = [[f64; POINTS]; POINTS];

/// The multiple of each vector that an extrapolation adds to the values.
pub type Multiples = [f64; VECTORS];

/// Adds inner products.
pub fn add(total: &mut Products, more: &Products) {
    for (total, more) in total.as_flattened_mut().iter_mut().zip(more.as_flattened()) {
        *total += more;
    }
}

/// The multiples that lead to the limit of the supersteps, from the inner products of all ranges of shards,
/// each with its place, and whether there is a restart point; `None` if there is no such limit.
pub fn multiples(mut ranges: Vec<(u32, Products)>, has_earlier: bool) -> Option<Multiples> {
    ranges.sort_by_key(|&(place, _)| place);
    let mut products = Products::default();
    for (_, part) in &ranges {
        add(&mut products, part);
    }
    let [restart, cycle @ ..] = weights(products, has_earlier)?;
    let mut multiples = Multiples::default();
    (multiples[DISPLACEMENT], multiples[RESTART]) = (-restart, restart);
    let mut before = restart;
    for (multiple, weight) in multiples[CycleSlot::FIRST.vector()..].iter_mut().zip(cycle) {
        *multiple = -before;
        before += weight;
    }
    Some(multiples)
}

/// The weights with sum 1 that make the weighted sum of the differences smallest, 0 for a restart point if there
/// is none; `None` if nothing changed or the differences say nothing.
pub fn weights(mut products: Products, has_earlier: bool) -> Option<[f64; POINTS]> {
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
        let [restart, weights @ ..] = weights(products, false).unwrap();
        assert_eq!(restart, 0.0);
        for rate in rates {
            let terms = weights.iter().enumerate().map(|(i, weight)| weight * rate.powi(i as i32));
            assert!(terms.sum::<f64>().abs() < 1e-4, "{rate}: {weights:?}");
        }
    }

    #[test]
    fn no_change_gives_no_weights() {
        assert_eq!(weights(Products::default(), false), None);
        assert_eq!(weights(Products::default(), true), None);
    }
}
