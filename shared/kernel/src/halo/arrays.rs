//! The parts of arrays that a member of a team has, its halo among them.

use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;

use crate::{
    halo::{
        codec::Content,
        partition::slices,
        team::{ExchangeError, Team, is_own},
    },
    memory::{
        array::Array,
        budget::{self, enforce_budget},
    },
    shards::{ranges::Orientation, step::ShardedStep},
    simd::value::Value,
};

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
