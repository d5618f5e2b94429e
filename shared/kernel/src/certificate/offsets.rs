//! Offsets: the distances of the bounds of intervals from stored values.

use std::ops::Range;

use rayon::prelude::*;
use ziggurat_encoding::Shard;
use ziggurat_planning::{
    columns::Column,
    proof::Proof,
    waves::{UnitIndex, Wave},
};

use crate::{
    halo::{
        arrays::{self, fill, zeros},
        codec::{Content, PackedStrip, STRIP},
        partition::{HaloStrip, Partition, slices},
        team::{ExchangeError, Team, is_own},
    },
    memory::{
        array::Array,
        budget::{Memory, MemoryError},
    },
    shards::{columns::Part, ranges::split_off, step::ShardedStep},
    simd::value::PADDING,
};

/// The offsets of both bounds from the values of a step, in units, and whether they have
/// [grown](ziggurat_planning::proof::GROWN).
pub struct Offsets {
    /// By bound and orientation.
    pub(super) all: AllOffsets,
    /// Room for those of a wave, by bound.
    pub(super) live: [Array<u16>; 2],
}

/// The offsets of a unit, by bound and range.
pub type UnitOffsets<'a> = [[&'a mut [u16]; 2]; 2];

impl Offsets {
    /// Room for offsets, which are all 0.
    ///
    /// # Errors
    /// If there is none.
    pub fn new(
        memory: &Memory,
        step: &ShardedStep<'_>,
        team: Option<&Team<'_>>,
    ) -> Result<Self, MemoryError> {
        let live = || memory.filled(0, live_len(step, |unit| is_own(team, unit)) as usize);
        let all = || zeros(memory, step, team.map(Team::partition));
        Ok(Self { all: [all()?, all()?], live: [live()?, live()?] })
    }

    /// Sets all to their start before the first interval sweep of a proof.
    pub fn reset(&mut self, proof: &Proof, step: &ShardedStep<'_>, team: Option<&Team<'_>>) {
        self.all.iter_mut().for_each(|arrays| fill(arrays, proof.start(), step, team));
    }

    /// Receives the halo from the other members.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub fn fill_halo(&mut self, team: &Team<'_>) -> Result<(), ExchangeError> {
        team.exchange(
            (Content::Offsets, 2),
            &mut self.all,
            |all, strip, packed| {
                packed.push_offsets(all.each_ref().map(|all| strip.of(all)), [&[0; STRIP]; 2]);
            },
            take_over,
        )
    }

    /// The most bytes that they take, or those of a member's part.
    pub fn bytes(step: &ShardedStep<'_>, partition: Option<&Partition>) -> u64 {
        let live = live_len(step, |unit| partition.is_none_or(|part| part.own[unit.0]));
        2 * (arrays::bytes::<u16>(step, partition) + 2 * (live + PADDING as u64))
    }

    /// All of them, shard by shard.
    pub fn parts(&mut self, step: &ShardedStep<'_>) -> Vec<Part<'_>> {
        let [lower, upper] = &mut self.all;
        let mut parts = step.parts(Column::Lower, lower);
        parts.extend(step.parts(Column::Upper, upper));
        parts
    }
}

/// How many positions the largest wave has of some units.
fn live_len(step: &ShardedStep<'_>, own: impl Fn(UnitIndex) -> bool) -> u64 {
    let of_wave = |wave: &Wave| {
        let own = wave.iter().filter(|&&unit| own(unit));
        own.map(|&unit| step.unit(unit).len()).sum()
    };
    step.waves.iter().map(of_wave).max().unwrap_or(0)
}

/// The offsets of all positions, by bound and orientation.
pub type AllOffsets = [Vec<Array<u16>>; 2];

/// Changes the offsets of strips as others have sent them.
pub fn take_over(all: &mut AllOffsets, strips: &[&HaloStrip], packed: &[PackedStrip<'_>]) {
    let [lower, upper] = all.each_mut().map(|arrays| slices(arrays, strips));
    let places = lower.into_par_iter().zip(upper);
    packed.par_chunks(2).zip(places).for_each(|(packed, (lower, upper))| {
        packed[0].change_offsets(&packed[1], [lower, upper]);
    });
}

/// The offsets of each unit of a wave.
pub fn own_offsets<'a>(live: &'a mut [Array<u16>; 2], wave: &[&Shard]) -> Vec<UnitOffsets<'a>> {
    let mut rest = live.each_mut().map(|live| &mut **live);
    let range = |range: &Range<u64>| (range.end - range.start) as usize;
    wave.iter()
        .map(|part| {
            let (first, second) = &part.ranges;
            let lengths = [range(first), second.as_ref().map_or(0, range)];
            rest.each_mut().map(|rest| lengths.map(|length| split_off(rest, length)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use ziggurat_encoding::{Encoding, Tier};
    use ziggurat_game::Ruleset;

    use super::*;

    #[test]
    fn offsets_take_as_much_as_is_said() {
        for (game, tier) in [("finkel", Tier::new(4, 4)), ("masters", Tier::new(3, 2))] {
            let encoding = Encoding::new(&Ruleset::builtin(game).unwrap()).unwrap();
            let limit = encoding.default_shard_positions(tier);
            let step = ShardedStep::new(&encoding, tier, encoding.shards(tier, limit));
            let Offsets { all, live, .. } =
                Offsets::new(&Memory::anonymous(), &step, None).unwrap();
            let numbers = all.iter().flatten().chain(&live).map(|array| array.values().len());
            let taken = 2 * numbers.sum::<usize>() as u64;
            let said = Offsets::bytes(&step, None);
            assert!(said >= taken && said < taken + taken / 16 + 1000, "{said}, not {taken}");
        }
    }
}
