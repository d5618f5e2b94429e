//! How often each position occurs in a game.
//!
//! With P the matrix of a pair of policies and e the first position, the expected numbers of visits v satisfy v = e + P' v.
//! Steps are solved from the first position down: what enters a step is known once the steps that lead to it are solved. The
//! sweeps are those of [`sweep`](crate::sweep) along the edges of the policy graph turned round, positions least far along first.
//!
//! If the equations are violated by r, the expected total of anything that is at most F on each roll is off by at most
//! F |r| L, with |r| the sum of all violations and L the longest expected game from any position.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering::Relaxed},
};

use rayon::prelude::*;
use ziggurat_advice::Policy;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::Position;

use crate::{
    AnalysisError,
    graph::{Moves, Target, Turn},
    step::{ShardNodes, Step},
    sweep::WAVE,
};

/// No step takes more supersteps.
const MOST_SUPERSTEPS: u32 = 20_000;

/// A step is solved if in a superstep the visits change by no more than this in all, as a share of them ...
const CHANGE: f64 = 1e-15;

/// ... or if so many supersteps have brought no smaller change, and the last was at most ...
const PATIENCE: u32 = 16;

/// ... this.
const ROUNDING: f64 = 1e-12;

/// So many nodes are looked at at a time.
const AT_A_TIME: usize = 8 << 10;

/// The edges of the policy graphs of a step, from where they lead to where they come from. A *row* is a node and a player to
/// move: with S = 1 the player does not matter.
///
/// They are never in memory the other way round: the moves of all positions are made twice, to count the edges of each row and to
/// put them there.
pub(crate) struct Edges {
    /// Where the edges of a row start, and the end of the last one's.
    starts: Vec<AtomicU32>,
    /// The rows that edges come from, ascending.
    sources: Vec<AtomicU32>,
    /// Which of the weights they have.
    kinds: Vec<AtomicU16>,
    weights: Vec<f64>,
}

/// Weights of edges are told by roll and by how many share it, which are fewer.
const MOST_SHARING: usize = 32;

impl Edges {
    /// The edges of a step. `values` are those of [`values`](crate::graph::values).
    ///
    /// # Errors
    /// If there are too many.
    pub(crate) fn new<const S: usize>(
        step: &Step<'_>,
        values: &[f64],
        told_apart: f64,
        policies: [&Policy; S],
    ) -> Result<Self, AnalysisError> {
        let rolls = step.encoding.ruleset().dice().rolls();
        let chance =
            |kind: usize| rolls[kind / MOST_SHARING].chance() / (kind % MOST_SHARING).max(1) as f64;
        let weights = (0..rolls.len() * MOST_SHARING).map(chance).collect();
        let rows = (step.end() as usize + 1) * S;
        let starts: Vec<AtomicU32> = zeros(rows + 1);
        let for_each = |each: &(dyn Fn(usize, usize, usize) + Sync)| {
            for_each_edge(step, values, told_apart, policies, each);
        };
        for_each(&|_, row, _| {
            starts[row + 1].fetch_add(1, Relaxed);
        });
        let mut count = 0_u64;
        for start in &starts {
            count += u64::from(start.load(Relaxed));
            start.store(count as u32, Relaxed);
        }
        if count > u64::from(u32::MAX) {
            let ruleset = step.encoding.ruleset().name().to_owned();
            return Err(AnalysisError::TooManyMoves { ruleset, tier: step.tiers[0], edges: count });
        }
        let (sources, kinds) = (zeros(count as usize), zeros(count as usize));
        // The start of each row is where its next edge goes, so at last it is that of the next row.
        for_each(&|source, row, kind| {
            let at = starts[row].fetch_add(1, Relaxed) as usize;
            AtomicU32::store(&sources[at], source as u32, Relaxed);
            AtomicU16::store(&kinds[at], kind as u16, Relaxed);
        });
        let mut starts = starts;
        starts.rotate_right(1);
        starts[0] = AtomicU32::new(0);
        let edges = Self { starts, sources, kinds, weights };
        edges.sort();
        Ok(edges)
    }

    /// Sorts the edges of each row, which came in any order.
    fn sort(&self) {
        let rows = 0..self.starts.len() - 1;
        rows.into_par_iter().with_min_len(AT_A_TIME).for_each_init(Vec::new, |of_row, row| {
            let edges = self.of(row);
            let pairs = self.sources[edges.clone()].iter().zip(&self.kinds[edges]);
            of_row.clear();
            of_row.extend(pairs.clone().map(|(a, b)| (a.load(Relaxed), b.load(Relaxed))));
            if !of_row.is_sorted() {
                of_row.sort_unstable();
                for (&(source, kind), (a, b)) in of_row.iter().zip(pairs) {
                    a.store(source, Relaxed);
                    b.store(kind, Relaxed);
                }
            }
        });
    }

    /// Where the edges of a row are.
    #[inline]
    fn of(&self, row: usize) -> Range<usize> {
        self.starts[row].load(Relaxed) as usize..self.starts[row + 1].load(Relaxed) as usize
    }

