//! The parts of arrays that a member of a team has, its halo among them.

use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;
use ziggurat_encoding::Shard;

use crate::{
    halo::{
        codec::Content,
        partition::{HaloStrip, slices},
        team::{ExchangeError, Team},
    },
    memory::{
        array::Array,
        budget::{self, enforce_budget},
    },
    shards::ranges::{Orientation, ShardRange, in_order, split_off},
    simd::value::Value,
};

/// Fills arrays, one for each orientation; for a team's member its shards and its halo.
pub fn fill<V: Pod + PartialEq + Send + Sync>(
    arrays: &mut [Array<V>],
    value: V,
    shards: &[Shard],
    team: Option<&Team<'_>>,
) {
    let Some(team) = team else {
        return arrays.iter_mut().for_each(|array| budget::fill(array, value));
    };
    for part in in_order(shards, Orientation::last(arrays.len())) {
        if team.owns(part.shard) {
            budget::fill(&mut arrays[part.orientation.index()][part.values], value);
        }
    }
    for strip in team.halo().flatten() {
        arrays[strip.orientation.index()][strip.values.clone()].fill(value);
    }
}

/// Takes over the halo of values from other members.
///
/// # Errors
/// If they cannot be reached.
pub fn fill_halo<T: Value>(arrays: &mut [Array<T>], team: &Team<'_>) -> Result<(), ExchangeError> {
    let barrier = team.barrier(|_| true);
    barrier.send(|HaloStrip { orientation, values, .. }, packed| {
        packed.push_values(&arrays[orientation.index()][values.clone()]);
    })?;
    barrier.receive(Content::Values(size_of::<T>()), 1, |strips, packed| {
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
    visit: impl Fn(Orientation, Range<usize>, &mut [V]) + Sync,
) {
    let own = |shard: usize| team.is_none_or(|team| team.owns(shard));
    let last = Orientation::last(arrays.len());
    let mut rest: Vec<&mut [V]> = arrays.iter_mut().map(|all| &mut **all).collect();
    let parts = in_order(shards, last).into_iter().map(|part| {
        let values = split_off(&mut rest[part.orientation.index()], part.values.len());
        (part, values)
    });
    let parts: Vec<_> = parts.filter(|(part, _)| own(part.shard)).collect();
    parts.into_par_iter().for_each(|(ShardRange { orientation, values: places, .. }, values)| {
        enforce_budget();
        visit(orientation, places, values);
    });
    for strips in team.iter().flat_map(|team| team.halo()) {
        let values = slices(arrays.iter_mut().map(|all| &mut **all).collect(), &strips);
        strips.into_par_iter().zip(values).for_each(|(strip, values)| {
            visit(strip.orientation, strip.values.clone(), values);
        });
    }
}
