//! Puzzles: decisions of games between perfect players where one move is best and a rule of thumb goes wrong.

use std::collections::BTreeSet;

use ziggurat_game::{Position, Roll};
use ziggurat_table::TableError;

use crate::{Advice, Advisor, Policy, SeededDice, ValuedMove};

/// A game longer than this is cut off.
const MOST_ROLLS: usize = 2000;

/// A position and a roll with one best move.
#[derive(Clone, Debug)]
pub struct Puzzle {
    /// The position.
    pub position: Position,
    /// The roll and its moves, the solution first.
    pub advice: Advice,
    /// What the rule of thumb would do.
    pub thumb: ValuedMove,
}

impl Puzzle {
    /// What the rule of thumb loses.
    pub fn loss(&self) -> f64 {
        self.advice.chance - self.thumb.chance
    }
}

/// Which puzzles are wanted.
#[derive(Clone, PartialEq, Debug)]
pub struct Wanted {
    /// The dice of the games.
    pub seed: u64,
    /// How many.
    pub count: usize,
    /// The best move is better than any other by more than this, a probability.
    pub gap: f64,
    /// The rule of thumb.
    pub thumb: Policy,
    /// So many games are played at the most.
    pub games: usize,
}

impl Advisor {
    /// Puzzles, at most one of each game, the one in which the rule of thumb loses most. The same are found for the same
    /// seed; fewer than are wanted if the games have no more.
    ///
    /// # Errors
    /// If the table cannot be read or is damaged.
    pub fn puzzles(&self, wanted: &Wanted) -> Result<Vec<Puzzle>, TableError> {
        let mut dice = SeededDice::new(wanted.seed);
        let mut puzzles = Vec::new();
        let mut known = BTreeSet::new();
        for _ in 0..wanted.games {
            if puzzles.len() == wanted.count {
                break;
            }
            let found = self.puzzle_of_a_game(wanted, &mut dice)?;
            let is_new = |it: &Puzzle| known.insert((it.position, it.advice.roll.value));
            puzzles.extend(found.filter(is_new));
        }
        Ok(puzzles)
    }

    fn puzzle_of_a_game(
        &self,
        wanted: &Wanted,
        dice: &mut SeededDice,
    ) -> Result<Option<Puzzle>, TableError> {
        let gap = wanted.gap.max(self.bound().told_apart());
        let mut hardest: Option<Puzzle> = None;
        let mut position = Position::start();
        for _ in 0..MOST_ROLLS {
            let roll: Roll = dice.roll(self.ruleset());
            let advice = self.advice(&position, roll)?;
            let best = advice.best().copied();
            let before = position;
            position = match best {
                Some(best) if best.outcome.won => break,
                Some(best) => best.outcome.next(),
                None => position.swap(),
            };
            let Some(&thumb) = wanted.thumb.choose(self.ruleset(), &advice, dice) else { continue };
            // The best one leads its tie.
            let second = advice.moves.get(1).map_or(f64::INFINITY, |second| second.chance);
            if advice.chance - second <= gap || thumb.place == 1 {
                continue;
            }
            let puzzle = Puzzle { position: before, advice, thumb };
            if hardest.as_ref().is_none_or(|known| puzzle.loss() > known.loss()) {
                hardest = Some(puzzle);
            }
        }
        Ok(hardest)
    }
}