    /// The sum over the edges that lead to a row of what is at their other ends, times their weights.
    #[inline]
    pub(crate) fn sum(&self, row: usize, of: impl Fn(usize) -> f64) -> f64 {
        let edges = self.of(row);
        let edges = self.sources[edges.clone()].iter().zip(&self.kinds[edges]);
        edges
            .map(|(source, kind)| {
                self.weights[kind.load(Relaxed) as usize] * of(source.load(Relaxed) as usize)
            })
            .sum()
    }

    /// Whether an edge leads to a row from one of some rows.
    #[inline]
    fn leads(&self, row: usize, from: impl Fn(usize) -> bool) -> bool {
        self.sources[self.of(row)].iter().any(|source| from(source.load(Relaxed) as usize))
    }
}

fn zeros<T: Default>(count: usize) -> Vec<T> {
    std::iter::repeat_with(T::default).take(count).collect()
}

/// Calls, in any order, with the source row, the row that an edge leads to, and its kind.
fn for_each_edge<const S: usize>(
    step: &Step<'_>,
    values: &[f64],
    told_apart: f64,
    policies: [&Policy; S],
    each: &(dyn Fn(usize, usize, usize) + Sync),
) {
    step.pieces().into_par_iter().for_each(|run| {
        let mut turn = Turn::new(step, values);
        let mut list = Vec::new();
        let mut unranking = step.encoding.unranking(run.tier);
        for (node, offset) in (run.first as usize..).zip(run.offsets) {
            turn.at(unranking.position(offset));
            for (roll, thrown) in step.encoding.ruleset().dice().rolls().iter().enumerate() {
                turn.roll(thrown.value);
                for (side, policy) in policies.iter().enumerate() {
                    list.clear();
                    let target = turn.target(Moves::Of(policy), told_apart, &mut list);
                    let lead = |target: Target, sharing: usize| {
                        let to = if S > 1 && target.is_others() { 1 - side } else { side };
                        let kind = roll * MOST_SHARING + sharing;
                        each(node * S + side, target.number() * S + to, kind);
                    };
                    match list.split_first() {
                        None => lead(target, 1),
                        Some((_, targets)) => {
                            targets
                                .iter()
                                .for_each(|target| lead(Target::from_bits(*target), targets.len()));
                        }
                    }
                }
            }
        }
    });
}

/// What flows into tiers that are not solved yet.
pub(crate) struct Inflow<const S: usize> {
    visits: BTreeMap<Tier, Vec<[f64; S]>>,
    /// Which positions occur at all, whoever is to move.
    reached: BTreeMap<Tier, Vec<[bool; S]>>,
}

/// The visits of a step.
pub(crate) struct Visits<const S: usize> {
    /// Of each node of the step, by the player to move.
    pub visits: Vec<[f64; S]>,
    /// Whether it occurs at all.
    pub reached: Vec<[bool; S]>,
    /// The sum of the violations of all equations, with what rounding adds.
    pub violation: f64,
}

impl<const S: usize> Inflow<S> {
    /// Games start in the first position; with two players to move, as often with either.
    pub(crate) fn of_start(encoding: &Encoding) -> Self {
        let index = encoding.rank(&Position::start());
        let length = encoding.tier_len(index.tier) as usize;
        let mut visits = vec![[0.0; S]; length];
        visits[index.offset as usize] = [1.0 / S as f64; S];
        let mut reached = vec![[false; S]; length];
        reached[index.offset as usize] = [true; S];
        Self {
            visits: BTreeMap::from([(index.tier, visits)]),
            reached: BTreeMap::from([(index.tier, reached)]),
        }
    }

    /// Solves a step: the visits of its positions, which flow on into the tiers below.
    pub(crate) fn solve(
        &mut self,
        step: &Step<'_>,
        edges: &Edges,
    ) -> Result<Visits<S>, AnalysisError> {
        let reached = self.reach(step, edges);
        let entering = of_nodes(step, &mut self.visits, [0.0; S]);
        let (visits, violation) = solve(step, edges, &entering)?;
        drop(entering);
        let of = |row: usize| visits[row / S][row % S];
        flow(step, &mut self.visits, [0.0; S], |row, into| *into += edges.sum(row, of));
        Ok(Visits { visits, reached, violation })
    }

    /// Which positions of the step occur at all: those that can be reached from one that does.
    fn reach(&mut self, step: &Step<'_>, edges: &Edges) -> Vec<[bool; S]> {
        let of_rows = of_nodes(step, &mut self.reached, [false; S]);
        let of_rows: Vec<AtomicBool> = of_rows.into_iter().flatten().map(AtomicBool::new).collect();
        let of = |row: usize| of_rows[row].load(Relaxed);
        let has_grown = AtomicBool::new(true);
        while has_grown.swap(false, Relaxed) {
            step.shards.par_iter().for_each(|shard| {
                let nodes = shard.order.iter().rev().cloned().flatten();
                for row in nodes.flat_map(|node| (0..S).map(move |side| node as usize * S + side)) {
                    if !of(row) && edges.leads(row, of) {
                        of_rows[row].store(true, Relaxed);
                        has_grown.store(true, Relaxed);
                    }
                }
            });
        }
        flow(step, &mut self.reached, [false; S], |row, into| *into |= edges.leads(row, of));
        of_rows
            .chunks_exact(S)
            .map(|rows| std::array::from_fn(|side| rows[side].load(Relaxed)))
            .collect()
    }
}

