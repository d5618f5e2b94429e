//! Shards: a tier cut along the prefix tree of the shared squares.
//!
//! A shard of the step {n, m} is a node of the prefix tree, closed under exchanging the players:
//! the positions of tier (n, m) that begin with a prefix, and those of tier (m, n) that begin with
//! the swapped prefix. Both are contiguous ranges of indices. A node is split until it holds at most
//! a given number of positions; only prefixes of the outer squares that contain each square's mirror are nodes.
//!
//! The cut depends on the ruleset, the tier and the limit alone: it is part of what a superstep is.

use std::ops::Range;

use crate::{Encoding, Tier};

/// A part of a step: a node of the prefix tree, with its swap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shard {
    /// The digits of the leading shared squares, seen from the first of the step's tiers.
    pub prefix: Vec<u8>,
    /// The ranges of indices: the prefix in tier (n, m), and the swapped prefix in (m, n). The
    /// second is `None` if n = m and the prefix is its own swap: the shard is then one range.
    pub ranges: (Range<u64>, Option<Range<u64>>),
}

impl Shard {
    /// How many positions the shard holds.
    pub fn len(&self) -> u64 {
        let size = |range: &Range<u64>| range.end - range.start;
        size(&self.ranges.0) + self.ranges.1.as_ref().map_or(0, size)
    }

    /// Whether the shard holds nothing: never true of a shard that [`Encoding::shards`] returns.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Encoding {
    /// The most positions a shard of a step holds by default: 1/64 of the step, at least 64 Ki,
    /// at most 4 Mi.
    pub fn default_shard_positions(&self, tier: Tier) -> u64 {
        (self.step_len(tier) / 64).clamp(64 << 10, 4 << 20)
    }

    /// The most positions a unit of a step holds, unless no outer square is left to split by: 1/1024 of the step, at least
    /// 1 Ki, at most 16 Ki, or 2^-17 of the step if that is more.
    pub fn unit_positions(&self, tier: Tier) -> u64 {
        let positions = self.step_len(tier);
        (positions / 1024).clamp(1 << 10, 16 << 10).max(positions >> 17)
    }

    /// The number of positions of the step a tier belongs to: both orientations.
    pub fn step_len(&self, tier: Tier) -> u64 {
        let one = self.tier_len(tier);
        if tier == tier.swap() { one } else { one + self.tier_len(tier.swap()) }
    }

    /// The shards of the step {n, m}, given as tier (n, m), each with at most `limit` positions
    /// unless no outer square is left to split by. Ascending by prefix.
    pub fn shards(&self, tier: Tier, limit: u64) -> Vec<Shard> {
        let mut shards = Vec::new();
        self.split(tier, limit, &mut Vec::new(), &mut shards);
        shards
    }

    /// A shard of the step {n, m} cut further, into parts of at most `limit` positions unless no outer square is left to
    /// split by. Ascending by prefix; the shard itself, if it has no more positions.
    ///
    /// # Panics
    /// If it is a shard of another step.
    pub fn cut(&self, tier: Tier, shard: &Shard, limit: u64) -> Vec<Shard> {
        let mut parts = Vec::new();
        self.split(tier, limit, &mut shard.prefix.clone(), &mut parts);
        assert_eq!(parts.iter().map(Shard::len).sum::<u64>(), shard.len(), "a shard of the step");
        parts
    }

    fn split(&self, tier: Tier, limit: u64, prefix: &mut Vec<u8>, shards: &mut Vec<Shard>) {
        let Some(shard) = self.shard(tier, prefix) else { return };
        let squares = self.shared().outer_squares();
        if shard.len() <= limit || prefix.len() == squares {
            shards.push(shard);
            return;
        }
        let next = (prefix.len() + 1..=squares)
            .find(|&depth| self.geometry().is_closed_under_swap(depth))
            .unwrap_or(squares);
        self.extend(tier, limit, next, prefix, shards);
    }

    fn extend(
        &self,
        tier: Tier,
        limit: u64,
        depth: usize,
        prefix: &mut Vec<u8>,
        shards: &mut Vec<Shard>,
    ) {
        if prefix.len() == depth {
            return self.split(tier, limit, prefix, shards);
        }
        for digit in 0..self.shared().base(prefix.len()) {
            prefix.push(digit);
            self.extend(tier, limit, depth, prefix, shards);
            prefix.pop();
        }
    }

    /// The shard of a prefix; `None` if it is empty, or if it is that of its swap, which stands
    /// for both.
    fn shard(&self, tier: Tier, prefix: &[u8]) -> Option<Shard> {
        let swapped = self.swap_prefix(prefix);
        let first = self.shared().prefix_range(tier, prefix);
        if first.is_empty() {
            return None;
        }
        let second = self.shared().prefix_range(tier.swap(), &swapped);
        let one_orientation = tier == tier.swap();
        if one_orientation && swapped.as_slice() > prefix {
            return None;
        }
        let itself = one_orientation && swapped == prefix;
        Some(Shard { prefix: prefix.to_vec(), ranges: (first, (!itself).then_some(second)) })
    }

    /// The digits the other player writes for a prefix that is closed under the swap.
    fn swap_prefix(&self, prefix: &[u8]) -> Vec<u8> {
        let mut swapped = vec![0; prefix.len()];
        for (square, &digit) in self.geometry().shared.iter().zip(prefix) {
            swapped[square.mirror] = square.swapped(digit);
        }
        swapped
    }
}
