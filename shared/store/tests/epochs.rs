//! Writing, committing, reading and dropping.

mod common;

use common::{assert_intact, commit, new_store, open, options, shard, value_files, values, write};
use ziggurat_store::{
    Epoch, LEAST_MEMORY_BUDGET_BYTES, Reads, StateBatch, Store, StoreError, StoreOptions, Value,
    ValueType, largest_bytes,
};

/// Around every length at which something changes.
fn lengths(value_type: ValueType) -> [usize; 8] {
    let page = value_type.values_per_page();
    [0, 1, 7, page - 1, page, page + 1, 2 * page, 2 * page + 5]
}

fn come_back<V: Value + PartialEq + std::fmt::Debug>(convert: impl Fn(f64) -> V) {
    let (_dir, store) = new_store();
    for (number, count) in lengths(V::TYPE).into_iter().enumerate() {
        let key = shard(number as u32).at(Epoch(1));
        let expected: Vec<V> = values(key, count).into_iter().map(&convert).collect();
        let mut writer = store.begin_epoch::<V>(key).unwrap();
        // Slices of all sizes: empty, short, across pages, many pages.
        let mut rest = expected.as_slice();
        for size in [0, 1, 3, 1000, 100_000].into_iter().cycle() {
            let (now, later) = rest.split_at(size.min(rest.len()));
            writer.append(now).unwrap();
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        let epoch = writer.finish().unwrap();
        assert_eq!(epoch.values, count as u64);
        assert!(store.read_all::<V>(&epoch).unwrap() == expected, "{count} values");
        let mut whole = vec![V::zeroed(); count];
        store.read_into(&epoch, &mut whole).unwrap();
        assert!(whole == expected, "{count} values");
        store.verify(&epoch).unwrap();
        for (start, end) in [(0, count / 2), (count / 3, count), (count / 2, count / 2)] {
            let mut some = vec![V::zeroed(); end - start];
            store.read(&epoch, start as u64, &mut some).unwrap();
            assert!(some == expected[start..end], "{start} to {end} of {count} values");
        }
    }
}

#[test]
fn f64_values_come_back_whatever_the_slices() {
    come_back(|value| value);
}

#[test]
fn f32_values_come_back_whatever_the_slices() {
    come_back(|value| value as f32);
}

#[test]
fn i8_values_come_back_whatever_the_slices() {
    come_back(|value| (value * 1e4) as i64 as i8);
}

#[test]
fn u16_values_come_back_whatever_the_slices() {
    come_back(|value| (value * 1e6) as u64 as u16);
}

#[test]
fn what_is_not_there_cannot_be_read() {
    let (_dir, store) = new_store();
    let epoch = write(&store, shard(0).at(Epoch(1)), 100).unwrap();
    let read = store.read(&epoch, 90, &mut [0.0_f64; 11]);
    assert!(matches!(read, Err(StoreError::OutOfRange { start: 90, end: 101, values: 100, .. })));
    for count in [99, 101] {
        let read = store.read_into(&epoch, &mut vec![0.0_f64; count]);
        assert!(matches!(read, Err(StoreError::OutOfRange { values: 100, .. })), "{count}");
    }
    let read = store.read(&epoch, 0, &mut [0.0_f32; 10]);
    assert!(matches!(read, Err(StoreError::OtherValueType { stored: ValueType::F64, .. })));
}

#[test]
fn only_what_is_committed_survives_and_only_until_it_is_dropped() {
    let (dir, store) = new_store();
    let first = commit(&store, 3, 1, 1000);
    let second = commit(&store, 3, 2, 2000);
    write(&store, shard(0).at(Epoch(3)), 1000).unwrap();
    assert_eq!(value_files(dir.path()).len(), 7);
    drop(store);

    let store = open(dir.path()).unwrap();
    assert_eq!(store.recovery(), None);
    assert_eq!(value_files(dir.path()).len(), 6);
    assert_eq!(store.epochs_of(shard(1)).unwrap(), [first[1], second[1]]);
    first.iter().chain(&second).for_each(|epoch| assert_intact(&store, epoch));

    let shards = [shard(0), shard(1), shard(2)];
    store.drop_epochs(&shards, ..Epoch(2)).unwrap();
    assert_eq!(store.epochs().unwrap(), second);
    assert_eq!(value_files(dir.path()).len(), 3);
    second.iter().for_each(|epoch| assert_intact(&store, epoch));
    assert!(store.read_all::<f64>(&first[0]).unwrap_err().damaged().is_some());

    store.drop_epochs(&shards[..2], ..).unwrap();
    assert_eq!(store.epochs().unwrap(), second[2..]);
    store.drop_epochs(&shards, Epoch(2)..=Epoch(2)).unwrap();
    assert_eq!(value_files(dir.path()).len(), 0);
}

#[test]
fn what_is_dropped_is_what_is_between_the_ends() {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let (dir, store) = new_store();
    let epochs: Vec<_> = (1..=5).flat_map(|epoch| commit(&store, 1, epoch, 10)).collect();
    let dropped = |range| {
        store.drop_epochs(&[shard(0)], range).unwrap();
        let left = store.epochs().unwrap();
        assert_eq!(value_files(dir.path()).len(), left.len());
        left
    };
    assert_eq!(dropped((Excluded(Epoch(3)), Included(Epoch(3)))), epochs);
    assert_eq!(dropped((Excluded(Epoch(u32::MAX)), Unbounded)), epochs);
    assert_eq!(dropped((Unbounded, Excluded(Epoch(0)))), epochs);
    assert_eq!(dropped((Excluded(Epoch(4)), Unbounded)), epochs[..4]);
    assert_eq!(
        dropped((Excluded(Epoch(1)), Excluded(Epoch(3)))),
        [epochs[0], epochs[2], epochs[3]]
    );
    assert_eq!(dropped((Unbounded, Excluded(Epoch(3)))), epochs[2..4]);
}

#[test]
fn an_uncommitted_epoch_can_be_written_again_and_a_committed_one_cannot() {
    let (dir, store) = new_store();
    let key = shard(0).at(Epoch(1));
    write(&store, key, 500).unwrap();
    let epoch = write(&store, key, 600).unwrap();
    assert_intact(&store, &epoch);
    assert_eq!(value_files(dir.path()).len(), 1);
    store.commit(&[epoch], StateBatch::new()).unwrap();
    assert!(matches!(write(&store, key, 1), Err(StoreError::Committed { epoch }) if epoch == key));
}

#[test]
fn whoever_began_before_an_epoch_was_committed_does_not_replace_it() {
    let (_dir, store) = new_store();
    let key = shard(0).at(Epoch(1));
    let mut late = store.begin_epoch::<f64>(key).unwrap();
    late.append(&[0.5; 10]).unwrap();
    let epoch = commit(&store, 1, 1, 500)[0];
    let refused = late.finish();
    assert!(matches!(refused, Err(StoreError::Committed { epoch }) if epoch == key));
    assert_intact(&store, &epoch);
    let refused = store.begin_epoch::<f64>(key).map(drop);
    assert!(matches!(refused, Err(StoreError::Committed { epoch }) if epoch == key));
}

#[test]
fn what_was_not_finished_cannot_be_committed() {
    let (dir, store) = new_store();
    let mut writer = store.begin_epoch::<f64>(shard(0).at(Epoch(1))).unwrap();
    writer.append(&[0.5; 300_000]).unwrap();
    let sealed = writer.seal().unwrap();
    drop(sealed);
    assert_eq!(dir.path().join("staging").read_dir().unwrap().count(), 0);
    let mut epoch = write(&store, shard(1).at(Epoch(1)), 10).unwrap();
    // Nor what says that it has more values than were written.
    let more = ziggurat_store::ShardEpoch { values: 300_000, ..epoch };
    let committed = store.commit(&[more], StateBatch::new());
    assert!(matches!(committed, Err(StoreError::NotWritten { .. })));
    epoch.key = shard(0).at(Epoch(1));
    let committed = store.commit(&[epoch], StateBatch::new());
    assert!(matches!(committed, Err(StoreError::NotWritten { .. })));
}

#[test]
fn the_state_changes_with_the_commit() {
    let (dir, store) = new_store();
    let epoch = write(&store, shard(0).at(Epoch(7)), 10).unwrap();
    let mut batch = StateBatch::new();
    batch.put("epoch", &7).unwrap();
    batch.put("residual", &0.1_f64.powi(13)).unwrap();
    store.commit(&[epoch], batch).unwrap();
    drop(store);
    let store = open(dir.path()).unwrap();
    assert_eq!(store.get_state::<u32>("epoch").unwrap(), Some(7));
    assert_eq!(store.get_state::<f64>("residual").unwrap(), Some(0.1_f64.powi(13)));
    assert_eq!(store.get_state::<u32>("residuals").unwrap(), None);
    let mut batch = StateBatch::new();
    batch.delete("epoch");
    store.put_state(batch).unwrap();
    assert_eq!(store.get_state::<u32>("epoch").unwrap(), None);
    let error = store.get_state::<String>("residual").unwrap_err();
    assert!(error.to_string().contains("`residual`"), "{error}");
}

#[test]
fn many_threads_write_and_read_at_a_time() {
    let (_dir, store) = new_store();
    let epochs: Vec<_> = std::thread::scope(|scope| {
        let write = |number| {
            let store = &store;
            scope.spawn(move || {
                let epoch = write(store, shard(number).at(Epoch(1)), 200_000).unwrap();
                assert_intact(store, &epoch);
                epoch
            })
        };
        let threads: Vec<_> = (0..8).map(write).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    store.commit(&epochs, StateBatch::new()).unwrap();
    epochs.iter().for_each(|epoch| assert_intact(&store, epoch));
}

/// Twenty checkpoints of a step in 16 shards, each dropping the one before.
#[test]
fn values_are_written_once() {
    let (dir, store) = new_store();
    let shards: Vec<_> = (0..16).map(shard).collect();
    for epoch in 1..=20 {
        let write = |shard| store.write_epoch(shard, &values(shard, 40_000)).unwrap();
        let sealed: Vec<_> = shards.iter().map(|shard| write(shard.at(Epoch(epoch)))).collect();
        let mut progress = StateBatch::new();
        progress.put("epoch", &epoch).unwrap();
        store.checkpoint(sealed, progress).unwrap();
        store.drop_epochs(&shards, ..Epoch(epoch)).unwrap();
    }
    let statistics = store.statistics().unwrap();
    assert_eq!(statistics.pages_written, 20 * 16);
    assert_eq!(statistics.compaction_bytes, 0);
    assert!(statistics.wal_bytes > 0);
    let amplification = statistics.write_amplification();
    assert!((1.0..1.5).contains(&amplification), "{amplification}: {statistics:?}");
    // One epoch is left of twenty, and RocksDB's account of it is ours.
    assert_eq!(value_files(dir.path()).len(), 16);
    let on_disk: u64 =
        value_files(dir.path()).iter().map(|file| file.metadata().unwrap().len()).sum();
    assert_eq!(statistics.committed_bytes, on_disk);
    assert_eq!(statistics.committed_values, 16 * 40_000);
    assert!(statistics.bytes_per_value() < 8.0, "{statistics:?}");
}

#[test]
fn the_memory_budget_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let small = StoreOptions { memory_budget_bytes: LEAST_MEMORY_BUDGET_BYTES, ..options() };
    let store = Store::create(dir.path(), &small).unwrap();
    // Many more files than may be open at a time.
    let epochs = commit(&store, 300, 1, 100);
    for epoch in &epochs {
        assert_intact(&store, epoch);
        let memory = store.statistics().unwrap().memory_bytes;
        assert!(memory <= LEAST_MEMORY_BUDGET_BYTES, "{memory} bytes");
    }
    drop(store);
    let too_small = StoreOptions { memory_budget_bytes: 1 << 20, ..options() };
    let error = Store::open(dir.path(), &too_small).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::BudgetTooSmall { .. }), "{error}");
}

