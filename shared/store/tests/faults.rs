//! Whatever happens to the files of a store, it never gives wrong values, and says what is wrong.

mod common;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use common::{
    OWNER, assert_intact, commit, file_named, new_store, open, options, shard, value_files, write,
};
use ziggurat_store::{
    Epoch, EpochKey, LEAST_MEMORY_BUDGET_BYTES, ShardEpoch, StateBatch, Store, StoreError,
    StoreOptions,
};

const VALUES: usize = 20_000;

/// A closed store with three shards at epochs 1 and 2.
fn closed() -> (tempfile::TempDir, Vec<ShardEpoch>) {
    let (dir, store) = new_store();
    let epochs = [commit(&store, 3, 1, VALUES), commit(&store, 3, 2, VALUES)].concat();
    (dir, epochs)
}

fn flip(file: &Path, byte: usize, bit: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[byte] ^= 1 << bit;
    fs::write(file, bytes).unwrap();
}

fn cut(file: &Path, length: u64) {
    fs::File::options().write(true).open(file).unwrap().set_len(length).unwrap();
}

/// The files in a directory.
fn copy_of(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = dir.read_dir().unwrap().map(|file| file.unwrap().path());
    files.map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

fn restore(dir: &Path, copy: &[(PathBuf, Vec<u8>)]) {
    fs::create_dir_all(dir).unwrap();
    dir.read_dir().unwrap().for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
    copy.iter().for_each(|(file, bytes)| fs::write(file, bytes).unwrap());
}

/// Every epoch is either intact or known to be damaged. Gives the damaged ones.
fn damaged(store: &Store, epochs: &[ShardEpoch]) -> Vec<EpochKey> {
    let missing = store.missing_epochs().unwrap();
    let mut damaged = Vec::new();
    for epoch in epochs {
        match store.verify(epoch) {
            Ok(()) => assert_intact(store, epoch),
            Err(error) => {
                assert_eq!(error.damaged(), Some(epoch.key), "{error}");
                assert!(error.to_string().contains("values"), "{error} names no file");
                assert!(store.read_all::<f64>(epoch).is_err());
                damaged.push(epoch.key);
            }
        }
    }
    assert!(missing.iter().all(|missing| damaged.contains(missing)));
    damaged
}

#[test]
fn a_flipped_bit_in_a_file_of_values_is_noticed_and_harms_no_other() {
    let (dir, epochs) = closed();
    let file = &value_files(dir.path())[1];
    let length = fs::metadata(file).unwrap().len() as usize;
    let mut noticed = 0;
    // All over the pages, and closely where RocksDB keeps its own.
    let bytes =
        (0..length).step_by(length / 20).chain((length.saturating_sub(1500)..length).step_by(29));
    for byte in bytes {
        flip(file, byte, byte % 8);
        let store = open(dir.path()).unwrap();
        let damaged = damaged(&store, &epochs);
        assert!(damaged.is_empty() || damaged == [epochs[1].key], "byte {byte}: {damaged:?}");
        noticed += damaged.len();
        let lost = store.recovery().is_some_and(|recovery| !recovery.lost.is_empty());
        drop(store);
        if lost {
            return assert!(noticed > 15, "{noticed}");
        }
        flip(&value_files(dir.path())[1], byte, byte % 8);
    }
    assert!(noticed > 20, "{noticed} of {length} bytes");
}

#[test]
fn a_damaged_epoch_can_be_dropped_and_written_again() {
    let (dir, epochs) = closed();
    flip(&value_files(dir.path())[4], 5000, 3);
    let store = open(dir.path()).unwrap();
    let key = shard(1).at(Epoch(2));
    assert_eq!(damaged(&store, &epochs), [key]);
    store.drop_epochs(&[key.shard], key.epoch..=key.epoch).unwrap();
    // The last good epoch is still there.
    assert_eq!(store.epochs_of(key.shard).unwrap(), epochs[1..2]);
    let again = write(&store, key, VALUES).unwrap();
    store.commit(&[again], StateBatch::new()).unwrap();
    assert_eq!(damaged(&store, &epochs), []);
}

#[test]
fn a_truncated_file_of_values_is_noticed_and_harms_no_other() {
    for keep in [0, 1, 1000, 50_000] {
        let (dir, epochs) = closed();
        let file = value_files(dir.path())[2].clone();
        let length = fs::metadata(&file).unwrap().len();
        let length = length.saturating_sub(1).min(keep);
        cut(&file, length);
        let store = open(dir.path()).unwrap();
        let recovery = store.recovery().expect("something was repaired");
        assert_eq!((recovery.kept, recovery.lost.len()), (5, 1), "{recovery:?}");
        assert_eq!(store.missing_epochs().unwrap(), [epochs[2].key]);
        assert_eq!(damaged(&store, &epochs), [epochs[2].key]);
        drop(store);
        // And once more without anything to repair.
        let store = open(dir.path()).unwrap();
        assert_eq!(store.recovery(), None);
        assert_eq!(damaged(&store, &epochs), [epochs[2].key]);
    }
}

#[test]
fn a_deleted_file_of_values_is_noticed_and_harms_no_other() {
    let (dir, epochs) = closed();
    fs::remove_file(&value_files(dir.path())[0]).unwrap();
    let store = open(dir.path()).unwrap();
    let recovery = store.recovery().expect("something was repaired");
    assert_eq!(recovery.kept, 5, "{recovery:?}");
    assert_eq!(damaged(&store, &epochs), [epochs[0].key]);
}

#[test]
fn a_file_that_the_system_does_not_open_now_is_not_damaged() {
    let options = StoreOptions { memory_budget_bytes: LEAST_MEMORY_BUDGET_BYTES, ..options() };
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path(), &options).unwrap();
    // More files than are opened with the store.
    let epochs = commit(&store, 80, 1, 3);
    drop(store);
    let store = Store::open(dir.path(), &options).unwrap();
    let files = value_files(dir.path());
    let aside = |file: &Path| file.with_extension("aside");
    for file in &files {
        fs::rename(file, aside(file)).unwrap();
        symlink(file, file).unwrap();
    }
    let errors: Vec<_> =
        epochs.iter().filter_map(|epoch| store.read_all::<f64>(epoch).err()).collect();
    assert!(!errors.is_empty());
    for error in errors {
        assert!(error.damaged().is_none(), "{error}");
    }
    drop(store);
    let error = Store::open(dir.path(), &options).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. } | StoreError::RocksDb { .. }), "{error:?}");
    files.iter().for_each(|file| fs::rename(aside(file), file).unwrap());
    let store = Store::open(dir.path(), &options).unwrap();
    assert_eq!((store.recovery(), damaged(&store, &epochs)), (None, vec![]));
}

