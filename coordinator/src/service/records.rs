//! The machine's records on disk.
//!
//! An entry for each record, and an index of those that no other names. All that an event changes is one
//! synced write.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use ziggurat_encoding::Encoding;
use ziggurat_history::History;
use ziggurat_rpc::new_identity;
use ziggurat_store::{
    LEAST_MEMORY_BUDGET_BYTES, Reads, StateBatch, Store, StoreError, StoreOptions,
};

use super::CoordinatorError;
use crate::machine::{JobId, Key, Records, StepId, WorkerId};

/// The version of what is written down, and of what is done to it: a job that another version began would end in
/// other bytes.
const FORMAT: u32 = 21;

/// Whose stores they are: those of coordinators.
const OWNER: u64 = 0x5a49_4747_434f_4f52;

const INDEX: &str = "index";

/// Which records there are. Steps are named by their jobs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Index {
    format: u32,
    encoder: u32,
    /// The identity of the cluster, by which its values in a checkpoint store are told from others.
    cluster: u64,
    jobs: BTreeSet<JobId>,
    workers: BTreeSet<WorkerId>,
}

/// Records that are on disk.
pub struct Saved {
    store: Store,
    index: Index,
}

impl Saved {
    /// Opens the records in a directory, or begins with none.
    pub fn open(dir: &Path) -> Result<(Self, Records), CoordinatorError> {
        let options = StoreOptions {
            owner: OWNER,
            memory_budget_bytes: LEAST_MEMORY_BUDGET_BYTES,
            reads: Reads::Direct,
        };
        let path: PathBuf = dir.join("store");
        let store = Store::open_or_create(&path, &options)?;
        let Some(index) = store.get_state::<Index>(INDEX)? else {
            let index = Index {
                format: FORMAT,
                encoder: Encoding::VERSION,
                cluster: new_identity(),
                jobs: BTreeSet::new(),
                workers: BTreeSet::new(),
            };
            let mut saved = Self { store, index };
            saved.commit(StateBatch::new())?;
            return Ok((saved, Records::default()));
        };
        if (index.format, index.encoder) != (FORMAT, Encoding::VERSION) {
            let Index { format: found, encoder, .. } = index;
            return Err(CoordinatorError::OtherVersion { dir: dir.to_owned(), found, encoder });
        }
        let mut records = Records::default();
        for &id in &index.jobs {
            let Some(job) = store.get_state::<crate::machine::JobRecord>(&name(Key::Job(id)))?
            else {
                continue;
            };
            for size in &job.steps {
                let step = StepId { job: id, tier: size.tier };
                if let Some(record) = store.get_state(&name(Key::Step(step)))? {
                    records.steps.insert(step, record);
                }
            }
            records.jobs.insert(id, job);
        }
        for &id in &index.workers {
            if let Some(worker) = store.get_state(&name(Key::Worker(id)))? {
                records.workers.insert(id, worker);
            }
        }
        Ok((Self { store, index }, records))
    }

    /// The history of a job, if one was written down. One that cannot be read is none: nothing depends on it.
    pub fn history(&self, job: JobId) -> Option<History> {
        let read = self.store.get_state(&of_history(job));
        read.unwrap_or_else(|error| {
            tracing::warn!(job = job.0, "the history of the job cannot be read: {error}");
            None
        })
    }

    /// Writes down what changed, and histories: it is on disk when this returns.
    pub fn write(
        &mut self,
        changed: &BTreeSet<Key>,
        records: &Records,
        histories: &[(JobId, &History)],
    ) -> Result<(), StoreError> {
        if changed.is_empty() && histories.is_empty() {
            return Ok(());
        }
        let mut batch = StateBatch::new();
        for (job, history) in histories {
            batch.put(&of_history(*job), history).expect("histories are JSON");
        }
        let mut is_new = false;
        for &key in changed {
            match key {
                Key::Job(id) => {
                    is_new |= self.index.jobs.insert(id);
                    put(&mut batch, key, records.jobs.get(&id));
                }
                Key::Step(id) => put(&mut batch, key, records.steps.get(&id)),
                Key::Worker(id) => {
                    is_new |= self.index.workers.insert(id);
                    put(&mut batch, key, records.workers.get(&id));
                }
            }
        }
        if is_new {
            return self.commit(batch);
        }
        self.store.put_state(batch)
    }

    /// Writes the index, too, which grows with the number of jobs.
    fn commit(&mut self, mut batch: StateBatch) -> Result<(), StoreError> {
        batch.put(INDEX, &self.index).expect("an index is JSON");
        self.store.put_state(batch)
    }

    /// The identity of the cluster.
    pub fn cluster(&self) -> u64 {
        self.index.cluster
    }
}

fn put<T: Serialize>(batch: &mut StateBatch, key: Key, record: Option<&T>) {
    match record {
        Some(record) => batch.put(&name(key), record).expect("records are JSON"),
        None => batch.delete(&name(key)),
    }
}

/// What the entry of a history is called.
fn of_history(job: JobId) -> String {
    format!("history/{job}")
}

/// What an entry is called.
fn name(key: Key) -> String {
    match key {
        Key::Job(id) => format!("jobs/{id}"),
        Key::Step(StepId { job, tier }) => format!("steps/{job}/{tier}"),
        Key::Worker(id) => format!("workers/{id}"),
    }
}
