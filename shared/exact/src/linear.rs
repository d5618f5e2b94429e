//! Sparse linear systems with integer coefficients, solved exactly.
//!
//! Elimination with fractions is slow: the numbers grow to thousands of digits long before the
//! end. Instead the solution is developed digit by digit to the base of a prime p (Dixon 1982).
//! With r = b, repeat: y = A^-1 r modulo p is the next digit of the solution, and
//! r = (r - A y) / p, a whole number, what remains to be solved for. Only small numbers and one
//! factorisation modulo p are needed. As soon as there are enough digits, the fractions are the
//! only ones of their size with these digits (see [`crate::fraction`]); all unknowns share one
//! denominator, so that after one or two of them the others are a multiplication each. In the end
//! the fractions are put into the equations, in whole numbers: nothing is taken on trust.

use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_traits::{One, ToPrimitive, Zero};

use crate::elimination::{Factors, Row};
use crate::field::{P, Radix};
use crate::fraction::fraction;

/// The equations `rows * unknowns = right`.
pub(crate) struct System {
    /// The coefficients; the absolute values of a row sum to less than 2^61.
    pub(crate) rows: Vec<Row<i64>>,
    /// The right hand sides.
    pub(crate) right: Vec<BigInt>,
    /// All unknowns are known to lie in 0..=largest.
    pub(crate) largest: BigUint,
}

/// The unknowns as fractions over one denominator.
pub(crate) struct Solution {
    pub(crate) numerators: Vec<BigUint>,
    pub(crate) denominator: BigUint,
}

/// Bits of the digits beyond those that a number needs: a wrong one passes once in 2^60 times, and
/// is then found out by the equations.
const SPARE_BITS: u64 = 60;

impl System {
    /// Solves the system; `None` if it has no solution, or by a bad coincidence (one in 2^61) no
    /// single one modulo p.
    pub(crate) fn solve(&self) -> Option<Solution> {
        let mut lifting = Lifting {
            system: self,
            factors: Factors::new(&self.rows)?,
            rest: self.right.clone(),
            digits: vec![Vec::new(); self.rows.len()],
        };
        let mut enough = self.expected_digits();
        loop {
            lifting.lift_to(enough);
            let solution = self.fractions(&lifting.digits);
            if let Some(solution) = solution.filter(|solution| self.is_solved_by(solution)) {
                return Some(solution);
            }
            // Ends: by Cramer's rule the denominator divides the determinant.
            enough += enough / 6 + 1;
        }
    }

    /// A first guess at the number of digits: most determinants are about three quarters as long
    /// as the product of the diagonal.
    fn expected_digits(&self) -> usize {
        let diagonal = |(i, row): (usize, &Row<i64>)| {
            row.iter().find(|entry| entry.0 as usize == i).map_or(0.0, |&(_, a)| (a as f64).log2())
        };
        let bits = 1.5 * self.rows.iter().enumerate().map(diagonal).sum::<f64>();
        (bits as u64 + self.largest.bits() + SPARE_BITS).div_ceil(60) as usize + 1
    }

    /// The fractions with these digits, `None` if there are not enough of them.
    fn fractions(&self, digits: &[Vec<u64>]) -> Option<Solution> {
        let mut radix = Radix::new();
        let modulus = radix.power(digits.first()?.len());
        let mut denominator = BigUint::one();
        let mut limit = self.largest.clone();
        let (mut few, mut few_modulus) = digits_below(&limit, &mut radix);
        let mut numerators: Vec<BigUint> = Vec::with_capacity(digits.len());
        for digits in digits {
            // With the right denominator, the lowest digits are those of the numerator.
            let lowest = &digits[..few.min(digits.len())];
            let mut numerator = radix.number(lowest) * &denominator % &few_modulus;
            if numerator > limit {
                let scaled = radix.number(digits) * &denominator % &modulus;
                let (found, factor) = fraction(&scaled, &modulus, &limit, SPARE_BITS)?;
                numerators.iter_mut().for_each(|numerator| *numerator *= &factor);
                numerator = found;
                denominator *= factor;
                limit = &denominator * &self.largest;
                (few, few_modulus) = digits_below(&limit, &mut radix);
            }
            numerators.push(numerator);
        }
        Some(Solution { numerators, denominator })
    }