/// Adds to what tiers below a step have, for each row.
fn flow<T: Copy + Send, const S: usize>(
    step: &Step<'_>,
    of_tiers: &mut BTreeMap<Tier, Vec<[T; S]>>,
    none: [T; S],
    add: impl Fn(usize, &mut T) + Sync,
) {
    for &(tier, first) in &step.below {
        let length = step.encoding.tier_len(tier) as usize;
        let into = of_tiers.entry(tier).or_insert_with(|| vec![none; length]);
        into.par_iter_mut().enumerate().for_each(|(offset, into)| {
            let row = (first as usize + offset) * S;
            into.iter_mut().enumerate().for_each(|(side, into)| add(row + side, into));
        });
    }
}

/// What the nodes of a step have, taken from what tiers have.
fn of_nodes<T: Copy>(step: &Step<'_>, of_tiers: &mut BTreeMap<Tier, Vec<T>>, none: T) -> Vec<T> {
    let mut nodes = vec![none; step.own as usize];
    for tier in &step.tiers {
        let Some(of_tier) = of_tiers.remove(tier) else { continue };
        for run in step.runs.iter().filter(|run| run.tier == *tier) {
            let offsets = run.offsets.start as usize..run.offsets.end as usize;
            nodes[run.first as usize..][..run.len()].copy_from_slice(&of_tier[offsets]);
        }
    }
    nodes
}

/// Solves v = entering + P' v; returns v and the sum of the violations.
fn solve<const S: usize>(
    step: &Step<'_>,
    edges: &Edges,
    entering: &[[f64; S]],
) -> Result<(Vec<[f64; S]>, f64), AnalysisError> {
    let mut visits = entering.to_vec();
    let (mut smallest, mut since, mut supersteps) = (f64::INFINITY, 0, 0);
    loop {
        supersteps += 1;
        let (mut change, mut all) = (0.0, 0.0);
        // Positions least far along come first.
        for wave in step.shards.chunks(WAVE) {
            let before: &[[f64; S]] = &visits;
            let swept: Vec<_> = wave
                .par_iter()
                .map(|shard| {
                    let mut own = before[shard.range()].to_vec();
                    let changed = sweep(edges, entering, shard, before, &mut own);
                    (changed, own)
                })
                .collect();
            for (shard, (changed, own)) in wave.iter().zip(swept) {
                visits[shard.range()].copy_from_slice(&own);
                (change, all) = (change + changed.0, all + changed.1);
            }
        }
        since = if change < 0.99 * smallest { 0 } else { since + 1 };
        smallest = f64::min(smallest, change);
        if change <= CHANGE * all || since >= PATIENCE && change <= ROUNDING * all {
            break;
        }
        if supersteps == MOST_SUPERSTEPS || !all.is_finite() {
            return Err(AnalysisError::NoEnd { tier: step.tiers[0], sweeps: supersteps });
        }
    }
    let of = |row: usize| visits[row / S][row % S];
    let parts: Vec<f64> = (0..visits.len().div_ceil(AT_A_TIME))
        .into_par_iter()
        .map(|part| {
            let rows = part * AT_A_TIME * S..visits.len().min((part + 1) * AT_A_TIME) * S;
            let violation = |row: usize| {
                let right = entering[row / S][row % S] + edges.sum(row, of);
                // Rounding of the sum, of as many terms as there are edges.
                let terms = (edges.of(row).len() + 4) as f64;
                (right - of(row)).abs() + terms * f64::EPSILON * right
            };
            rows.map(violation).sum()
        })
        .collect();
    Ok((visits, parts.into_iter().sum()))
}

/// Sweeps a shard in place; returns the sum of the changes and that of the visits.
fn sweep<const S: usize>(
    edges: &Edges,
    entering: &[[f64; S]],
    shard: &ShardNodes,
    before: &[[f64; S]],
    own: &mut [[f64; S]],
) -> (f64, f64) {
    let (start, end) = (shard.nodes.start as usize, shard.nodes.end as usize);
    let (mut change, mut all) = (0.0, 0.0);
    for node in shard.order.iter().rev().cloned().flatten() {
        let node = node as usize;
        for side in 0..S {
            let of = |row: usize| {
                let (node, side) = (row / S, row % S);
                match (start..end).contains(&node) {
                    true => own[node - start][side],
                    false => before[node][side],
                }
            };
            let new = entering[node][side] + edges.sum(node * S + side, of);
            let old = std::mem::replace(&mut own[node - start][side], new);
            change += f64::abs(new - old);
            all += new;
        }
    }
    (change, all)
}
