//! The record of a step in the state of a job's store.

use serde::{Deserialize, Serialize};
use ziggurat_encoding::Tier;
use ziggurat_kernel::{Column, Found, StepController, TierStatistics};
use ziggurat_store::{Epoch, ShardKey};

use crate::parts::key;

/// Every store of a job holds one job.
pub(crate) const JOB: u64 = 0;

/// What is written down of a step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct StepRecord {
    /// The number of its latest checkpoint.
    pub(crate) epoch: u32,
    /// Where it is, if it is under way.
    course: Option<Box<StepController>>,
    /// How its solution came about, if it is solved.
    solved: Option<TierStatistics>,
    /// Its first value, if the table has them all for good. They may be given up then.
    pub(crate) handed_on: Option<f64>,
    /// The parts there are: ranges of shards, by column, with the checkpoint they are from.
    pub(crate) columns: Vec<(Column, u32)>,
    /// Ranges of shards a column has.
    pub(crate) ranges: Vec<(u32, u8)>,
}

impl StepRecord {
    /// The checkpoint that a column is from.
    pub(crate) fn epoch_of(&self, column: Column) -> Option<Epoch> {
        let found = self.columns.iter().find(|(other, _)| *other == column);
        found.map(|&(_, epoch)| Epoch(epoch))
    }

    /// Where the step is.
    pub(crate) fn found(&self) -> Found {
        match (&self.solved, &self.course) {
            (Some(statistics), _) => Found::Solved(*statistics),
            (None, Some(course)) => Found::Begun(course.clone()),
            (None, None) => Found::Nothing,
        }
    }

    /// Notes where the step is.
    pub(crate) fn set_found(&mut self, found: &Found) {
        (self.course, self.solved) = match found {
            Found::Nothing => (None, None),
            Found::Begun(course) => (Some(course.clone()), None),
            Found::Solved(statistics) => (None, Some(*statistics)),
        };
    }

    /// The shards of a column.
    pub(crate) fn keys(&self, step: Tier, column: Column) -> Vec<ShardKey> {
        self.ranges.iter().map(|&(shard, range)| key(JOB, step, column, shard, range)).collect()
    }
}

/// The entry of a step in the store's state.
pub(crate) fn entry(step: Tier) -> String {
    format!("step/{},{}", step.just_moved, step.to_move)
}
