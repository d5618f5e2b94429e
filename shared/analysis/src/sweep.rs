//! Linear equations of a step, solved by in-place sweeps.
//!
//! For a pair of policies the unknowns x of a position and a player to move satisfy x = b + P x, with P from the policy graphs.
//! Gauss-Seidel: in a superstep each shard is swept in place, those whose pieces are furthest along first. Shards are swept in
//! waves of a fixed number, and of others a shard reads what they had before the wave. So the numbers do not depend on threads.
//!
//! With several unknowns for each position (*lanes*) one pass over the graph does for all of them. A sweep waits for memory more
//! than it computes: successors are anywhere. So a position's lanes are in one line of memory, and those of successors are asked for
//! some positions ahead.

use aligned_vec::{AVec, ConstAlign};
use rayon::prelude::*;

use crate::{
    AnalysisError,
    graph::{Graph, Lists, Target},
    step::{ShardNodes, Step},
};

/// So many shards are swept at the same time.
pub(crate) const WAVE: usize = 8;

/// No step takes more supersteps, unless its games last for ever, or nearly.
const MOST_SUPERSTEPS: u32 = 20_000;

/// A step is also solved if so many supersteps have brought no smaller change, and the last ones were at most ...
const PATIENCE: u32 = 16;

/// ... this: rounding.
const ROUNDING: f64 = 1e-12;

/// So many positions are looked at, or copied, at a time.
const AT_A_TIME: usize = 8 << 10;

/// So many positions ahead memory is asked for successors.
const AHEAD: usize = 16;

/// Asks memory for a line.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code)]
#[inline(always)]
fn prefetch<T>(place: &T) {
    // SAFETY: every x86-64 has the instruction, and it changes nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
}

/// Elsewhere the processor is left to it.
#[cfg(not(target_arch = "x86_64"))]
fn prefetch<T>(_: &T) {}

/// The lanes of a position, for each player to move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Unknowns<const K: usize, const S: usize>(pub [[f64; K]; S]);

impl<const K: usize, const S: usize> Unknowns<K, S> {
    pub(crate) const NONE: Self = Self([[0.0; K]; S]);
}

/// The bytes of a line of memory.
pub(crate) const LINE: usize = 64;

/// The lanes of positions. Those of a position are in one line of memory, so that a successor costs one.
pub(crate) type InLines<const K: usize, const S: usize> = AVec<Unknowns<K, S>, ConstAlign<LINE>>;

/// What a target adds to the lanes of a position.
pub(crate) trait Equation<const K: usize>: Sync {
    /// Adds what a target with lanes `of` is worth, times a weight.
    fn add(&self, into: &mut [f64; K], weight: f64, target: Target, of: &[f64; K]);

    /// A lane is solved if in a superstep it changes by no more than this, as a share of the largest absolute number in it.
    fn change(&self, lane: usize) -> f64;

    /// What a target is preferred by where a list stands for one of its targets: the larger, the better.
    fn preference(&self, lists: Lists, target: Target, of: &[f64; K]) -> f64;
}

/// The equations of a step. With S = 1, both players have the same policy, and a position the same lanes whoever is to move.
pub(crate) struct System<'a, E, const K: usize, const S: usize> {
    pub step: &'a Step<'a>,
    pub graphs: [&'a Graph; S],
    pub equation: &'a E,
}

/// How closely a step is solved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Solved<const K: usize> {
    /// The largest violation of an equation, by lane, with what rounding adds to it.
    pub violation: [f64; K],
    /// The largest absolute number, by lane.
    pub largest: [f64; K],
}

fn most<const K: usize>(a: [f64; K], b: [f64; K]) -> [f64; K] {
    std::array::from_fn(|k| a[k].max(b[k]))
}