    /// Whether every equation holds.
    fn is_solved_by(&self, solution: &Solution) -> bool {
        let denominator = BigInt::from(solution.denominator.clone());
        self.rows.iter().zip(&self.right).all(|(row, right)| {
            let terms = row
                .iter()
                .map(|&(column, a)| BigInt::from(solution.numerators[column as usize].clone()) * a);
            terms.sum::<BigInt>() == right * &denominator
        })
    }
}

/// So many digits that a number up to `limit` leaves some to spare, and p to that power.
fn digits_below(limit: &BigUint, radix: &mut Radix) -> (usize, BigUint) {
    let few = (limit.bits() + SPARE_BITS).div_ceil(60) as usize;
    (few, radix.power(few))
}

/// A solution in the making.
struct Lifting<'s> {
    system: &'s System,
    factors: Factors,
    /// What remains to be solved for, after p to the power of the number of digits is divided out.
    rest: Vec<BigInt>,
    /// For each unknown, its digits to base p, lowest first.
    digits: Vec<Vec<u64>>,
}

impl Lifting<'_> {
    /// Adds digits until there are `enough`.
    fn lift_to(&mut self, enough: usize) {
        while self.digits.first().is_some_and(|digits| digits.len() < enough) {
            let residue = |rest: &BigInt| rest.mod_floor(&BigInt::from(P)).to_u64().unwrap_or(0);
            let mut digit: Vec<u64> = self.rest.iter().map(residue).collect();
            self.factors.solve(&mut digit);
            for (rest, row) in self.rest.iter_mut().zip(&self.system.rows) {
                let product =
                    |&(column, a): &(u32, i64)| i128::from(a) * i128::from(digit[column as usize]);
                *rest -= row.iter().map(product).sum::<i128>();
                debug_assert!((&*rest % P).is_zero(), "a digit solves the system modulo p");
                *rest /= P;
            }
            for (digits, digit) in self.digits.iter_mut().zip(digit) {
                digits.push(digit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(rows: Vec<Row<i64>>, right: &[i64], largest: u64) -> System {
        let right = right.iter().map(|&b| BigInt::from(b)).collect();
        System { rows, right, largest: BigUint::from(largest) }
    }

    fn reduced(solution: &Solution) -> Vec<(u64, u64)> {
        let small = |n: BigUint| n.to_u64().unwrap();
        let pair = |n: &BigUint| {
            let gcd = n.gcd(&solution.denominator);
            (small(n / &gcd), small(&solution.denominator / gcd))
        };
        solution.numerators.iter().map(pair).collect()
    }

    #[test]
    fn unknowns_with_different_denominators_are_all_found() {
        let rows = vec![Row::from([(0, 3)]), Row::from([(1, 5)]), Row::from([(0, -3), (2, 7)])];
        let solution = system(rows, &[2, 5, 1], 1).solve().unwrap();
        assert_eq!(reduced(&solution), [(2, 3), (1, 1), (3, 7)]);
    }

    #[test]
    fn unknowns_may_be_large() {
        let rows = vec![Row::from([(0, 3), (1, 1)]), Row::from([(0, 1), (1, -2)])];
        let solution = system(rows, &[1_000_000, 1], 1_000_000).solve().unwrap();
        assert_eq!(reduced(&solution), [(2_000_001, 7), (999_997, 7)]);
    }

    #[test]
    fn a_system_without_a_single_solution_has_none() {
        let rows = vec![Row::from([(0, 1), (1, 1)]), Row::from([(0, 1), (1, 1)])];
        assert!(system(rows, &[1, 1], 1).solve().is_none());
    }

    #[test]
    fn what_does_not_satisfy_the_equations_is_no_solution() {
        let system = system(vec![Row::from([(0, 3)])], &[2], 1);
        let solution = |numerator: u8| Solution {
            numerators: vec![BigUint::from(numerator)],
            denominator: BigUint::from(3u8),
        };
        assert!(system.is_solved_by(&solution(2)));
        assert!(!system.is_solved_by(&solution(1)));
    }
}
