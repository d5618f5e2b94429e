//! Fractions as decimals, correctly rounded.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Signed, Zero};

/// A fraction in percent with so many decimals, rounded to the nearest, halves away from zero.
///
/// ```
/// use ziggurat_exact::{BigRational, decimal::percent};
/// let two_thirds = BigRational::new(2.into(), 3.into());
/// assert_eq!(percent(&two_thirds, 10), "66.6666666667");
/// ```
pub fn percent(fraction: &BigRational, decimals: u32) -> String {
    let unit = BigInt::from(10).pow(decimals);
    let scaled: BigInt = fraction.numer().abs() * 200 * &unit + fraction.denom();
    let rounded: BigInt = scaled / (fraction.denom() * 2);
    let (whole, rest) = rounded.div_rem(&unit);
    let sign =
        if fraction.is_negative() && !(whole.is_zero() && rest.is_zero()) { "-" } else { "" };
    match decimals {
        0 => format!("{sign}{whole}"),
        _ => format!(
            "{sign}{whole}.{rest:0>width$}",
            rest = rest.to_string(),
            width = decimals as usize
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_rounded_to_the_nearest() {
        let show =
            |n: i64, d: i64, decimals| percent(&BigRational::new(n.into(), d.into()), decimals);
        assert_eq!(show(1, 1, 10), "100.0000000000");
        assert_eq!(show(0, 1, 2), "0.00");
        assert_eq!(show(1, 3, 3), "33.333");
        assert_eq!(show(1, 2000, 1), "0.1");
        assert_eq!(show(999_999, 1_000_000, 2), "100.00");
        assert_eq!(show(-1, 8, 0), "-13");
        assert_eq!(show(-1, 1_000_000, 1), "0.0");
    }
}
