//! Writing a worker's part of a checkpoint down: in the checkpoint store if there is one, and on this disk.

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::info;
use ziggurat_checkpoints::{CheckpointStore, Numbers};
use ziggurat_kernel::{Part, StepStoreError};
use ziggurat_store::{Epoch, StoreError};

use super::{
    Worker,
    failure::{cancelled, not_saved, unable},
    local_checkpoints::SaveName,
    tenure::held,
};
use crate::parts::key;

/// Numbers that are on their way to the checkpoint store at the same time, in bytes, where memory is limited: as many
/// as one range of a shard of the default size has, for which there is room beside the arrays.
const LIMITED_ROOM_BYTES: u32 = 32 << 20;

/// The same where it is not.
const ROOM_BYTES: u32 = 128 << 20;

impl Worker {
    /// Writes parts down, unless the attempt is over before.
    pub(super) fn save(
        &self,
        name: SaveName,
        parts: Vec<Part<'_>>,
        runtime: &Handle,
        stop: &CancellationToken,
    ) -> Result<(), StepStoreError> {
        if let Some(store) = self.checkpoints() {
            let held = held(self.standing());
            if runtime.block_on(stop.run_until_cancelled(held)) != Some(true) {
                return Err(not_saved(cancelled()));
            }
            runtime.block_on(self.store(&store, name, &parts, stop))?;
        }
        let checkpoints = &self.local_checkpoints;
        let failed = |error: StoreError| not_saved(unable(error.to_string()));
        checkpoints.save(name, parts, |bytes| self.moved.add(bytes)).map_err(failed)?;
        if stop.is_cancelled() {
            // Nobody wants it, and the job may be forgotten already.
            checkpoints.retain(|save| save != name).map_err(failed)?;
            return Err(not_saved(cancelled()));
        }
        info!(epoch = name.epoch, "saved");
        Ok(())
    }

    /// Writes parts to the checkpoint store, several at a time.
    async fn store(
        &self,
        store: &CheckpointStore,
        name: SaveName,
        parts: &[Part<'_>],
        stop: &CancellationToken,
    ) -> Result<(), StepStoreError> {
        let SaveName { job, step, epoch, incarnation } = name;
        let wanted = parts.iter().take_while(|_| !stop.is_cancelled());
        let wanted = wanted.map(|Part { column, shard, range, data }| {
            let key = key(job, step, *column, *shard, *range).at(Epoch(epoch));
            Numbers { key, width: data.width(), bytes: data.bytes() }
        });
        let room_bytes = self.options.memory_bytes.map_or(ROOM_BYTES, |_| LIMITED_ROOM_BYTES);
        let stored = store.put_all(incarnation, wanted, room_bytes).await;
        if stop.is_cancelled() {
            return Err(not_saved(cancelled()));
        }
        stored.map_err(|error| not_saved(unable(error.to_string())))
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_encoding::Tier;
    use ziggurat_kernel::{Column, Data};

    use super::{super::tests::idle_worker, *};

    const STEP: Tier = Tier { just_moved: 2, to_move: 1 };

    fn name(epoch: u32) -> SaveName {
        SaveName { job: 1, step: STEP, epoch, incarnation: 1 }
    }

    /// Saves three numbers of a shard.
    fn save(worker: &Worker, epoch: u32, stop: &CancellationToken) -> Result<(), StepStoreError> {
        let data = Data::F64(&mut [0.25; 3]);
        let part = Part { column: Column::Values, shard: 0, range: 0, data };
        worker.save(name(epoch), vec![part], &Handle::current(), stop)
    }

    #[tokio::test]
    async fn what_nobody_wants_any_more_when_it_is_saved_is_dropped_again() {
        let dir = tempfile::tempdir().unwrap();
        let (worker, stop) = (idle_worker(dir.path()), CancellationToken::new());
        let is_there =
            |epoch| worker.local_checkpoints.find(name(epoch), Column::Values, (0, 0)).is_some();
        save(&worker, 1, &stop).unwrap();
        assert_eq!(worker.moved_bytes(), 24);
        stop.cancel();
        assert!(save(&worker, 2, &stop).is_err());
        assert!(is_there(1) && !is_there(2));
    }

    #[tokio::test]
    async fn all_that_is_stored_is_there_and_counts_as_moved() {
        let (dir, shared) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let worker = idle_worker(dir.path());
        let url = shared.path().to_str().unwrap();
        let store = CheckpointStore::open(url, "babylon").await.unwrap();
        let mut values: Vec<[f64; 3]> = (0..9).map(|shard| [f64::from(shard); 3]).collect();
        let parts: Vec<Part<'_>> = (0..)
            .zip(&mut values)
            .map(|(shard, values)| {
                let data = Data::F64(values);
                Part { column: Column::Values, shard, range: 0, data }
            })
            .collect();
        let stop = CancellationToken::new();
        worker.store(&store, name(1), &parts, &stop).await.unwrap();
        let there = store.list(1, STEP.into(), Epoch(1), 1).await.unwrap();
        assert_eq!(there.len(), 9);
        for (part, key) in parts.iter().zip(there) {
            assert!(store.get(key, 1, 8).await.unwrap() == part.data.bytes());
        }
        super::super::lock(&worker.joined).checkpoints = Some((store.clone(), 1));
        assert_eq!((worker.moved_bytes(), store.sent_bytes() > 0), (store.sent_bytes(), true));
        stop.cancel();
        assert!(worker.store(&store, name(2), &parts, &stop).await.is_err());
        assert!(store.list(1, STEP.into(), Epoch(2), 1).await.unwrap().is_empty());
    }
}
