//! The positions of a step, numbered, and those of the tiers it reads.
//!
//! A step is a tier and its swap. Its positions are *nodes* with consecutive numbers, shard by shard, so that a shard is a
//! contiguous range of them; then come the positions of the tiers that it reads, in the order of the encoding; the last node is
//! the end of the game.

use std::ops::Range;

use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::Position;

use crate::AnalysisError;

/// A node has a number below this: three bits of a [`Target`](crate::graph::Target) say something else.
pub(crate) const MOST_NODES: u64 = 1 << 29;

/// So many positions are a piece of work.
const PIECE_POSITIONS: u64 = 8 << 10;

/// So many positions of an orientation are swept before those of the other have their turn.
const TURN_POSITIONS: u64 = 512;

/// Pieces of work of positions in a row.
pub(crate) fn pieces(offsets: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    cut(offsets, PIECE_POSITIONS)
}

/// Positions in a row, cut.
fn cut(offsets: Range<u64>, positions: u64) -> impl DoubleEndedIterator<Item = Range<u64>> {
    let count = offsets.end.saturating_sub(offsets.start).div_ceil(positions);
    (0..count).map(move |at| {
        let start = offsets.start + at * positions;
        start..(start + positions).min(offsets.end)
    })
}

/// Consecutive positions of a tier that are consecutive nodes.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub tier: Tier,
    pub offsets: Range<u64>,
    pub first: u32,
}

impl Run {
    pub(crate) fn len(&self) -> usize {
        (self.offsets.end - self.offsets.start) as usize
    }

    fn cut(&self, positions: u64) -> impl DoubleEndedIterator<Item = Self> + use<'_> {
        cut(self.offsets.clone(), positions).map(move |offsets| {
            let first = self.first + (offsets.start - self.offsets.start) as u32;
            Self { tier: self.tier, offsets, first }
        })
    }
}

/// A part of a step that is swept in place, by one thread at a time.
#[derive(Clone, Debug)]
pub(crate) struct ShardNodes {
    /// Its nodes.
    pub nodes: Range<u32>,
    /// The same in the order in which they are swept, those whose pieces are furthest along first: from the last to the first
    /// of each range.
    pub order: Vec<Range<u32>>,
}

impl ShardNodes {
    /// Its nodes, to index by.
    pub(crate) fn range(&self) -> Range<usize> {
        self.nodes.start as usize..self.nodes.end as usize
    }
}

/// A step with its nodes.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    pub encoding: &'a Encoding,
    pub tiers: Vec<Tier>,
    pub runs: Vec<Run>,
    pub shards: Vec<ShardNodes>,
    /// Of each tier of the step the runs, ascending by offset: where one starts, and its first node.
    starts: Vec<Vec<(u64, u32)>>,
    /// The tiers it reads, and their first nodes.
    pub below: Vec<(Tier, u32)>,
    /// How many nodes are positions of the step itself.
    pub own: u32,
}

impl<'a> Step<'a> {
    /// The step of a tier.
    ///
    /// # Errors
    /// If it and the tiers that it reads have too many positions.
    pub(crate) fn new(encoding: &'a Encoding, tier: Tier) -> Result<Self, AnalysisError> {
        let tier = tier.first_of_step();
        let tiers: Vec<Tier> = tier.both().collect();
        let nodes = Self::nodes_of(encoding, tier);
        if nodes >= MOST_NODES {
            let ruleset = encoding.ruleset().name().to_owned();
            return Err(AnalysisError::TooManyPositions { ruleset, tier, positions: nodes });
        }
        let mut starts = vec![Vec::new(); tiers.len()];
        let (mut runs, mut shards) = (Vec::new(), Vec::new());
        let mut next = 0;
        for shard in encoding.shards(tier, encoding.default_shard_positions(tier)) {
            let begin = next;
            let (first, second) = shard.ranges;
            let mut own = Vec::new();
            for (tier, offsets) in [(tier, Some(first)), (tier.swap(), second)] {
                let Some(offsets) = offsets.filter(|offsets| !offsets.is_empty()) else { continue };
                let of = tiers.iter().position(|known| *known == tier).expect("a tier of the step");
                starts[of].push((offsets.start, next));
                let run = Run { tier, offsets, first: next };
                next += run.len() as u32;
                own.push(run);
            }
            shards.push(ShardNodes { nodes: begin..next, order: in_turns(&own) });
            runs.extend(own);
        }
        starts.iter_mut().for_each(|of_tier| of_tier.sort_unstable());
        let own = next;
        let below = tier.reads().map(|tier| {
            let first = next;
            next += encoding.tier_len(tier) as u32;
            (tier, first)
        });
        let below = below.collect();
        Ok(Self { encoding, tiers, runs, shards, starts, below, own })
    }

