//! Dice: rolls with their exact probabilities.
//!
//! Probabilities are fractions, not floats, so that "they sum to 1" is a fact and not a matter
//! of rounding, and so that two dice with the same rolls are the same dice however they were
//! written down.

use std::{fmt, str::FromStr};

use num_rational::Ratio;
use num_traits::CheckedAdd;
use thiserror::Error;

use crate::UnknownName;

/// One result of the dice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Roll {
    /// How far a piece moves; 0 passes the turn.
    pub value: u8,
    /// How likely it is, as an exact fraction in (0, 1].
    pub probability: Ratio<u64>,
}

/// Whole numbers up to this are exact as `f64`.
const EXACT_IN_F64: u64 = 1 << f64::MANTISSA_DIGITS;

impl Roll {
    /// The probability as the nearest `f64`.
    pub fn chance(&self) -> f64 {
        let (numer, denom) = (*self.probability.numer(), *self.probability.denom());
        if numer.max(denom) <= EXACT_IN_F64 {
            return numer as f64 / denom as f64; // rounded once
        }
        let numer = u128::from(numer);
        // At least 63 bits of the quotient, the last of them set if there are others: what is rounded is rounded once.
        let shift = numer.leading_zeros();
        let (numer, denom) = (numer << shift, u128::from(denom));
        let quotient = (numer / denom) | u128::from(numer % denom > 0);
        quotient as f64 / f64::from(shift).exp2()
    }

    /// Whether the probability is a multiple of 2 to the power of minus so many.
    pub fn is_multiple_of_two_to_minus(&self, exponent: u32) -> bool {
        let denom = self.probability.denom();
        denom.is_power_of_two() && denom.trailing_zeros() <= exponent
    }
}

/// Dice as the rolls they can give, in ascending order; probabilities sum to exactly 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dice {
    name: &'static str,
    rolls: Vec<Roll>,
}

/// A name, for every roll its weight, and the sum of the weights.
type NamedDice = (&'static str, &'static [(u8, u64)], u64);

/// The names of so many binary dice as there are names before and this one.
#[rustfmt::skip]
const BINARY: [&str; Dice::MAX_ROLL as usize] = [
    "binary1", "binary2", "binary3", "binary4", "binary5", "binary6", "binary7", "binary8",
    "binary9", "binary10", "binary11", "binary12", "binary13", "binary14", "binary15",
];

/// The other named dice.
const NAMED: [NamedDice; 3] = [
    ("binary3-zero-is-four", &[(1, 3), (2, 3), (3, 1), (4, 1)], 8),
    ("d4", &[(1, 1), (2, 1), (3, 1), (4, 1)], 4),
    ("d6-ur", &[(0, 1), (1, 1), (2, 2), (3, 1), (4, 1)], 6),
];

impl Dice {
    /// The largest value a roll may have.
    pub const MAX_ROLL: u8 = 15;

    /// The name of dice that are none of the named ones.
    pub const EXPLICIT: &str = "explicit";

