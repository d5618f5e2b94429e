//! Dice: rolls with their exact probabilities.

use num_rational::Ratio;


/// One result of the dice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Roll {
    /// How far a piece moves; 0 passes the turn.
    pub value: u8,
    /// How likely it is, as an exact fraction in (0, 1].
    pub probability: Ratio<u64>,
}

impl Roll {
    /// The probability as the nearest `f64`.
    pub fn chance(&self) -> f64 {
        *self.probability.numer() as f64 / *self.probability.denom() as f64
    }
}

/// Dice as the rolls they can give, in ascending order; probabilities sum to exactly 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dice {
    name: String,
    rolls: Vec<Roll>,
}

/// The named dice: name, and for every roll its weight, with their common denominator.
const NAMED: [(&str, &[(u8, u64)], u64); 5] = [
    ("binary4", &[(0, 1), (1, 4), (2, 6), (3, 4), (4, 1)], 16),
    ("binary3", &[(0, 1), (1, 3), (2, 3), (3, 1)], 8),
    ("binary3-zero-is-four", &[(1, 3), (2, 3), (3, 1), (4, 1)], 8),
    ("d4", &[(1, 1), (2, 1), (3, 1), (4, 1)], 4),
    ("d6-ur", &[(0, 1), (1, 1), (2, 2), (3, 1), (4, 1)], 6),
];

impl Dice {
    /// The largest value a roll may have.
    pub const MAX_ROLL: u8 = 15;

    /// The name of dice given by explicit probabilities.
    pub const EXPLICIT: &str = "explicit";

    /// The names [`Dice::named`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, ..)| *name)
    }

    /// Dice by name, `None` if there are none of that name.
    ///
    /// ```
    /// use ziggurat_game::Dice;
    /// let dice = Dice::named("binary3-zero-is-four").unwrap();
    /// assert_eq!(dice.rolls()[0].value, 1);
    /// assert_eq!(dice.rolls()[0].chance(), 0.375);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        let (name, weights, total) = NAMED.iter().find(|(known, ..)| *known == name)?;
        let rolls = weights
            .iter()
            .map(|&(value, weight)| Roll { value, probability: Ratio::new(weight, *total) })
            .collect();
        Some(Self { name: (*name).to_owned(), rolls })
    }

    /// Dice with an explicit probability for every roll; rolls of probability 0 are left out.
    /// `None` unless the values are distinct, at most [`Dice::MAX_ROLL`], include a value above
    /// 0, and the probabilities sum to exactly 1.
    pub fn explicit(mut rolls: Vec<Roll>) -> Option<Self> {
        rolls.retain(|roll| roll.probability > Ratio::ZERO);
        rolls.sort_by_key(|roll| roll.value);
        let distinct = rolls.windows(2).all(|pair| pair[0].value < pair[1].value);
        let largest = rolls.last()?.value;
        let one = rolls.iter().map(|roll| roll.probability).sum::<Ratio<u64>>() == Ratio::ONE;
        (distinct && (1..=Self::MAX_ROLL).contains(&largest) && one)
            .then(|| Self { name: Self::EXPLICIT.to_owned(), rolls })
    }

    /// The name of the dice, [`Dice::EXPLICIT`] if they are given by their probabilities.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rolls there are, ascending by value.
    pub fn rolls(&self) -> &[Roll] {
        &self.rolls
    }
}
