//! The sweep of one unit in a superstep.

use std::{
    ops::Range,
    sync::{PoisonError, RwLock},
};

use ziggurat_encoding::Shard;
use ziggurat_planning::waves::UnitIndex;

use crate::{
    delta::encoding::{EncodedDelta, encode},
    memory::{
        array::Array,
        budget::{self},
    },
    shards::ranges::{Orientation, PIECE, ranges},
    simd::{
        dispatch::Simd,
        value::{PADDING, Value},
    },
    sweep::{
        context::Context,
        elimination::{
            record::RecordCandidates,
            validity::{CandidateList, Cursor, SweepMode},
        },
        order::for_each_pair_of_slabs,
        pair::{SweepPair, UnitValues},
        scratch::Room,
        sources::OwnRanges,
        successors::{
            sweep::SweepSuccessors,
            table::{SuccessorTable, SuccessorTables},
        },
    },
};

/// A unit to be swept.
pub struct Unswept<'a> {
    /// Its place.
    pub place: UnitIndex,
    /// The part of a shard that it is.
    pub part: &'a Shard,
    pub is_tail: bool,
    pub candidate_list: Option<&'a RwLock<CandidateList>>,
    pub successors: &'a SuccessorTables,
    /// Where its changes are to be encoded, range by range.
    pub changes: [&'a mut [i8]; 2],
}

/// The encoded changes of a unit, piece by piece of its ranges.
pub type Swept = Vec<Vec<EncodedDelta>>;

/// The padded lengths of a unit's ranges.
pub fn padded_lengths(part: &Shard) -> [usize; 2] {
    let padded = |range: &Range<u64>| (range.end - range.start) as usize + PADDING;
    [padded(&part.ranges.0), part.ranges.1.as_ref().map_or(0, padded)]
}

impl Unswept<'_> {
    /// Updates every position of the unit, and encodes its changes while they are still in the caches.
    pub fn sweep<'c, T: Value>(
        &mut self,
        context: &Context<'c, T>,
        published: &[Array<T>],
        (Room { slabs, scratch }, live): (&mut Room<'c, T>, &mut [T]),
        (lists, finest): (SweepMode, i32),
        simd: Simd,
    ) -> Swept {
        let Self { place, part, is_tail, candidate_list, successors, ref mut changes } = *self;
        let write_down = || SuccessorTable::write_down(context, part, is_tail, slabs);
        let table = successors.of(place, write_down);
        let [first, second] = padded_lengths(part);
        let (first, rest) = live.split_at_mut(first);
        let mut live = [first, &mut rest[..second]];
        let guard = candidate_list.map(|list| list.write().unwrap_or_else(PoisonError::into_inner));
        let mut lists = Cursor::begin(guard.as_deref(), lists, part);
        let of_range = |(orientation, range): (Orientation, Range<usize>)| {
            &published[orientation.index()][range]
        };
        let published_of =
            ranges(part, context.last()).map(|range| range.map_or(&[][..], of_range));
        for (live, old) in live.iter_mut().zip(published_of) {
            budget::copy(&mut live[..old.len()], old);
        }
        let mut values = UnitValues { context, published, live };
        if let Some(table) = table {
            simd.run(SweepSuccessors { table, scratch, values: &mut values });
        } else {
            let locator = OwnRanges { part, last: context.last() };
            for_each_pair_of_slabs(context, part, &locator, slabs, |slabs, is_own_swap| {
                let (candidates, is_one) = (lists.take(), is_own_swap);
                for _ in 0..if is_tail { 2 } else { 1 } {
                    let operand = &mut values;
                    simd.run(SweepPair { scratch, context, slabs, is_one, candidates, operand });
                }
                let can_be_listed = !is_own_swap && !context.is_dense();
                lists.record(|margin, words| {
                    if can_be_listed {
                        let (values, margin) = (&values, T::from_f64(margin));
                        simd.run(RecordCandidates { scratch, values, slabs, margin, words });
                    }
                });
            });
        }
        let recorded = lists.end();
        if let (Some(recorded), Some(mut candidate_list)) = (recorded, guard) {
            *candidate_list = recorded;
        }
        let encoded = |((live, old), changes): ((&&mut [T], &[T]), &mut &mut [i8])| {
            let pieces = live[..old.len()]
                .chunks(PIECE)
                .zip(old.chunks(PIECE))
                .zip(changes.chunks_mut(PIECE));
            pieces.map(|((new, old), changes)| encode(new, old, changes, finest, simd)).collect()
        };
        values.live.iter().zip(published_of).zip(changes).map(encoded).collect()
    }
}
