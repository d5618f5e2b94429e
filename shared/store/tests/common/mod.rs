//! What the tests share: a store in a temporary directory, and values that anybody can work out.
#![allow(dead_code, reason = "every test file uses its own part")]

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use ziggurat_store::{
    Epoch, EpochKey, Reads, ShardEpoch, ShardKey, StateBatch, Store, StoreError, StoreOptions,
};

pub const OWNER: u64 = 0x5eed;

pub fn options() -> StoreOptions {
    StoreOptions { owner: OWNER, memory_budget_bytes: 8 << 20, reads: Reads::Direct }
}

/// A store in a directory that goes with it.
pub fn new_store() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path(), &options()).unwrap();
    (dir, store)
}

pub fn open(dir: &Path) -> Result<Store, StoreError> {
    Store::open(dir, &options())
}

pub fn shard(shard: u32) -> ShardKey {
    ShardKey { job: OWNER, tier: (4, 3), range: 0, shard, column: 0 }
}

/// A few noisy bits below a smooth curve, as the values of a game are; all differ by shard and
/// epoch.
pub fn value(key: EpochKey, index: u64) -> f64 {
    let mixed = index
        .wrapping_add(u64::from(key.shard.shard) << 40)
        .wrapping_add(u64::from(key.epoch.0) << 50)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let noise = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20;
    0.5 + (index as f64 * 1e-4).sin() * 0.25 + noise as f64 * 2_f64.powi(-54)
}

pub fn values(key: EpochKey, count: usize) -> Vec<f64> {
    (0..count as u64).map(|index| value(key, index)).collect()
}

/// Writes a shard epoch of so many values.
pub fn write(store: &Store, key: EpochKey, count: usize) -> Result<ShardEpoch, StoreError> {
    let mut writer = store.begin_epoch(key)?;
    writer.append(&values(key, count))?;
    writer.finish()
}

/// Writes and commits shards 0 up to `shards` at an epoch.
pub fn commit(store: &Store, shards: u32, epoch: u32, count: usize) -> Vec<ShardEpoch> {
    let write = |number| write(store, shard(number).at(Epoch(epoch)), count).unwrap();
    let epochs: Vec<_> = (0..shards).map(write).collect();
    store.commit(&epochs, StateBatch::new()).unwrap();
    epochs
}

pub fn assert_intact(store: &Store, epoch: &ShardEpoch) {
    let read = store.read_all::<f64>(epoch).unwrap();
    assert!(
        read == values(epoch.key, epoch.values as usize),
        "{} is not what was written",
        epoch.key
    );
}

/// The files of values in a store, oldest first.
pub fn value_files(dir: &Path) -> Vec<PathBuf> {
    let files = dir.join("values").read_dir().unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "sst"));
    files.sort();
    files
}

/// The only file in a directory whose name begins like that.
pub fn file_named(dir: &Path, prefix: &str) -> PathBuf {
    let files = dir.read_dir().unwrap().map(|file| file.unwrap());
    let mut files = files.filter(|file| file.file_name().to_string_lossy().starts_with(prefix));
    let file = files.next().unwrap_or_else(|| panic!("{} has no {prefix}", dir.display()));
    file.path()
}