    /// The names [`Dice::named`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BINARY.into_iter().chain(NAMED.iter().map(|(name, ..)| *name))
    }

    /// Dice by name, `None` if there are none of that name. `binaryN` are N dice, 1 to 15, of which each shows 0 or
    /// 1, one as likely as the other: the roll is their sum.
    ///
    /// ```
    /// use ziggurat_game::Dice;
    /// let dice = Dice::named("binary3-zero-is-four").unwrap();
    /// assert_eq!(dice.rolls()[0].value, 1);
    /// assert_eq!(dice.rolls()[0].chance(), 0.375);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        if let Some((name, dice)) = BINARY.into_iter().zip(1..).find(|(known, _)| *known == name) {
            return Some(Self::binary(name, dice));
        }
        let (name, weights, total) = NAMED.iter().find(|(known, ..)| *known == name)?;
        let rolls = weights
            .iter()
            .map(|&(value, weight)| Roll { value, probability: Ratio::new(weight, *total) })
            .collect();
        Some(Self { name, rolls })
    }

    /// So many binary dice, at most 15.
    fn binary(name: &'static str, dice: u8) -> Self {
        let mut ways = 1_u64; // that `value` of the dice show 1: a binomial coefficient
        let rolls = (0..=dice).map(|value| {
            let probability = Ratio::new(ways, 1 << dice);
            ways = ways * u64::from(dice - value) / u64::from(value + 1);
            Roll { value, probability }
        });
        Self { name, rolls: rolls.collect() }
    }

    /// Dice with an explicit probability for every roll; rolls of probability 0 are left out.
    /// If the rolls are those of named dice, they are those dice.
    ///
    /// # Errors
    /// A roll above [`Dice::MAX_ROLL`] or given twice, probabilities that do not sum to exactly
    /// 1, and dice that can leave a piece stuck for ever.
    pub fn explicit(mut rolls: Vec<Roll>) -> Result<Self, DiceError> {
        rolls.sort_by_key(|roll| roll.value);
        if let Some(pair) = rolls.windows(2).find(|pair| pair[0].value == pair[1].value) {
            return Err(DiceError::Twice { value: pair[0].value });
        }
        rolls.retain(|roll| roll.probability > Ratio::ZERO);
        if let Some(roll) = rolls.iter().find(|roll| roll.value > Self::MAX_ROLL) {
            return Err(DiceError::RollTooLarge { value: roll.value.to_string() });
        }
        let total = rolls
            .iter()
            .try_fold(Ratio::ZERO, |sum: Ratio<u64>, roll| sum.checked_add(&roll.probability))
            .ok_or(DiceError::TooFine)?;
        if total != Ratio::ONE {
            return Err(DiceError::Sum { total });
        }
        if rolls.iter().all(|roll| roll.value == 0) {
            return Err(DiceError::NeverMove);
        }
        if rolls.iter().all(|roll| roll.value != 1) {
            return Err(DiceError::NoRollOfOne);
        }
        let named = Self::names().filter_map(Self::named).find(|dice| dice.rolls == rolls);
        Ok(named.unwrap_or(Self { name: Self::EXPLICIT, rolls }))
    }

    /// The name of the dice, [`Dice::EXPLICIT`] if they are none of the named ones.
    pub fn name(&self) -> &str {
        self.name
    }

    /// The rolls there are, ascending by value.
    pub fn rolls(&self) -> &[Roll] {
        &self.rolls
    }
}

/// The name, or `ROLL:PROBABILITY` for every roll, separated by commas; [`Dice::from_str`] reads
/// it back.
impl fmt::Display for Dice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name != Self::EXPLICIT {
            return f.write_str(self.name);
        }
        for (i, roll) in self.rolls.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{}:{}", roll.value, roll.probability)?;
        }
        Ok(())
    }
}

impl FromStr for Dice {
    type Err = DiceError;

    /// Dice as a person types them: a name, or `ROLL:PROBABILITY` for every roll.
    ///
    /// ```
    /// use ziggurat_game::Dice;
    /// let coin: Dice = "0:1/2,1:1/2".parse().unwrap();
    /// assert_eq!(coin.rolls().len(), 2);
    /// assert_eq!("1:3/8,2:3/8,3:1/8,4:0.125".parse(), Ok(Dice::named("binary3-zero-is-four").unwrap()));
    /// ```
    fn from_str(text: &str) -> Result<Self, DiceError> {
        if !text.contains(':') {
            return Self::named(text)
                .ok_or_else(|| UnknownName::new("dice", text, Self::names()).into());
        }
        let rolls = text.split(',').map(|part| {
            let (value, probability) = part
                .split_once(':')
                .ok_or_else(|| DiceError::Roll { text: part.trim().to_owned() })?;
            Ok(Roll { value: parse_roll(value)?, probability: parse_probability(probability)? })
        });
        Self::explicit(rolls.collect::<Result<_, DiceError>>()?)
    }
}

/// The value of a roll, 0..=[`Dice::MAX_ROLL`].
pub(crate) fn parse_roll(text: &str) -> Result<u8, DiceError> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DiceError::Roll { text: text.to_owned() });
    }
    match text.parse() {
        Ok(value) if value <= Dice::MAX_ROLL => Ok(value),
        _ => Err(DiceError::RollTooLarge { value: text.to_owned() }),
    }
}