#[test]
fn the_metadata_of_values_can_be_lost_altogether() {
    for (lost, how) in [("CURRENT", "delete"), ("MANIFEST", "delete"), ("MANIFEST", "flip")] {
        let (dir, epochs) = closed();
        let file = file_named(&dir.path().join("values"), lost);
        match how {
            "delete" => fs::remove_file(&file).unwrap(),
            _ => flip(&file, fs::metadata(&file).unwrap().len() as usize / 2, 1),
        }
        let store = open(dir.path()).unwrap();
        assert_eq!(store.recovery().map(|recovery| recovery.kept), Some(6), "{how} {lost}");
        assert_eq!(damaged(&store, &epochs), [], "{how} {lost}");
    }
}

#[test]
fn values_without_any_metadata_are_kept() {
    let (dir, epochs) = closed();
    for lost in ["CURRENT", "MANIFEST"] {
        fs::remove_file(file_named(&dir.path().join("values"), lost)).unwrap();
    }
    let store = open(dir.path()).unwrap();
    assert_eq!(store.recovery().map(|recovery| recovery.kept), Some(6));
    assert_eq!(damaged(&store, &epochs), []);
}

#[test]
fn a_truncated_file_is_noticed_among_more_than_are_opened_with_the_store() {
    let options = StoreOptions { memory_budget_bytes: LEAST_MEMORY_BUDGET_BYTES, ..options() };
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(dir.path(), &options).unwrap();
    commit(&store, 80, 1, 3);
    drop(store);
    for (lost, place) in [0, 40, 77].into_iter().enumerate() {
        let file = value_files(dir.path())[place].clone();
        cut(&file, fs::metadata(&file).unwrap().len() - 1);
        let store = Store::open(dir.path(), &options).unwrap();
        let recovery = store.recovery().expect("something was repaired");
        assert_eq!((recovery.kept, recovery.lost.len()), (79 - lost, 1), "{place}: {recovery:?}");
        assert_eq!(store.missing_epochs().unwrap().len(), lost + 1);
    }
}

#[test]
fn values_that_are_gone_altogether_are_missing() {
    let (dir, epochs) = closed();
    fs::remove_dir_all(dir.path().join("values")).unwrap();
    let store = open(dir.path()).unwrap();
    assert_eq!(store.missing_epochs().unwrap().len(), epochs.len());
}

