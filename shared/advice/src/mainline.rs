//! The main line: play from a position in which nobody is lucky.
//!
//! In every position the roll is the one with the least luck, good or bad, of those whose best answer leads to no position of the
//! line before (the likeliest and then the lowest of those that cannot be told apart). So the chance changes as little as it can,
//! and the line shows how a game goes in which luck decides late.

use std::collections::BTreeSet;

use ziggurat_game::{Position, Roll};
use ziggurat_table::TableError;

use crate::{Advice, Advisor, ValuedMove};

/// A position of a main line, with its roll and the answer to it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The position before the roll, seen by the player to move.
    pub position: Position,
    /// Whether the player who moves is the one who began the line.
    pub by_first: bool,
    /// The chance of the player to move before the roll.
    pub chance: f64,
    /// The roll.
    pub roll: Roll,
    /// Its luck.
    pub luck: f64,
    /// The best move; `None` if the turn passes.
    pub answer: Option<ValuedMove>,
}

/// Successive steps of a main line, at most as many as were asked for; a line that ends before ends the game, or could only repeat a position.
#[derive(Clone, Debug)]
pub struct MainLine {
    /// The steps.
    pub steps: Vec<Step>,
    /// Whether the last step won the game.
    pub won: bool,
}

impl Advisor {
    /// The main line from a position, of at most so many rolls.
    ///
    /// # Errors
    /// If the position is decided or not one of the ruleset's, or the table cannot be read or is damaged.
    pub fn main_line(&self, position: &Position, most: usize) -> Result<MainLine, TableError> {
        let told_apart = self.bound().told_apart();
        let mut line = MainLine { steps: Vec::new(), won: false };
        let (mut position, mut by_first) = (*position, true);
        let mut seen = BTreeSet::from([(position, by_first)]);
        while line.steps.len() < most && !line.won {
            let outlook = self.outlook(&position)?;
            // Whose position comes next, if it is none of the line.
            let next = |advice: &Advice| {
                let (next, same) = match advice.best() {
                    Some(best) => (best.outcome.next(), best.outcome.rolls_again),
                    None => (position.swap(), false),
                };
                Some((next, by_first == same)).filter(|it| !seen.contains(it))
            };
            let luck = |advice: &Advice| outlook.luck(advice).abs();
            let new = || outlook.rolls.iter().filter(|advice| next(advice).is_some());
            let least = new().map(luck).fold(f64::INFINITY, f64::min);
            let likeliest = new()
                .filter(|advice| luck(advice) <= least + told_apart)
                // The first of the likeliest: rolls ascend.
                .reduce(|a, b| if b.roll.probability > a.roll.probability { b } else { a });
            let Some(advice) = likeliest else { break };
            let answer = advice.best().copied();
            let (roll, luck) = (advice.roll, outlook.luck(advice));
            let step = Step { position, by_first, chance: outlook.chance, roll, luck, answer };
            let after = next(advice);
            line.steps.push(step);
            line.won = answer.is_some_and(|it| it.outcome.won);
            if let Some(after) = after {
                (position, by_first) = after;
                seen.insert(after);
            }
        }
        Ok(line)
    }
}