/// A probability in 0..=1, exactly: a fraction such as `3/8` or a decimal such as `0.375`.
pub(crate) fn parse_probability(text: &str) -> Result<Ratio<u64>, DiceError> {
    let text = text.trim();
    let bad = || DiceError::Probability { text: text.to_owned() };
    let number = |digits: &str| {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse::<u64>().map_err(|_| DiceError::TooFine)).ok_or_else(bad)?
    };
    let probability = if let Some((over, under)) = text.split_once('/') {
        let (over, under) = (number(over.trim_end())?, number(under.trim_start())?);
        if under == 0 {
            return Err(bad());
        }
        Ratio::new(over, under)
    } else {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let is_above_nine = whole.trim_start_matches('0').len() > 1;
        if is_above_nine || whole.is_empty() && decimals.is_empty() {
            return Err(bad());
        }
        let decimals = decimals.trim_end_matches('0');
        let digits = number(&format!("0{whole}{decimals}"))?;
        Ratio::new(digits, 10u64.checked_pow(decimals.len() as u32).ok_or(DiceError::TooFine)?)
    };
    if probability > Ratio::ONE { Err(bad()) } else { Ok(probability) }
}

/// Why there are no such dice.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DiceError {
    /// No dice of that name.
    #[error("{0}; or give every roll its probability, such as 0:1/2,1:1/2")]
    Unknown(#[from] UnknownName),
    /// Not a roll.
    #[error("`{}` is not a roll; a roll is a whole number from 0 to {}", .text.escape_debug(), Dice::MAX_ROLL)]
    Roll {
        /// What there is instead.
        text: String,
    },
    /// A roll above the limit.
    #[error("a roll of {value} is too large; rolls go from 0 to {}", Dice::MAX_ROLL)]
    RollTooLarge {
        /// The roll.
        value: String,
    },
    /// A roll with two probabilities.
    #[error("the roll {value} is given twice; add its probabilities up")]
    Twice {
        /// The roll.
        value: u8,
    },
    /// Not a probability.
    #[error(
        "`{}` is not a probability; write a fraction such as 3/8 or a decimal such as 0.375, from 0 to 1",
        .text.escape_debug()
    )]
    Probability {
        /// What there is instead.
        text: String,
    },
    /// Probabilities that are not exactly 1 in all.
    #[error(
        "the probabilities of the rolls sum to {total}; they must sum to exactly 1 (1/3 is exact, 0.333 is not)"
    )]
    Sum {
        /// Their sum.
        total: Ratio<u64>,
    },
    /// Fractions that 64 bits cannot add exactly.
    #[error(
        "the probabilities have too many digits to be added exactly; use fractions with smaller denominators"
    )]
    TooFine,
    /// Only the roll 0.
    #[error(
        "the dice can only roll 0, so that no piece ever moves; give a roll of 1 some probability"
    )]
    NeverMove,
    /// No roll of 1.
    #[error(
        "the dice never roll 1, so that a piece on the last square of its path can never score and a game may never end; give a roll of 1 some probability"
    )]
    NoRollOfOne,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chance_is_the_nearest_number_however_long_the_fraction() {
        // Numerator and denominator rounded one by one give other numbers.
        for (numer, nearest) in [
            (998_332_676_126_660_559, 0.09364727117604389),
            (9_662_230_772_112_354_328, 0.9063527288239561),
        ] {
            let denom = 10_660_563_448_239_014_887;
            let roll = Roll { value: 1, probability: Ratio::new(numer, denom) };
            assert_eq!(roll.chance(), nearest);
            assert_ne!(numer as f64 / denom as f64, nearest);
        }
    }

    #[test]
    fn a_chance_of_small_numbers_is_their_quotient() {
        for denom in 1..200_u64 {
            for numer in 1..=denom {
                let roll = Roll { value: 1, probability: Ratio::new(numer, denom) };
                assert_eq!(roll.chance(), numer as f64 / denom as f64);
            }
        }
        let least = Roll { value: 1, probability: Ratio::new(1, u64::MAX) };
        assert_eq!(least.chance(), 0.5f64.powi(64));
    }

    #[test]
    fn multiples_of_powers_of_two_are_told_from_what_rounds_to_them() {
        let is = |numer, denom, exponent| {
            let roll = Roll { value: 1, probability: Ratio::new(numer, denom) };
            roll.is_multiple_of_two_to_minus(exponent)
        };
        assert!(is(3, 8, 10) && is(1, 1024, 10) && is(1, 1, 0));
        assert!(!is(1, 1024, 9) && !is(1, 3, 10));
        assert!(!is(1 << 62, (1 << 63) + 1, 10));
    }
}
