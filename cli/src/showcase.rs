//! A few interesting positions of a solved ruleset: the decisions of one game between two
//! perfect players that were hardest to get right.
//!
//! The game is played with dice from a fixed seed, so that everybody sees the same one. A decision
//! is close if the second-best move is nearly as good, and costly if the move that a hasty player
//! makes, the piece furthest along, throws away much.

use ziggurat_advice::{Advice, Advisor, SeededDice};
use ziggurat_game::Position;
use ziggurat_table::TableError;

use crate::output::points;

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
pub fn decisions(advisor: &Advisor) -> Result<Vec<Decision>, TableError> {
    let played = sample_game(advisor)?;
    // What is less may be no difference.
    let told_apart = advisor.bound().told_apart();
    let candidates = || played.iter().filter(|(_, advice)| advice.moves.len() >= LEAST_MOVES);
    let gap = |advice: &Advice| advice.chance - advice.moves[1].chance;
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
fn sample_game(advisor: &Advisor) -> Result<Vec<(Position, Advice)>, TableError> {
    let mut dice = SeededDice::new(0x5a17_0f7e_57a7_1c5e);
    let mut position = Position::start();
    let mut played = Vec::new();
    for _ in 0..MOST_TURNS {
        let advice = advisor.advice(&position, dice.roll(advisor.ruleset()))?;
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
