//! A job's directory as the step store of its solve.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use rayon::prelude::*;
use ziggurat_encoding::Tier;
use ziggurat_kernel::{Column, Found, Part, StepStore, StepStoreError};
use ziggurat_store::{Epoch, ShardKey, StateBatch, StoreError};

use crate::{
    Job,
    parts::{self, key},
    state::{lock, put},
    step_record::{JOB, StepRecord, entry},
};

impl StepStore for Job {
    fn find(&self, step: Tier) -> Result<Found, StepStoreError> {
        self.record(step).map(|record| record.found()).map_err(failed)
    }

    fn load(&self, step: Tier, parts: Vec<Part<'_>>) -> Result<(), StepStoreError> {
        let record = self.record(step).map_err(failed)?;
        let load = |Part { column, shard, range, data }: Part<'_>| {
            let Some(epoch) = record.epoch_of(column) else {
                let what = match record.handed_on {
                    Some(_) => {
                        format!("values of step {step} were given up when the table had them")
                    }
                    None => format!("{column:?} of step {step} was not written down"),
                };
                return Err(StepStoreError { is_damage: true, source: what.into() });
            };
            parts::read(&self.store, key(JOB, step, column, shard, range), epoch, data)
                .map_err(failed)
        };
        parts.into_par_iter().map(load).collect()
    }

    fn handed_on(&self, step: Tier) -> Result<Option<f64>, StepStoreError> {
        self.record(step).map(|record| record.handed_on).map_err(failed)
    }

    fn is_due(&self, unwritten: Duration, last: Duration) -> bool {
        unwritten + last > self.options.checkpoint_every
    }

    fn save(
        &self,
        step: Tier,
        found: &Found,
        parts: Vec<Part<'_>>,
        kept: &[Column],
    ) -> Result<(), StepStoreError> {
        let before = self.record(step).map_err(failed)?;
        let mut record = before.clone();
        record.epoch += 1;
        record.set_found(found);
        let epoch = Epoch(record.epoch);
        record.columns.retain(|(column, _)| kept.contains(column));
        let mut columns: BTreeMap<Column, u32> = record.columns.iter().copied().collect();
        for part in &parts {
            columns.insert(part.column, record.epoch);
            if !record.ranges.contains(&(part.shard, part.range)) {
                record.ranges.push((part.shard, part.range));
            }
        }
        record.columns = columns.into_iter().collect();
        let sealed = parts::write(&self.store, JOB, step, epoch, parts, |_| {}).map_err(failed)?;
        let mut batch = StateBatch::new();
        put(&mut batch, &entry(step), &record);
        self.store.checkpoint(sealed, batch).map_err(failed)?;
        lock(&self.steps).insert(step, record.clone());
        for &(column, old) in &before.columns {
            if !record.columns.contains(&(column, old)) {
                let old = Epoch(old);
                self.store.drop_epochs(&before.keys(step, column), old..=old).map_err(failed)?;
            }
        }
        if matches!(found, Found::Solved(_)) {
            self.give_up_values().map_err(failed)?; // those that it has read
        }
        self.write_progress();
        Ok(())
    }

    fn forget(&self, step: Tier, error: &StepStoreError) -> Result<(), StepStoreError> {
        lock(&self.forgotten).push(format!("step {step} is computed again: {error}"));
        self.save(step, &Found::Nothing, Vec::new(), &[])
    }
}

impl Job {
    /// Drops checkpoints that no record names any more: the process was killed before it did.
    pub(crate) fn drop_unnamed(&self) -> Result<(), StoreError> {
        let mut named = HashSet::new();
        for step in &self.plan.steps {
            let record = self.record(step.tier)?;
            for &(column, epoch) in &record.columns {
                let keys = record.keys(step.tier, column).into_iter();
                named.extend(keys.map(|key| key.at(Epoch(epoch))));
            }
        }
        let mut unnamed: BTreeMap<Epoch, Vec<ShardKey>> = BTreeMap::new();
        for epoch in self.store.epochs()? {
            if !named.contains(&epoch.key) {
                unnamed.entry(epoch.key.epoch).or_default().push(epoch.key.shard);
            }
        }
        unnamed.iter().try_for_each(|(&epoch, keys)| self.store.drop_epochs(keys, epoch..=epoch))
    }

