//! What happens in the positions of a step: sums over all of them, and as they occur in a game.

use rayon::prelude::*;
use ziggurat_advice::{Pick, Policy};
use ziggurat_game::Position;

use crate::{graph::Turn, step::Step};

/// Bins of the gap between the best and the second best move by their upper ends, in percentage points; the last bin has the rest.
pub const GAP_BINS: [f64; 9] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// The luck of a roll is counted in bins of one percentage point, from minus so many to as many.
pub const LUCK_BINS: i32 = 50;

/// A decision is free if its moves are all within so many percentage points of the best ...
pub const FREE_POINTS: f64 = 0.01;

/// ... and hard if the second best is further behind than so many.
pub const HARD_POINTS: f64 = 1.0;

/// So many of the hardest decisions are kept.
const HARDEST: usize = 10;

/// Decisions, rolls with more than one legal move, with weights: probabilities or expected numbers.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Decisions {
    /// The sum of the weights.
    pub weight: f64,
    /// Legal moves.
    pub choices: f64,
    /// Of the weight, decisions that are free.
    pub free: f64,
    /// Of the weight, decisions that are hard.
    pub hard: f64,
    /// The weight by the gap between the best and the second best move.
    pub gaps: [f64; GAP_BINS.len()],
    /// What the policy loses, a chance of winning.
    pub regret: f64,
    /// The most that it loses in one.
    pub largest_regret: f64,
}

/// What a player does, in expected numbers for a game.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Player {
    /// Rolls.
    pub rolls: f64,
    /// Ways to go on after rolls: legal moves, or the pass.
    pub ways: f64,
    /// Rolls after which no move is legal.
    pub passes: f64,
    /// Moves that capture a piece.
    pub captures: f64,
    /// Moves that grant another roll.
    pub extra_rolls: f64,
    /// Rolls after which the other player has the better chance than before, and did not before; or the other way round.
    pub lead_changes: f64,
    /// The squares of the luck of rolls.
    pub luck_squares: f64,
    /// Rolls by their luck: see [`LUCK_BINS`].
    pub luck: [f64; 2 * LUCK_BINS as usize],
    /// Decisions as they occur.
    pub decisions: Decisions,
    /// All decisions of all positions, each with the probability of its roll.
    pub all: Decisions,
}

impl Default for Player {
    fn default() -> Self {
        Self {
            rolls: 0.0,
            ways: 0.0,
            passes: 0.0,
            captures: 0.0,
            extra_rolls: 0.0,
            lead_changes: 0.0,
            luck_squares: 0.0,
            luck: [0.0; 2 * LUCK_BINS as usize],
            decisions: Decisions::default(),
            all: Decisions::default(),
        }
    }
}

/// A decision that a player has to find the one right move of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hard {
    /// The position.
    pub position: Position,
    /// The roll.
    pub roll: u8,
    /// How far the second best move is behind, a chance of winning.
    pub gap: f64,
    /// How often it occurs in a game.
    pub visits: f64,
}

/// The sums.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Tally<const S: usize> {
    pub players: [Player; S],
    /// Positions that occur, whoever is to move.
    pub reached: u64,
    /// The decisions that occur with the largest gaps, the largest first.
    pub hardest: Vec<Hard>,
}

/// A decision: how many choices, how far the second best and the worst are behind, what a policy loses on average and at most.
struct Decision {
    choices: usize,
    gap: f64,
    spread: f64,
    regret: f64,
    largest: f64,
}

impl Decisions {
    fn count(&mut self, weight: f64, it: &Decision) {
        let &Decision { choices, gap, spread, regret, largest } = it;
        self.weight += weight;
        self.choices += weight * choices as f64;
        if 100.0 * spread <= FREE_POINTS {
            self.free += weight;
        }
        if 100.0 * gap > HARD_POINTS {
            self.hard += weight;
        }
        let bin = GAP_BINS.iter().position(|end| 100.0 * gap <= *end);
        self.gaps[bin.unwrap_or(GAP_BINS.len() - 1)] += weight;
        self.regret += weight * regret;
        self.largest_regret = self.largest_regret.max(largest);
    }

    fn add(&mut self, other: &Self) {
        self.weight += other.weight;
        self.choices += other.choices;
        self.free += other.free;
        self.hard += other.hard;
        self.gaps.iter_mut().zip(other.gaps).for_each(|(sum, other)| *sum += other);
        self.regret += other.regret;
        self.largest_regret = self.largest_regret.max(other.largest_regret);
    }
}

impl Player {
    fn add(&mut self, other: &Self) {
        self.rolls += other.rolls;
        self.ways += other.ways;
        self.passes += other.passes;
        self.captures += other.captures;
        self.extra_rolls += other.extra_rolls;
        self.lead_changes += other.lead_changes;
        self.luck_squares += other.luck_squares;
        self.luck.iter_mut().zip(other.luck).for_each(|(sum, other)| *sum += other);
        self.decisions.add(&other.decisions);
        self.all.add(&other.all);
    }

    /// Both players of a game in one.
    pub(crate) fn together(players: &[Self]) -> Self {
        let mut sum = Self::default();
        players.iter().for_each(|player| sum.add(player));
        sum
    }
}

