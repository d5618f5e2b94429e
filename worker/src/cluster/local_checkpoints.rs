//! What a worker has saved: parts of steps of any number of jobs, by epoch.
//!
//! All of it is of one cluster. Jobs and epochs are numbers that the coordinator of another cluster gives out, too, so a directory
//! with anything in it stays with its cluster. A coordinator that was restored from a copy gives them out again, too: of what
//! incarnation an epoch is, is written down with it.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    iter,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use bytemuck::{Pod, cast_slice};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tracing::warn;
use ziggurat_encoding::Tier;
use ziggurat_kernel::{Column, Part};
use ziggurat_rpc::new_identity;
use ziggurat_store::{
    Epoch, EpochKey, LEAST_MEMORY_BUDGET_BYTES, Reads, ShardEpoch, ShardKey, StateBatch, Store,
    StoreError, StoreOptions, Value, ValueType,
};

use super::ServeError;
use crate::{
    parts::{self, key},
    state::{lock, put},
};

/// Whose stores they are: those of workers.
const OWNER: u64 = 0x5a49_4757_4f52_4b45;

/// The version of what a worker writes down.
const FORMAT: u32 = 3;

/// The key of [`Identity`] in the store's state.
const IDENTITY: &str = "worker";

/// What a worker's disk says of itself.
#[derive(Serialize, Deserialize)]
struct Identity {
    format: u32,
    /// In hexadecimal digits: JSON has no such numbers.
    worker: String,
    /// The cluster that it belonged to last.
    cluster: Option<String>,
}

/// Names what is saved of a step at once, and nothing else ever.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SaveName {
    pub job: u64,
    pub step: Tier,
    pub epoch: u32,
    /// Of the coordinator that gave the epoch out.
    pub incarnation: u64,
}

/// A job's step.
type JobStep = (u64, (u8, u8));

/// An epoch, and of what incarnation it is.
type JobEpoch = (Epoch, u64);

/// A worker's store.
pub struct LocalCheckpoints {
    store: Store,
    identity: AtomicU64,
    cluster: Mutex<Option<String>>,
    /// What there is, by job, step and epoch.
    held: Mutex<BTreeMap<JobStep, BTreeMap<JobEpoch, Vec<ShardEpoch>>>>,
}

impl LocalCheckpoints {
    /// Opens what is in a directory, or begins there.
    ///
    /// # Errors
    /// If another process has it open, another version made it, or it cannot be written to.
    pub fn open(dir: &Path) -> Result<Self, ServeError> {
        let dir = dir.join("store");
        let options = StoreOptions {
            owner: OWNER,
            memory_budget_bytes: LEAST_MEMORY_BUDGET_BYTES,
            reads: Reads::Direct, // what is read back is read once
        };
        let store = Store::open_or_create(&dir, &options)?;
        if let Some(recovery) = store.recovery() {
            warn!("{}: damaged: {recovery}", dir.display());
        }
        let (identity, cluster) = match store.get_state::<Identity>(IDENTITY)? {
            Some(Identity { format: FORMAT, worker, cluster }) => {
                let identity = u64::from_str_radix(&worker, 16);
                (identity.map_err(|_| ServeError::Identity { dir })?, cluster)
            }
            Some(Identity { format: found, .. }) => {
                return Err(ServeError::OtherFormat { dir, found, known: FORMAT });
            }
            None => {
                let identity = new_identity();
                write_identity(&store, identity, None)?;
                (identity, None)
            }
        };
        // What is gone is to be saved anew, maybe under the same number.
        let mut missing: BTreeMap<Epoch, Vec<ShardKey>> = BTreeMap::new();
        for EpochKey { shard, epoch } in store.missing_epochs()? {
            missing.entry(epoch).or_default().push(shard);
        }
        missing.iter().try_for_each(|(&epoch, shards)| store.drop_epochs(shards, epoch..=epoch))?;
        let mut held: BTreeMap<_, BTreeMap<_, Vec<_>>> = BTreeMap::new();
        let mut incarnations = HashMap::new();
        for epoch in store.epochs()? {
            let ShardKey { job, tier, .. } = epoch.key.shard;
            let incarnation = match incarnations.entry((job, tier, epoch.key.epoch)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(unknown) => {
                    let written =
                        store.get_state(&incarnation_key((job, tier), epoch.key.epoch))?;
                    *unknown.insert(written.unwrap_or(0)) // that of no coordinator
                }
            };
            let name = (epoch.key.epoch, incarnation);
            held.entry((job, tier)).or_default().entry(name).or_default().push(epoch);
        }
        let (identity, cluster) = (AtomicU64::new(identity), Mutex::new(cluster));
        Ok(Self { store, identity, cluster, held: Mutex::new(held) })
    }

