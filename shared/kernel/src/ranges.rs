//! The arrays of a step, by shard: where the values of each are, and visiting those that a member has.

use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;
use ziggurat_encoding::Shard;

use crate::{
    array::Array,
    halo::Content,
    journal::{Column, Data, Part},
    memory::{self, look},
    team::{ExchangeError, Strip, Team, slices},
    value::Value,
};

/// A range of a shard.
pub struct ShardRange {
    /// The shard's place.
    pub shard: usize,
    /// Which of the shard's ranges.
    pub range: usize,
    /// The orientation it is in.
    pub orientation: usize,
    /// Which values of it.
    pub values: Range<usize>,
}

/// A shard's ranges, each with its orientation; `last` is the last orientation of the step.
pub fn ranges(shard: &Shard, last: usize) -> [Option<(usize, Range<usize>)>; 2] {
    let range = |range: &Range<u64>| range.start as usize..range.end as usize;
    let (first, second) = &shard.ranges;
    [Some((0, range(first))), second.as_ref().map(|second| (last, range(second)))]
}

/// The ranges of shards in the order of their values.
pub fn in_order(shards: &[Shard], last: usize) -> Vec<ShardRange> {
    let of_shard = |(shard, all)| {
        let ranges = ranges(all, last).into_iter().flatten().enumerate();
        ranges.map(move |(range, (orientation, values))| ShardRange {
            shard,
            range,
            orientation,
            values,
        })
    };
    let mut all: Vec<_> = shards.iter().enumerate().flat_map(of_shard).collect();
    all.sort_by_key(|part| (part.orientation, part.values.start));
    all
}

/// The first values of a slice, which loses them.
pub fn split_off<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    rest.split_off_mut(..len).expect("the shards of a step fill it")
}

/// The parts of a column, which has an array for each orientation.
pub fn parts_of<'a, V: Pod>(
    column: Column,
    arrays: &'a mut [Array<V>],
    shards: &[Shard],
    data: impl Fn(&'a mut [V]) -> Data<'a>,
) -> Vec<Part<'a>> {
    let last = arrays.len() - 1;
    let mut rest: Vec<&mut [V]> = arrays.iter_mut().map(|all| &mut **all).collect();
    let part = |ShardRange { shard, range, orientation, values }: ShardRange| Part {
        column,
        shard: shard as u32,
        range: range as u8,
        data: data(split_off(&mut rest[orientation], values.len())),
    };
    in_order(shards, last).into_iter().map(part).collect()
}

/// Fills arrays, one for each orientation; of those of a team's member what it needs.
pub fn fill<V: Pod + PartialEq + Send + Sync>(
    arrays: &mut [Array<V>],
    value: V,
    shards: &[Shard],
    team: Option<&Team<'_>>,
) {
    let Some(team) = team else {
        return arrays.iter_mut().for_each(|array| memory::fill(array, value));
    };
    for part in in_order(shards, arrays.len() - 1) {
        if team.owns(part.shard) {
            memory::fill(&mut arrays[part.orientation][part.values], value);
        }
    }
    for strip in team.halo().flatten() {
        arrays[strip.orientation][strip.values.clone()].fill(value);
    }
}

/// Takes over the halo of values from other members.
///
/// # Errors
/// If they cannot be reached.
pub fn fill_halo<T: Value>(arrays: &mut [Array<T>], team: &Team<'_>) -> Result<(), ExchangeError> {
    let barrier = team.barrier(|_| true);
    barrier.give(|Strip { orientation, values, .. }, packed| {
        packed.push_values(&arrays[*orientation][values.clone()]);
    })?;
    barrier.take(Content::Values(size_of::<T>()), 1, |strips, packed| {
        let places = slices(arrays.iter_mut().map(|all| &mut **all).collect(), strips);
        packed.par_iter().zip(places).for_each(|(packed, values)| packed.read_values(values));
    })
}

/// Visits the parts of arrays, one for each orientation, that a team's member has, the halo among them: with their
/// orientation and places.
pub fn for_own_parts<V: Pod + Send + Sync>(
    arrays: &mut [Array<V>],
    shards: &[Shard],
    team: Option<&Team<'_>>,
    visit: impl Fn(usize, Range<usize>, &mut [V]) + Sync,
) {
    let own = |shard: usize| team.is_none_or(|team| team.owns(shard));
    let last = arrays.len() - 1;
    let mut rest: Vec<&mut [V]> = arrays.iter_mut().map(|all| &mut **all).collect();
    let parts = in_order(shards, last).into_iter().map(|part| {
        let values = split_off(&mut rest[part.orientation], part.values.len());
        (part, values)
    });
    let parts: Vec<_> = parts.filter(|(part, _)| own(part.shard)).collect();
    parts.into_par_iter().for_each(|(ShardRange { orientation, values: places, .. }, values)| {
        look();
        visit(orientation, places, values);
    });
    for strips in team.iter().flat_map(|team| team.halo()) {
        let values = slices(arrays.iter_mut().map(|all| &mut **all).collect(), &strips);
        strips.into_par_iter().zip(values).for_each(|(strip, values)| {
            visit(strip.orientation, strip.values.clone(), values);
        });
    }
}
