//! Solving with a directory: what is written down on disk, so that a process can be killed at any moment
//! and another goes on from there, and ends in the same bytes.
//!
//! [`serve`] is a worker of a cluster: see [`cluster`]. A [`Job`] is a solve in one process:
//!
//! ```text
//! DIR/store             shard epochs and small state, in RocksDB (see `ziggurat-store`); its lock is the job's
//! DIR/scratch           where the arrays of a solve beyond memory are, in files without a name
//! DIR/unfinished-table  the table so far: tiers of solved steps
//! DIR/progress.json     where the job is, for people, scripts and [`progress_of`]; no solve goes on from it
//! ```
//!
//! The store's state holds the [`Manifest`]: what is solved, how, and into which file. A step that is under
//! way is written down as a checkpoint: its course and the parts of its arrays, shard by shard, all
//! or nothing. A solved step is its values. Both are columns of shard epochs, under the name of the step's first
//! tier. Values that the table has, and no step will read, are dropped.

pub mod cluster;
mod job;
mod parts;
mod progress;
mod state;
mod step_record;
mod step_store;
mod table_record;

pub use cluster::{STORING_MEMORY_BYTES, ServeError, ServeOptions, serve};
pub use job::{Job, JobError, JobOptions, MANIFEST_FORMAT, Manifest};
pub use progress::{Progress, StepProgress, holds_job, is_running, progress_of};
