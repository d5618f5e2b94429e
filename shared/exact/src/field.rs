//! Arithmetic modulo the Mersenne prime p = 2^61 - 1.
//!
//! As 2^61 is 1 modulo p, a product is reduced by adding its upper bits to its lower ones: no
//! division, and dozens of products can be added up before they are reduced.

use num_bigint::BigUint;

/// The prime.
pub(crate) const P: u64 = (1 << 61) - 1;

/// So many products of two residues fit one `u128`, with a residue to spare.
const PRODUCTS: usize = 32;

/// A number below 2^128 modulo p.
pub(crate) fn reduce(x: u128) -> u64 {
    let folded = (x & u128::from(P)) + (x >> 61);
    let folded = (folded as u64 & P) + (folded >> 61) as u64;
    if folded >= P { folded - P } else { folded }
}

/// The residue of an integer between -p and p.
pub(crate) fn residue(x: i64) -> u64 {
    x.rem_euclid(P as i64) as u64
}

pub(crate) fn sub(a: u64, b: u64) -> u64 {
    if a >= b { a - b } else { a + P - b }
}

pub(crate) fn mul(a: u64, b: u64) -> u64 {
    reduce(u128::from(a) * u128::from(b))
}

/// The inverse of a residue, by Fermat; `None` for 0.
pub(crate) fn inverse(a: u64) -> Option<u64> {
    let (mut power, mut square, mut exponent) = (1, a, P - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = mul(power, square);
        }
        square = mul(square, square);
        exponent >>= 1;
    }
    (a != 0).then_some(power)
}

/// The sum of the products of sparse coefficients with a dense vector.
pub(crate) fn dot(sparse: &[(u32, u64)], dense: &[u64]) -> u64 {
    let sum = |terms: &[(u32, u64)]| {
        let products = terms.iter().map(|&(at, a)| u128::from(a) * u128::from(dense[at as usize]));
        products.sum::<u128>()
    };
    sparse.chunks(PRODUCTS).fold(0, |total, terms| reduce(u128::from(total) + sum(terms)))
}

/// Digits to base p, lowest first, put together to a number.
///
/// Halves are put together first, so that large numbers are multiplied by large ones, which is
/// faster than one by one.
pub(crate) struct Radix {
    /// p to the powers 1, 2, 4, 8 ...
    squares: Vec<BigUint>,
}

impl Radix {
    pub(crate) fn new() -> Self {
        Self { squares: vec![BigUint::from(P)] }
    }

    /// p to the power of `exponent`.
    pub(crate) fn power(&mut self, exponent: usize) -> BigUint {
        let bits = usize::BITS - exponent.leading_zeros();
        let set = (0..bits).filter(|bit| exponent >> bit & 1 == 1);
        set.fold(BigUint::from(1u8), |power, bit| power * self.square(bit as usize))
    }

    /// The number with these digits.
    pub(crate) fn number(&mut self, digits: &[u64]) -> BigUint {
        match *digits {
            [] => BigUint::ZERO,
            [digit] => BigUint::from(digit),
            _ => {
                let half = (digits.len() - 1).ilog2();
                let (low, high) = digits.split_at(1 << half);
                let high = self.number(high);
                self.number(low) + high * self.square(half as usize)
            }
        }
    }

    /// p to the power of 2^bit.
    fn square(&mut self, bit: usize) -> &BigUint {
        while self.squares.len() <= bit {
            let last = &self.squares[self.squares.len() - 1];
            self.squares.push(last * last);
        }
        &self.squares[bit]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reduction_is_the_remainder() {
        let some = [0, 1, P - 1, P, P + 1, 1 << 63, u64::MAX];
        for a in some {
            for b in some {
                let product = u128::from(a) * u128::from(b);
                assert_eq!(u128::from(reduce(product)), product % u128::from(P), "{a} {b}");
            }
        }
        assert_eq!(u128::from(reduce(u128::MAX)), u128::MAX % u128::from(P));
    }

    #[test]
    fn a_residue_times_its_inverse_is_one() {
        for a in [1, 2, 16, 12345, P - 1] {
            assert_eq!(mul(a, inverse(a).unwrap()), 1);
        }
        assert_eq!(inverse(0), None);
    }

    #[test]
    fn sums_of_many_largest_products_do_not_overflow() {
        let sparse: Vec<(u32, u64)> = (0..1000).map(|at| (at, P - 1)).collect();
        assert_eq!(dot(&sparse, &[P - 1; 1000]), 1000); // (-1)(-1) each
    }

    #[test]
    fn digits_make_the_number_that_horner_makes() {
        let mut radix = Radix::new();
        for len in 0..20 {
            let digits: Vec<u64> = (0..len).map(|i| P - 1 - 7 * i).collect();
            let horner = digits.iter().rev().fold(BigUint::ZERO, |n, &digit| n * P + digit);
            assert_eq!(radix.number(&digits), horner);
            assert_eq!(radix.power(len as usize), BigUint::from(P).pow(len as u32));
        }
    }
}
