//! The parts of arrays that a member of a team has, its halo among them.

use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;
use ziggurat_encoding::Tier;

use crate::{
    halo::{
        codec::Content,
        partition::{Partition, slices},
        places::Places,
        team::{ExchangeError, Team, is_own},
    },
    memory::{
        array::Array,
        budget::{self, Memory, MemoryError, enforce_budget},
    },
    shards::{ranges::Orientation, step::ShardedStep},
    simd::value::{PADDING, Value},
};

/// Arrays of zeros, one for each orientation; a team's member uses only its parts of them.
///
/// # Errors
/// If there is no room for them.
pub fn zeros<V: Pod + PartialEq + Send + Sync>(
    memory: &Memory,
    step: &ShardedStep<'_>,
    partition: Option<&Partition>,
) -> Result<Vec<Array<V>>, MemoryError> {
    let orientations = step.tier.both().enumerate();
    let zeros = orientations.map(|(i, tier)| {
        let places = partition.map(|partition| &partition.places[i][..]);
        memory.zeros(step.encoding.tier_len(tier) as usize, places)
    });
    zeros.collect()
}

/// The most bytes that such arrays take.
pub fn bytes<V: Pod + PartialEq + Send + Sync>(
    step: &ShardedStep<'_>,
    partition: Option<&Partition>,
) -> u64 {
    let Some(Partition { places, .. }) = partition else {
        return (step.positions() + 2 * PADDING as u64) * size_of::<V>() as u64;
    };
    let arrays = step.tier.both().zip(places);
    let bytes_of = |(tier, places): (Tier, &Places)| {
        Array::<V>::bytes_at(step.encoding.tier_len(tier) as usize, places)
    };
    arrays.map(bytes_of).sum()
}

/// Fills arrays, one for each orientation; for a team's member its units and its halo.
pub fn fill<V: Pod + PartialEq + Send + Sync>(
    arrays: &mut [Array<V>],
    value: V,
    step: &ShardedStep<'_>,
    team: Option<&Team<'_>>,
) {
    let Some(team) = team else {
        return arrays.iter_mut().for_each(|array| budget::fill(array, value));
    };
    for (range, values) in step.split(arrays) {
        if team.owns(range.of) {
            budget::fill(values, value);
        }
    }
    for strips in team.halo() {
        slices(arrays, &strips).into_iter().for_each(|values| values.fill(value));
    }
}

/// Takes over the halo of values from other members.
///
/// # Errors
/// If they cannot be reached.
pub fn fill_halo<T: Value>(arrays: &mut [Array<T>], team: &Team<'_>) -> Result<(), ExchangeError> {
    team.exchange(
        (Content::Values(size_of::<T>()), 1),
        arrays,
        |arrays, strip, packed| packed.push_values(strip.of(arrays)),
        |arrays, strips, packed| {
            let places = slices(arrays, strips);
            packed.par_iter().zip(places).for_each(|(packed, values)| packed.read_values(values));
        },
    )
}

/// Visits the parts of arrays, one for each orientation, that a team's member has, the halo among them: with their
/// orientation and places.
pub fn for_own_parts<V: Pod + Send + Sync>(
    arrays: &mut [Array<V>],
    step: &ShardedStep<'_>,
    team: Option<&Team<'_>>,
    visit: impl Fn(Orientation, Range<usize>, &mut [V]) + Sync,
) {
    let own: Vec<_> = step.split(arrays).filter(|(range, _)| is_own(team, range.of)).collect();
    own.into_par_iter().for_each(|(range, values)| {
        enforce_budget();
        visit(range.orientation, range.values.clone(), values);
    });
    for strips in team.iter().flat_map(|team| team.halo()) {
        let values = slices(arrays, &strips);
        strips.into_par_iter().zip(values).for_each(|(strip, values)| {
            visit(strip.orientation, strip.values.clone(), values);
        });
    }
}
