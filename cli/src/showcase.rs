//! A few interesting positions of a solved ruleset: the decisions of one game between two
//! perfect players that were hardest to get right.
//!
//! The game is played with dice from a fixed seed, so that everybody sees the same one. A decision
//! is close if the second-best move is nearly as good, and costly if the move that a hasty player
//! makes, the piece furthest along, throws away much.

use ziggurat_game::{Position, Roll, Ruleset};
use ziggurat_table::{AnyTable, TableError};

use crate::{
    advice::{Advice, advise, bound_of},
    output::points,
};

/// A game longer than this is cut off; games of Finkel take some 200 turns.
const MOST_TURNS: usize = 2000;

/// Fewer choices than this are no decision to show.
const LEAST_MOVES: usize = 3;

/// A decision of the sample game.
#[derive(Clone, Debug)]
pub struct Decision {
    /// What makes it interesting.
    pub title: String,
    /// The position before the move.
    pub position: Position,
    /// The moves.
    pub advice: Advice,
}

/// The closest and the most costly decision of the sample game; fewer in games so small that they
/// have none.
///
/// # Errors
/// If the table cannot be read.
pub fn decisions(table: &AnyTable) -> Result<Vec<Decision>, TableError> {
    let played = sample_game(table)?;
    // What is less may be no difference.
    let told_apart = 2.0 * bound_of(table);
    let candidates = || played.iter().filter(|(_, advice)| advice.moves.len() >= LEAST_MOVES);
    let gap = |advice: &Advice| advice.moves[0].chance - advice.moves[1].chance;
    let hasty = |advice: &Advice| {
        let furthest = advice.moves.iter().max_by_key(|valued| valued.mv.from);
        furthest.map_or(0.0, |valued| advice.chance - valued.chance)
    };
    let costly = candidates().max_by(|a, b| hasty(&a.1).total_cmp(&hasty(&b.1)));
    let close = candidates()
        .filter(|(_, advice)| gap(advice) > told_apart)
        .min_by(|a, b| gap(&a.1).total_cmp(&gap(&b.1)));
    let mut decisions = Vec::new();
    if let Some((position, advice)) = costly.filter(|(_, advice)| hasty(advice) > told_apart) {
        let lost = points(hasty(advice));
        let title = format!("Here moving the piece furthest along would cost {lost}.");
        decisions.push(Decision { title, position: *position, advice: advice.clone() });
    }
    if let Some((position, advice)) = close {
        let apart = points(gap(advice));
        let title = format!("A close decision: the two best moves are {apart} apart.");
        decisions.push(Decision { title, position: *position, advice: advice.clone() });
    }
    Ok(decisions)
}

/// All positions of the sample game with their moves.
fn sample_game(table: &AnyTable) -> Result<Vec<(Position, Advice)>, TableError> {
    let ruleset = table.ruleset();
    let mut dice = SeededDice(0x5a17_0f7e_57a7_1c5e);
    let mut position = Position::start();
    let mut played = Vec::new();
    for _ in 0..MOST_TURNS {
        let advice = advise(table, &position, dice.roll(ruleset))?;
        let best = advice.moves.first().copied();
        played.push((position, advice));
        position = match best {
            Some(best) if best.outcome.won => break,
            Some(best) => best.outcome.next(),
            None => position.swap(),
        };
    }
    Ok(played)
}

/// SplitMix64 (Steele, Lea and Flood 2014): the same dice for everybody.
struct SeededDice(u64);

impl SeededDice {
    fn roll(&mut self, ruleset: &Ruleset) -> Roll {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mut rest = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
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
