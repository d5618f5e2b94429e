//! The machine's records on disk.
//!
//! An entry for each record, and an index of those that no other names. All that an event changes is one
//! synced write. Records of the versions before are changed into those of this one, all at once, when they are opened.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ziggurat_encoding::Encoding;
use ziggurat_history::History;
use ziggurat_rpc::new_identity;
use ziggurat_store::{
    LEAST_MEMORY_BUDGET_BYTES, Reads, StateBatch, Store, StoreError, StoreOptions,
};

use super::{CoordinatorError, migration};
use crate::machine::{JobId, Key, Records, StepId, StepSize, WorkerId};

/// The version of what is written down, and of what is done to it: a step that another version began would end in
/// other bytes.
const FORMAT: u32 = 24;

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
    /// The largest number that a job ever had.
    #[serde(default)]
    last_job: u64,
}

/// The steps of a job, of any version.
#[derive(Deserialize)]
struct Steps {
    steps: Vec<StepSize>,
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
        let Some(mut index) = store.get_state::<Index>(INDEX)? else {
            let index = Index {
                format: FORMAT,
                encoder: Encoding::VERSION,
                cluster: new_identity(),
                jobs: BTreeSet::new(),
                workers: BTreeSet::new(),
                last_job: 0,
            };
            let mut saved = Self { store, index };
            saved.commit(StateBatch::new())?;
            return Ok((saved, Records::default()));
        };
        let is_known = (migration::OLDEST..=FORMAT).contains(&index.format);
        if !is_known || index.encoder != Encoding::VERSION {
            let Index { format: found, encoder, .. } = index;
            let (dir, known) = (dir.to_owned(), migration::OLDEST..=FORMAT);
            return Err(CoordinatorError::OtherVersion { dir, found, encoder, known });
        }
        if index.format < FORMAT {
            migrate(&store, &mut index)?;
        }
        let mut records = Records { last_job: index.last_job, ..Records::default() };
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
                Key::Job(id) if records.jobs.contains_key(&id) => {
                    is_new |= self.index.jobs.insert(id);
                    put(&mut batch, key, records.jobs.get(&id));
                }
                Key::Job(id) => {
                    is_new |= self.index.jobs.remove(&id);
                    batch.delete(&name(key));
                    batch.delete(&of_history(id));
                }
                Key::Step(id) => put(&mut batch, key, records.steps.get(&id)),
                Key::Worker(id) => {
                    is_new |= self.index.workers.insert(id);
                    put(&mut batch, key, records.workers.get(&id));
                }
            }
        }
        if is_new {
            self.index.last_job = records.last_job;
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

/// Changes records of a version before, all of them or none.
fn migrate(store: &Store, index: &mut Index) -> Result<(), StoreError> {
    let found = index.format;
    let mut batch = StateBatch::new();
    let mut change = |key: Key, change: fn(&mut Value, u32)| {
        if let Some(mut record) = store.get_state::<Value>(&name(key))? {
            change(&mut record, found);
            put(&mut batch, key, Some(&record));
        }
        Ok::<_, StoreError>(())
    };
    for &job in &index.jobs {
        change(Key::Job(job), migration::job)?;
        let steps = store.get_state::<Steps>(&name(Key::Job(job)))?;
        for StepSize { tier, .. } in steps.into_iter().flat_map(|job| job.steps) {
            change(Key::Step(StepId { job, tier }), migration::step)?;
        }
    }
    for &worker in &index.workers {
        change(Key::Worker(worker), migration::worker)?;
    }
    index.format = FORMAT;
    index.last_job = index.last_job.max(index.jobs.last().map_or(0, |last| last.0));
    batch.put(INDEX, index).expect("an index is JSON");
    store.put_state(batch)?;
    tracing::info!("the records of version {found} are of version {FORMAT} now");
    Ok(())
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

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::machine::{ANY_STORE, Limits, Machine, Phase, Scheduling, Time};

    /// All entries that a coordinator of version 20 wrote: of a job that is solved, one that was paused under way, one that is
    /// cancelled, and one that waits.
    const BEFORE: &str = include_str!("../../tests/data/records-20.json");

    fn before() -> Map<String, Value> {
        serde_json::from_str(BEFORE).unwrap()
    }

    /// Writes a store with some entries.
    fn write(dir: &Path, entries: &Map<String, Value>) {
        let store = open(dir);
        let mut batch = StateBatch::new();
        entries.iter().for_each(|(key, entry)| batch.put(key, entry).unwrap());
        store.put_state(batch).unwrap();
    }

    fn open(dir: &Path) -> Store {
        let memory_budget_bytes = LEAST_MEMORY_BUDGET_BYTES;
        let options = StoreOptions { owner: OWNER, memory_budget_bytes, reads: Reads::Direct };
        Store::open_or_create(&dir.join("store"), &options).unwrap()
    }

    fn steps(entries: &Map<String, Value>, job: u64) -> impl Iterator<Item = (&String, &Value)> {
        entries.iter().filter(move |(key, _)| key.starts_with(&format!("steps/{job}/")))
    }

    #[test]
    fn records_of_the_version_before_are_read_and_stay_so() {
        let dir = tempfile::tempdir().unwrap();
        let before = before();
        write(dir.path(), &before);
        let (saved, records) = Saved::open(dir.path()).unwrap();
        let phases: Vec<Phase> = records.jobs.values().map(|job| job.phase).collect();
        assert_eq!(phases, [Phase::Solved, Phase::Paused, Phase::Cancelled, Phase::Active]);
        assert_eq!(records.last_job, 4);
        for (id, job) in &records.jobs {
            let was = &before[&format!("jobs/{id}")];
            assert_eq!((&json!(job.name), &json!(job.spec)), (&was["name"], &was["spec"]));
            assert_eq!(
                (job.scheduling, job.waits, job.again),
                (Scheduling::default(), false, false)
            );
        }
        // Solved steps are as they were; those under way begin anew, and no number of theirs is given again.
        let (mut solved, mut begun) = (0, 0);
        for (step, record) in &records.steps {
            let was = &before[&name(Key::Step(*step))];
            assert_eq!(json!(record.last_epoch), was["last_epoch"]);
            let was = &was["checkpoint"];
            let Some(solution) = record.solution() else {
                assert!(record.checkpoint.is_none() && was["course"]["task"] != "Done", "{step:?}");
                begun += 1;
                continue;
            };
            solved += 1;
            assert_eq!(json!(solution.course.statistics()), was["course"]["statistics"]);
            assert_eq!(
                (&json!(solution.epoch), &json!(solution.runs)),
                (&was["epoch"], &was["runs"])
            );
            assert_eq!(json!(solution.owners), was["owners"]);
        }
        assert_eq!(solved + begun, steps(&before, 1).count() + steps(&before, 2).count());
        assert!(solved > steps(&before, 1).count() && begun > 0, "{solved} and {begun}");
        let limits = Limits::new(Time::from_secs(1), Time::from_secs(1));
        Machine::new(records.clone(), 1, limits, Time::ZERO).0.check().unwrap();
        // They were written as records of this version.
        drop(saved);
        let index = open(dir.path()).get_state::<Index>(INDEX).unwrap().unwrap();
        assert_eq!(index.format, FORMAT);
        assert!(Saved::open(dir.path()).unwrap().1 == records);
    }

    #[test]
    fn whatever_is_in_a_checkpoint_store_stays_there_for_all_who_read_one() {
        let dir = tempfile::tempdir().unwrap();
        let mut before = before();
        let stored: Vec<String> = steps(&before, 1).map(|(key, _)| key.clone()).collect();
        for key in &stored {
            before[key]["checkpoint"]["stored"] = json!(true);
        }
        write(dir.path(), &before);
        let (_, records) = Saved::open(dir.path()).unwrap();
        let stored = records.steps.values().filter_map(|step| step.checkpoint.as_ref()?.stored);
        assert!(stored.eq(steps(&before, 1).map(|_| ANY_STORE)));
    }

    #[test]
    fn records_of_other_versions_are_refused_and_left_alone() {
        for format in [migration::OLDEST - 1, FORMAT + 1] {
            let dir = tempfile::tempdir().unwrap();
            let mut other = before();
            other[INDEX]["format"] = json!(format);
            write(dir.path(), &other);
            let refused = Saved::open(dir.path()).map(drop).unwrap_err().to_string();
            assert!(refused.contains(&format!("format {format}, ")), "{refused}");
            assert!(refused.contains(&format!("reads formats {} to {FORMAT}", migration::OLDEST)));
            let store = open(dir.path());
            for (key, entry) in &other {
                assert_eq!(store.get_state::<Value>(key).unwrap().as_ref(), Some(entry));
            }
        }
    }

    #[test]
    fn a_removed_job_leaves_no_entry_and_its_number_stays_taken() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), &before());
        let (mut saved, mut records) = Saved::open(dir.path()).unwrap();
        let job = JobId(4);
        saved.write(&BTreeSet::new(), &records, &[(job, &History::default())]).unwrap();
        records.jobs.remove(&job);
        saved.write(&BTreeSet::from([Key::Job(job)]), &records, &[]).unwrap();
        drop(saved);
        let (saved, read) = Saved::open(dir.path()).unwrap();
        assert!(read == records && read.last_job == 4);
        assert!(saved.history(job).is_none());
        assert!(saved.store.get_state::<Value>(&name(Key::Job(job))).unwrap().is_none());
    }
}
