//! The arrays of a step: where the values of each shard and unit are.

use std::ops::Range;

use ziggurat_encoding::Shard;
use ziggurat_planning::{
    columns::Column,
    waves::{ShardIndex, UnitIndex},
};

use crate::shards::columns::{Data, Part};

/// The most values of a piece: a part of a range of a unit, whose changes share a quantum.
pub const PIECE: usize = 8 << 10;

/// An orientation of a step: its first tier, or the swapped one. A step of one tier has one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Orientation(usize);

impl Orientation {
    /// The first one.
    pub const FIRST: Self = Self(0);

    /// The last of so many.
    pub fn last(count: usize) -> Self {
        Self(count - 1)
    }

    /// That at a place among the tiers of the step.
    #[inline(always)]
    pub fn at(index: usize) -> Self {
        Self(index)
    }

    /// All of so many.
    pub fn all(count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(Self)
    }

    /// Its place among the tiers of the step, and among its arrays.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0
    }
}

/// A range of a shard or a unit, which is at a place among those of its step.
#[derive(Debug)]
pub struct RangeOf<P> {
    /// The shard or the unit.
    pub of: P,
    /// Which of its ranges.
    pub range: usize,
    /// The orientation it is in.
    pub orientation: Orientation,
    /// Which values of it.
    pub values: Range<usize>,
}

/// A range of a shard.
pub type ShardRange = RangeOf<ShardIndex>;

/// A range of a unit.
pub type UnitRange = RangeOf<UnitIndex>;

impl UnitRange {
    /// How many pieces it has.
    pub fn pieces(&self) -> usize {
        self.values.len().div_ceil(PIECE)
    }
}

impl ShardRange {
    /// Its part of a column.
    pub fn part<'a>(&self, column: Column, data: Data<'a>) -> Part<'a> {
        Part { column, shard: self.of.0 as u32, range: self.range as u8, data }
    }
}

/// The ranges of a shard or a unit, each with its orientation; `last` is the last orientation of the step.
pub fn ranges(part: &Shard, last: Orientation) -> [Option<(Orientation, Range<usize>)>; 2] {
    let range = |range: &Range<u64>| range.start as usize..range.end as usize;
    let (first, second) = &part.ranges;
    [Some((Orientation::FIRST, range(first))), second.as_ref().map(|second| (last, range(second)))]
}

/// The ranges of shards or units in the order of their values.
pub fn in_order<'a, P: Copy>(
    parts: impl Iterator<Item = (P, &'a Shard)>,
    last: Orientation,
) -> Vec<RangeOf<P>> {
    let of_part = |(of, part)| {
        let ranges = ranges(part, last).into_iter().flatten().enumerate();
        ranges.map(move |(range, (orientation, values))| RangeOf { of, range, orientation, values })
    };
    let mut all: Vec<_> = parts.flat_map(of_part).collect();
    all.sort_by_key(|part| (part.orientation, part.values.start));
    all
}

/// The first values of a slice, which loses them.
pub fn split_off<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    rest.split_off_mut(..len).expect("the shards of a step fill it")
}
