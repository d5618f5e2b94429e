//! The description of a step: all that stays the same from its first superstep to its proof.

use std::ops::Range;

use bytemuck::Pod;
use ziggurat_encoding::{Encoding, Shard, Tier};
use ziggurat_planning::{
    columns::Column,
    waves::{ShardIndex, Unit, UnitIndex, Wave, tail, units, waves},
};

use crate::{
    memory::array::Array,
    shards::{
        columns::{Number, Part},
        ranges::{Orientation, PIECE, RangeOf, ShardRange, UnitRange, in_order, split_off},
    },
};

/// A step cut into shards, and these into units.
#[derive(Debug)]
pub struct ShardedStep<'e> {
    /// The ranking.
    pub encoding: &'e Encoding,
    /// The step's first tier.
    pub tier: Tier,
    /// The shards, which are placed and stored.
    pub shards: Vec<Shard>,
    /// The units, which are swept and published.
    pub units: Vec<Unit>,
    /// Their ranges in the order of their values, each with the place of the range of the shard that it is in.
    pub ranges: Vec<(UnitRange, u32)>,
    /// The order of sweeps.
    pub waves: Vec<Wave>,
    /// How many units, the first ones, are the tail.
    pub tail: usize,
    /// The ranges of shards in the order of their values, with the number of their pieces.
    shard_ranges: Vec<(ShardRange, usize)>,
    /// For each range of each unit, its first piece.
    first_pieces: Vec<[usize; 2]>,
    /// For each unit, the places of its ranges in their order.
    places: Vec<[Option<usize>; 2]>,
    /// How many pieces all ranges have.
    pub pieces: usize,
}

impl<'e> ShardedStep<'e> {
    /// The step of a first tier in these shards.
    pub fn new(encoding: &'e Encoding, tier: Tier, shards: Vec<Shard>) -> Self {
        let last = Orientation::last(tier.both().count());
        let units = units(encoding, tier, &shards);
        let of_shards = in_order((0..).map(ShardIndex).zip(&shards), last).into_iter();
        let mut shard_ranges: Vec<_> = of_shards.map(|range| (range, 0)).collect();
        let parts = (0..).map(UnitIndex).zip(units.iter().map(|unit| &unit.part));
        let (mut first_pieces, mut pieces) = (vec![[0; 2]; units.len()], 0);
        let (mut of_shard, mut places) = (0, vec![[None; 2]; units.len()]);
        let ranges = in_order(parts, last).into_iter().enumerate().map(|(place, range)| {
            places[range.of.0][range.range] = Some(place);
            while !holds(&shard_ranges[of_shard].0, &range) {
                of_shard += 1;
            }
            shard_ranges[of_shard].1 += range.pieces();
            first_pieces[range.of.0][range.range] = pieces;
            pieces += range.pieces();
            (range, of_shard as u32)
        });
        let ranges = ranges.collect();
        let (waves, tail) = (waves(encoding, &units), tail(&units));
        Self {
            encoding,
            tier,
            shards,
            units,
            ranges,
            waves,
            tail,
            shard_ranges,
            first_pieces,
            places,
            pieces,
        }
    }

    /// The part of a shard that is a unit.
    pub fn unit(&self, unit: UnitIndex) -> &Shard {
        &self.units[unit.0].part
    }

    /// The parts of shards that are units.
    pub fn parts_of_units(&self) -> impl Iterator<Item = &Shard> {
        self.units.iter().map(|unit| &unit.part)
    }

    /// Positions of both tiers.
    pub fn positions(&self) -> u64 {
        self.shards.iter().map(Shard::len).sum()
    }

    /// The piece that a place of a range of a unit is in.
    pub fn piece(&self, unit: UnitIndex, range: usize, place: usize) -> usize {
        self.first_pieces[unit.0][range] + place / PIECE
    }

    /// The ranges of shards in the order of their values, with the number of their pieces.
    pub fn shard_ranges(&self) -> &[(ShardRange, usize)] {
        &self.shard_ranges
    }

    /// The ranges of units with their values in arrays, one for each orientation.
    pub fn split<'a, V: Pod>(
        &self,
        arrays: &'a mut [Array<V>],
    ) -> impl Iterator<Item = (&UnitRange, &'a mut [V])> {
        split(self.ranges.iter().map(|(range, _)| range), arrays)
    }

    /// The ranges of some units, in the order of their values, with these in arrays, one for each orientation.
    pub fn split_some<'a, V: Pod>(
        &self,
        units: &[UnitIndex],
        arrays: &'a mut [Array<V>],
    ) -> Vec<(&UnitRange, &'a mut [V])> {
        let places = units.iter().flat_map(|unit| self.places[unit.0]).flatten();
        let mut places: Vec<usize> = places.collect();
        places.sort_unstable();
        split(places.into_iter().map(|place| &self.ranges[place].0), arrays).collect()
    }

    /// The parts of a column, which has an array for each orientation.
    pub fn parts<'a, V: Number>(
        &self,
        column: Column,
        arrays: &'a mut [Array<V>],
    ) -> Vec<Part<'a>> {
        let ranges = self.shard_ranges.iter().map(|(range, _)| range);
        split(ranges, arrays).map(|(range, values)| range.part(column, V::data(values))).collect()
    }
}

/// Whether a range of a shard has one of a unit.
fn holds(shard: &ShardRange, unit: &UnitRange) -> bool {
    shard.orientation == unit.orientation && shard.values.end >= unit.values.end
}

/// Something that has values at a place in arrays, one for each orientation.
pub trait Placed {
    /// The orientation, and where in its array.
    fn place(&self) -> (Orientation, &Range<usize>);
}

impl<P> Placed for RangeOf<P> {
    fn place(&self) -> (Orientation, &Range<usize>) {
        (self.orientation, &self.values)
    }
}

/// What has places, in the order of these, with its values in arrays, one for each orientation.
///
/// # Panics
/// If they are in another order, or beyond the arrays.
pub fn split<'s, 'a, P: Placed + 's, V: Pod>(
    placed: impl Iterator<Item = &'s P>,
    arrays: &'a mut [Array<V>],
) -> impl Iterator<Item = (&'s P, &'a mut [V])> {
    let mut rest: Vec<(usize, &mut [V])> = arrays.iter_mut().map(|all| (0, &mut **all)).collect();
    placed.map(move |placed| {
        let (orientation, place) = placed.place();
        let (at, values) = &mut rest[orientation.index()];
        split_off(values, place.start - *at);
        *at = place.end;
        (placed, split_off(values, place.len()))
    })
}