    /// Makes it a cluster's, if it was no other's or there is nothing on it. Where it was another's, the worker gets another identity.
    ///
    /// # Errors
    /// If it is another's, or the store fails.
    pub fn belong_to(&self, cluster: &str) -> Result<(), NotIts> {
        let mut before = lock(&self.cluster);
        if before.as_deref() == Some(cluster) {
            return Ok(());
        }
        if let Some(before) = before.as_ref().filter(|_| !self.is_empty()) {
            return Err(NotIts::Other(before.clone()));
        }
        // What could not be dropped is nobody's any more.
        for epoch in self.store.epochs()? {
            let only = epoch.key.epoch..=epoch.key.epoch;
            self.store.drop_epochs(&[epoch.key.shard], only)?;
        }
        // Nobody of the cluster before is to take it for the worker that had its values.
        let identity = if before.is_some() { new_identity() } else { self.identity() };
        write_identity(&self.store, identity, Some(cluster))?;
        self.identity.store(identity, Relaxed);
        *before = Some(cluster.to_owned());
        Ok(())
    }

    fn is_empty(&self) -> bool {
        lock(&self.held).values().all(BTreeMap::is_empty)
    }

    /// The worker's identity, which its disk keeps.
    pub fn identity(&self) -> u64 {
        self.identity.load(Relaxed)
    }

    /// Bytes that can still be written; `None` if the file system does not tell.
    pub fn free_bytes(&self) -> Option<u64> {
        self.store.free_bytes()
    }

    /// Bytes that the store has read since it was opened.
    pub fn read_bytes(&self) -> u64 {
        self.store.read_bytes()
    }

    /// Bytes that the store has written since it was opened.
    pub fn written_bytes(&self) -> u64 {
        self.store.written_bytes()
    }

    /// Writes parts of a step down, all or nothing, and tells of the bytes of each.
    ///
    /// # Errors
    /// If there is no space for them, or the store fails.
    pub fn save(
        &self,
        name: SaveName,
        parts: Vec<Part<'_>>,
        wrote: impl Fn(usize) + Sync,
    ) -> Result<(), StoreError> {
        let SaveName { job, step, epoch, incarnation } = name;
        let (of_step, epoch) = ((job, step.into()), Epoch(epoch));
        let sealed = parts::write(&self.store, job, step, epoch, parts, wrote)?;
        let mut batch = StateBatch::new();
        put(&mut batch, &incarnation_key(of_step, epoch), &incarnation);
        let saved = self.store.checkpoint(sealed, batch)?;
        lock(&self.held).entry(of_step).or_default().insert((epoch, incarnation), saved);
        Ok(())
    }

    /// Reads a part of a step that was [found](Self::find).
    ///
    /// # Errors
    /// If it is not there, or damaged.
    pub fn load(&self, name: SaveName, part: Part<'_>) -> Result<(), StoreError> {
        let SaveName { job, step, epoch, .. } = name;
        let Part { column, shard, range, data } = part;
        parts::read(&self.store, key(job, step, column, shard, range), Epoch(epoch), data)
    }

