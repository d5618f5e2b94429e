//! Sparse Gaussian elimination modulo p, once, so that many right hand sides are cheap.
//!
//! The order of elimination is all that matters. Most moves lead forward, so that most unknowns
//! can be eliminated one after the other with hardly any new coefficients; only captures lead
//! back, to positions with one piece more in hand, which are few. A greedy choice finds that
//! order without knowing it: always eliminate the unknown that makes the fewest new coefficients
//! at most, (entries in its row - 1) x (entries in its column - 1) (Markowitz 1957).

use crate::field::{P, dot, inverse, mul, reduce, residue, sub};

/// A row of a sparse matrix: columns with their entries, ascending by column.
pub(crate) type Row<T> = Vec<(u32, T)>;

/// A square matrix modulo p as the product of a lower and an upper triangular one.
pub(crate) struct Factors {
    /// The unknowns in the order of their elimination.
    order: Vec<u32>,
    /// For each unknown, the multiples of earlier rows that were taken from its row.
    lower: Vec<Row<u64>>,
    /// For each unknown, what was left of its row right of the diagonal when its turn came ...
    upper: Vec<Row<u64>>,
    /// ... and the inverse of the diagonal.
    inverse: Vec<u64>,
}

impl Factors {
    /// Factors a matrix, pivots on the diagonal. `None` if a pivot is 0 modulo p.
    pub(crate) fn new(matrix: &[Row<i64>]) -> Option<Self> {
        let n = matrix.len();
        let modular =
            |row: &Row<i64>| row.iter().map(|&(column, a)| (column, residue(a))).collect();
        let mut rows: Vec<Row<u64>> = matrix.iter().map(modular).collect();
        let mut columns = vec![Vec::new(); n];
        for (i, row) in (0..).zip(&rows) {
            row.iter().for_each(|&(column, _)| columns[column as usize].push(i));
        }
        let mut left: Vec<u32> = (0..n as u32).collect();
        let mut factors = Self {
            order: Vec::with_capacity(n),
            lower: vec![Row::new(); n],
            upper: vec![Row::new(); n],
            inverse: vec![0; n],
        };
        while !left.is_empty() {
            let cheapest = cheapest(&left, &rows, &columns)?;
            let pivot = left.swap_remove(cheapest);
            factors.eliminate(pivot, &mut rows, &mut columns)?;
        }
        Some(factors)
    }

    /// Takes the row of `pivot` from all rows that have an entry in its column.
    fn eliminate(
        &mut self,
        pivot: u32,
        rows: &mut [Row<u64>],
        columns: &mut [Vec<u32>],
    ) -> Option<()> {
        let mut row = std::mem::take(&mut rows[pivot as usize]);
        let diagonal = row.iter().position(|&(column, _)| column == pivot)?;
        let inverse = inverse(row.remove(diagonal).1)?;
        for &(column, _) in &row {
            columns[column as usize].retain(|&other| other != pivot);
        }
        for other in std::mem::take(&mut columns[pivot as usize]) {
            if other == pivot {
                continue;
            }
            let target = &mut rows[other as usize];
            let at = target.iter().position(|&(column, _)| column == pivot)?;
            let factor = mul(target.remove(at).1, inverse);
            let new = |column: u32| columns[column as usize].push(other);
            *target = minus_multiple(target, &row, factor, new);
            self.lower[other as usize].push((pivot, factor));
        }
        self.order.push(pivot);
        self.upper[pivot as usize] = row;
        self.inverse[pivot as usize] = inverse;
        Some(())
    }

    /// Solves for a right hand side, in place.
    pub(crate) fn solve(&self, vector: &mut [u64]) {
        for &i in &self.order {
            let i = i as usize;
            vector[i] = sub(vector[i], dot(&self.lower[i], vector));
        }
        for &i in self.order.iter().rev() {
            let i = i as usize;
            vector[i] = mul(sub(vector[i], dot(&self.upper[i], vector)), self.inverse[i]);
        }
    }
}

/// Where in `left` the unknown is whose elimination makes the fewest new entries at most.
fn cheapest(left: &[u32], rows: &[Row<u64>], columns: &[Vec<u32>]) -> Option<usize> {
    let cost = |&i: &u32| {
        rows[i as usize].len().saturating_sub(1) * columns[i as usize].len().saturating_sub(1)
    };
    (0..left.len()).min_by_key(|&at| cost(&left[at]))
}

/// `target - factor * row`; calls `new` for every column that `target` did not have. Entries that
/// cancel stay, as zeros.
fn minus_multiple(
    target: &[(u32, u64)],
    row: &[(u32, u64)],
    factor: u64,
    mut new: impl FnMut(u32),
) -> Row<u64> {
    let minus = P - factor;
    let mut result = Row::with_capacity(target.len() + row.len());
    let mut rest = target;
    for &(column, a) in row {
        let before = rest.iter().take_while(|entry| entry.0 < column).count();
        result.extend_from_slice(&rest[..before]);
        rest = &rest[before..];
        let old = match rest.first() {
            Some(&(same, old)) if same == column => {
                rest = &rest[1..];
                old
            }
            _ => {
                new(column);
                0
            }
        };
        result.push((column, reduce(u128::from(minus) * u128::from(a) + u128::from(old))));
    }
    result.extend_from_slice(rest);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix with a few entries in every row, and more than in all others together on the
    /// diagonal.
    fn dominant(n: u32) -> Vec<Row<i64>> {
        let row = |i: u32| {
            let mut row = Row::from([(i, 16)]);
            for (k, a) in [(7, -4), (11, 6), (13, 4), (0, 1)] {
                let column = (i * k + 3) % n;
                if row.iter().all(|entry| entry.0 != column) {
                    row.push((column, a));
                }
            }
            row.sort();
            row
        };
        (0..n).map(row).collect()
    }

    #[test]
    fn the_solution_of_a_system_satisfies_it() {
        for n in [1, 2, 5, 40] {
            let matrix = dominant(n);
            let factors = Factors::new(&matrix).unwrap();
            let wanted: Vec<u64> = (0..u64::from(n)).map(|i| mul(i + 5, P - 3 - i)).collect();
            let mut vector = wanted.clone();
            factors.solve(&mut vector);
            for (row, wanted) in matrix.iter().zip(wanted) {
                let row: Row<u64> = row.iter().map(|&(c, a)| (c, residue(a))).collect();
                assert_eq!(dot(&row, &vector), wanted);
            }
        }
    }

    #[test]
    fn a_singular_matrix_has_no_factors() {
        let matrix = vec![Row::from([(0, 1), (1, 2)]), Row::from([(0, 2), (1, 4)])];
        assert!(Factors::new(&matrix).is_none());
    }
}
