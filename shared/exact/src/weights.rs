//! Probabilities of the rolls as whole numbers over one denominator.

use num_integer::Integer;
use ziggurat_game::{Dice, Roll};

use crate::ExactError;

/// The probability of the roll `i` is `weights[i] / total`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Weights {
    pub(crate) weights: Vec<i64>,
    pub(crate) total: i64,
}

impl Weights {
    /// The largest total: twice this is the largest sum of a row of the equations.
    const LARGEST_TOTAL: u64 = 1 << 59;

    pub(crate) fn new(dice: &Dice) -> Result<Self, ExactError> {
        let too_fine = || ExactError::DiceTooFine { dice: dice.to_string() };
        let mut total: u64 = 1;
        for roll in dice.rolls() {
            let denominator = *roll.probability.denom();
            total = (denominator / total.gcd(&denominator))
                .checked_mul(total)
                .filter(|&total| total <= Self::LARGEST_TOTAL)
                .ok_or_else(too_fine)?;
        }
        let weight =
            |roll: &Roll| (roll.probability.numer() * (total / roll.probability.denom())) as i64;
        let weights = dice.rolls().iter().map(weight).collect();
        Ok(Self { weights, total: total as i64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_their_total() {
        for dice in ["binary4", "binary3-zero-is-four", "d6-ur", "0:1/6,1:0.3,2:8/15"] {
            let weights = Weights::new(&dice.parse().unwrap()).unwrap();
            assert_eq!(weights.weights.iter().sum::<i64>(), weights.total, "{dice}");
        }
        let dice = "0:1/6,1:0.3,2:8/15".parse().unwrap();
        assert_eq!(Weights::new(&dice).unwrap(), Weights { weights: vec![5, 9, 16], total: 30 });
    }

    #[test]
    fn dice_finer_than_the_arithmetic_are_refused() {
        let dice = "0:1/1152921504606846976,1:1152921504606846975/1152921504606846976";
        let error = Weights::new(&dice.parse().unwrap()).unwrap_err();
        assert!(matches!(error, ExactError::DiceTooFine { .. }));
    }
}
