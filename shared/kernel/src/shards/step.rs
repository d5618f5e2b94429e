//! The description of a step: all that stays the same from its first superstep to its proof.

use bytemuck::Pod;
use ziggurat_encoding::{Encoding, Shard, Tier};
use ziggurat_planning::{
    columns::Column,
    waves::{ShardIndex, Wave, interval_waves, tail, waves},
};

use crate::{
    memory::{
        array::Array,
        budget::{Memory, MemoryError},
    },
    shards::{
        columns::{Number, Part},
        ranges::{Orientation, PIECE, ShardRange, in_order, split_off},
    },
};

/// A step cut into shards.
#[derive(Debug)]
pub struct ShardedStep<'e> {
    /// The ranking.
    pub encoding: &'e Encoding,
    /// The step's first tier.
    pub tier: Tier,
    /// The shards.
    pub shards: Vec<Shard>,
    /// Their ranges in the order of their values.
    pub ranges: Vec<ShardRange>,
    /// The order of supersteps.
    pub waves: Vec<Wave>,
    /// The order of interval sweeps. A move forward that leaves a shard leads to an earlier wave.
    pub interval_waves: Vec<Wave>,
    /// How many shards, the first ones, are the tail.
    pub tail: usize,
    /// For each range of each shard, its first piece.
    first_pieces: Vec<[usize; 2]>,
    /// How many pieces all ranges have.
    pub pieces: usize,
}

impl<'e> ShardedStep<'e> {
    /// The step of a first tier in these shards.
    pub fn new(encoding: &'e Encoding, tier: Tier, shards: Vec<Shard>) -> Self {
        let ranges = in_order(&shards, Orientation::last(tier.both().count()));
        let (mut first_pieces, mut pieces) = (vec![[0; 2]; shards.len()], 0);
        for range in &ranges {
            first_pieces[range.shard.0][range.range] = pieces;
            pieces += range.pieces();
        }
        Self {
            encoding,
            tier,
            ranges,
            waves: waves(encoding, &shards),
            interval_waves: interval_waves(encoding, &shards),
            tail: tail(&shards),
            first_pieces,
            pieces,
            shards,
        }
    }

    /// A shard.
    pub fn shard(&self, shard: ShardIndex) -> &Shard {
        &self.shards[shard.0]
    }

    /// Positions of both tiers.
    pub fn positions(&self) -> u64 {
        self.shards.iter().map(Shard::len).sum()
    }

    /// The piece that a place of a range of a shard is in.
    pub fn piece(&self, shard: ShardIndex, range: usize, place: usize) -> usize {
        self.first_pieces[shard.0][range] + place / PIECE
    }

    /// Arrays, one for each orientation, with the same value everywhere.
    ///
    /// # Errors
    /// If there is no room for them.
    pub fn filled<V: Pod + PartialEq + Send + Sync>(
        &self,
        memory: &Memory,
        value: V,
    ) -> Result<Vec<Array<V>>, MemoryError> {
        let filled = |tier| memory.filled(value, self.encoding.tier_len(tier) as usize);
        self.tier.both().map(filled).collect()
    }

    /// The ranges with their values in arrays, one for each orientation.
    pub fn split<'a, V: Pod>(
        &self,
        arrays: &'a mut [Array<V>],
    ) -> impl Iterator<Item = (&ShardRange, &'a mut [V])> {
        let mut rest: Vec<&mut [V]> = arrays.iter_mut().map(|all| &mut **all).collect();
        self.ranges.iter().map(move |range| {
            (range, split_off(&mut rest[range.orientation.index()], range.values.len()))
        })
    }

    /// The parts of a column, which has an array for each orientation.
    pub fn parts<'a, V: Number>(
        &self,
        column: Column,
        arrays: &'a mut [Array<V>],
    ) -> Vec<Part<'a>> {
        self.split(arrays).map(|(range, values)| range.part(column, V::data(values))).collect()
    }
}
