//! Policy graphs: for each position of a step and each roll, the node that a policy leads to, in four bytes.

use std::ops::Range;

use rayon::prelude::*;
use ziggurat_advice::{Pick, Policy};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Move, Outcome, Position};
use ziggurat_table::AnyTable;

use crate::{
    AnalysisError,
    step::{Step, pieces},
};

/// What a roll leads to: a node and whether the other player is to move there, or a list of such.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target(u32);

impl Target {
    const OTHER: u32 = 1 << 31;
    const MOVED: u32 = 1 << 30;
    const LIST: u32 = 1 << 29;
    const NUMBER: u32 = Self::LIST - 1;

    /// How many kinds of targets equations tell apart.
    pub(crate) const KINDS: usize = 4;

    /// Whether a piece moved, and whether the other player is to move then, as one number.
    #[inline(always)]
    pub(crate) fn kind(self) -> usize {
        (self.0 >> 30) as usize
    }

    /// A target of each kind.
    pub(crate) fn one_of_each_kind() -> [Self; Self::KINDS] {
        std::array::from_fn(|kind| Self((kind as u32) << 30))
    }

    /// After a move. The end of the game is a node at which the other player is to move, and has lost.
    fn after(step: &Step<'_>, outcome: &Outcome) -> Self {
        let node = if outcome.won { step.end() } else { step.node(&outcome.next()) };
        Self(node | Self::MOVED | if outcome.rolls_again { 0 } else { Self::OTHER })
    }

    /// After a pass.
    fn passed(step: &Step<'_>, position: &Position) -> Self {
        Self(step.node(&position.swap()) | Self::OTHER)
    }

    fn list(start: usize) -> Self {
        debug_assert!(start <= Self::NUMBER as usize);
        Self(Self::LIST | start as u32)
    }

    /// One of a list.
    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(crate) fn is_list(self) -> bool {
        self.0 & Self::LIST != 0
    }

    /// The node, or where the list starts.
    pub(crate) fn number(self) -> usize {
        (self.0 & Self::NUMBER) as usize
    }

    pub(crate) fn is_others(self) -> bool {
        self.0 & Self::OTHER != 0
    }

    pub(crate) fn moved(self) -> bool {
        self.0 & Self::MOVED != 0
    }
}

/// What a list of targets stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lists {
    /// Each of them, as likely.
    Any,
    /// The one after which the game is the shortest.
    Shortest,
    /// The one after which the game is the longest.
    Longest,
    /// The one with the best chance for the player who moves.
    Best,
}

/// The moves of a graph.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moves<'a> {
    /// Those of a policy.
    Of(&'a Policy),
    /// All that are tied with a best one.
    Tied,
    /// All legal ones.
    Legal,
}

/// The targets of the positions of a step.
#[derive(Debug)]
pub(crate) struct Graph {
    /// So many rolls have the dice.
    rolls: usize,
    /// For each node of the step and each roll.
    targets: Vec<Target>,
    /// Lists: how many there are, then that many targets.
    listed: Vec<u32>,
    pub lists: Lists,
}

