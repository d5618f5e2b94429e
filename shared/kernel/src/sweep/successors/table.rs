//! The successor table of a unit, those of a step, and their memory.

use std::{ops::Range, sync::OnceLock};

use ziggurat_encoding::Shard;
use ziggurat_planning::{basis::is_dense, waves::UnitIndex};

use crate::{
    memory::budget::Memory,
    shards::step::ShardedStep,
    simd::address::{ARRAYS, Address, PLACE_BITS},
};

/// The numbers of rolls above 0 that sweeps along a table are compiled for.
pub const ROLLS: [usize; 2] = [3, 4];

/// The most bytes a table has for each position of its unit that it sweeps, else there is none.
const MOST_BYTES: u64 = 80;

/// The most bytes for each of these that it takes meanwhile to write it down: lists that grow, of the unit and of a
/// pair of slabs.
const WRITING_BYTES: u64 = 400;

/// The tables of a step have no more bytes, else there are none.
const MOST_BYTES_OF_STEP: u64 = 2 << 30;

/// Arrays that addresses name besides those of [`crate::sweep::sources::arrays`].
pub mod arrays {
    /// The values of the pair of slabs that is swept, as they were before.
    pub const BEFORE: usize = 6;
    /// The value below all, and that of a win.
    pub const CONSTANTS: usize = 7;
    /// Where in the constants they are.
    pub const NONE: usize = 0;
    pub const WIN: usize = 1;
}

/// The successors of a unit's positions in the order of a sweep.
///
/// Pairs of positions stand together in groups of eight. A group has a number of passes, and for each of the two
/// positions and each roll, how many successors it has at the most; these are `counts`. And it has the addresses of
/// the eight first positions, of the second ones, and for each number among the counts as many times the successors of
/// eight positions.
#[derive(Debug, Default)]
pub struct SuccessorTable {
    pub(super) stages: Vec<Stage>,
    pub(super) counts: Vec<u8>,
    pub(super) addresses: Vec<Address>,
    /// The places of each array that are named are below these.
    pub(super) ends: [usize; ARRAYS],
}

/// Groups that are swept one after the other.
#[derive(Debug, Default)]
pub(super) struct Stage {
    /// The values of a pair of slabs that reads them as they were before: they are kept first, one after the other.
    pub kept: Vec<Kept>,
    pub groups: usize,
}

/// Values that are kept.
#[derive(Debug)]
pub(super) struct Kept {
    /// One of [`crate::sweep::sources::arrays`].
    pub array: usize,
    pub values: Range<usize>,
}

impl SuccessorTable {
    /// Its size in memory.
    pub(super) fn bytes(&self) -> usize {
        let stages = self.stages.len() * (size_of::<Stage>() + 2 * size_of::<Kept>());
        stages + self.counts.len() + self.addresses.len() * size_of::<Address>()
    }

    /// How often each position of a unit is swept.
    pub(super) fn rounds(is_tail: bool) -> u64 {
        if is_tail { 2 } else { 1 }
    }

    /// The most bytes that of a unit may have.
    pub(super) fn most_bytes(part: &Shard, is_tail: bool) -> u64 {
        MOST_BYTES * part.len() * Self::rounds(is_tail)
    }
}

/// The successor tables of a step's units, each written down when it is first needed.
#[derive(Debug, Default)]
pub struct SuccessorTables {
    of_units: Vec<OnceLock<Option<SuccessorTable>>>,
}

impl SuccessorTables {
    /// Room for those of a step, if it has any.
    pub fn new(memory: &Memory, step: &ShardedStep<'_>) -> Self {
        let is_there_room = !memory.is_sparing() && Self::bytes(step, 1) > 0;
        let units = if is_there_room { step.units.len() } else { 0 };
        Self { of_units: (0..units).map(|_| OnceLock::new()).collect() }
    }

    /// The most bytes that those of a step take, which so many threads write down; 0 if it has none.
    pub fn bytes(step: &ShardedStep<'_>, threads: usize) -> u64 {
        let dice = step.encoding.ruleset().dice().rolls();
        let rolls = dice.iter().filter(|roll| roll.value > 0).count();
        let tiers = step.tier.both().chain(step.tier.reads());
        let have_addresses =
            tiers.map(|tier| step.encoding.tier_len(tier)).all(|len| len >> PLACE_BITS == 0);
        if !is_dense(step.encoding) || !ROLLS.contains(&rolls) || !have_addresses {
            return 0;
        }
        let units = || step.parts_of_units().enumerate().map(|(i, part)| (part, i < step.tail));
        let all: u64 = units().map(|(part, tail)| SuccessorTable::most_bytes(part, tail)).sum();
        let swept = |(part, tail): (&Shard, _)| part.len() * SuccessorTable::rounds(tail);
        let writing = WRITING_BYTES * units().map(swept).max().unwrap_or(0);
        if all <= MOST_BYTES_OF_STEP { all + writing * threads as u64 } else { 0 }
    }

    /// That of a unit, which is written down first if need be.
    pub fn of(
        &self,
        unit: UnitIndex,
        write_down: impl FnOnce() -> Option<SuccessorTable>,
    ) -> Option<&SuccessorTable> {
        self.of_units.get(unit.0)?.get_or_init(write_down).as_ref()
    }

    /// How many units have one, and how many of these keep values.
    #[cfg(test)]
    pub fn count(&self) -> [usize; 2] {
        let tables = || self.of_units.iter().filter_map(|table| table.get()?.as_ref());
        let keeps =
            |table: &&SuccessorTable| table.stages.iter().any(|stage| !stage.kept.is_empty());
        [tables().count(), tables().filter(keeps).count()]
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_encoding::Tier;

    use super::*;
    use crate::{fixtures::encoding, memory::budget::Arrays};

    #[test]
    fn steps_of_dense_slabs_have_tables_unless_memory_is_short_or_they_are_large() {
        let memory = Memory::anonymous();
        let dir = tempfile::tempdir().unwrap();
        let limited = Memory::in_files(dir.path(), 1 << 30, 1).unwrap();
        let of = |game, tier: Tier, memory: &Memory| {
            let encoding = encoding(game, tier.just_moved);
            let shards = encoding.shards(tier, encoding.default_shard_positions(tier));
            let step = ShardedStep::new(&encoding, tier, shards);
            let tables = SuccessorTables::new(memory, &step);
            (tables.of_units.len() == step.units.len(), SuccessorTables::bytes(&step, 1))
        };
        let (has, bytes) = of("murray", Tier::new(3, 3), &memory);
        assert!(has && (1 << 28..MOST_BYTES_OF_STEP).contains(&bytes), "{bytes}");
        let sparing = Memory::new(Arrays::Sparing, dir.path(), 1).unwrap();
        for short in [limited, sparing] {
            assert!(!of("murray", Tier::new(3, 3), &short).0);
        }
        assert_eq!(of("murray", Tier::new(4, 4), &memory), (false, 0));
        assert_eq!(of("finkel", Tier::new(3, 3), &memory), (false, 0));
    }
}
