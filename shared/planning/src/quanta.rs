//! Quanta: the powers of two in which changes of values are encoded.

use std::ops::RangeInclusive;

/// A value is changed by the square of at most this, in quanta.
pub const MOST_ROOT: f32 = 127.0;

/// The finest quanta there are, by exponent: `f32` has them all.
pub const QUANTUM_EXPONENTS: RangeInclusive<i32> = -126..=-1;

/// The largest power of two that is no larger than a positive number, by its exponent; -1023 for numbers
/// smaller than 2^-1022.
pub fn exponent_of(number: f64) -> i32 {
    (number.to_bits() >> 52) as i32 - 1023
}

/// 2 to the power of an exponent among the [`QUANTUM_EXPONENTS`].
pub fn quantum(exponent: i32) -> f32 {
    f32::from_bits(((127 + exponent) as u32) << 23)
}

/// The most that a value is changed by at once, in quanta of this size.
pub fn most(quantum: f32) -> f64 {
    f64::from(MOST_ROOT * MOST_ROOT * quantum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quanta_are_powers_of_two() {
        for exponent in QUANTUM_EXPONENTS {
            assert_eq!(quantum(exponent), (exponent as f32).exp2());
            assert!(quantum(exponent) >= f32::MIN_POSITIVE);
            assert_eq!(exponent_of(quantum(exponent).into()), exponent);
            assert_eq!(exponent_of(1.99 * f64::from(quantum(exponent))), exponent);
        }
    }
}
