//! How fast a store writes and reads real values, and what they take on disk.
//!
//! ```sh
//! ziggurat solve blitz --pieces 4 --raw --out blitz4.zgt
//! cargo run --release -p ziggurat-store --example throughput -- blitz4.zgt /path/on/the/disk
//! ```
//!
//! A raw table is an array of values after a short header, and is taken for one altogether. It is
//! written as the shards of ten epochs, each committed and the one before dropped.

use std::{error::Error, fs, path::Path, time::Instant};

use ziggurat_store::{
    Epoch, Reads, ShardEpoch, ShardKey, StateBatch, Statistics, Store, StoreOptions, Value,
};

const SHARD_VALUES: usize = 1 << 20;
const EPOCHS: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [table, dir] = arguments.as_slice() else {
        return Err("usage: throughput TABLE DIR".into());
    };
    let bytes = fs::read(table)?;
    let f64s: Vec<f64> = bytes.as_chunks().0.iter().map(|&word| f64::from_le_bytes(word)).collect();
    let f32s: Vec<f32> = f64s.iter().map(|&value| value as f32).collect();
    for threads in [1, 2] {
        measure(&f64s, Path::new(dir), threads)?;
        measure(&f32s, Path::new(dir), threads)?;
    }
    Ok(())
}

fn measure<V: Value + PartialEq>(
    values: &[V],
    dir: &Path,
    threads: usize,
) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir_in(dir)?;
    let mut options =
        StoreOptions { owner: 1, memory_budget_bytes: 16 << 20, reads: Reads::Direct };
    let store = Store::create(dir.path(), &options)?;
    let shards: Vec<_> = (0..).map(shard).zip(values.chunks(SHARD_VALUES)).collect();
    let keys: Vec<_> = shards.iter().map(|&(key, _)| key).collect();
    let per_thread = shards.len().div_ceil(threads);

    let (before, start) = (written_bytes(), Instant::now());
    let mut epochs = Vec::new();
    for epoch in (1..=EPOCHS).map(Epoch) {
        let sealed = at_once(shards.chunks(per_thread), |shards| {
            let write = |&(key, values): &(ShardKey, &[V])| {
                store.write_epoch(key.at(epoch), values).expect("space")
            };
            shards.iter().map(write).collect::<Vec<_>>()
        });
        epochs = store.checkpoint(sealed.into_iter().flatten().collect(), StateBatch::new())?;
        store.drop_epochs(&keys, ..epoch)?;
    }
    let writing = start.elapsed().as_secs_f64() / f64::from(EPOCHS);
    let written = written_bytes() - before;
    let statistics = store.statistics()?;

    let mut reading = Vec::new();
    drop(store);
    for reads in [Reads::Direct, Reads::PageCache] {
        options.reads = reads;
        let store = Store::open(dir.path(), &options)?;
        let start = Instant::now();
        let all: Vec<_> = epochs.iter().zip(values.chunks(SHARD_VALUES)).collect();
        at_once(all.chunks(per_thread), |epochs: &[(&ShardEpoch, &[V])]| {
            for (epoch, values) in epochs {
                let mut read = vec![V::zeroed(); values.len()];
                store.read_into(epoch, &mut read).expect("good values");
                assert!(read == *values);
            }
        });
        reading.push(start.elapsed().as_secs_f64());
    }
    report(values, threads, writing, &reading, &statistics, written);
    Ok(())
}

fn report<V: Value>(
    values: &[V],
    threads: usize,
    writing: f64,
    reading: &[f64],
    statistics: &Statistics,
    written: u64,
) {
    let megabytes = size_of_val(values) as f64 / 1e6;
    println!(
        "{} x {}, {threads} threads: write {:.0} MB/s, read {:.0} direct, {:.0} through the page cache; \
         {:.2} bytes per value; write amplification {:.4} by RocksDB, {:.3} by the system; \
         {} KiB of memory",
        values.len(),
        V::TYPE,
        megabytes / writing,
        megabytes / reading[0],
        megabytes / reading[1],
        statistics.bytes_per_value(),
        statistics.write_amplification(),
        written as f64 / statistics.page_bytes_written as f64,
        statistics.memory_bytes >> 10,
    );
}

fn shard(shard: u32) -> ShardKey {
    ShardKey { job: 1, tier: (4, 4), range: 0, shard, column: 0 }
}

/// Works on many parts at once.
fn at_once<'a, T: Sync + 'a, R: Send>(
    parts: impl Iterator<Item = &'a [T]>,
    work: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

/// Bytes that the system wrote to disk for this process.
fn written_bytes() -> u64 {
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}