#[test]
fn reads_through_the_page_cache_are_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let cached = StoreOptions { reads: Reads::PageCache, ..options() };
    let store = Store::create(dir.path(), &cached).unwrap();
    commit(&store, 2, 1, 150_000).iter().for_each(|epoch| assert_intact(&store, epoch));
}

#[test]
fn no_values_take_more_space_than_announced() {
    let (dir, store) = new_store();
    for count in [1, 1000, 131_072, 300_000] {
        // Noise, which does not shrink.
        let noise = |i: u64| f64::from_bits((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let noise: Vec<f64> = (0..count).map(|i| noise(i ^ (i << 31))).collect();
        let mut writer = store.begin_epoch(shard(0).at(Epoch(1))).unwrap();
        writer.append(&noise).unwrap();
        writer.finish().unwrap();
        let bytes = value_files(dir.path())[0].metadata().unwrap().len();
        let largest = largest_bytes(count, ValueType::F64);
        assert!(bytes <= largest, "{count} values: {bytes} bytes, not {largest}");
    }
    store.require_space(1 << 10).unwrap();
    let error = store.require_space(u64::MAX).unwrap_err();
    assert!(error.to_string().contains("18.4 EB are needed"), "{error}");
}

/// As many files as are taken in in parts, in several columns and tiers, some of which stay.
#[test]
fn many_epochs_are_committed_and_dropped_at_once() {
    let (dir, store) = new_store();
    let key = |number: u32| ziggurat_store::ShardKey {
        range: (number % 2) as u8,
        column: (number % 3) as u8,
        tier: if number.is_multiple_of(5) { (3, 4) } else { (4, 3) },
        ..shard(number)
    };
    let shards: Vec<_> = (0..100).map(key).collect();
    let checkpoint = |epoch| {
        let write = |shard: &ziggurat_store::ShardKey| {
            let key = shard.at(Epoch(epoch));
            store.write_epoch(key, &values(key, 50)).unwrap()
        };
        store.checkpoint(shards.iter().map(write).collect(), StateBatch::new()).unwrap()
    };
    let first = checkpoint(1);
    let second = checkpoint(2);
    // All but one of ten go, so that what goes is no range of keys.
    let dropped: Vec<_> = shards.iter().copied().filter(|shard| shard.shard % 10 != 7).collect();
    store.drop_epochs(&dropped, ..Epoch(2)).unwrap();
    assert_eq!(value_files(dir.path()).len(), 110);
    assert_eq!(store.missing_epochs().unwrap(), []);
    let kept = first.iter().filter(|epoch| epoch.key.shard.shard % 10 == 7);
    let mut left: Vec<_> = kept.chain(&second).copied().collect();
    left.sort_unstable_by_key(|epoch| epoch.key);
    assert_eq!(store.epochs().unwrap(), left);
    left.iter().for_each(|epoch| assert_intact(&store, epoch));
    drop(store);
    let store = open(dir.path()).unwrap();
    assert_eq!(store.epochs().unwrap(), left);
    left.iter().for_each(|epoch| assert_intact(&store, epoch));
}
