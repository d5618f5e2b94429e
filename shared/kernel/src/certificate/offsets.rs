//! Offsets: the distances of the bounds of intervals from stored values.

use std::ops::Range;

use rayon::prelude::*;
use ziggurat_encoding::{Encoding, Shard, Tier};
use ziggurat_planning::{columns::Column, proof::Proof};

use crate::{
    halo::{
        arrays::fill,
        codec::{Content, STRIP},
        partition::{HaloStrip, slices},
        team::{Barrier, ExchangeError, Team},
    },
    memory::{
        array::Array,
        budget::{Memory, MemoryError},
        pool::Pool,
    },
    shards::{
        columns::Part,
        ranges::{parts_of, split_off},
        waves::Cut,
    },
    simd::value::PADDING,
    sweep::scratch::Scratch,
};

/// The offsets of both bounds from the values of a step, in units, and whether they have
/// [grown](ziggurat_planning::proof::GROWN).
pub struct Offsets {
    /// By bound and orientation.
    pub(super) all: [Vec<Array<u16>>; 2],
    /// Room for those of a wave, by bound.
    pub(super) live: [Array<u16>; 2],
    /// The working memory of threads.
    pub(super) working: Pool<Scratch<f64>>,
}

/// The offsets of a shard, by bound and range.
pub type ShardOffsets<'a> = [[&'a mut [u16]; 2]; 2];

impl Offsets {
    /// Room for offsets, which are all 0.
    ///
    /// # Errors
    /// If there is none.
    pub fn new(
        memory: &Memory,
        encoding: &Encoding,
        tier: Tier,
        cut: &Cut,
        team: Option<&Team<'_>>,
    ) -> Result<Self, MemoryError> {
        let own = |shard: usize| team.is_none_or(|team| team.owns(shard));
        let all = || {
            let room = |tier| memory.filled(0, encoding.tier_len(tier) as usize);
            tier.both().map(room).collect::<Result<Vec<_>, _>>()
        };
        let live = || memory.filled(0, cut.live_len(own) as usize);
        let (all, live) = ([all()?, all()?], [live()?, live()?]);
        Ok(Self { all, live, working: Pool::default() })
    }

    /// Sets all to their start before the first interval sweep of a proof.
    pub fn reset(&mut self, proof: &Proof, shards: &[Shard], team: Option<&Team<'_>>) {
        self.all.iter_mut().for_each(|arrays| fill(arrays, proof.start(), shards, team));
    }

    /// Receives the halo from the other members.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub fn fill_halo(&mut self, team: &Team<'_>) -> Result<(), ExchangeError> {
        let barrier = team.barrier(|_| true);
        barrier.send(|HaloStrip { orientation, values, .. }, packed| {
            let new = self.all.each_ref().map(|end| &end[orientation.index()][values.clone()]);
            packed.push_offsets(new, [&[0; STRIP]; 2]);
        })?;
        receive(&mut self.all, &barrier)
    }

    /// The most bytes they take, without the working memory of threads.
    pub fn bytes(encoding: &Encoding, shards: &[Shard]) -> u64 {
        let positions: u64 = shards.iter().map(Shard::len).sum();
        let live = Cut::new(encoding, shards.to_vec()).live_len(|_| true);
        4 * (positions + live + 3 * PADDING as u64)
    }

    /// All of them, shard by shard.
    pub fn parts(&mut self, shards: &[Shard]) -> Vec<Part<'_>> {
        let [lower, upper] = &mut self.all;
        let mut parts = parts_of(Column::Lower, lower, shards);
        parts.extend(parts_of(Column::Upper, upper, shards));
        parts
    }
}

/// Receives the changes of the halo from the other members, and makes them.
pub fn receive<P: Fn(usize) -> bool + Sync>(
    all: &mut [Vec<Array<u16>>; 2],
    barrier: &Barrier<'_, P>,
) -> Result<(), ExchangeError> {
    barrier.receive(Content::Offsets, 2, |strips, packed| {
        let [lower, upper] = all.each_mut().map(|end| {
            let arrays = end.iter_mut().map(|array| &mut **array).collect();
            slices(arrays, strips)
        });
        let places = lower.into_par_iter().zip(upper);
        packed.par_chunks(2).zip(places).for_each(|(packed, (lower, upper))| {
            packed[0].change_offsets(&packed[1], [lower, upper]);
        });
    })
}

/// The offsets of each shard of a wave.
pub fn own_offsets<'a>(live: &'a mut [Array<u16>; 2], wave: &[&Shard]) -> Vec<ShardOffsets<'a>> {
    let mut rest = live.each_mut().map(|live| &mut **live);
    let range = |range: &Range<u64>| (range.end - range.start) as usize;
    wave.iter()
        .map(|shard| {
            let (first, second) = &shard.ranges;
            let lengths = [range(first), second.as_ref().map_or(0, range)];
            rest.each_mut().map(|rest| lengths.map(|length| split_off(rest, length)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use ziggurat_game::Ruleset;

    use super::*;

    #[test]
    fn offsets_take_as_much_as_is_said() {
        for (game, tier) in [("finkel", Tier::new(4, 4)), ("masters", Tier::new(3, 2))] {
            let encoding = Encoding::new(&Ruleset::builtin(game).unwrap()).unwrap();
            let limit = encoding.default_shard_positions(tier);
            let cut = Cut::new(&encoding, encoding.shards(tier, limit));
            let Offsets { all, live, .. } =
                Offsets::new(&Memory::anonymous(), &encoding, tier, &cut, None).unwrap();
            let numbers = all.iter().flatten().chain(&live).map(|array| array.values().len());
            let taken = 2 * numbers.sum::<usize>() as u64;
            let said = Offsets::bytes(&encoding, &cut.shards);
            assert!(said >= taken && said < taken + taken / 16 + 1000, "{said}, not {taken}");
        }
    }
}
