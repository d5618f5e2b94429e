//! How slow a game is at the least: the rolls that a lone piece needs to score.
//!
//! In an iteration that changes a value by what one turn makes of others, an error shrinks no faster than games end. So
//! where a piece needs a million rolls, values that hardly change any more may still be far from the true ones.

use crate::Ruleset;

impl Ruleset {
    /// How many rolls of its player a lone piece needs on average until it scores, from where it needs most: from path
    /// position i, or the hand, which is 0,
    ///
    /// ```text
    /// E(i) = (1 + sum over rolls r that fit of P(r) E(i + r)) / (sum over rolls r that fit of P(r)),  E(len + 1) = 0
    /// ```
    ///
    /// ```
    /// use ziggurat_game::Ruleset;
    /// let rolls = Ruleset::builtin("finkel").unwrap().rolls_to_score();
    /// assert!((9.0..12.0).contains(&rolls), "{rolls}");
    /// ```
    pub fn rolls_to_score(&self) -> f64 {
        let scored = usize::from(self.path().len()) + 1;
        let mut rolls = vec![0.0; scored + 1];
        for at in (0..scored).rev() {
            let moving = self.dice().rolls().iter().filter(|roll| roll.value > 0);
            let fitting = moving.filter(|roll| at + usize::from(roll.value) <= scored);
            let (chance, after) = fitting.fold((0.0, 0.0), |(chance, after), roll| {
                let to = at + usize::from(roll.value);
                (chance + roll.chance(), after + roll.chance() * rolls[to])
            });
            // Dice that never show 1 make no ruleset.
            rolls[at] = (1.0 + after) / chance;
        }
        rolls.into_iter().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Overrides, Ruleset};

    fn rolls(name: &str, dice: &str) -> f64 {
        let dice = Some(dice.parse().unwrap());
        let overrides = Overrides { dice, ..Overrides::default() };
        Ruleset::builtin(name).unwrap().with(&overrides).unwrap().rolls_to_score()
    }

    #[test]
    fn a_coin_takes_two_rolls_a_step() {
        assert_eq!(rolls("finkel", "0:1/2,1:1/2"), 2.0 * 15.0);
        assert_eq!(rolls("finkel", "1:1"), 15.0);
        assert!((rolls("finkel", "0:0.999999,1:0.000001") / 15e6 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_played_is_not_slow_and_a_rare_last_roll_is() {
        for name in Ruleset::builtin_names() {
            assert!(Ruleset::builtin(name).unwrap().rolls_to_score() < 40.0, "{name}");
        }
        // The last square is left with a roll of 1 alone.
        assert!((rolls("finkel", "binary15") / (32768.0 / 15.0) - 1.0).abs() < 1e-9);
    }
}
