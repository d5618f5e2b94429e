//! The checkpoint store: a shared directory, or a bucket of S3, Google Cloud Storage or Azure Blob Storage, that keeps
//! what workers saved.
//!
//! A worker saves on its own disk; what it saves here too outlives that disk, and any other worker can go on
//! from it. An object has the numbers of one range of a shard at an epoch, is written once, and is read as a
//! whole:
//!
//! ```
//! use ziggurat_checkpoints::{CheckpointStore, Epoch, ShardKey};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let dir = tempfile::tempdir()?;
//! # let url = format!("file://{}", dir.path().display());
//! let store = CheckpointStore::open(&url, "babylon").await?;
//! let shard = ShardKey { job: 17, tier: (5, 4), range: 0, shard: 3, column: 0 };
//! let numbers: Vec<u8> = [0.25_f64, 0.5].iter().flat_map(|number| number.to_le_bytes()).collect();
//!
//! store.put(shard.at(Epoch(8)), 0xc0de, size_of::<f64>(), numbers.clone().into()).await?;
//! assert_eq!(store.list(17, (5, 4), Epoch(8), 0xc0de).await?, [shard.at(Epoch(8))]);
//! assert_eq!(store.get(shard.at(Epoch(8)), 0xc0de, size_of::<f64>()).await?, numbers);
//!
//! store.delete_epochs(17, (5, 4), Epoch(9)).await?; // those before
//! assert!(store.list(17, (5, 4), Epoch(8), 0xc0de).await?.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # Where things are
//!
//! ```text
//! CLUSTER/JOB/N-M/EPOCH-INCARNATION/COLUMN-SHARD-RANGE      babylon/17/5-4/8-000000000000c0de/0-3-0
//! CLUSTER/store                                             babylon/store
//! CLUSTER/coordinator                                       babylon/coordinator
//! ```
//!
//! under the directory or the prefix of the bucket. The incarnation is that of the coordinator that gave the epoch out: one that
//! was restored from a copy gives epochs out again. The store itself keeps no list and no state: which epochs
//! count, the coordinator knows. `store` has a random number, by which it is told whether all workers mean the same place.
//! `coordinator` names the coordinator whose workers write and delete: see [`CheckpointStore::hold`].
//!
//! # How it stays right
//!
//! * An object has a checksum of its name and its contents. What is damaged, cut short, or in another's
//!   place is [`CheckpointError::Damaged`], never numbers.
//! * An object that is there is whole. A bucket promises that. In a directory, it is written under another name,
//!   synced, and then renamed, and the directories are synced: `object_store` renames, too, but syncs nothing,
//!   so after a power loss its file could be there and empty.
//! * Writing again what is there changes nothing; writing something else there is refused. To a
//!   directory, and to a bucket that knows conditional writes, that holds for writers at the same instant,
//!   too. Where the bucket does not ([`CheckpointPlace::shortcoming`]), or the object is so large that it is sent in
//!   parts, one of two such writers may win; epochs that are numbered anew by every attempt keep that from happening.
//! * An object that was damaged when it is written again is replaced.
//!
//! Whether a bucket can be used, it says within ten seconds when it is opened. Later, requests are tried again, for three
//! minutes at most, and each one ends after two.
//!
//! | module | knows |
//! | --- | --- |
//! | `place` | which place a URL means |
//! | `cloud` | what differs between the clouds that have buckets |
//! | `settings` | how to reach a bucket |
//! | `given`, `said` | what variables say, and what answers do |
//! | `answer` | what the answers of a bucket mean |
//! | `probe` | finding out what a place can do |
//! | `name` | names of objects |
//! | `object` | what is in one |
//! | `directory` | writing files so that they survive a power loss |
//! | `store` | writing, reading, listing and deleting objects |
//! | `many` | writing many side by side |
//! | `tenure` | which coordinator's workers do so |

mod answer;
mod cloud;
mod directory;
mod error;
mod given;
mod many;
mod name;
mod object;
mod place;
mod probe;
mod said;
mod settings;
mod store;
mod tenure;

pub use error::CheckpointError;
pub use many::Numbers;
pub use probe::CheckpointPlace;
pub use store::CheckpointStore;
pub use tenure::{Holder, Standing};
pub use ziggurat_store::{Epoch, EpochKey, ShardKey};
