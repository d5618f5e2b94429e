//! The store: values of shards on disk, by epoch, and the small state that says which of them count.
//!
//! It knows nothing of games. A *shard epoch* is an array of numbers (`f32`, `f64`, `i8` or `u16`),
//! written once, in order; read in any part, any number of times; dropped as a whole.
//!
//! ```
//! use ziggurat_store::{Epoch, Reads, ShardKey, StateBatch, Store, StoreOptions};
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! let options = StoreOptions { owner: 17, memory_budget_bytes: 16 << 20, reads: Reads::Direct };
//! let store = Store::create(dir, &options)?;
//! let shard = ShardKey { job: 17, tier: (3, 2), range: 0, shard: 5, column: 0 };
//!
//! let sealed = store.write_epoch(shard.at(Epoch(1)), &[0.25, 0.5, 0.75])?; // on disk
//! let mut progress = StateBatch::new();
//! progress.put("residual", &1e-9)?;
//! let epochs = store.checkpoint(vec![sealed], progress)?; // and from here on it survives a power loss.
//! store.drop_epochs(&[shard], ..Epoch(1))?;
//!
//! # drop(store);
//! let store = Store::open(dir, &options)?;
//! assert_eq!(store.epochs()?, epochs);
//! assert_eq!(store.read_all::<f64>(&epochs[0])?, [0.25, 0.5, 0.75]);
//! assert_eq!(store.get_state::<f64>("residual")?, Some(1e-9));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Checkpoints
//!
//! A checkpoint has hundreds of shard epochs. Each is written whole by one thread
//! ([`Store::write_epoch`], or [`Store::begin_epoch`] for values that come in parts), which compresses it
//! and waits until it is on disk; many threads write different ones at a time. Then one call of
//! [`Store::checkpoint`] takes all of them in and commits them, and one call of [`Store::drop_epochs`]
//! gives back the space of those before:
//!
//! ```
//! # use std::thread;
//! # use ziggurat_store::{Epoch, Reads, ShardKey, StateBatch, Store, StoreError, StoreOptions};
//! # let dir = tempfile::tempdir()?;
//! # let options = StoreOptions { owner: 17, memory_budget_bytes: 16 << 20, reads: Reads::Direct };
//! # let store = Store::create(dir.path(), &options)?;
//! # let (residual, values) = (1e-9, [0.5_f32; 3000]);
//! # let shards = [0, 1, 2, 3].map(|shard| ShardKey { job: 17, tier: (3, 2), range: 0, shard, column: 0 });
//! let epoch = Epoch(8);
//! let write = |some: &[ShardKey]| -> Result<Vec<_>, StoreError> {
//!     some.iter().map(|shard| store.write_epoch(shard.at(epoch), &values)).collect()
//! };
//! let (one, other) = shards.split_at(2);
//! let (sealed, more) = thread::scope(|scope| {
//!     let more = scope.spawn(|| write(other));
//!     (write(one), more.join().unwrap())
//! });
//! let sealed = sealed?.into_iter().chain(more?).collect();
//!
//! let mut progress = StateBatch::new();
//! progress.put("residual", &residual)?;
//! store.checkpoint(sealed, progress)?;
//! store.drop_epochs(&shards, ..epoch)?;
//! # assert_eq!(store.epochs()?.len(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! However many files there are, RocksDB's manifest is then written and synced a few times to take them
//! in, and once to drop them, since all that a checkpoint wrote are neighbours among the keys. Taking files
//! in one by one ([`EpochWriter::finish`]) costs a synced write of the manifest each.
//!
//! # How it stays right
//!
//! An epoch exists when the state says so, and only then. Its file is written and synced in a
//! staging directory, ingested, that is moved, into the database of values, and then committed by
//! one synced write of the state. Killed before that, the file is rubbish, which the next
//! opening deletes. Dropping goes the other way: first the state forgets, then the files go.
//!
//! Every page is under a checksum that covers its key (on top of RocksDB's own), and a read either
//! gives what was written or [`StoreError::Damaged`], which names the one shard epoch that is lost.
//!
//! # Two databases
//!
//! ```text
//! DIR/state           a few kilobytes: manifest, committed epochs, entries of the caller; its lock is the store's
//! DIR/values          files of pages, one per shard epoch, without a log
//! DIR/staging         files on their way in
//! DIR/values-damaged  only while values are being recovered
//! DIR/witness         a digest of the state as it was written last
//! ```
//!
//! Values and state are apart since they fail apart. RocksDB does not open a database of which one file
//! is gone or corrupt. Values need not care: the database is nothing but the files that were
//! ingested, so what can be read of them is ingested again into a new one, without copying
//! (`recovery`), and the state says what is missing. The state is never guessed: if it is damaged, or an earlier one than the
//! one of the digest, the store says so and stops, and deletes no values.
//!
//! A database per step of the job was the other choice, so that dropping a step is removing a
//! directory. But epochs must be dropped within a step anyhow, and that does for
//! steps, too; and every open database has buffers, threads and files of its own, which a small
//! memory budget cannot pay for dozens of times.
//!
//! One file per shard epoch is what makes the rest simple: key ranges of files are disjoint, so
//! that all are ingested into the last level, none is ever compacted, and dropping an epoch deletes whole
//! files and leaves nothing behind. So values are written once: write amplification is 1.00
//! ([`Statistics::write_amplification`]).
//!
//! | module | knows |
//! | --- | --- |
//! | `key` | names of shards, epochs and pages, and their keys |
//! | `value`, `page` | pages: values packed and under a checksum |
//! | `settings` | RocksDB's settings, and why |
//! | `values`, `recovery` | the database of values, and opening it when it is damaged |
//! | `state`, `rollback_guard` | the database of the small state, and the digest that detects a rollback |
//! | `store`, `writer`, `reader`, `commit` | the store: opening it, writing, reading, committing and dropping |
//! | `sync` | what RocksDB's syncs come to where a file system has none |
//! | `space`, `statistics` | disk space, and what was done |
//! | `failpoint` | places where tests make it fail (cargo feature `failpoints`) |

mod commit;
mod counters;
mod error;
mod failpoint;
mod key;
mod page;
mod reader;
mod recovery;
mod rollback_guard;
mod settings;
mod space;
mod state;
mod statistics;
mod store;
mod sync;
mod value;
mod values;
mod writer;

pub use error::StoreError;
pub use key::{Epoch, EpochKey, ShardEpoch, ShardKey};
pub use recovery::Recovery;
pub use settings::{LEAST_MEMORY_BUDGET_BYTES, Reads, StoreOptions};
pub use space::largest_bytes;
pub use state::{StateBatch, is_in_use, is_store};
pub use statistics::Statistics;
pub use store::Store;
pub use value::{PAGE_BYTES, Value, ValueType};
pub use writer::{EpochWriter, SealedEpoch};
