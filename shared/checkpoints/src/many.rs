//! Writing many objects side by side: a store answers each after a while, and the whiles pass together.

use std::cell::Cell;

use bytes::Bytes;
use futures::{StreamExt, future::ready, stream};
use tokio::sync::Semaphore;

use crate::{CheckpointError, CheckpointStore, EpochKey};

/// The most objects that are written at the same time.
const SIDE_BY_SIDE: usize = 4;

/// Numbers that are to be kept.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a> {
    /// Of which shard, at which epoch.
    pub key: EpochKey,
    /// Bytes of a number.
    pub width: usize,
    /// The numbers, little-endian.
    pub bytes: &'a [u8],
}

impl CheckpointStore {
    /// [Keeps](Self::put) many numbers of an incarnation, up to four objects at the same time. Of the numbers, copies
    /// of at most `room_bytes` are in memory, or of one object that has more, and as much again for what is written
    /// of them. `all` is asked for the next ones when there is room for an object. After an error nothing more is
    /// begun.
    ///
    /// # Errors
    ///
    /// The first of [`put`](Self::put).
    ///
    /// # Panics
    ///
    /// As [`put`](Self::put).
    pub async fn put_all<'a>(
        &self,
        incarnation: u64,
        all: impl IntoIterator<Item = Numbers<'a>>,
        room_bytes: u32,
    ) -> Result<(), CheckpointError> {
        let (room, has_failed) = (Semaphore::new(room_bytes as usize), Cell::new(false));
        let put = |Numbers { key, width, bytes }: Numbers<'a>| {
            let (room, has_failed) = (&room, &has_failed);
            async move {
                let share = u32::try_from(bytes.len()).map_or(room_bytes, |it| it.min(room_bytes));
                let _share = room.acquire_many(share).await.expect("it is never closed");
                if has_failed.get() {
                    return Ok(());
                }
                let written =
                    self.put(key, incarnation, width, Bytes::copy_from_slice(bytes)).await;
                has_failed.set(has_failed.get() || written.is_err());
                written
            }
        };
        // What is under way when one fails is ended: an object that is sent in parts would leave them behind.
        let written = stream::iter(all).map(put).buffer_unordered(SIDE_BY_SIDE);
        written.fold(Ok(()), |all: Result<(), _>, one| ready(all.and(one))).await
    }
}
