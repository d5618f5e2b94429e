//! Reduced rank extrapolation with restarts: where a row of supersteps is heading, without making them.
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
//! there to the start of the row. With `x[0]` for the start, `d[i]` the differences of the row, q the last of them, e and l the
//! difference and the lead of the earlier point, and v its weight,
//!
//! ```text
//! x' = sum w[i] g[i] + v (x[0] - l + e)
//!    = g[q] - sum over i of (v + w[0] + ... + w[i-1]) d[i] + v e - v l
//! ```

/// The supersteps between two extrapolations.
pub const DIFFERENCES: usize = 4;

/// The points that an extrapolation looks at: an earlier one, then those of the row.
pub const POINTS: usize = 1 + DIFFERENCES;

/// The vectors of bytes that are remembered: the lead of the earlier point, then the differences of all points.
pub const VECTORS: usize = 1 + POINTS;

/// The place among the vectors of the lead.
pub const LEAD: usize = 0;

/// That of the earlier point's difference.
pub const EARLIER: usize = 1;

/// That of the difference of the last superstep of a row.
pub const LAST: usize = VECTORS - 1;

/// Part of the squares of the weights is made small too, so that they are never arbitrary.
pub const REGULARISATION: f64 = 1e-9;

/// Where the difference of a superstep is among the [`VECTORS`], by the superstep's place in its row.
pub const fn vector_of(row: usize) -> usize {
    EARLIER + 1 + row
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
        let [earlier, weights @ ..] = weights(products, false).unwrap();
        assert_eq!(earlier, 0.0);
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
