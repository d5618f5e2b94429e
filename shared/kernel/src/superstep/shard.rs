//! The sweep of one shard in a superstep.

use std::{
    ops::Range,
    sync::{PoisonError, RwLock},
};

use ziggurat_encoding::Shard;
use ziggurat_planning::waves::ShardIndex;

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
        pair::{ShardValues, SweepPair},
        scratch::Scratch,
        slab::Slab,
        sources::OwnRanges,
    },
};

/// A shard to be swept.
pub struct Unswept<'a> {
    /// Its place.
    pub place: ShardIndex,
    pub shard: &'a Shard,
    pub is_tail: bool,
    pub candidate_list: Option<&'a RwLock<CandidateList>>,
    /// Where its changes are to be encoded, range by range.
    pub changes: [&'a mut [i8]; 2],
}

/// The encoded changes of a shard, piece by piece of its ranges.
pub type Swept = Vec<Vec<EncodedDelta>>;

/// Of the shards of the tail slabs are swept twice if fewer positions than one part in so many are
/// swept after them.
pub const TAIL_SLABS: u64 = 4;

/// The padded lengths of a shard's ranges.
pub fn padded_lengths(shard: &Shard) -> [usize; 2] {
    let padded = |range: &Range<u64>| (range.end - range.start) as usize + PADDING;
    [padded(&shard.ranges.0), shard.ranges.1.as_ref().map_or(0, padded)]
}

impl Unswept<'_> {
    /// Updates every position of the shard, and encodes its changes while they are still in the caches. Returns the
    /// shard's place, too.
    pub fn sweep<T: Value>(
        self,
        context: &Context<'_, T>,
        published: &[Array<T>],
        (scratch, live): (&mut Scratch<T>, &mut [T]),
        (lists, finest): (SweepMode, i32),
        simd: Simd,
    ) -> (ShardIndex, Swept) {
        let Self { place, shard, is_tail, candidate_list, changes } = self;
        let [first, second] = padded_lengths(shard);
        let (first, rest) = live.split_at_mut(first);
        let mut live = [first, &mut rest[..second]];
        let guard = candidate_list.map(|list| list.write().unwrap_or_else(PoisonError::into_inner));
        let mut lists = Cursor::begin(guard.as_deref(), lists, shard);
        let of_range = |(orientation, range): (Orientation, Range<usize>)| {
            &published[orientation.index()][range]
        };
        let published_of =
            ranges(shard, context.last()).map(|range| range.map_or(&[][..], of_range));
        for (live, old) in live.iter_mut().zip(published_of) {
            budget::copy(&mut live[..old.len()], old);
        }
        let locator = OwnRanges { shard, last: context.last() };
        let mut values = ShardValues { context, published, live };
        let mut after = shard.len();
        for_each_pair_of_slabs(context, shard, &locator, |slabs, is_own_swap| {
            let slab_len = |slab: &Slab<'_>| context.encoding.shared().slab_len(slab.budgets);
            after -= slabs.iter().take(if is_own_swap { 1 } else { 2 }).map(slab_len).sum::<u64>();
            let again = is_tail && after * TAIL_SLABS < shard.len();
            let (candidates, is_one) = (lists.take(), is_own_swap);
            for _ in 0..if again { 2 } else { 1 } {
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
        let recorded = lists.end();
        if let (Some(recorded), Some(mut candidate_list)) = (recorded, guard) {
            *candidate_list = recorded;
        }
        let encoded = |((live, old), changes): ((&&mut [T], &[T]), &mut [i8])| {
            let pieces = live[..old.len()]
                .chunks(PIECE)
                .zip(old.chunks(PIECE))
                .zip(changes.chunks_mut(PIECE));
            pieces.map(|((new, old), changes)| encode(new, old, changes, finest, simd)).collect()
        };
        (place, values.live.iter().zip(published_of).zip(changes).map(encoded).collect())
    }
}