    /// A range of a shard as it was saved, if it is there.
    pub fn find(
        &self,
        name: SaveName,
        column: Column,
        (shard, range): (u32, u8),
    ) -> Option<ShardEpoch> {
        let SaveName { job, step, epoch, incarnation } = name;
        let wanted = key(job, step, column, shard, range).at(Epoch(epoch));
        let held = lock(&self.held);
        let of_epoch = held.get(&(job, step.into()))?.get(&(wanted.epoch, incarnation))?;
        of_epoch.iter().find(|found| found.key == wanted).copied()
    }

    /// All that was saved under a name.
    pub fn saved(&self, name: SaveName) -> Vec<ShardEpoch> {
        let SaveName { job, step, epoch, incarnation } = name;
        let held = lock(&self.held);
        let of_step = held.get(&(job, step.into()));
        let of_epoch = of_step.and_then(|epochs| epochs.get(&(Epoch(epoch), incarnation)));
        of_epoch.cloned().unwrap_or_default()
    }

    /// So many numbers of a range of a shard, from a place on, little-endian. What was found before may be gone, and another
    /// have its number: if it is still found afterwards, it was read.
    ///
    /// # Errors
    /// If they are damaged.
    pub fn read(&self, from: &ShardEpoch, start: u64, count: usize) -> Result<Bytes, StoreError> {
        match from.value_type {
            ValueType::F32 => self.read_values::<f32>(from, start, count),
            ValueType::F64 => self.read_values::<f64>(from, start, count),
            ValueType::I8 => self.read_values::<i8>(from, start, count),
            ValueType::U16 => self.read_values::<u16>(from, start, count),
        }
    }

    fn read_values<V: Value + Pod + Send>(
        &self,
        from: &ShardEpoch,
        start: u64,
        count: usize,
    ) -> Result<Bytes, StoreError> {
        let mut values = vec![V::zeroed(); count];
        self.store.read(from, start, &mut values)?;
        Ok(Bytes::from_owner(Numbers(values)))
    }

    /// Drops the epochs of a step before one, but for the one of a number and an incarnation.
    ///
    /// # Errors
    /// If the store fails.
    pub fn drop_before(
        &self,
        job: u64,
        step: Tier,
        epoch: u32,
        kept: Option<(u32, u64)>,
    ) -> Result<(), StoreError> {
        let name = (job, step.into());
        let dropped = match lock(&self.held).get_mut(&name) {
            Some(epochs) => {
                let later = epochs.split_off(&(Epoch(epoch), 0));
                let mut earlier = std::mem::replace(epochs, later);
                let kept = kept.map(|(epoch, incarnation)| (Epoch(epoch), incarnation));
                epochs.extend(kept.and_then(|kept| earlier.remove_entry(&kept)));
                earlier
            }
            None => return Ok(()),
        };
        self.drop_epochs(name, dropped)
    }

    /// Drops the epochs of a step after one: those of earlier attempts, which came to nothing.
    ///
    /// # Errors
    /// If the store fails.
    pub fn drop_after(&self, job: u64, step: Tier, epoch: u32) -> Result<(), StoreError> {
        let name = (job, step.into());
        let later = lock(&self.held)
            .get_mut(&name)
            .map_or_else(BTreeMap::new, |epochs| epochs.split_off(&(Epoch(epoch + 1), 0)));
        self.drop_epochs(name, later)
    }

    /// Drops everything but some of what was saved.
    ///
    /// # Errors
    /// If the store fails.
    pub fn retain(&self, is_kept: impl Fn(SaveName) -> bool) -> Result<(), StoreError> {
        let mut dropped = Vec::new();
        lock(&self.held).retain(|&(job, (n, m)), epochs| {
            let step = Tier::new(n, m);
            let all = std::mem::take(epochs).into_iter();
            let (kept, gone) = all.partition(|&((Epoch(epoch), incarnation), _)| {
                is_kept(SaveName { job, step, epoch, incarnation })
            });
            *epochs = kept;
            dropped.push(((job, (n, m)), gone));
            !epochs.is_empty()
        });
        let dropped =
            dropped.into_iter().map(|(of_step, epochs)| self.drop_epochs(of_step, epochs));
        // One that cannot be dropped keeps no other.
        dropped.fold(Ok(()), Result::and)
    }