    /// How many nodes the step of a tier has.
    pub(crate) fn nodes_of(encoding: &Encoding, tier: Tier) -> u64 {
        let below = tier.first_of_step().reads().map(|tier| encoding.tier_len(tier));
        encoding.step_len(tier) + below.sum::<u64>() + 1
    }

    /// The node of the end of the game, which is the last one.
    pub(crate) fn end(&self) -> u32 {
        let below = self.below.iter().map(|(tier, _)| self.encoding.tier_len(*tier));
        self.own + below.sum::<u64>() as u32
    }

    /// The node of an undecided position of the step, or of one that it reads.
    pub(crate) fn node(&self, position: &Position) -> u32 {
        self.node_at(self.encoding.rank(position))
    }

    pub(crate) fn node_at(&self, Index { tier, offset }: Index) -> u32 {
        match self.tiers.iter().position(|known| *known == tier) {
            Some(of) => {
                let starts = &self.starts[of];
                let (start, first) =
                    starts[starts.partition_point(|(start, _)| *start <= offset) - 1];
                first + (offset - start) as u32
            }
            None => {
                let below = self.below.iter().find(|(known, _)| *known == tier);
                below.expect("a step reads no other tiers").1 + offset as u32
            }
        }
    }

    /// The nodes of the step, in pieces of about the same size, ascending.
    pub(crate) fn pieces(&self) -> Vec<Run> {
        self.runs.iter().flat_map(|run| run.cut(PIECE_POSITIONS)).collect()
    }

    /// What nodes have, cut into those of each piece; `each` numbers a node.
    pub(crate) fn cut<'b, T>(
        pieces: &[Run],
        mut of_nodes: &'b mut [T],
        each: usize,
    ) -> Vec<(Run, &'b mut [T])> {
        let cut = pieces.iter().map(|piece| {
            let (head, rest) = std::mem::take(&mut of_nodes).split_at_mut(piece.len() * each);
            of_nodes = rest;
            (piece.clone(), head)
        });
        cut.collect()
    }

    /// The nodes of the positions of a tier of the step, in the order of the encoding.
    pub(crate) fn nodes_of_tier(&self, tier: Tier) -> impl Iterator<Item = Range<usize>> {
        let mut runs: Vec<&Run> = self.runs.iter().filter(|run| run.tier == tier).collect();
        runs.sort_unstable_by_key(|run| run.offsets.start);
        runs.into_iter().map(|run| run.first as usize..run.first as usize + run.len())
    }
}

/// The runs of a shard from their ends to their starts, both in turns.
fn in_turns(runs: &[Run]) -> Vec<Range<u32>> {
    let mut left: Vec<_> = runs.iter().map(|run| run.cut(TURN_POSITIONS).rev()).collect();
    let mut order = Vec::new();
    loop {
        let before = order.len();
        let next = left.iter_mut().filter_map(Iterator::next);
        order.extend(next.map(|run| run.first..run.first + run.len() as u32));
        if order.len() == before {
            return order;
        }
    }
}
