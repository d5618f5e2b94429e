//! A bound on the rounding errors of an interval sweep.

use ziggurat_game::{Dice, Roll};

/// Offsets of a larger bound than this lose so much as differences of bounds and values that the margin has to say so.
pub const LARGE_BOUND: f64 = 1.0 / 1024.0;

/// A bound on the sum of all rounding errors of an interval's bound, in f64: a multiple of 2^-54, for the sake of its
/// addition. Numbers are between -1/2 and 1/2, so that an error is at most 2^-55, or half of that if the result is
/// below 1/4. There are errors of
///
/// * a bound that is read: 2^-55. The other player's is the same number, negated;
/// * chances, half of one that may be the next power of two before it is rounded, and products, no larger than half
///   the chance;
/// * the sums, no larger than half the sum of the chances so far;
/// * adding the margin. If the sum of all is 1/4 or more, it is a multiple of 2^-54, and nothing is rounded. If it is
///   not, its own error is at most 2^-56, and that of adding 2^-55.
///
/// Offsets are rounded up; their error before, as the difference of a bound and a value, is at most a part 2^-53 of
/// them. Up to offsets of 2^-9 that is at most 2^-62, and less than the part of a thousand that is added here; for
/// larger bounds 2^-54 is added, since no offset that counts is larger than the bound, and so than 1/2.
pub fn rounding_margin(dice: &Dice, bound: f64) -> f64 {
    let is_exact = |roll: &Roll| roll.is_multiple_of_two_to_minus(10);
    // Sums of chances that are rounded may be beyond 1 by a little.
    let beyond = if dice.rolls().iter().all(is_exact) { 1.0 } else { 1.0 + 16.0 * f64::EPSILON };
    let (mut errors, mut sum) = (rounding(0.5) + rounding(0.25), 0.0);
    for roll in dice.rolls() {
        let chance = roll.chance();
        errors += if is_exact(roll) { 0.0 } else { rounding(chance.next_up()) / 2.0 };
        errors += if power_of_two_from(chance) == chance { 0.0 } else { rounding(chance / 2.0) };
        if sum > 0.0 {
            errors += rounding((sum + chance) / 2.0 * beyond);
        }
        sum += chance;
    }
    let grid = f64::EPSILON / 4.0;
    let of_differences = if bound > LARGE_BOUND { grid } else { 0.0 };
    (1.001 * errors / grid).ceil() * grid + of_differences
}

/// The largest rounding error of a number from 0 to `largest`: half a unit in the last place.
pub fn rounding(largest: f64) -> f64 {
    power_of_two_from(largest) * f64::EPSILON / 4.0
}

/// The least power of two that is no smaller than a positive number.
pub fn power_of_two_from(number: f64) -> f64 {
    let mantissa = (1 << 52) - 1;
    f64::from_bits((number.to_bits() + mantissa) & !mantissa)
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use num_integer::Integer;
    use num_traits::Float;
    use proptest::{prelude::*, test_runner::TestRunner};

    use super::*;

    /// A number in units of 2^-400.
    fn exact(value: f64) -> BigInt {
        let (mantissa, exponent, sign) = value.integer_decode();
        if mantissa == 0 {
            BigInt::ZERO
        } else {
            (BigInt::from(mantissa) * sign) << (exponent + 400)
        }
    }

    /// A bound of a value near some other, as it is computed, and exactly.
    fn any_end(
        random: &mut impl FnMut() -> f64,
        near: f64,
        width: f64,
        sign: f64,
    ) -> (f64, BigInt) {
        let value = (near + width * (random() - 0.5)).clamp(-0.5 + 1e-9, 0.5 - 1e-9);
        let offset = sign * (random() * 4096.0).floor() * 0.5f64.powi(55);
        (value + offset, exact(value) + exact(offset))
    }

    #[test]
    fn what_is_computed_lies_outside_whatever_is_rounded() {
        let mut runner = TestRunner::deterministic();
        let mut random = || runner.rng().random::<f64>();
        let explicit = [
            "1:1/3,2:2/3",
            "0:1/7,1:2/7,2:1/7,3:3/7",
            "1:0.123456789,2:0.876543211",
            "1:998332676126660559/10660563448239014887,2:9662230772112354328/10660563448239014887",
        ];
        // Of dice of any number of coins those of built-in rulesets: with one coin no product is rounded, so its
        // margin is wide.
        let usual = |name: &&str| {
            !name.starts_with("binary") || name.starts_with("binary3") || *name == "binary4"
        };
        for name in Dice::names().filter(usual).chain(explicit) {
            let dice: Dice = name.parse().unwrap();
            let margin = rounding_margin(&dice, 1e-12);
            assert_eq!(margin % (f64::EPSILON / 4.0), 0.0);
            let denoms = dice.rolls().iter().map(|roll| BigInt::from(*roll.probability.denom()));
            let denom = denoms.fold(BigInt::from(1), |all, denom| all.lcm(&denom));
            let weight = |roll: &Roll| {
                &denom / roll.probability.denom() * BigInt::from(*roll.probability.numer())
            };
            let weights: Vec<BigInt> = dice.rolls().iter().map(weight).collect();
            let unit = exact(margin) * &denom / 1_000_000;
            // How far beyond the exact value a bound was, in millionths of the margin, at least.
            let mut least = BigInt::from(i64::MAX);
            for i in 0..200_000 {
                let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
                let near = [0.5, 0.25, 0.0, random()][(random() * 4.0) as usize];
                let near = if random() < 0.5 { near } else { -near };
                let width = 0.5f64.powi((random() * 53.0) as i32);
                let (mut sum, mut exact_sum) = (0.0, BigInt::ZERO);
                for (roll, weight) in dice.rolls().iter().zip(&weights) {
                    let (end, exact_end) = any_end(&mut random, near, width, sign);
                    sum += roll.chance() * end;
                    exact_sum += weight * exact_end;
                }
                let beyond = (exact(sum + sign * margin) * &denom - exact_sum) * sign as i32;
                least = least.min(beyond.div_floor(&unit));
            }
            assert!(least >= BigInt::ZERO && least < BigInt::from(600_000), "{name}: {least}");
        }
    }
}