    /// What is written down of a step.
    pub(crate) fn record(&self, step: Tier) -> Result<StepRecord, StoreError> {
        if let Some(record) = lock(&self.steps).get(&step) {
            return Ok(record.clone());
        }
        let record: StepRecord = self.store.get_state(&entry(step))?.unwrap_or_default();
        lock(&self.steps).insert(step, record.clone());
        Ok(record)
    }
}

fn failed(error: StoreError) -> StepStoreError {
    StepStoreError { is_damage: error.damaged().is_some(), source: error.into() }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use ziggurat_encoding::Encoding;
    use ziggurat_game::{Overrides, Ruleset};
    use ziggurat_kernel::{Data, Precision, TierStatistics};

    use super::*;
    use crate::{JobOptions, MANIFEST_FORMAT, Manifest, progress_of};

    fn part(values: &mut [f64]) -> Vec<Part<'_>> {
        vec![Part { column: Column::Values, shard: 0, range: 0, data: Data::F64(values) }]
    }

    const OPTIONS: JobOptions = JobOptions { checkpoint_every: Duration::MAX };

    fn manifest() -> Manifest {
        manifest_of(1)
    }

    fn manifest_of(pieces: u8) -> Manifest {
        let pieces = Overrides { pieces: Some(pieces), ..Overrides::default() };
        let ruleset = Ruleset::builtin("finkel").unwrap().with(&pieces).unwrap();
        Manifest {
            format: MANIFEST_FORMAT,
            program: "test".to_owned(),
            encoder: Encoding::VERSION,
            ruleset: ruleset.to_toml(),
            precision: Precision::F64,
            tolerance: 1e-12,
            certified: true,
            shard_positions: None,
            out: "table.zgt".into(),
            replace: false,
            value_type: "f64".to_owned(),
            raw: false,
        }
    }

    #[test]
    fn what_a_killed_process_left_over_is_dropped_when_the_job_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let job = Job::create(dir.path(), manifest(), OPTIONS).unwrap();
        let step = Tier::new(1, 1);
        let mut values = [0.25; 3];
        job.save(step, &Found::Nothing, part(&mut values), &[Column::Values]).unwrap();
        let other =
            parts::write(&job.store, JOB, step, Epoch(7), part(&mut values), |_| {}).unwrap();
        job.store.checkpoint(other, StateBatch::new()).unwrap();
        drop(job);

        let job = Job::open(dir.path(), OPTIONS).unwrap();
        let left: Vec<Epoch> = job.store.epochs().unwrap().iter().map(|e| e.key.epoch).collect();
        assert_eq!(left, [Epoch(1)]);
        job.load(step, part(&mut values)).unwrap();
    }

    #[test]
    fn a_checkpoint_takes_the_place_of_the_one_before_but_for_what_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let job = Job::create(dir.path(), manifest(), OPTIONS).unwrap();
        let step = Tier::new(1, 1);
        let (mut values, mut changes) = ([0.25; 3], [1_i8; 3]);
        let column = Column::Vector(0);
        let vector = Part { column, shard: 0, range: 0, data: Data::I8(&mut changes) };
        let both = part(&mut values).into_iter().chain([vector]).collect();
        job.save(step, &Found::Nothing, both, &[]).unwrap();
        let left = || -> Vec<Epoch> {
            let epochs = job.store.epochs().unwrap();
            epochs.iter().map(|epoch| epoch.key.epoch).collect()
        };
        assert_eq!(left(), [Epoch(1), Epoch(1)]);
        job.save(step, &Found::Nothing, part(&mut [0.5; 3]), &[column]).unwrap();
        let mut both = left();
        both.sort();
        assert_eq!(both, [Epoch(1), Epoch(2)]);
        job.load(step, part(&mut values)).unwrap();
        assert_eq!(values, [0.5; 3]);
        job.save(step, &Found::Nothing, part(&mut values), &[]).unwrap();
        assert_eq!(left(), [Epoch(3)]);
    }

    #[test]
    fn values_go_when_the_table_has_them_and_no_step_will_read_them() {
        let dir = tempfile::tempdir().unwrap();
        let job = Job::create(dir.path(), manifest_of(2), OPTIONS).unwrap();
        let [first, second, third] = [(1, 1), (2, 1), (2, 2)].map(|(n, m)| Tier::new(n, m));
        let solve = |job: &Job, step| {
            let solved = Found::Solved(TierStatistics::default());
            job.save(step, &solved, part(&mut [0.25; 3]), &[]).unwrap();
        };
        let has_values = |job: &Job| {
            [first, second, third].map(|step| job.load(step, part(&mut [0.0; 3])).is_ok())
        };
        let in_table =
            |job: &Job, step, value| job.put_table(&"index", Some((step, value))).unwrap();
        solve(&job, first);
        in_table(&job, first, 0.125);
        assert_eq!(has_values(&job), [true, false, false], "the second step reads it");
        assert_eq!(job.handed_on(first).unwrap(), Some(0.125));
        solve(&job, second);
        assert_eq!(has_values(&job), [false, true, false]);
        solve(&job, third);
        assert_eq!(has_values(&job), [false, true, true], "the table has not got them");
        // The table has lost what cannot be written again, or what can.
        assert!(!job.take_back(&|_| false).unwrap());
        assert_eq!(job.handed_on(first).unwrap(), Some(0.125));
        in_table(&job, second, 0.5);
        assert_eq!(has_values(&job), [false, false, true]);
        in_table(&job, third, 0.5);
        assert_eq!(has_values(&job), [false; 3]);
        assert_eq!(job.store.epochs().unwrap().len(), 0);
        // A step that is computed again needs those that it reads.
        let damage = job.load(second, part(&mut [0.0; 3])).unwrap_err();
        job.forget(second, &damage).unwrap();
        drop(job);
        let job = Job::open(dir.path(), OPTIONS).unwrap();
        assert_eq!(job.table::<String>().unwrap(), "index");
        solve(&job, first);
        assert_eq!(has_values(&job), [true, false, false]);
        solve(&job, second);
        assert_eq!(has_values(&job), [false; 3], "the table has both");
        assert_eq!(job.handed_on(second).unwrap(), Some(0.5));
    }

    #[test]
    fn a_table_that_has_lost_a_step_gets_it_again_if_its_values_are_there() {
        let dir = tempfile::tempdir().unwrap();
        let job = Job::create(dir.path(), manifest_of(2), OPTIONS).unwrap();
        let step = Tier::new(1, 1);
        let solved = Found::Solved(TierStatistics::default());
        job.save(step, &solved, part(&mut [0.25; 3]), &[]).unwrap();
        job.put_table(&"index", Some((step, 0.25))).unwrap();
        assert!(job.take_back(&|_| true).unwrap());
        assert_eq!(job.handed_on(step).unwrap(), Some(0.25));
        assert!(job.take_back(&|_| false).unwrap());
        drop(job);
        let job = Job::open(dir.path(), OPTIONS).unwrap();
        assert_eq!(job.handed_on(step).unwrap(), None);
    }

    #[test]
    fn a_checkpoint_is_due_before_more_than_is_allowed_can_be_lost() {
        let dir = tempfile::tempdir().unwrap();
        let checkpoint_every = Duration::from_secs(60);
        let job = Job::create(dir.path(), manifest(), JobOptions { checkpoint_every }).unwrap();
        let due =
            |unwritten, last| job.is_due(Duration::from_secs(unwritten), Duration::from_secs(last));
        assert_eq!([due(0, 60), due(50, 10), due(50, 11), due(0, 61)], [false, false, true, true]);
    }

    #[test]
    fn progress_is_for_everybody_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        drop(Job::create(dir.path(), manifest(), OPTIONS).unwrap());
        let left = dir.path().join(".progress.json.new");
        fs::write(&left, [b' '; 1 << 16]).unwrap();
        drop(Job::open(dir.path(), OPTIONS).unwrap());
        assert!(!left.exists());
        assert!(progress_of(dir.path()).unwrap().is_some());

        fs::write(&left, "").unwrap();
        let mode = |file: &str| dir.path().join(file).metadata().unwrap().permissions().mode();
        assert_eq!(mode("progress.json"), mode(".progress.json.new"));
    }
}