impl<E: Equation<K>, const K: usize, const S: usize> System<'_, E, K, S> {
    /// The right side of the equation of a node, for a player to move.
    #[inline(always)]
    fn right_side<'x>(
        &self,
        chances: &[f64],
        node: usize,
        side: usize,
        of: impl Fn(usize) -> &'x Unknowns<K, S>,
    ) -> [f64; K] {
        let graph = self.graphs[side];
        let lanes = |target: Target| {
            let side = if S > 1 && target.is_others() { 1 - side } else { side };
            &of(target.number()).0[side]
        };
        let mut sum = [0.0; K];
        for (&target, &chance) in graph.of(node).iter().zip(chances) {
            if !target.is_list() {
                self.equation.add(&mut sum, chance, target, lanes(target));
            } else if graph.lists == Lists::Any {
                let list = graph.list(target);
                let each = chance / list.len() as f64;
                for target in list {
                    self.equation.add(&mut sum, each, target, lanes(target));
                }
            } else {
                let preference =
                    |target| self.equation.preference(graph.lists, target, lanes(target));
                let mut list = graph.list(target);
                let mut best = list.next().expect("a list has two targets or more");
                for other in list {
                    if preference(other) > preference(best) {
                        best = other;
                    }
                }
                self.equation.add(&mut sum, chance, best, lanes(best));
            }
        }
        sum
    }

    /// Asks memory for the lanes of the successors of a node to come.
    #[inline(always)]
    fn ask_for_successors(
        &self,
        node: usize,
        start: usize,
        before: &[Unknowns<K, S>],
        own: &[Unknowns<K, S>],
    ) {
        for graph in &self.graphs {
            for target in graph.of(node).iter().filter(|target| !target.is_list()) {
                let at = target.number();
                prefetch(own.get(at.wrapping_sub(start)).unwrap_or_else(|| &before[at]));
            }
        }
    }

    fn chances(&self) -> Vec<f64> {
        self.step.encoding.ruleset().dice().rolls().iter().map(|roll| roll.chance()).collect()
    }

    /// Sweeps a shard in place; returns the largest change.
    #[inline(always)]
    fn sweep(
        &self,
        chances: &[f64],
        shard: &ShardNodes,
        before: &[Unknowns<K, S>],
        own: &mut [Unknowns<K, S>],
    ) -> [f64; K] {
        let mut change = [0.0; K];
        let start = shard.nodes.start as usize;
        for node in shard.order.iter().cloned().flat_map(Iterator::rev) {
            let node = node as usize;
            self.ask_for_successors(node.saturating_sub(AHEAD), start, before, own);
            for side in 0..S {
                let new = self.right_side(chances, node, side, |at| {
                    own.get(at.wrapping_sub(start)).unwrap_or_else(|| &before[at])
                });
                let old = std::mem::replace(&mut own[node - start].0[side], new);
                let moved: [f64; K] = std::array::from_fn(|k| (new[k] - old[k]).abs());
                change = most(change, moved);
            }
        }
        change
    }

    /// Solves the step. `unknowns` are those of all nodes: a guess of those of the step, and those of the tiers that it reads.
    pub(crate) fn solve(
        &self,
        unknowns: &mut [Unknowns<K, S>],
    ) -> Result<Solved<K>, AnalysisError> {
        let chances = self.chances();
        let (mut smallest, mut since) = ([f64::INFINITY; K], 0);
        let mut supersteps = 0;
        loop {
            supersteps += 1;
            let (mut change, mut largest) = ([0.0; K], [0.0; K]);
            for wave in self.step.shards.rchunks(WAVE) {
                let before: &[Unknowns<K, S>] = unknowns;
                let swept: Vec<_> = wave
                    .par_iter()
                    .map(|shard| {
                        let mut own: InLines<K, S> = AVec::from_slice(LINE, &before[shard.range()]);
                        let sweep =
                            Sweep { system: self, chances: &chances, shard, before, own: &mut own };
                        let change = pulp::Arch::new().dispatch(sweep);
                        (change, most_of(&own), own)
                    })
                    .collect();
                for (shard, (changed, most_of_shard, own)) in wave.iter().zip(swept) {
                    unknowns[shard.range()].copy_from_slice(&own);
                    (change, largest) = (most(change, changed), most(largest, most_of_shard));
                }
            }
            let is_within = |least: f64| {
                (0..K).all(|k| change[k] <= self.equation.change(k).max(least) * largest[k])
            };
            let is_smaller = (0..K).any(|k| change[k] < 0.99 * smallest[k]);
            since = if is_smaller { 0 } else { since + 1 };
            smallest = std::array::from_fn(|k| smallest[k].min(change[k]));
            if is_within(0.0) || since >= PATIENCE && is_within(ROUNDING) {
                return Ok(self.measure(unknowns));
            }
            if supersteps == MOST_SUPERSTEPS || largest.iter().any(|it| !it.is_finite()) {
                let tier = self.step.tiers[0];
                return Err(AnalysisError::NoEnd { tier, sweeps: supersteps });
            }
        }
    }

    /// How closely the equations hold.
    fn measure(&self, unknowns: &[Unknowns<K, S>]) -> Solved<K> {
        let chances = self.chances();
        let own = self.step.own as usize;
        let found: Vec<([f64; K], [f64; K])> = (0..own.div_ceil(AT_A_TIME))
            .into_par_iter()
            .map(|part| {
                let nodes = part * AT_A_TIME..own.min((part + 1) * AT_A_TIME);
                let mut violation = [0.0; K];
                for node in nodes.clone() {
                    for side in 0..S {
                        let right = self.right_side(&chances, node, side, |at| &unknowns[at]);
                        let left = unknowns[node].0[side];
                        let off = std::array::from_fn(|k| f64::abs(right[k] - left[k]));
                        violation = most(violation, off);
                    }
                }
                (violation, most_of(&unknowns[nodes]))
            })
            .collect();
        let (violation, largest) =
            found.into_iter().fold(([0.0; K], [0.0; K]), |(a, b), (c, d)| (most(a, c), most(b, d)));
        // Each of the sums of a right side is rounded, and so is the difference.
        let roundings = (4 * chances.len() + 8) as f64;
        let violation =
            std::array::from_fn(|k| violation[k] + roundings * f64::EPSILON * largest[k].max(1.0));
        Solved { violation, largest }
    }
}

/// A sweep of a shard, compiled for each set of vector instructions: the fewer there are for a position, the more of the
/// successors that follow are on their way from memory. The numbers are the same.
struct Sweep<'a, 'b, E, const K: usize, const S: usize> {
    system: &'b System<'a, E, K, S>,
    chances: &'b [f64],
    shard: &'b ShardNodes,
    before: &'b [Unknowns<K, S>],
    own: &'b mut [Unknowns<K, S>],
}

impl<E: Equation<K>, const K: usize, const S: usize> pulp::NullaryFnOnce
    for Sweep<'_, '_, E, K, S>
{
    type Output = [f64; K];

    #[inline(always)]
    fn call(self) -> [f64; K] {
        self.system.sweep(self.chances, self.shard, self.before, self.own)
    }
}

/// The largest absolute number, by lane.
fn most_of<const K: usize, const S: usize>(unknowns: &[Unknowns<K, S>]) -> [f64; K] {
    let lanes = unknowns.iter().flat_map(|of| &of.0);
    lanes.fold([0.0; K], |most, lanes| std::array::from_fn(|k| most[k].max(lanes[k].abs())))
}