#[test]
fn an_interrupted_recovery_starts_over() {
    let (dir, epochs) = closed();
    let (values, aside) = (dir.path().join("values"), dir.path().join("values-damaged"));
    fs::rename(&values, &aside).unwrap();
    fs::create_dir(&values).unwrap();
    fs::write(values.join("CURRENT"), "rubbish").unwrap();
    let store = open(dir.path()).unwrap();
    assert_eq!(store.recovery().map(|recovery| recovery.kept), Some(6));
    assert_eq!(damaged(&store, &epochs), []);
    assert!(!aside.exists());
}

#[test]
fn damaged_state_is_refused_and_not_guessed() {
    let (dir, epochs) = closed();
    let state = dir.path().join("state");
    let copy = copy_of(&state);
    let log = copy.iter().filter(|(file, _)| file.extension().is_some_and(|it| it == "log"));
    let (log, _) = log.max_by_key(|(_, bytes)| bytes.len()).unwrap();
    let manifest = file_named(&state, "MANIFEST");
    let faults: [(&str, &dyn Fn()); 9] = [
        ("no log", &|| fs::remove_file(log).unwrap()),
        ("empty log", &|| cut(log, 0)),
        ("log of a byte", &|| cut(log, 1)),
        ("flip in log", &|| flip(log, fs::metadata(log).unwrap().len() as usize / 4, 2)),
        ("flip in manifest", &|| flip(&manifest, 30, 2)),
        ("no manifest", &|| fs::remove_file(&manifest).unwrap()),
        ("no current", &|| fs::remove_file(state.join("CURRENT")).unwrap()),
        ("no table", &|| {
            let files = state.read_dir().unwrap().map(|file| file.unwrap().path());
            let table = |file: &PathBuf| file.extension().is_some_and(|it| it == "sst");
            files.filter(table).for_each(|file| fs::remove_file(file).unwrap());
        }),
        ("no state", &|| fs::remove_dir_all(&state).unwrap()),
    ];
    for (name, fault) in faults {
        fault();
        let error = open(dir.path()).map(drop).expect_err(name);
        assert!(matches!(error, StoreError::StateDamaged { .. }), "{name}: {error:?}");
        let error = Store::create(dir.path(), &options()).map(drop).expect_err(name);
        assert!(matches!(error, StoreError::StateDamaged { .. }), "{name}: {error:?}");
        restore(&state, &copy);
    }
    let store = open(dir.path()).unwrap();
    assert_eq!(damaged(&store, &epochs), []);
}

#[test]
fn an_earlier_state_is_not_taken_for_this_one() {
    // What was written before each opening is in a table of its own, and known to the manifest.
    let (dir, mut epochs) = closed();
    epochs.extend(commit(&open(dir.path()).unwrap(), 3, 3, VALUES));
    epochs.extend(commit(&open(dir.path()).unwrap(), 3, 4, VALUES));
    let state = dir.path().join("state");
    let copy = copy_of(&state);
    let manifest = file_named(&state, "MANIFEST");
    let length = fs::metadata(&manifest).unwrap().len();
    let mut refused = 0;
    for length in (0..length).step_by(3) {
        cut(&manifest, length);
        match open(dir.path()) {
            Ok(store) => assert_eq!(store.epochs().unwrap(), epochs, "{length} bytes"),
            Err(error) => {
                assert!(matches!(error, StoreError::StateDamaged { .. }), "{length}: {error:?}");
                refused += 1;
            }
        }
        assert_eq!(value_files(dir.path()).len(), epochs.len(), "{length} bytes");
        restore(&state, &copy);
    }
    assert!(refused > 0);
    assert_eq!(damaged(&open(dir.path()).unwrap(), &epochs), []);
}

#[test]
fn values_beside_an_empty_state_are_kept_without_a_digest() {
    let (dir, _) = closed();
    let state = dir.path().join("state");
    let log = |(file, _): &(PathBuf, Vec<u8>)| file.extension().is_some_and(|it| it == "log");
    copy_of(&state).iter().filter(|file| log(file)).for_each(|(file, _)| cut(file, 0));
    fs::remove_file(dir.path().join("witness")).unwrap();
    let error = open(dir.path()).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::StateDamaged { .. }), "{error:?}");
    assert_eq!(value_files(dir.path()).len(), 6);
}

