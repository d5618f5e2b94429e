//! Which epochs count: taking them into the store, committing and dropping them.

use std::{
    collections::{HashMap, HashSet},
    fs,
    ops::{Bound, RangeBounds},
    path::Path,
};

use crate::{
    Epoch, EpochKey, EpochWriter, SealedEpoch, ShardEpoch, ShardKey, StateBatch, Store, StoreError,
    Value, failpoint::failpoint,
};

impl Store {
    /// Starts writing a shard at an epoch. An uncommitted one that was written before is replaced
    /// when this one is ingested.
    ///
    /// # Errors
    /// If the epoch is committed.
    pub fn begin_epoch<V: Value>(&self, epoch: EpochKey) -> Result<EpochWriter<'_, V>, StoreError> {
        self.refuse_committed(epoch)?;
        Ok(EpochWriter::new(self, epoch))
    }

    /// Writes all values of a shard at an epoch, for [`Store::checkpoint`] or [`Store::ingest`] to
    /// take in. Compresses on the calling thread and waits for the disk: to be called from many
    /// threads at a time.
    ///
    /// # Errors
    /// If the epoch is committed, or the disk is full.
    pub fn write_epoch<V: Value>(
        &self,
        epoch: EpochKey,
        values: &[V],
    ) -> Result<SealedEpoch, StoreError> {
        let mut writer = self.begin_epoch(epoch)?;
        writer.append(values)?;
        writer.seal()
    }

    /// Takes sealed epochs into the store, commits them, and makes the changes of `batch`:
    /// [`Store::ingest`] and [`Store::commit`]. However many there are, the disk is waited for a few
    /// times only.
    ///
    /// # Errors
    /// If one is committed already, or the disk is full.
    pub fn checkpoint(
        &self,
        sealed: Vec<SealedEpoch>,
        batch: StateBatch,
    ) -> Result<Vec<ShardEpoch>, StoreError> {
        let epochs = self.ingest(sealed)?;
        self.commit(&epochs, batch)?;
        Ok(epochs)
    }

    fn refuse_committed(&self, epoch: EpochKey) -> Result<(), StoreError> {
        match self.state().epoch(epoch)? {
            Some(_) => Err(StoreError::Committed { epoch }),
            None => Ok(()),
        }
    }

    /// Takes sealed epochs into the store. From now on they can be read. Best called with many:
    /// RocksDB writes and syncs its manifest only a few times per call.
    ///
    /// # Errors
    /// If one is committed already, or the disk is full. Then some may have been taken in; they are
    /// replaced when they are written again, and gone when the store is opened again.
    pub fn ingest(&self, sealed: Vec<SealedEpoch>) -> Result<Vec<ShardEpoch>, StoreError> {
        failpoint!("store::before-ingest", self.dir());
        let epochs: Vec<_> = sealed.iter().map(SealedEpoch::epoch).collect();
        epochs.iter().try_for_each(|epoch| self.refuse_committed(epoch.key))?;
        let keys = epochs.iter().map(|epoch| epoch.key);
        let replaced: HashSet<_> = keys.filter(|&key| self.values().has(key)).collect();
        if !replaced.is_empty() {
            self.values().drop_files(|key| replaced.contains(&key))?;
        }
        let files: Vec<&Path> = sealed
            .iter()
            .filter_map(|sealed| sealed.file.as_ref())
            .map(|file| file.path())
            .collect();
        if files.is_empty() {
            return Ok(epochs);
        }
        let mut file_bytes = 0;
        for file in &files {
            let metadata = fs::metadata(file).map_err(StoreError::io(file, "find"))?;
            file_bytes += metadata.len();
        }
        self.values()
            .ingest_many(&files)
            .map_err(StoreError::rocksdb(self.values().dir(), "take values into"))?;
        let pages = sealed.iter().map(|sealed| (sealed.epoch.pages(), sealed.page_bytes));
        self.counters().wrote(pages, file_bytes);
        Ok(epochs)
    }

    /// Commits epochs that were ingested, and makes the changes of `batch`: all of it or nothing,
    /// durable when this returns. Earlier epochs stay until they are
    /// [dropped](Store::drop_epochs).
    ///
    /// # Errors
    /// If one is not there, or the disk is full.
    pub fn commit(&self, epochs: &[ShardEpoch], mut batch: StateBatch) -> Result<(), StoreError> {
        failpoint!("store::before-commit", self.dir());
        if let Some(epoch) = self.first_without_file(epochs)? {
            return Err(StoreError::NotWritten { epoch });
        }
        epochs.iter().for_each(|epoch| batch.commit(epoch));
        self.state().write(batch)
    }

    /// Drops epochs of shards, committed or not, and gives back their disk space: `..epoch` all
    /// before one, `..` all, `epoch..=epoch` one that is damaged. Best called with many shards; the
    /// disk is waited for once for all epochs of a tier that are dropped whole.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub fn drop_epochs(
        &self,
        shards: &[ShardKey],
        epochs: impl RangeBounds<Epoch>,
    ) -> Result<(), StoreError> {
        self.drop_epochs_with(shards, epochs, StateBatch::new())
    }

    /// [`Store::drop_epochs`], and makes the changes of `batch`, all at once.
    ///
    /// # Errors
    /// If the state cannot be written: then nothing is dropped.
    pub fn drop_epochs_with(
        &self,
        shards: &[ShardKey],
        epochs: impl RangeBounds<Epoch>,
        mut batch: StateBatch,
    ) -> Result<(), StoreError> {
        let first = match epochs.start_bound() {
            Bound::Included(&epoch) => Some(epoch.0),
            Bound::Excluded(&epoch) => epoch.0.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let last = match epochs.end_bound() {
            Bound::Included(&epoch) => Some(epoch.0),
            Bound::Excluded(&epoch) => epoch.0.checked_sub(1),
            Bound::Unbounded => Some(u32::MAX),
        };
        let (Some(first), Some(last)) = (first, last) else { return self.state().write(batch) };
        let (first, last) = (Epoch(first), Epoch(last));
        if first > last {
            return self.state().write(batch);
        }
        let shards: HashSet<_> = shards.iter().copied().collect();
        let is_dropped =
            |key: EpochKey| (first..=last).contains(&key.epoch) && shards.contains(&key.shard);
        // First they no longer count, then their files go: never the other way round.
        for epoch in self.epochs()?.iter().filter(|epoch| is_dropped(epoch.key)) {
            batch.uncommit(epoch.key);
        }
        self.state().write(batch)?;
        failpoint!("store::before-drop", self.dir());
        self.values().drop_files(is_dropped)
    }

    /// The committed epochs of a shard, earliest first. Goes through [all](Store::epochs), which is
    /// what to ask for where there are many shards.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn epochs_of(&self, shard: ShardKey) -> Result<Vec<ShardEpoch>, StoreError> {
        let mut epochs = self.epochs()?;
        epochs.retain(|epoch| epoch.key.shard == shard);
        Ok(epochs)
    }

    /// All committed epochs, by job, tier, epoch and then shard.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn epochs(&self) -> Result<Vec<ShardEpoch>, StoreError> {
        self.state().epochs()
    }

    /// The committed epochs that are not there, since a file was lost or cut short: as damaged as
    /// those that cannot be [verified](Store::verify), but found without reading them.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn missing_epochs(&self) -> Result<Vec<EpochKey>, StoreError> {
        let files = self.pages_of_files()?;
        let missing = |epoch: &ShardEpoch| files.get(&epoch.key).copied() != Some(epoch.pages());
        let epochs = self.state().epochs()?.into_iter();
        Ok(epochs
            .filter(|epoch| epoch.pages() > 0 && missing(epoch))
            .map(|epoch| epoch.key)
            .collect())
    }

    fn first_without_file(&self, epochs: &[ShardEpoch]) -> Result<Option<EpochKey>, StoreError> {
        if epochs.is_empty() {
            return Ok(None);
        }
        let files = self.pages_of_files()?;
        let missing = epochs
            .iter()
            .find(|epoch| files.get(&epoch.key).copied().unwrap_or(0) != epoch.pages());
        Ok(missing.map(|epoch| epoch.key))
    }

    fn pages_of_files(&self) -> Result<HashMap<EpochKey, u64>, StoreError> {
        Ok(self.values().files()?.into_iter().map(|file| (file.epoch, file.pages)).collect())
    }
}
