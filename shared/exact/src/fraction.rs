//! The fraction behind a residue.
//!
//! Modulo M, every fraction n/d whose denominator has no common factor with M is a whole number
//! x: n = d x. If M > 2 L d d, it is the only fraction of so small a denominator with n <= L d,
//! and Euclid's algorithm on M and x comes by: every remainder it makes is a small multiple of x.

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::{One, Zero};

/// The fraction n/d with n = d x modulo M and 0 <= n <= `largest` d; `None` if the smallest is not
/// so small that `spare_bits` of M are left over, as it must be taken for a coincidence.
pub(crate) fn fraction(
    x: &BigUint,
    modulus: &BigUint,
    largest: &BigUint,
    spare_bits: u64,
) -> Option<(BigUint, BigUint)> {
    // Each remainder is `multiple` times x modulo M. The multiples alternate in sign and grow;
    // only their sizes are kept.
    let (mut before, mut remainder) = (modulus.clone(), x % modulus);
    let (mut multiple_before, mut multiple) = (BigUint::ZERO, BigUint::one());
    let mut negative = false;
    while remainder > largest * &multiple {
        let (quotient, next) = before.div_rem(&remainder);
        before = std::mem::replace(&mut remainder, next);
        let next = &multiple * quotient + multiple_before;
        multiple_before = std::mem::replace(&mut multiple, next);
        negative = !negative;
    }
    let small = 2 * multiple.bits() + largest.bits() + spare_bits < modulus.bits();
    (small && (!negative || remainder.is_zero())).then_some((remainder, multiple))
}

/// A fraction in lowest terms.
pub(crate) fn ratio(numerator: &BigUint, denominator: &BigUint) -> num_rational::BigRational {
    let integer = |n: &BigUint| BigInt::from_biguint(Sign::Plus, n.clone());
    num_rational::BigRational::new(integer(numerator), integer(denominator))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(n: u64, d: u64, largest: u64, modulus: u64) -> Option<(BigUint, BigUint)> {
        let [n, d, m] = [n, d, modulus].map(BigUint::from);
        let x = n * d.modinv(&m).unwrap() % &m;
        fraction(&x, &m, &BigUint::from(largest), 8)
    }

    #[test]
    fn every_small_fraction_is_found_again() {
        for d in 1u64..60 {
            for n in (0..=d).filter(|n| n.gcd(&d) == 1) {
                let wanted = Some((BigUint::from(n), BigUint::from(d)));
                assert_eq!(behind(n, d, 1, 100_000_007), wanted, "{n}/{d}");
            }
        }
    }

    #[test]
    fn fractions_above_one_are_found_if_they_may_be() {
        assert_eq!(behind(999, 7, 1000, 100_000_007), Some((999u16.into(), 7u8.into())));
    }

    #[test]
    fn a_fraction_too_large_for_the_modulus_is_not_guessed() {
        assert_eq!(behind(501, 997, 1, 1_000_003), None);
    }
}