impl Graph {
    /// The graph of some moves. `values` are those of [`values`].
    pub(crate) fn new(
        step: &Step<'_>,
        values: &[f64],
        told_apart: f64,
        moves: Moves<'_>,
        lists: Lists,
    ) -> Self {
        let rolls = step.encoding.ruleset().dice().rolls();
        let mut targets = vec![Target(0); step.own as usize * rolls.len()];
        let pieces = step.pieces();
        // Lists are made twice, first to count them, so that there is never more memory than they take.
        let counts: Vec<usize> = Step::cut(&pieces, &mut targets, rolls.len())
            .into_par_iter()
            .map(|(run, targets)| {
                let mut turn = Turn::new(step, values);
                let (mut list, mut count) = (Vec::new(), 0);
                for (position, targets) in positions(step.encoding, run.tier, run.offsets)
                    .zip(targets.chunks_exact_mut(rolls.len()))
                {
                    turn.at(position);
                    for (target, roll) in targets.iter_mut().zip(rolls) {
                        turn.roll(roll.value);
                        list.clear();
                        *target = turn.target(moves, told_apart, &mut list);
                        count += list.len();
                    }
                }
                count
            })
            .collect();
        let all = counts.iter().sum();
        assert!(all <= Target::NUMBER as usize, "no step has as many lists");
        let mut listed = vec![0; all];
        let (mut rest, mut first) = (listed.as_mut_slice(), 0);
        let mut work = Vec::new();
        for ((run, targets), count) in
            Step::cut(&pieces, &mut targets, rolls.len()).into_iter().zip(counts)
        {
            let (of_piece, after) = std::mem::take(&mut rest).split_at_mut(count);
            rest = after;
            if count > 0 {
                work.push((run, targets, of_piece, first));
            }
            first += count;
        }
        work.into_par_iter().for_each(|(run, targets, of_piece, first)| {
            let mut turn = Turn::new(step, values);
            let (mut list, mut used) = (Vec::new(), 0);
            for (position, targets) in positions(step.encoding, run.tier, run.offsets)
                .zip(targets.chunks_exact_mut(rolls.len()))
            {
                turn.at(position);
                for (target, roll) in
                    targets.iter_mut().zip(rolls).filter(|(target, _)| target.is_list())
                {
                    turn.roll(roll.value);
                    list.clear();
                    turn.target(moves, told_apart, &mut list);
                    of_piece[used..][..list.len()].copy_from_slice(&list);
                    *target = Target::list(first + used);
                    used += list.len();
                }
            }
        });
        Self { rolls: rolls.len(), targets, listed, lists }
    }

    /// The targets of a node, one for each roll.
    #[inline]
    pub(crate) fn of(&self, node: usize) -> &[Target] {
        &self.targets[node * self.rolls..][..self.rolls]
    }

    /// The targets of a list.
    #[inline]
    pub(crate) fn list(&self, target: Target) -> impl ExactSizeIterator<Item = Target> + '_ {
        let start = target.number();
        let count = self.listed[start] as usize;
        self.listed[start + 1..][..count].iter().copied().map(Target::from_bits)
    }

    /// How many lists it has.
    pub(crate) fn count_lists(&self) -> u64 {
        self.targets.par_iter().filter(|target| target.is_list()).count() as u64
    }
}

/// Positions of a tier, ascending.
fn positions(
    encoding: &Encoding,
    tier: Tier,
    offsets: Range<u64>,
) -> impl Iterator<Item = Position> {
    let mut unranking = encoding.unranking(tier);
    offsets.map(move |offset| unranking.position(offset))
}

/// How many numbers the lists of a step have at the most, those of all legal moves: see [`Graph`].
pub(crate) fn most_listed(encoding: &Encoding, step: Tier) -> u64 {
    let ruleset = encoding.ruleset();
    let of_roll = |position: &Position, roll: u8| match ruleset.moves(position, roll).count() {
        0 | 1 => 0,
        moves => 1 + moves as u64,
    };
    let of = |position: Position| {
        let rolls = ruleset.dice().rolls().iter();
        rolls.map(|roll| of_roll(&position, roll.value)).sum::<u64>()
    };
    let of_tier = |tier: Tier| {
        let pieces: Vec<Range<u64>> = pieces(0..encoding.tier_len(tier)).collect();
        let of_piece = |offsets| positions(encoding, tier, offsets).map(of).sum::<u64>();
        pieces.into_par_iter().map(of_piece).sum::<u64>()
    };
    step.both().map(of_tier).sum()
}

/// The chances of the player to move at each node of a step; at the end of the game none.
pub(crate) fn values(step: &Step<'_>, table: &AnyTable) -> Result<Vec<f64>, AnalysisError> {
    let mut values = vec![0.0; step.end() as usize + 1];
    let mover = |stored: &f64| 0.5 - stored;
    for &tier in &step.tiers {
        let stored = table.read_tier(tier)?;
        for run in step.runs.iter().filter(|run| run.tier == tier) {
            let stored = &stored[run.offsets.start as usize..run.offsets.end as usize];
            let values = &mut values[run.first as usize..][..run.len()];
            values.iter_mut().zip(stored).for_each(|(value, stored)| *value = mover(stored));
        }
    }
    for &(tier, first) in &step.below {
        let stored = table.read_tier(tier)?;
        let values = &mut values[first as usize..][..stored.len()];
        values.iter_mut().zip(&stored).for_each(|(value, stored)| *value = mover(stored));
    }
    Ok(values)
}

