//! The chance of the player to move, by sweeps over all positions.
//!
//! With V(s) the chance of the player to move in s, the Bellman equation is
//!
//! ```text
//! V(s) = sum over rolls of P(roll) * max over legal moves of W(s')
//! ```
//!
//! where W(s') is V(s') if the same player rolls again, 1 - V(s') if the turn passes, and 1 if
//! the game is won; without a legal move the turn passes. A sweep sets every V(s) to the right
//! hand side, in place, until the largest change is small. As pieces that have scored stay
//! scored, positions with the same numbers of pieces left (and their swaps) are solved together,
//! those with fewer pieces left first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use ziggurat_game::{Position, Ruleset};

use crate::arrangements::enumerate;

/// The largest change, as a probability, at which [`solve`] stops.
pub const DEFAULT_RESIDUAL: f64 = 1e-15;

/// Below this residual, rounding decides whether it shrinks further ...
const ROUNDING_FLOOR: f64 = 1e-14;
/// ... so that this many sweeps without a new smallest residual end a step.
const PATIENCE_AT_FLOOR: u32 = 10;
/// As many end it anywhere, so that a game that does not converge ends too.
const PATIENCE: u32 = 1_000;

/// The value of every undecided position of a ruleset.
#[derive(Clone, Debug)]
pub struct Reference {
    positions: Vec<Position>,
    values: Vec<f64>,
    index: FxHashMap<Position, u32>,
    residual: f64,
    sweeps: u64,
}

impl Reference {
    /// The chance that the player to move wins, as a probability; `None` for a position that is
    /// decided or no arrangement of the ruleset.
    pub fn value(&self, position: &Position) -> Option<f64> {
        self.index.get(position).map(|&at| self.values[at as usize])
    }

    /// The chance that the player who begins wins, as a probability.
    pub fn first_player_wins(&self) -> f64 {
        self.values[self.index[&Position::start()] as usize]
    }

    /// All undecided positions, seen from the player to move, with that player's chance.
    pub fn iter(&self) -> impl Iterator<Item = (&Position, f64)> {
        self.positions.iter().zip(self.values.iter().copied())
    }

    /// The number of undecided positions.
    #[allow(clippy::len_without_is_empty)] // there is always the start
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// The largest change of any value in the last sweep over it, as a probability.
    pub fn residual(&self) -> f64 {
        self.residual
    }

    /// Sweeps made, over all steps.
    pub fn sweeps(&self) -> u64 {
        self.sweeps
    }
}

/// Solves a ruleset to [`DEFAULT_RESIDUAL`].
///
/// # Panics
/// As [`solve_to`].
pub fn solve(ruleset: &Ruleset) -> Reference {
    solve_to(ruleset, DEFAULT_RESIDUAL)
}

/// Solves a ruleset until no value changes by more than `residual`, a probability, or rounding
/// keeps the changes from shrinking.
///
/// Needs about 250 bytes per position; made for games of a few million.
///
/// # Panics
/// If the ruleset has 2^31 or more positions.
pub fn solve_to(ruleset: &Ruleset, residual: f64) -> Reference {
    let positions: Vec<Position> = enumerate(ruleset).collect();
    assert!(positions.len() < 1 << 31, "{} has too many positions", ruleset.name());
    let index = positions.iter().zip(0..).map(|(&position, at)| (position, at)).collect();
    let values = vec![0.5; positions.len()];
    let mut reference = Reference { positions, values, index, residual: 0.0, sweeps: 0 };
    for step in steps(ruleset, &reference.positions) {
        let equations = Equations::new(ruleset, &reference, step);
        let reached = equations.iterate(residual, &mut reference);
        reference.residual = reference.residual.max(reached);
    }
    reference
}

