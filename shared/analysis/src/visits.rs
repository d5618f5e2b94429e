//! How often each position occurs in a game.
//!
//! With P the matrix of a pair of policies and e the first position, the expected numbers of visits v satisfy v = e + P' v.
//! Steps are solved from the first position down: what enters a step is known once the steps that lead to it are solved. The
//! sweeps are those of [`sweep`](crate::sweep) along the edges of the policy graph turned round, positions least far along first.
//!
//! If the equations are violated by r, the expected total of anything that is at most F on each roll is off by at most
//! F |r| L, with |r| the sum of all violations and L the longest expected game from any position.

use std::collections::BTreeMap;

use rayon::prelude::*;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::Position;

use crate::{
    AnalysisError,
    graph::Graph,
    step::{ShardNodes, Step},
    sweep::{SWEEPS, WAVE},
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
pub(crate) struct Edges {
    /// Where the edges of a row start, and the end of the last one's.
    starts: Vec<u64>,
    /// The rows that edges come from.
    sources: Vec<u32>,
    /// Which of the weights they have.
    kinds: Vec<u16>,
    weights: Vec<f64>,
}

/// Weights of edges are told by roll and by how many share it, which are fewer.
const MOST_SHARING: usize = 32;

impl Edges {
    pub(crate) fn new<const S: usize>(step: &Step<'_>, graphs: [&Graph; S]) -> Self {
        let rolls = step.encoding.ruleset().dice().rolls();
        let chance =
            |kind: usize| rolls[kind / MOST_SHARING].chance() / (kind % MOST_SHARING).max(1) as f64;
        let weights = (0..rolls.len() * MOST_SHARING).map(chance).collect();
        let mut starts = vec![0_u64; (step.end() as usize + 1) * S + 1];
        for_each_edge(step, graphs, |_, row, _| starts[row + 1] += 1);
        for row in 1..starts.len() {
            starts[row] += starts[row - 1];
        }
        let count = starts[starts.len() - 1] as usize;
        let (mut sources, mut kinds) = (vec![0; count], vec![0; count]);
        // The start of each row is where its next edge goes, so at last it is that of the next row.
        for_each_edge(step, graphs, |source, row, kind| {
            let at = starts[row] as usize;
            (sources[at], kinds[at]) = (source as u32, kind as u16);
            starts[row] += 1;
        });
        starts.rotate_right(1);
        starts[0] = 0;
        Self { starts, sources, kinds, weights }
    }

    /// The sum over the edges that lead to a row of what is at their other ends, times their weights.
    #[inline]
    pub(crate) fn sum(&self, row: usize, of: impl Fn(usize) -> f64) -> f64 {
        let edges = self.starts[row] as usize..self.starts[row + 1] as usize;
        let edges = self.sources[edges.clone()].iter().zip(&self.kinds[edges]);
        edges.map(|(&source, &kind)| self.weights[kind as usize] * of(source as usize)).sum()
    }
}

/// Calls with the source row, the row that an edge leads to, and its kind.
fn for_each_edge<const S: usize>(
    step: &Step<'_>,
    graphs: [&Graph; S],
    mut each: impl FnMut(usize, usize, usize),
) {
    for node in 0..step.own as usize {
        for (side, graph) in graphs.iter().enumerate() {
            for (roll, &target) in graph.of(node).iter().enumerate() {
                let sharing = if target.is_list() { graph.list(target).len() } else { 1 };
                for target in graph.each(target) {
                    let to = if S > 1 && target.is_others() { 1 - side } else { side };
                    let kind = roll * MOST_SHARING + sharing;
                    each(node * S + side, target.number() * S + to, kind);
                }
            }
        }
    }
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
        graphs: [&Graph; S],
    ) -> Result<Visits<S>, AnalysisError> {
        let reached = self.reach(step, graphs);
        let entering = of_nodes(step, &mut self.visits, [0.0; S]);
        let edges = Edges::new(step, graphs);
        let (visits, violation) = solve(step, &edges, &entering)?;
        let of = |row: usize| visits[row / S][row % S];
        for &(tier, first) in &step.below {
            let length = step.encoding.tier_len(tier) as usize;
            let into = self.visits.entry(tier).or_insert_with(|| vec![[0.0; S]; length]);
            into.par_iter_mut().enumerate().for_each(|(offset, into)| {
                let node = first as usize + offset;
                (0..S).for_each(|side| into[side] += edges.sum(node * S + side, of));
            });
        }
        Ok(Visits { visits, reached, violation })
    }

    /// Which positions of the step occur at all.
    fn reach(&mut self, step: &Step<'_>, graphs: [&Graph; S]) -> Vec<[bool; S]> {
        let mut reached = of_nodes(step, &mut self.reached, [false; S]);
        let own = reached.len();
        reached.resize(step.end() as usize + 1, [false; S]);
        let begin = |node: usize| (0..S).map(move |side| (node, side));
        let mut next: Vec<(usize, usize)> =
            (0..own).flat_map(begin).filter(|&(node, side)| reached[node][side]).collect();
        while let Some((node, side)) = next.pop() {
            for &target in graphs[side].of(node) {
                for target in graphs[side].each(target) {
                    let to = if S > 1 && target.is_others() { 1 - side } else { side };
                    let known = &mut reached[target.number()][to];
                    if !*known {
                        *known = true;
                        if target.number() < own {
                            next.push((target.number(), to));
                        }
                    }
                }
            }
        }
        for &(tier, first) in &step.below {
            let length = step.encoding.tier_len(tier) as usize;
            let into = self.reached.entry(tier).or_insert_with(|| vec![[false; S]; length]);
            for (into, known) in into.iter_mut().zip(&reached[first as usize..][..length]) {
                (0..S).for_each(|side| into[side] |= known[side]);
            }
        }
        reached.truncate(own);
        reached
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
            return Err(AnalysisError::NoEnd { tier: step.tiers[0], sweeps: supersteps * SWEEPS });
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
                let terms = (edges.starts[row + 1] - edges.starts[row] + 4) as f64;
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
    for _ in 0..SWEEPS {
        (change, all) = (0.0, 0.0);
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
    }
    (change, all)
}
