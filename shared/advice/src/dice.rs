//! Dice from a seed: the same for everybody who names it.

use ziggurat_game::{Roll, Ruleset};

/// SplitMix64 (Steele, Lea and Flood 2014) as dice.
#[derive(Clone, Debug)]
pub struct SeededDice(u64);

impl SeededDice {
    /// The dice of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next roll of a ruleset's dice.
    pub fn roll(&mut self, ruleset: &Ruleset) -> Roll {
        let mut rest = (self.next_bits() >> 11) as f64 / (1_u64 << 53) as f64;
        let rolls = ruleset.dice().rolls();
        for roll in rolls {
            rest -= roll.chance();
            if rest < 0.0 {
                return *roll;
            }
        }
        rolls[rolls.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rolls_come_as_often_as_the_dice_say() {
        let finkel = Ruleset::builtin("finkel").unwrap();
        let mut dice = SeededDice::new(1);
        let mut counts = [0; 5];
        (0..16_000).for_each(|_| counts[usize::from(dice.roll(&finkel).value)] += 1);
        for (count, sixteenths) in counts.into_iter().zip([1, 4, 6, 4, 1]) {
            let off: i32 = count - 1000 * sixteenths;
            assert!(off.abs() < 250, "{counts:?}");
        }
    }
}