    fn drop_epochs(
        &self,
        of_step: JobStep,
        epochs: BTreeMap<JobEpoch, Vec<ShardEpoch>>,
    ) -> Result<(), StoreError> {
        let mut left = epochs.into_iter();
        while let Some((name, saved)) = left.next() {
            let (epoch, _) = name;
            let shards: Vec<ShardKey> = saved.iter().map(|saved| saved.key.shard).collect();
            let mut batch = StateBatch::new();
            batch.delete(&incarnation_key(of_step, epoch));
            if let Err(error) = self.store.drop_epochs_with(&shards, epoch..=epoch, batch) {
                // They are still there, and to be dropped the next time.
                let rest = iter::once((name, saved)).chain(left);
                lock(&self.held).entry(of_step).or_default().extend(rest);
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Numbers as bytes.
struct Numbers<V>(Vec<V>);

impl<V: Pod> AsRef<[u8]> for Numbers<V> {
    fn as_ref(&self) -> &[u8] {
        cast_slice(&self.0)
    }
}

/// Why a worker's checkpoints cannot become a cluster's.
#[derive(Debug)]
pub enum NotIts {
    /// It has what was saved for this cluster.
    Other(String),
    /// The store failed.
    Failed(StoreError),
}

impl From<StoreError> for NotIts {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

fn write_identity(store: &Store, worker: u64, cluster: Option<&str>) -> Result<(), StoreError> {
    let (worker, cluster) = (format!("{worker:016x}"), cluster.map(str::to_owned));
    let mut batch = StateBatch::new();
    put(&mut batch, IDENTITY, &Identity { format: FORMAT, worker, cluster });
    store.put_state(batch)
}

/// Where the store's state says of what incarnation an epoch is.
fn incarnation_key((job, (n, m)): JobStep, Epoch(epoch): Epoch) -> String {
    format!("incarnations/{job}/{n}-{m}/{epoch}")
}

#[cfg(test)]
mod tests {
    use ziggurat_encoding::Tier;
    use ziggurat_kernel::Data;

    use super::*;

    const STEP: Tier = Tier { just_moved: 2, to_move: 1 };

    fn name(job: u64, epoch: u32) -> SaveName {
        SaveName { job, step: STEP, epoch, incarnation: 7 }
    }

    fn save(checkpoints: &LocalCheckpoints, name: SaveName) {
        let data = Data::F64(&mut [0.25; 3]);
        let part = Part { column: Column::Values, shard: 0, range: 0, data };
        checkpoints.save(name, vec![part], |_| {}).unwrap();
    }

    fn has(checkpoints: &LocalCheckpoints, name: SaveName) -> bool {
        checkpoints.find(name, Column::Values, (0, 0)).is_some()
    }

    /// Which of some epochs of jobs are there.
    fn there(checkpoints: &LocalCheckpoints, epochs: [(u64, u32); 4]) -> [bool; 4] {
        epochs.map(|(job, epoch)| has(checkpoints, name(job, epoch)))
    }

    #[test]
    fn what_was_saved_for_a_cluster_is_neither_used_nor_dropped_for_another() {
        let dir = tempfile::tempdir().unwrap();
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        let identity = checkpoints.identity();
        checkpoints.belong_to("one").unwrap();
        assert_eq!(checkpoints.identity(), identity);
        save(&checkpoints, name(1, 1));
        assert!(matches!(checkpoints.belong_to("two"), Err(NotIts::Other(of)) if of == "one"));
        drop(checkpoints);
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        assert!(matches!(checkpoints.belong_to("two"), Err(NotIts::Other(of)) if of == "one"));
        checkpoints.belong_to("one").unwrap();
        assert!(has(&checkpoints, name(1, 1)) && checkpoints.identity() == identity);

        checkpoints.retain(|_| false).unwrap();
        checkpoints.belong_to("two").unwrap();
        assert!(!has(&checkpoints, name(1, 1)));
        assert_ne!(checkpoints.identity(), identity);
        save(&checkpoints, name(1, 1));
        assert!(matches!(checkpoints.belong_to("one"), Err(NotIts::Other(of)) if of == "two"));
    }

    #[test]
    fn what_another_version_saved_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        let mut batch = StateBatch::new();
        let (worker, cluster) = ("0".repeat(16), None);
        put(&mut batch, IDENTITY, &Identity { format: FORMAT - 1, worker, cluster });
        checkpoints.store.put_state(batch).unwrap();
        drop(checkpoints);
        let refused = LocalCheckpoints::open(dir.path()).map(drop).unwrap_err();
        assert!(matches!(refused, ServeError::OtherFormat { found, .. } if found == FORMAT - 1));
    }

    #[test]
    fn what_is_gone_can_be_saved_anew() {
        let dir = tempfile::tempdir().unwrap();
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        save(&checkpoints, name(1, 1));
        drop(checkpoints);
        std::fs::remove_dir_all(dir.path().join("store/values")).unwrap();
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        assert!(!has(&checkpoints, name(1, 1)));
        save(&checkpoints, name(1, 1));
        assert!(has(&checkpoints, name(1, 1)));
    }

    #[test]
    fn what_is_not_wanted_is_dropped_epoch_by_epoch_and_can_be_saved_anew() {
        let dir = tempfile::tempdir().unwrap();
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        let epochs = [(1, 1), (1, 2), (1, 3), (2, 2)];
        for (job, epoch) in epochs {
            save(&checkpoints, name(job, epoch));
        }
        checkpoints.retain(|save| save == name(1, 2)).unwrap();
        assert_eq!(there(&checkpoints, epochs), [false, true, false, false]);
        save(&checkpoints, name(1, 3));
        drop(checkpoints);
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        assert_eq!(there(&checkpoints, epochs), [false, true, true, false]);
    }

    #[test]
    fn what_came_before_a_checkpoint_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        let epochs = [(1, 1), (1, 2), (1, 3), (2, 1)];
        for (job, epoch) in epochs {
            save(&checkpoints, name(job, epoch));
        }
        // One may be kept; it is not taken for that of another incarnation.
        checkpoints.drop_before(1, STEP, 2, Some((1, 7))).unwrap();
        checkpoints.drop_before(1, STEP.swap(), 9, None).unwrap();
        assert_eq!(there(&checkpoints, epochs), [true; 4]);
        checkpoints.drop_before(1, STEP, 2, Some((1, 8))).unwrap();
        assert_eq!(there(&checkpoints, epochs), [false, true, true, true]);
        drop(checkpoints);
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        assert_eq!(there(&checkpoints, epochs), [false, true, true, true]);
    }

    #[test]
    fn what_came_after_the_checkpoint_that_counts_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        let epochs = [(1, 1), (1, 2), (1, 3), (2, 3)];
        for (job, epoch) in epochs {
            save(&checkpoints, name(job, epoch));
        }
        checkpoints.drop_after(1, STEP, 2).unwrap();
        checkpoints.drop_after(1, STEP.swap(), 0).unwrap();
        assert_eq!(there(&checkpoints, epochs), [true, true, false, true]);
    }

    #[test]
    fn an_epoch_is_not_taken_for_that_of_another_incarnation() {
        let dir = tempfile::tempdir().unwrap();
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        let (before, again) = (name(1, 2), SaveName { incarnation: 8, ..name(1, 2) });
        save(&checkpoints, before);
        assert!(has(&checkpoints, before) && !has(&checkpoints, again));
        drop(checkpoints);
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        assert!(has(&checkpoints, before) && !has(&checkpoints, again));
        checkpoints.retain(|save| save == again).unwrap();
        assert!(!has(&checkpoints, before));
        save(&checkpoints, again);
        drop(checkpoints);
        let checkpoints = LocalCheckpoints::open(dir.path()).unwrap();
        assert!(has(&checkpoints, again) && !has(&checkpoints, before));
    }
}
