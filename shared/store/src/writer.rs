//! Writing the values of a shard at an epoch.
//!
//! Pages go, in order, to one file in the staging directory. Sealed, it is complete and on disk;
//! ingested, it is moved into the database, and its values can be read; committed, it survives the
//! end of the process. A file that does not get that far is removed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rocksdb::SstFileWriter;

use crate::{
    EpochKey, ShardEpoch, Store, StoreError, Value, failpoint::failpoint, key::MOST_PAGES, page,
};

/// The values of a shard at an epoch, being written.
pub struct EpochWriter<'s, V: Value> {
    store: &'s Store,
    file: SstFileWriter<'s>,
    sealed: SealedEpoch,
    /// Values that do not fill a page yet.
    pending: Vec<V>,
}

/// The values of a shard at an epoch, complete and on disk, but not in the store yet. Its file is
/// removed if it is forgotten.
pub struct SealedEpoch {
    pub(crate) epoch: ShardEpoch,
    /// `None` as long as there are no values.
    pub(crate) file: Option<StagedFile>,
    pub(crate) page_bytes: u64,
}

impl SealedEpoch {
    /// What it will be read by once it is in the store.
    pub fn epoch(&self) -> ShardEpoch {
        self.epoch
    }
}

/// A file in the staging directory, removed unless it was moved elsewhere.
pub(crate) struct StagedFile(PathBuf);

impl StagedFile {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // What is left behind is removed when the store is opened next.
        let _ = fs::remove_file(&self.0);
    }
}

impl<'s, V: Value> EpochWriter<'s, V> {
    pub(crate) fn new(store: &'s Store, key: EpochKey) -> Self {
        let epoch = ShardEpoch { key, value_type: V::TYPE, values: 0 };
        let sealed = SealedEpoch { epoch, file: None, page_bytes: 0 };
        Self { store, file: store.values().file_writer(), sealed, pending: Vec::new() }
    }

    /// Appends values, in index order. Compresses on the calling thread: to use many, write many
    /// shards at a time.
    ///
    /// # Errors
    /// If the disk is full, or there are more values than pages can be numbered for.
    pub fn append(&mut self, mut values: &[V]) -> Result<(), StoreError> {
        let per_page = V::TYPE.values_per_page();
        if !self.pending.is_empty() {
            let missing = (per_page - self.pending.len()).min(values.len());
            self.pending.extend_from_slice(&values[..missing]);
            values = &values[missing..];
            if self.pending.len() == per_page {
                let mut pending = std::mem::take(&mut self.pending);
                self.write_page(&pending)?;
                pending.clear();
                self.pending = pending;
            }
        }
        let (pages, rest) = values.split_at(values.len() - values.len() % per_page);
        pages.chunks_exact(per_page).try_for_each(|page| self.write_page(page))?;
        self.pending.extend_from_slice(rest);
        Ok(())
    }

    fn write_page(&mut self, values: &[V]) -> Result<(), StoreError> {
        let epoch = self.sealed.epoch.key;
        let number = self.pages().filter(|&pages| pages < MOST_PAGES);
        let number = number.ok_or(StoreError::TooLarge { epoch })?;
        let file = match &mut self.sealed.file {
            Some(file) => file,
            none => {
                let file = StagedFile(self.store.staging_file());
                self.file
                    .open(file.path())
                    .and_then(|()| self.file.put(epoch.head(), []))
                    .map_err(StoreError::rocksdb(self.store.dir(), "begin a file in"))?;
                none.insert(file)
            }
        };
        let key = epoch.page(number);
        let put = |page: &[u8]| self.file.put(key, page).map(|()| page.len());
        let bytes = page::encoded(&key, values, put)
            .map_err(StoreError::io(file.path(), "compress"))?
            .map_err(StoreError::rocksdb(self.store.dir(), "write values to"))?;
        self.sealed.epoch.values += values.len() as u64;
        self.sealed.page_bytes += bytes as u64;
        Ok(())
    }

    /// Pages written, if that many can be numbered.
    fn pages(&self) -> Option<u32> {
        u32::try_from(self.sealed.epoch.pages()).ok()
    }

    /// Completes the file and makes it durable. [`Store::checkpoint`] takes many at a time.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn seal(mut self) -> Result<SealedEpoch, StoreError> {
        if !self.pending.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            self.write_page(&pending)?;
        }
        failpoint!("store::before-seal", self.store.dir());
        if self.sealed.file.is_some() {
            let pages = self.pages().expect("pages that were numbered");
            self.file
                .put(self.sealed.epoch.key.tail(pages), [])
                .and_then(|()| self.file.finish())
                .map_err(StoreError::rocksdb(self.store.dir(), "complete a file in"))?;
        }
        failpoint!("store::after-seal", self.store.dir());
        Ok(self.sealed)
    }

    /// Completes the values and takes them into the store, where they can be read from now on.
    /// They are kept beyond the end of the process once they are [committed](Store::commit). Where
    /// there are many, sealing each and taking all in at once is cheaper.
    ///
    /// # Errors
    /// If the disk is full, or the epoch is committed already.
    pub fn finish(self) -> Result<ShardEpoch, StoreError> {
        let store = self.store;
        let sealed = self.seal()?;
        let epoch = sealed.epoch();
        store.ingest(vec![sealed])?;
        Ok(epoch)
    }
}
