//! Writing many objects side by side: a store answers each after a while, and the whiles pass together.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use bytes::Bytes;
use futures::{StreamExt, future::ready, stream};
use tokio::sync::Semaphore;

use crate::{CheckpointError, CheckpointStore, EpochKey};

/// The most objects that are written at the same time.
const SIDE_BY_SIDE: usize = 4;

/// Numbers that are to be kept.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<R> {
    /// Of which shard, at which epoch.
    pub key: EpochKey,
    /// Bytes of a number.
    pub width: usize,
    /// Bytes of all of them.
    pub bytes: usize,
    /// Gives them, little-endian.
    pub read: R,
}

impl CheckpointStore {
    /// [Keeps](Self::put) many numbers of an incarnation, up to four objects at the same time. Of the numbers, at most
    /// `room_bytes` are in memory, or those of one object that has more, and as much again for what is written of them.
    /// They are read when there is room for them, and `all` is asked for the next ones likewise. After an error nothing
    /// more is begun.
    ///
    /// # Errors
    ///
    /// The first of reading them, or of [`put`](Self::put).
    ///
    /// # Panics
    ///
    /// As [`put`](Self::put).
    pub async fn put_all<R, E>(
        &self,
        incarnation: u64,
        all: impl IntoIterator<Item = Numbers<R>>,
        room_bytes: u32,
    ) -> Result<(), E>
    where
        R: Future<Output = Result<Bytes, E>>,
        E: From<CheckpointError>,
    {
        let (room, has_failed) = (Semaphore::new(room_bytes as usize), AtomicBool::new(false));
        let put = |Numbers { key, width, bytes, read }: Numbers<R>| {
            let (room, has_failed) = (&room, &has_failed);
            async move {
                let share = u32::try_from(bytes).map_or(room_bytes, |it| it.min(room_bytes));
                let _share = room.acquire_many(share).await.expect("it is never closed");
                if has_failed.load(Relaxed) {
                    return Ok(());
                }
                let written = match pin!(read).await {
                    Ok(numbers) => {
                        self.put(key, incarnation, width, numbers).await.map_err(E::from)
                    }
                    Err(error) => Err(error),
                };
                has_failed.fetch_or(written.is_err(), Relaxed);
                written
            }
        };
        // What is under way when one fails is ended: an object that is sent in parts would leave them behind.
        let written = stream::iter(all).map(put).buffer_unordered(SIDE_BY_SIDE);
        written.fold(Ok(()), |all: Result<(), _>, one| ready(all.and(one))).await
    }
}
