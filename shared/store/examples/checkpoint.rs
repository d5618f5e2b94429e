//! What a checkpoint of many small shard epochs costs, and opening a store that has many.
//!
//! ```sh
//! ziggurat solve blitz --pieces 4 --raw --out blitz4.zgt
//! cargo run --release -p ziggurat-store --example checkpoint -- blitz4.zgt /path/on/the/disk
//! ```
//!
//! A raw table is an array of values after a short header, and is taken for one altogether. Three
//! checkpoints of 800 shard epochs of 1.5 MB are written from two threads, each committed and the one
//! before dropped; then the store is opened with 3000 committed epochs.

use std::{
    error::Error,
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Instant,
};

use ziggurat_store::{Epoch, Reads, SealedEpoch, ShardKey, StateBatch, Store, StoreOptions};

const SHARDS: u32 = 800;
const SHARD_VALUES: usize = 1_500_000 / size_of::<f64>();
const CHECKPOINTS: u32 = 3;
const THREADS: usize = 2;
const MANY: u32 = 3000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [table, dir] = arguments.as_slice() else {
        return Err("usage: checkpoint TABLE DIR".into());
    };
    let bytes = fs::read(table)?;
    let values: Vec<f64> =
        bytes.as_chunks().0.iter().map(|&word| f64::from_le_bytes(word)).collect();
    let dir = tempfile::tempdir_in(Path::new(dir))?;
    let options = StoreOptions { owner: 1, memory_budget_bytes: 16 << 20, reads: Reads::Direct };
    let store = Store::create(dir.path(), &options)?;

    let shards: Vec<_> = (0..SHARDS).map(|number| shard(0, number)).collect();
    for epoch in (1..=CHECKPOINTS).map(Epoch) {
        let mut last = Instant::now();
        let mut lap = || {
            let milliseconds = last.elapsed().as_secs_f64() * 1e3;
            last = Instant::now();
            milliseconds
        };
        let sealed = seal(&store, &shards, epoch, &values);
        let sealing = lap();
        let epochs = store.ingest(sealed)?;
        let ingesting = lap();
        store.commit(&epochs, StateBatch::new())?;
        let committing = lap();
        store.drop_epochs(&shards, ..epoch)?;
        let dropping = lap();
        println!(
            "{SHARDS} shard epochs of {} values: write {sealing:.0} ms ({:.0} MB/s of values), \
             ingest {ingesting:.0} ms, commit {committing:.0} ms, drop the ones before {dropping:.0} ms",
            SHARD_VALUES,
            (SHARDS as usize * SHARD_VALUES * 8) as f64 / 1e3 / sealing,
        );
    }
    let statistics = store.statistics()?;
    println!("write amplification {:.4}", statistics.write_amplification());

    let many: Vec<_> = (0..MANY - SHARDS).map(|number| shard(1, number)).collect();
    store.checkpoint(seal(&store, &many, Epoch(1), &values[..1000]), StateBatch::new())?;
    drop(store);
    let start = Instant::now();
    let store = Store::open(dir.path(), &options)?;
    let opening = start.elapsed();
    assert_eq!(store.epochs()?.len(), MANY as usize);
    println!("open with {MANY} epochs: {:.0} ms", opening.as_secs_f64() * 1e3);
    Ok(())
}

/// Writes so many values, or all that fit, of every shard.
fn seal(store: &Store, shards: &[ShardKey], epoch: Epoch, values: &[f64]) -> Vec<SealedEpoch> {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(shard) = shards.get(next.fetch_add(1, Relaxed)) {
            let count = SHARD_VALUES.min(values.len());
            let start = shard.shard as usize * 7919 % (values.len() - count + 1);
            let values = &values[start..start + count];
            let sealed = store.write_epoch(shard.at(epoch), values).expect("space");
            all.lock().expect("no panic").push(sealed);
        }
    };
    std::thread::scope(|scope| {
        (0..THREADS).for_each(|_| drop(scope.spawn(work)));
    });
    all.into_inner().expect("no panic")
}

fn shard(tier: u8, shard: u32) -> ShardKey {
    ShardKey { job: 1, tier: (tier, tier), range: 0, shard, column: 0 }
}