/// The indices of the positions of each step, by pieces left, fewest first. Within a step,
/// positions whose pieces are furthest along come first: most moves lead to those.
fn steps(ruleset: &Ruleset, positions: &[Position]) -> Vec<Vec<u32>> {
    let mut steps: BTreeMap<(u8, u8), Vec<u32>> = BTreeMap::new();
    for (position, at) in positions.iter().zip(0..) {
        let own = ruleset.pieces() - position.own.scored;
        let opponent = ruleset.pieces() - position.opponent.scored;
        steps.entry((own + opponent, own.max(opponent))).or_default().push(at);
    }
    let progress = |&at: &u32| -> Reverse<u32> {
        let Position { own, opponent } = positions[at as usize];
        Reverse(own.positions().chain(opponent.positions()).map(u32::from).sum())
    };
    steps
        .into_values()
        .map(|mut step| {
            step.sort_by_key(progress);
            step
        })
        .collect()
}

/// What a move, or a pass, leads to.
#[derive(Clone, Copy)]
struct Successor(u32);

impl Successor {
    const WON: Self = Self(u32::MAX);

    fn new(index: u32, turn_passes: bool) -> Self {
        Self(index << 1 | u32::from(turn_passes))
    }

    /// The chance of the player who moved: W(s').
    fn chance(self, values: &[f64]) -> f64 {
        match self {
            Self(u32::MAX) => 1.0,
            Self(coded) if coded & 1 == 1 => 1.0 - values[(coded >> 1) as usize],
            Self(coded) => values[(coded >> 1) as usize],
        }
    }
}

/// The Bellman equations of the positions of a step.
struct Equations {
    /// The probability of every roll.
    chances: Vec<f64>,
    /// The positions, in the order they are swept.
    positions: Vec<u32>,
    /// For every position and roll, the end of its successors.
    ends: Vec<u32>,
    /// The successors, one position after the other, one roll after the other.
    successors: Vec<Successor>,
}

impl Equations {
    fn new(ruleset: &Ruleset, reference: &Reference, step: Vec<u32>) -> Self {
        let rolls = ruleset.dice().rolls();
        let find = |position: &Position| {
            *reference.index.get(position).expect("a move leads from arrangement to arrangement")
        };
        let mut ends = Vec::with_capacity(step.len() * rolls.len());
        let mut successors = Vec::new();
        for &at in &step {
            let position = reference.positions[at as usize];
            for roll in rolls {
                let before = successors.len();
                successors.extend(ruleset.moves(&position, roll.value).map(|mv| {
                    let outcome = ruleset.apply(&position, mv);
                    match outcome.won {
                        true => Successor::WON,
                        false => Successor::new(find(&outcome.next()), !outcome.rolls_again),
                    }
                }));
                if successors.len() == before {
                    successors.push(Successor::new(find(&position.swap()), true));
                }
                ends.push(successors.len() as u32);
            }
        }
        let chances = rolls.iter().map(|roll| roll.chance()).collect();
        Self { chances, positions: step, ends, successors }
    }

    /// Sweeps until the residual is at most `target` or stops shrinking, and returns it.
    fn iterate(&self, target: f64, reference: &mut Reference) -> f64 {
        let (mut smallest, mut sweeps_since) = (f64::INFINITY, 0);
        loop {
            let residual = self.sweep(&mut reference.values);
            reference.sweeps += 1;
            sweeps_since = if residual < smallest { 0 } else { sweeps_since + 1 };
            smallest = smallest.min(residual);
            let patience = if residual < ROUNDING_FLOOR { PATIENCE_AT_FLOOR } else { PATIENCE };
            if residual <= target || sweeps_since >= patience {
                return residual;
            }
        }
    }

    /// Sets every value to the right hand side of its equation; returns the largest change.
    fn sweep(&self, values: &mut [f64]) -> f64 {
        let mut residual = 0.0_f64;
        let mut begin = 0;
        for (&at, ends) in self.positions.iter().zip(self.ends.chunks_exact(self.chances.len())) {
            let mut value = 0.0;
            for (&end, chance) in ends.iter().zip(&self.chances) {
                let options = &self.successors[begin..end as usize];
                value += chance * options.iter().map(|s| s.chance(values)).fold(0.0, f64::max);
                begin = end as usize;
            }
            let old = std::mem::replace(&mut values[at as usize], value);
            residual = residual.max((value - old).abs());
        }
        residual
    }
}
