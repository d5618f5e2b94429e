//! What the table of a job has already, and the values that are given up for it.
//!
//! Values of a solved step are in the store until the table has them for good, and every step that reads them is solved:
//! only then are they of no use to anybody. If a later step has to be computed again, so have they.

use serde::{Serialize, de::DeserializeOwned};
use ziggurat_encoding::Tier;
use ziggurat_kernel::{Found, Step};
use ziggurat_store::{Epoch, StateBatch, StoreError};

use crate::{
    Job,
    state::{lock, put},
    step_record::entry,
};

/// The key of the table's record in the store's state.
const TABLE: &str = "table";

impl Job {
    /// What was written down of the table.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn table<T: DeserializeOwned + Default>(&self) -> Result<T, StoreError> {
        Ok(self.store.get_state(TABLE)?.unwrap_or_default())
    }

    /// Writes down what is in the table, durably: also a step, with its first value, if it has come to be there for good.
    /// Gives up values that nobody needs any more.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put_table<T: Serialize>(
        &self,
        table: &T,
        step: Option<(Tier, f64)>,
    ) -> Result<(), StoreError> {
        let mut batch = StateBatch::new();
        put(&mut batch, TABLE, table);
        if let Some((step, first_value)) = step {
            let mut record = self.record(step)?;
            record.handed_on = Some(first_value);
            put(&mut batch, &entry(step), &record);
            self.store.put_state(batch)?;
            lock(&self.steps).insert(step, record);
        } else {
            self.store.put_state(batch)?;
        }
        self.give_up_values()?;
        self.write_progress();
        Ok(())
    }

    /// Steps that are not in the table any more will be handed on again. Returns whether all values are there for that; if
    /// they are not, nothing happens.
    ///
    /// # Errors
    /// If it cannot be read or written.
    pub fn take_back(&self, is_in_table: &dyn Fn(Tier) -> bool) -> Result<bool, StoreError> {
        let mut batch = StateBatch::new();
        let mut records = Vec::new();
        for step in &self.plan.steps {
            let mut record = self.record(step.tier)?;
            if record.handed_on.is_none() || step.tier.both().all(is_in_table) {
                continue;
            }
            if record.columns.is_empty() && matches!(record.found(), Found::Solved(_)) {
                return Ok(false);
            }
            record.handed_on = None;
            put(&mut batch, &entry(step.tier), &record);
            records.push((step.tier, record));
        }
        self.store.put_state(batch)?;
        lock(&self.steps).extend(records);
        Ok(true)
    }

    /// Drops values of solved steps that the table has and no step will read.
    pub(crate) fn give_up_values(&self) -> Result<(), StoreError> {
        let _giving_up = lock(&self.giving_up);
        let is_unsolved = |step: &&Step| {
            let found = self.record(step.tier).map(|record| record.found());
            !matches!(found, Ok(Found::Solved(_)))
        };
        let read: Vec<Tier> = self
            .plan
            .steps
            .iter()
            .filter(is_unsolved)
            .flat_map(|step| [step.tier].into_iter().chain(step.tier.reads()))
            .map(Tier::first_of_step)
            .collect();
        for step in self.plan.steps.iter().filter(|step| !read.contains(&step.tier)) {
            let before = self.record(step.tier)?;
            if before.handed_on.is_none() || before.columns.is_empty() {
                continue;
            }
            let mut record = before.clone();
            record.columns.clear();
            let mut batch = StateBatch::new();
            put(&mut batch, &entry(step.tier), &record);
            self.store.put_state(batch)?;
            lock(&self.steps).insert(step.tier, record);
            for &(column, epoch) in &before.columns {
                let epoch = Epoch(epoch);
                self.store.drop_epochs(&before.keys(step.tier, column), epoch..=epoch)?;
            }
        }
        Ok(())
    }
}
