//! Writing a worker's part of a checkpoint down: on this disk, and from there in the checkpoint store if there is one.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use thiserror::Error;
use tokio::{
    runtime::Handle,
    sync::mpsc,
    task::{JoinHandle, spawn_blocking},
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use ziggurat_checkpoints::{CheckpointError, CheckpointStore, Numbers};
use ziggurat_kernel::{Part, StepStoreError};
use ziggurat_rpc::{
    convert::Failure,
    proto::{FromWorker, Stored, from_worker::Message},
};
use ziggurat_store::{ShardEpoch, StoreError};

use super::{
    Worker,
    failure::{cancelled, not_saved, unable},
    local_checkpoints::SaveName,
    tenure::held,
};

/// Numbers that are on their way to the checkpoint store at the same time, in bytes: as many as one range of a shard of
/// the default size has.
const ROOM_BYTES: u32 = 32 << 20;

/// Memory that a worker takes for that, with what is written of them.
pub const STORING_MEMORY_BYTES: u64 = 2 * ROOM_BYTES as u64;

/// Why something that was saved is not in the checkpoint store.
#[derive(Debug, Error)]
enum NotStored {
    /// This disk does not give it.
    #[error(transparent)]
    Unread(#[from] StoreError),
    /// The store does not take it.
    #[error(transparent)]
    Refused(#[from] CheckpointError),
}

impl Worker {
    /// Writes parts down on this disk, unless the attempt is over before.
    pub(super) fn save(
        &self,
        name: SaveName,
        parts: Vec<Part<'_>>,
        stop: &CancellationToken,
    ) -> Result<(), StepStoreError> {
        let checkpoints = &self.local_checkpoints;
        let failed = |error: StoreError| not_saved(unable(error.to_string()));
        checkpoints.save(name, parts, |bytes| self.moved.add(bytes)).map_err(failed)?;
        if stop.is_cancelled() {
            // Nobody wants it, and the job may be forgotten already.
            self.unsave(name)?;
            return Err(not_saved(cancelled()));
        }
        info!(epoch = name.epoch, "saved");
        Ok(())
    }

    /// Drops what was saved.
    pub(super) fn unsave(&self, name: SaveName) -> Result<(), StepStoreError> {
        let dropped = self.local_checkpoints.retain(|save| save != name);
        dropped.map_err(|error| not_saved(unable(error.to_string())))
    }

    /// Puts what was saved on this disk into the checkpoint store, several parts at a time, unless that is called off.
    pub(super) async fn store(
        self: &Arc<Self>,
        store: &CheckpointStore,
        name: SaveName,
        stop: &CancellationToken,
    ) -> Result<(), Failure> {
        if stop.run_until_cancelled(held(self.standing())).await != Some(true) {
            return Err(cancelled());
        }
        let saved = self.local_checkpoints.saved(name);
        let wanted = saved.into_iter().take_while(|_| !stop.is_cancelled());
        let wanted = wanted.map(|found| {
            let width = found.value_type.bytes();
            let bytes = found.values as usize * width;
            Numbers { key: found.key, width, bytes, read: self.clone().read(found) }
        });
        let stored = store.put_all(name.incarnation, wanted, ROOM_BYTES).await;
        if stop.is_cancelled() {
            return Err(cancelled());
        }
        stored.map_err(|error: NotStored| unable(error.to_string()))
    }

    /// A range of a shard that was saved on this disk.
    async fn read(self: Arc<Self>, found: ShardEpoch) -> Result<bytes::Bytes, NotStored> {
        let read = move || self.local_checkpoints.read(&found, 0, found.values as usize);
        let read = spawn_blocking(read).await.expect("reading does not panic");
        read.map_err(NotStored::from)
    }
}

/// The saves of an attempt: how they get to the checkpoint store.
pub struct Saves {
    worker: Arc<Worker>,
    runtime: Handle,
    /// The attempt, to the coordinator.
    attempt: u32,
    reports: mpsc::Sender<FromWorker>,
    /// Whether it is over.
    stop: CancellationToken,
    /// The last checkpoint of the step that counts.
    committed: Arc<AtomicU32>,
    /// The one that was to be stored while sweeps go on.
    behind: Option<Behind>,
}

/// A checkpoint on its way to the checkpoint store.
struct Behind {
    name: SaveName,
    stop: CancellationToken,
    storing: JoinHandle<()>,
}

impl Saves {
    /// Those of an attempt.
    pub fn of(
        worker: Arc<Worker>,
        attempt: u32,
        reports: mpsc::Sender<FromWorker>,
        stop: CancellationToken,
        committed: Arc<AtomicU32>,
    ) -> Self {
        Self { worker, runtime: Handle::current(), attempt, reports, stop, committed, behind: None }
    }

    /// Writes parts down on this disk, and in the checkpoint store if there is one: before this returns, or if it may be,
    /// behind what comes next.
    pub fn save(
        &mut self,
        name: SaveName,
        parts: Vec<Part<'_>>,
        may_be_behind: bool,
    ) -> Result<(), StepStoreError> {
        // There is room for two: the one that counts, and the next.
        if let Some(before) = self.end()
            && self.committed.load(Relaxed) < before.epoch
        {
            self.worker.unsave(before)?;
        }
        self.worker.save(name, parts, &self.stop)?;
        let Some(store) = self.worker.checkpoints() else { return Ok(()) };
        if may_be_behind {
            self.begin(store, name);
            return Ok(());
        }
        let stored = self.runtime.block_on(self.worker.store(&store, name, &self.stop));
        stored.map_err(|failure| match self.worker.unsave(name) {
            Ok(()) => not_saved(failure),
            Err(error) => error,
        })
    }

    /// Begins to put what was saved into the store, and to tell the coordinator once it is there.
    fn begin(&mut self, store: CheckpointStore, name: SaveName) {
        let (worker, reports, attempt) = (self.worker.clone(), self.reports.clone(), self.attempt);
        let stop = self.stop.child_token();
        let until = stop.clone();
        let storing = self.runtime.spawn(async move {
            let stored = worker.store(&store, name, &until).await;
            if until.is_cancelled() {
                return;
            }
            let SaveName { job, step, epoch, .. } = name;
            let failure = match stored {
                Ok(()) => {
                    info!(job, %step, epoch, "stored");
                    String::new()
                }
                Err(failure) => {
                    warn!(job, %step, epoch, "cannot store: {}", failure.message);
                    worker.count_failure(&failure);
                    failure.message
                }
            };
            let stored = Stored { job, step: Some(step.into()), attempt, epoch, failure };
            let message = FromWorker { message: Some(Message::Stored(stored)) };
            drop(reports.send(message).await); // a session that has ended wants to know nothing
        });
        self.behind = Some(Behind { name, stop, storing });
    }

    /// Ends the storing of the last checkpoint that is stored behind sweeps, unless it is done. Which that is.
    pub fn end(&mut self) -> Option<SaveName> {
        let Behind { name, stop, storing } = self.behind.take()?;
        stop.cancel();
        // What is under way comes to its end: no two checkpoints take memory at a time, and nothing is stored when all is over.
        drop(self.runtime.block_on(storing));
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ziggurat_checkpoints::Holder;
    use ziggurat_encoding::Tier;
    use ziggurat_kernel::{Column, Data};
    use ziggurat_store::Epoch;

    use super::{
        super::{lock, tenure::Tenure, tests::idle_worker},
        *,
    };

    const STEP: Tier = Tier { just_moved: 2, to_move: 1 };
    const VALUES: [f64; 3] = [0.25; 3];

    fn name(epoch: u32) -> SaveName {
        SaveName { job: 1, step: STEP, epoch, incarnation: 1 }
    }

    /// Three numbers of each of some shards.
    fn parts(values: &mut [[f64; 3]]) -> Vec<Part<'_>> {
        let part = |(shard, values): (u32, _)| {
            let values: &mut [f64; 3] = values;
            let data = Data::F64(values);
            Part { column: Column::Values, shard, range: 0, data }
        };
        (0..).zip(values).map(part).collect()
    }

    fn is_there(worker: &Worker, epoch: u32) -> bool {
        worker.local_checkpoints.find(name(epoch), Column::Values, (0, 0)).is_some()
    }

    /// How many shards of an epoch are in a store.
    async fn stored(store: &CheckpointStore, epoch: u32) -> usize {
        store.list(1, STEP.into(), Epoch(epoch), 1).await.unwrap().len()
    }

    /// A worker with a store, which it holds in the name of the coordinator of this incarnation.
    async fn with_store(dir: &std::path::Path, incarnation: u64) -> (Arc<Worker>, CheckpointStore) {
        let worker = idle_worker(&dir.join("worker"));
        let url = dir.join("store");
        std::fs::create_dir_all(&url).unwrap();
        let store = CheckpointStore::open(url.to_str().unwrap(), "babylon").await.unwrap();
        lock(&worker.joined).checkpoints = Some((store.clone(), 1));
        let holder = Holder { incarnation, coordinator: "127.0.0.1:1".to_owned() };
        let tenure = Tenure::begin(store.clone(), holder, Duration::from_secs(10));
        *lock(&worker.tenure) = Some(tenure);
        (worker, store)
    }

    /// The saves of an attempt, what is told of them, and what says which count.
    fn saves(worker: &Arc<Worker>) -> (Saves, mpsc::Receiver<FromWorker>, Arc<AtomicU32>) {
        let (reports, told) = mpsc::channel(8);
        let committed = Arc::new(AtomicU32::new(0));
        let stop = CancellationToken::new();
        let saves = Saves::of(worker.clone(), 5, reports, stop, committed.clone());
        (saves, told, committed)
    }

    /// Saves as the thread of an attempt does, which is none of those that wait for the network.
    async fn save(saves: Saves, epoch: u32, may_be_behind: bool) -> (Saves, bool) {
        let save = move || {
            let mut saves = saves;
            let saved = saves.save(name(epoch), parts(&mut [VALUES; 9]), may_be_behind);
            (saves, saved.is_ok())
        };
        spawn_blocking(save).await.unwrap()
    }

    async fn end(mut saves: Saves) {
        spawn_blocking(move || saves.end()).await.unwrap();
    }

    #[tokio::test]
    async fn what_nobody_wants_any_more_when_it_is_saved_is_dropped_again() {
        let dir = tempfile::tempdir().unwrap();
        let (worker, stop) = (idle_worker(dir.path()), CancellationToken::new());
        worker.save(name(1), parts(&mut [VALUES]), &stop).unwrap();
        assert_eq!(worker.moved_bytes(), 24);
        stop.cancel();
        assert!(worker.save(name(2), parts(&mut [VALUES]), &stop).is_err());
        assert!(is_there(&worker, 1) && !is_there(&worker, 2));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn all_that_is_stored_is_there_and_counts_as_moved() {
        let dir = tempfile::tempdir().unwrap();
        let (worker, store) = with_store(dir.path(), 1).await;
        let stop = CancellationToken::new();
        let mut values: Vec<[f64; 3]> = (0..9).map(|shard| [f64::from(shard); 3]).collect();
        worker.save(name(1), parts(&mut values.clone()), &stop).unwrap();
        let before = worker.moved_bytes();
        worker.store(&store, name(1), &stop).await.unwrap();
        let there = store.list(1, STEP.into(), Epoch(1), 1).await.unwrap();
        assert_eq!(there.len(), 9);
        for (part, key) in parts(&mut values).iter().zip(there) {
            assert!(store.get(key, 1, 8).await.unwrap() == part.data.bytes());
        }
        let sent = worker.moved_bytes() - before;
        assert_eq!((sent, sent > 0), (store.sent_bytes(), true));
        worker.save(name(2), parts(&mut values), &stop).unwrap();
        stop.cancel();
        assert!(worker.store(&store, name(2), &stop).await.is_err());
        assert_eq!(stored(&store, 2).await, 0);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_stored_behind_sweeps_is_told_once_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let (worker, store) = with_store(dir.path(), 1).await;
        let (saves, mut told, _) = saves(&worker);
        let (saves, is_saved) = save(saves, 3, true).await;
        assert!(is_saved && is_there(&worker, 3));
        let Some(Message::Stored(said)) = told.recv().await.unwrap().message else {
            panic!("it says something else");
        };
        let failure = String::new();
        let step = Some(STEP.into());
        assert_eq!(said, Stored { job: 1, step, attempt: 5, epoch: 3, failure });
        assert_eq!(stored(&store, 3).await, 9);
        // What is to be there before sweeps go on is, and nothing is told of it but the answer.
        let (saves, is_saved) = save(saves, 4, false).await;
        assert!(is_saved);
        assert_eq!(stored(&store, 4).await, 9);
        end(saves).await;
        assert!(told.recv().await.is_none());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_not_stored_when_the_next_is_saved_is_called_off_and_dropped_unless_it_counts()
    {
        let dir = tempfile::tempdir().unwrap();
        let (holds, _) = with_store(dir.path(), 1).await;
        assert!(held(holds.standing()).await);
        // Another coordinator's worker waits for the store, and would for long.
        std::fs::create_dir(dir.path().join("other")).unwrap();
        let other = idle_worker(&dir.path().join("other"));
        lock(&other.joined).checkpoints = lock(&holds.joined).checkpoints.clone();
        let (store, _) = lock(&holds.joined).checkpoints.clone().unwrap();
        let holder = Holder { incarnation: 2, coordinator: "127.0.0.1:2".to_owned() };
        *lock(&other.tenure) = Some(Tenure::begin(store.clone(), holder, Duration::from_secs(10)));
        let (saves, mut told, committed) = saves(&other);
        let (saves, _) = save(saves, 1, true).await;
        let (saves, is_saved) = save(saves, 2, true).await;
        assert!(is_saved && !is_there(&other, 1) && is_there(&other, 2));
        committed.store(2, Relaxed);
        let (saves, is_saved) = save(saves, 3, true).await;
        assert!(is_saved && is_there(&other, 2) && is_there(&other, 3));
        end(saves).await;
        assert!(told.recv().await.is_none());
        for epoch in 1..=3 {
            assert_eq!(stored(&store, epoch).await, 0);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_cannot_be_stored_behind_sweeps_is_told_and_ends_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (worker, store) = with_store(dir.path(), 1).await;
        // What the store has under that name is something else.
        let (saves, mut told, _) = saves(&worker);
        let others = bytes::Bytes::from(vec![1; 24]);
        let key = crate::parts::key(1, STEP, Column::Values, 4, 0).at(Epoch(1));
        store.put(key, 1, 8, others).await.unwrap();
        let (saves, is_saved) = save(saves, 1, true).await;
        assert!(is_saved && is_there(&worker, 1));
        let Some(Message::Stored(said)) = told.recv().await.unwrap().message else {
            panic!("it says something else");
        };
        assert!(said.failure.contains("other"), "{}", said.failure);
        // Where it is waited for, the save has failed, and nothing of it is left here.
        let key = crate::parts::key(1, STEP, Column::Values, 4, 0).at(Epoch(2));
        store.put(key, 1, 8, bytes::Bytes::from(vec![1; 24])).await.unwrap();
        let (saves, is_saved) = save(saves, 2, false).await;
        assert!(!is_saved && !is_there(&worker, 2));
        end(saves).await;
    }
}