/// A position and a roll, with the legal moves.
pub(crate) struct Turn<'a> {
    step: &'a Step<'a>,
    values: &'a [f64],
    pub position: Position,
    passed: Option<Target>,
    /// The legal moves, ascending by where they come from.
    pub moves: Vec<(Move, Outcome)>,
    targets: Vec<Target>,
    /// The chances of the player who moves, after each, once they were asked for.
    pub chances: Vec<f64>,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(step: &'a Step<'a>, values: &'a [f64]) -> Self {
        let (moves, targets, chances) = (Vec::new(), Vec::new(), Vec::new());
        Self { step, values, position: Position::start(), passed: None, moves, targets, chances }
    }

    /// Goes to a position.
    pub(crate) fn at(&mut self, position: Position) {
        (self.position, self.passed) = (position, None);
    }

    /// Throws a roll.
    pub(crate) fn roll(&mut self, roll: u8) {
        let ruleset = self.step.encoding.ruleset();
        let position = self.position;
        self.moves.clear();
        let moves = ruleset.moves(&position, roll);
        self.moves.extend(moves.map(|mv| (mv, ruleset.apply(&position, mv))));
    }

    /// The chance of the player who is to move now, after a target.
    pub(crate) fn chance_after(&self, target: Target) -> f64 {
        let chance = self.values[target.number()];
        if target.is_others() { 1.0 - chance } else { chance }
    }

    pub(crate) fn pass(&mut self) -> Target {
        *self.passed.get_or_insert_with(|| Target::passed(self.step, &self.position))
    }

    /// Works out where each move leads and its chance; returns the best chance, `None` without a move.
    pub(crate) fn value(&mut self) -> Option<f64> {
        self.targets.clear();
        self.targets
            .extend(self.moves.iter().map(|(_, outcome)| Target::after(self.step, outcome)));
        self.chances.clear();
        for at in 0..self.targets.len() {
            self.chances.push(self.chance_after(self.targets[at]));
        }
        self.chances.iter().copied().reduce(f64::max)
    }

    /// Where the moves lead that are made: for several, they are listed, as in a [`Graph`], and the target is the list.
    pub(crate) fn target(
        &mut self,
        moves: Moves<'_>,
        told_apart: f64,
        listed: &mut Vec<u32>,
    ) -> Target {
        match self.moves.as_slice() {
            [] => return self.pass(),
            [(_, outcome)] => return Target::after(self.step, outcome),
            _ => {}
        }
        let pick = match moves {
            Moves::Of(policy) => policy.pick(self.step.encoding.ruleset(), &self.moves),
            Moves::Tied => Pick::Best,
            Moves::Legal => Pick::Any,
        };
        match pick {
            Pick::At(at) => Target::after(self.step, &self.moves[at].1),
            Pick::Any => {
                self.value();
                self.put(listed, f64::NEG_INFINITY)
            }
            Pick::Best => {
                let least = self.value().expect("there are moves") - told_apart;
                let mut tied = self.chances.iter().enumerate().filter(|(_, it)| **it >= least);
                let first = tied.next().expect("one of them is the best").0;
                if matches!(moves, Moves::Tied) && tied.next().is_some() {
                    return self.put(listed, least);
                }
                self.targets[first]
            }
        }
    }

    /// Lists the targets whose chances are no less than `least`.
    fn put(&self, listed: &mut Vec<u32>, least: f64) -> Target {
        let start = listed.len();
        listed.push(0);
        let chosen = self.targets.iter().zip(&self.chances).filter(|(_, it)| **it >= least);
        listed.extend(chosen.map(|(target, _)| target.0));
        listed[start] = (listed.len() - start - 1) as u32;
        Target::list(start)
    }
}