impl<const S: usize> Tally<S> {
    pub(crate) fn new() -> Self {
        Self { players: [Player::default(); S], reached: 0, hardest: Vec::new() }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.players.iter_mut().zip(&other.players).for_each(|(sum, other)| sum.add(other));
        self.reached += other.reached;
        self.hardest.extend(other.hardest);
        self.trim();
    }

    fn trim(&mut self) {
        // Of equal ones the first stays.
        self.hardest.sort_by(|a, b| b.gap.total_cmp(&a.gap));
        self.hardest.truncate(HARDEST);
    }

    /// The sums over the positions of a step. A policy of each player is given, and for each node its visits and whether there
    /// are any.
    pub(crate) fn of_step(
        step: &Step<'_>,
        values: &[f64],
        told_apart: f64,
        policies: [&Policy; S],
        visits: impl Fn(usize) -> ([f64; S], bool) + Sync,
    ) -> Self {
        let parts: Vec<Self> = step
            .pieces()
            .into_par_iter()
            .map(|run| {
                let mut tally = Self::new();
                let mut turn = Turn::new(step, values);
                let mut unranking = step.encoding.unranking(run.tier);
                for (offset, node) in run.offsets.zip(run.first as usize..) {
                    turn.at(unranking.position(offset));
                    let (visits, reached) = visits(node);
                    tally.reached += u64::from(reached);
                    tally.position(step, &mut turn, values[node], told_apart, policies, &visits);
                }
                tally.trim();
                tally
            })
            .collect();
        let mut sum = Self::new();
        parts.into_iter().for_each(|part| sum.add(part));
        sum
    }

    fn position(
        &mut self,
        step: &Step<'_>,
        turn: &mut Turn<'_>,
        value: f64,
        told_apart: f64,
        policies: [&Policy; S],
        visits: &[f64; S],
    ) {
        let ruleset = step.encoding.ruleset();
        for roll in ruleset.dice().rolls() {
            let chance = roll.chance();
            turn.roll(roll.value);
            let best = turn.value();
            let worth = match best {
                Some(best) => best,
                None => {
                    let passed = turn.pass();
                    turn.chance_after(passed)
                }
            };
            // The table's own value: the mean over the rolls, to what is proven.
            let luck = worth - value;
            let led = value > 0.5;
            let choices = turn.moves.len();
            let (gap, spread) = gap(&turn.chances, worth);
            for (side, policy) in policies.into_iter().enumerate() {
                let player = &mut self.players[side];
                let often = visits[side] * chance;
                player.rolls += often;
                player.ways += often * choices.max(1) as f64;
                player.luck_squares += often * luck * luck;
                let bin = (luck * 100.0).floor() as i32 + LUCK_BINS;
                player.luck[bin.clamp(0, 2 * LUCK_BINS - 1) as usize] += often;
                if choices == 0 {
                    player.passes += often;
                    player.lead_changes += if led != (worth > 0.5) { often } else { 0.0 };
                    continue;
                }
                let pick =
                    if choices == 1 { Pick::At(0) } else { policy.pick(ruleset, &turn.moves) };
                let range = match pick {
                    Pick::At(at) => at..at + 1,
                    Pick::Any => 0..choices,
                    Pick::Best => {
                        let least = worth - told_apart;
                        let first = turn.chances.iter().position(|it| *it >= least);
                        let first = first.expect("one of them is the best");
                        first..first + 1
                    }
                };
                let share = 1.0 / range.len() as f64;
                let (mut regret, mut largest) = (0.0, 0.0_f64);
                for at in range {
                    let (_, outcome) = turn.moves[at];
                    let after = turn.chances[at];
                    regret += share * (worth - after);
                    largest = largest.max(worth - after);
                    let often = often * share;
                    player.captures += if outcome.captured.is_some() { often } else { 0.0 };
                    player.extra_rolls += if outcome.rolls_again { often } else { 0.0 };
                    player.lead_changes += if led != (after > 0.5) { often } else { 0.0 };
                }
                if choices > 1 {
                    let decision = Decision { choices, gap, spread, regret, largest };
                    player.all.count(chance, &decision);
                    if often > 0.0 {
                        player.decisions.count(often, &decision);
                    }
                }
            }
            let visits = visits.iter().sum::<f64>();
            if choices > 1 && visits > 0.0 {
                self.hardest.push(Hard {
                    position: turn.position,
                    roll: roll.value,
                    gap,
                    visits: visits * chance,
                });
                if self.hardest.len() >= 64 * HARDEST {
                    self.trim();
                }
            }
        }
    }
}

/// How far the second best and the worst move are behind the best one.
fn gap(chances: &[f64], best: f64) -> (f64, f64) {
    let first = chances.iter().position(|it| *it >= best).unwrap_or(0);
    let others = chances.iter().enumerate().filter(|(at, _)| *at != first).map(|(_, it)| *it);
    let second = others.fold(f64::NEG_INFINITY, f64::max);
    let worst = chances.iter().copied().fold(best, f64::min);
    ((best - second).max(0.0), best - worst)
}
