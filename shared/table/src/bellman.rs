//! Bellman's equation for the chance of the player to move:
//!
//! V(s) = sum over rolls of P(roll) * max over legal moves of W(s'),
//!
//! where W(s') is V(s') if the player rolls again, 1 - V(s') if the turn passes, 1 if the game is
//! won; without a legal move it is 1 - V of the same pieces with the other player to move.

use ziggurat_game::{Position, Ruleset};

/// The right side of the equation for one position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Bellman {
    /// What the rolls with a legal move add.
    moving: f64,
    /// The probability of the rolls without.
    pass: f64,
    /// The chance of the player to move after passing.
    passed: f64,
}

impl Bellman {
    /// The equation of an undecided position, with `value` the chances of the player to move in
    /// undecided positions.
    pub(crate) fn new<E>(
        ruleset: &Ruleset,
        position: &Position,
        value: impl Fn(&Position) -> Result<f64, E>,
    ) -> Result<Self, E> {
        let (mut moving, mut pass) = (0.0, 0.0);
        for roll in ruleset.dice().rolls() {
            let mut best = None;
            for mv in ruleset.moves(position, roll.value) {
                let outcome = ruleset.apply(position, mv);
                let chance = match outcome {
                    _ if outcome.won => 1.0,
                    _ if outcome.rolls_again => value(&outcome.next())?,
                    _ => 1.0 - value(&outcome.next())?,
                };
                best = Some(best.map_or(chance, |best: f64| best.max(chance)));
            }
            match best {
                Some(best) => moving += roll.chance() * best,
                None => pass += roll.chance(),
            }
        }
        let passed = if pass > 0.0 { 1.0 - value(&position.swap())? } else { 0.0 };
        Ok(Self { moving, pass, passed })
    }

    /// V(s) as the equation gives it.
    pub(crate) fn value(&self) -> f64 {
        self.moving + self.pass * self.passed
    }

    /// V(s) where s is its own swap: V = moving + pass * (1 - V), solved for V.
    pub(crate) fn value_if_symmetric(&self) -> f64 {
        (self.moving + self.pass) / (1.0 + self.pass)
    }
}