#[test]
fn a_store_without_a_digest_gets_one() {
    let of_an_earlier_version = "00000000000000000009 0123456789abcdef\n";
    let cut_short = "00000000000000000099 sum 0123456";
    for text in [None, Some(""), Some("rubbish"), Some(cut_short), Some(of_an_earlier_version)] {
        let (dir, epochs) = closed();
        let witness = dir.path().join("witness");
        let before = fs::read(&witness).unwrap();
        match text {
            None => fs::remove_file(&witness).unwrap(),
            Some(text) => fs::write(&witness, text).unwrap(),
        }
        assert_eq!(damaged(&open(dir.path()).unwrap(), &epochs), []);
        assert_eq!(fs::read(&witness).unwrap(), before);
    }
}

#[test]
fn the_digest_follows_every_change() {
    let (dir, _) = closed();
    let witness = dir.path().join("witness");
    let mut seen = vec![fs::read(&witness).unwrap()];
    for (puts, deletes) in
        [(&["a", "b"][..], &[][..]), (&["a"], &[]), (&["c"], &["b"]), (&["b"], &["b", "d"])]
    {
        let store = open(dir.path()).unwrap();
        let mut batch = StateBatch::new();
        puts.iter().for_each(|key| batch.put(key, &seen.len()).unwrap());
        deletes.iter().for_each(|key| batch.delete(key));
        store.put_state(batch).unwrap();
        drop(store);
        let told = fs::read(&witness).unwrap();
        assert!(!seen.contains(&told), "{puts:?} {deletes:?}");
        // Whoever reads all there is finds the same.
        fs::remove_file(&witness).unwrap();
        drop(open(dir.path()).unwrap());
        assert_eq!(fs::read(&witness).unwrap(), told, "{puts:?} {deletes:?}");
        seen.push(told);
    }
}

#[test]
fn there_must_be_a_store_to_open_and_none_to_create_one() {
    let dir = tempfile::tempdir().unwrap();
    for place in [dir.path().to_owned(), dir.path().join("nowhere")] {
        let error = open(&place).map(drop).unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
        assert!(error.to_string().contains(&*place.to_string_lossy()));
    }
    drop(Store::create(&dir.path().join("a/b"), &options()).unwrap());
    let error = Store::create(&dir.path().join("a/b"), &options()).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
}

#[test]
fn a_store_over_which_its_maker_was_killed_is_made() {
    // What RocksDB writes before a database is one. Without CURRENT there is none.
    let begun = ["LOCK", "LOG", "IDENTITY", "MANIFEST-000001", "000001.dbtmp"];
    for count in 0..=begun.len() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        fs::create_dir(&state).unwrap();
        begun[..count].iter().for_each(|file| fs::write(state.join(file), "begun").unwrap());
        let error = open(dir.path()).map(drop).unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{count}: {error}");
        drop(Store::open_or_create(dir.path(), &options()).unwrap());
        drop(open(dir.path()).unwrap());
        drop(Store::open_or_create(dir.path(), &options()).unwrap());
    }
}

#[test]
fn anothers_store_is_refused() {
    let (dir, _) = closed();
    let error = Store::open(dir.path(), &StoreOptions { owner: 1, ..options() }).map(drop);
    assert!(matches!(error, Err(StoreError::OtherOwner { expected: 1, .. })));
}

#[test]
fn a_store_of_another_format_is_refused() {
    let (dir, _) = closed();
    let state = rocksdb::DB::open_default(dir.path().join("state")).unwrap();
    let manifest = format!("{{\"format\":2,\"owner\":{OWNER}}}");
    state.put("manifest", manifest).unwrap();
    drop(state);
    let error = open(dir.path()).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::OtherFormat { found: 2, .. }), "{error:?}");
}

#[test]
fn a_state_of_which_only_the_digest_is_left_is_missed() {
    let (dir, store) = new_store();
    drop(store);
    for gone in ["state", "values"] {
        fs::remove_dir_all(dir.path().join(gone)).unwrap();
    }
    for opened in [open(dir.path()), Store::open_or_create(dir.path(), &options())] {
        let error = opened.map(drop).unwrap_err();
        assert!(matches!(error, StoreError::StateDamaged { .. }), "{error:?}");
    }
}

#[test]
fn a_store_that_is_soon_given_back_is_waited_for() {
    let (dir, store) = new_store();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(300));
            drop(store);
        });
        open(dir.path()).unwrap();
    });
}

#[test]
fn a_store_is_open_once() {
    let (dir, store) = new_store();
    let error = open(dir.path()).map(drop).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error:?}");
    assert!(error.to_string().contains(&*dir.path().to_string_lossy()));
    drop(store);
    open(dir.path()).unwrap();
}
