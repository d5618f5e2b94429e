//! How long games between two policies last, and who wins them.
//!
//! Of a position and a player to move, seven numbers (*lanes*): expected rolls L = 1 + P L and their second moment
//! M = 1 + 2 P L + P M, the same for turns and for moves, and the chance of the player to move. A roll ends a turn if the other
//! player is the next to roll, or nobody is.
//!
//! If |1 + P L - L| <= d < 1 everywhere, then L / (1 + d) <= L* <= L / (1 - d) for the true L*: L / (1 - d) satisfies
//! x >= 1 + P x, and the least solution lies below every such x; likewise on the other side, and with the least or the greatest
//! over moves in place of P. The equation of another lane that is violated by at most e is so by the solution of
//! x = b + e' + P x with |e'| <= e, which differs by at most e L*.

use std::collections::BTreeMap;

use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::Position;

use crate::{
    Bounded,
    graph::{Lists, Target},
    step::Step,
    sweep::{Equation, Solved, Unknowns},
};

/// How many lanes there are.
pub(crate) const LANES: usize = 7;
const ROLLS: usize = 0;
const TURNS: usize = 2;
const MOVES: usize = 4;
const CHANCE: usize = 6;

/// The lanes of the end of the game, where the player to move has lost.
pub(crate) const END: [f64; LANES] = [0.0; LANES];

/// The equation of the seven lanes.
pub(crate) struct Play;

impl Equation<LANES> for Play {
    #[inline]
    fn add(&self, into: &mut [f64; LANES], weight: f64, target: Target, of: &[f64; LANES]) {
        let counted = |does: bool| if does { 1.0 } else { 0.0 };
        let count = [1.0, counted(target.is_others()), counted(target.moved())];
        for (lane, count) in [ROLLS, TURNS, MOVES].into_iter().zip(count) {
            into[lane] += weight * (count + of[lane]);
            into[lane + 1] += weight * (count * (1.0 + 2.0 * of[lane]) + of[lane + 1]);
        }
        into[CHANCE] += weight * chance(target, of);
    }

    #[inline]
    fn preference(&self, lists: Lists, target: Target, of: &[f64; LANES]) -> f64 {
        match lists {
            Lists::Shortest => -of[ROLLS],
            Lists::Longest => of[ROLLS],
            Lists::Best | Lists::Any => chance(target, of),
        }
    }
}

/// The chance of the player who moved.
fn chance(target: Target, of: &[f64; LANES]) -> f64 {
    if target.is_others() { 1.0 - of[CHANCE] } else { of[CHANCE] }
}

/// Expected number, and standard deviation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The expected number.
    pub mean: Bounded,
    /// The standard deviation.
    pub deviation: Bounded,
}

/// Games between two policies, from the first position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Games {
    /// Rolls of the dice, those after which nobody can move among them.
    pub rolls: Spread,
    /// Turns: a roll that grants another one does not end its turn.
    pub turns: Spread,
    /// Moves: rolls without passes.
    pub moves: Spread,
    /// The chance of the player who begins.
    pub chance: Bounded,
    /// The longest expected game from any position, in rolls: no position has more to go.
    pub longest: f64,
}

/// How closely the equations of all steps hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closeness {
    violation: [f64; LANES],
    largest: [f64; LANES],
}

impl Closeness {
    pub(crate) fn new() -> Self {
        Self { violation: [0.0; LANES], largest: [0.0; LANES] }
    }

    pub(crate) fn add(&mut self, solved: &Solved<LANES>) {
        for lane in 0..LANES {
            self.violation[lane] = self.violation[lane].max(solved.violation[lane]);
            self.largest[lane] = self.largest[lane].max(solved.largest[lane]);
        }
    }

    /// What the lanes of a position say, with bounds.
    pub(crate) fn games(&self, lanes: &[f64; LANES]) -> Games {
        let d = self.violation[ROLLS];
        let high = |rolls: f64| if d < 1.0 { rolls / (1.0 - d) } else { f64::INFINITY };
        let to_go = high(lanes[ROLLS]);
        let longest = high(self.largest[ROLLS]);
        let spread = |lane: usize| {
            let mean = match lane {
                ROLLS => Bounded { value: lanes[lane], low: lanes[lane] / (1.0 + d), high: to_go },
                _ => Bounded::within(lanes[lane], self.violation[lane] * to_go),
            };
            // The equation of the second moment holds with the computed means; these are off, too.
            let of_means = 2.0 * self.violation[lane] * longest;
            let error = (self.violation[lane + 1] + of_means) * to_go;
            let square = Bounded::within(lanes[lane + 1], error);
            Spread { mean, deviation: Bounded::deviation(mean, square) }
        };
        Games {
            rolls: spread(ROLLS),
            turns: spread(TURNS),
            moves: spread(MOVES),
            chance: Bounded::within(lanes[CHANCE], self.violation[CHANCE] * to_go),
            longest,
        }
    }
}

/// What is known of tiers that are solved, for as long as a step will read it.
pub(crate) struct Finished<T>(BTreeMap<Tier, Vec<T>>);

impl<T: Copy> Finished<T> {
    pub(crate) fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// What nodes of a step have before it is solved: `guess` those of the step. Takes what none of the steps that follow reads.
    pub(crate) fn begin(&mut self, step: &Step<'_>, guess: T, end: T, later: &[Tier]) -> Vec<T> {
        let mut of_nodes = Vec::with_capacity(step.end() as usize + 1);
        of_nodes.resize(step.own as usize, guess);
        for (tier, _) in &step.below {
            of_nodes.extend_from_slice(&self.0[tier]);
            if !is_read(*tier, later) {
                self.0.remove(tier);
            }
        }
        of_nodes.push(end);
        of_nodes
    }

    /// Takes what was solved, if a step that follows reads it, or none follows.
    pub(crate) fn finish(&mut self, step: &Step<'_>, of_nodes: &[T], later: &[Tier]) {
        for &tier in &step.tiers {
            if is_read(tier, later) || later.is_empty() {
                self.0.insert(tier, step.of_tier(tier, of_nodes));
            }
        }
    }

    /// What the first position of a game has; the last step must be finished.
    pub(crate) fn of_start(&self, encoding: &Encoding) -> T {
        let Index { tier, offset } = encoding.rank(&Position::start());
        self.0[&tier][offset as usize]
    }
}

/// Whether one of some steps reads a tier.
pub(crate) fn is_read(tier: Tier, steps: &[Tier]) -> bool {
    steps.iter().any(|step| step.reads().any(|read| read == tier))
}

/// The steps in the order in which they are solved, each by its first tier.
pub(crate) fn steps(encoding: &Encoding) -> Vec<Tier> {
    encoding.tiers().into_iter().filter(|tier| *tier == tier.first_of_step()).collect()
}

/// The lanes of all sides.
pub(crate) type Lanes<const S: usize> = Unknowns<LANES, S>;
