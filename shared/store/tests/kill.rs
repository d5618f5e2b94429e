//! A process that is killed leaves the last committed epoch, whole, and nothing else.

mod common;

use std::{
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use common::{assert_intact, open, options, shard, write};
use ziggurat_store::{Epoch, StateBatch, Store, StoreError};

const DIR: &str = "ZIGGURAT_STORE_TEST_DIR";
const SHARDS: u32 = 3;
/// Some pages, and a part of one.
const VALUES: usize = 300_000;
const KILLS: u64 = 12;
/// More than these are not tried on a machine so busy that nothing gets committed in time.
const MOST_KILLS: u64 = 100;

/// What the tests below start and kill: epoch after epoch, for ever.
#[test]
#[ignore = "started by the other tests"]
fn writes_epochs_until_it_is_killed() {
    let Some(dir) = env::var_os(DIR) else { return };
    let dir = Path::new(&dir);
    let store = open(dir).unwrap();
    println!("open");
    let shards: Vec<_> = (0..SHARDS).map(shard).collect();
    let last = store.get_state::<u32>("epoch").unwrap().unwrap();
    for epoch in last + 1.. {
        let write = |shard: &ziggurat_store::ShardKey| {
            write(&store, shard.at(Epoch(epoch)), VALUES).unwrap()
        };
        let epochs: Vec<_> = shards.iter().map(write).collect();
        let mut progress = StateBatch::new();
        progress.put("epoch", &epoch).unwrap();
        store.commit(&epochs, progress).unwrap();
        store.drop_epochs(&shards, ..Epoch(epoch)).unwrap();
    }
}

fn start(dir: &Path) -> Child {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "writes_epochs_until_it_is_killed", "--ignored", "--nocapture"])
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("open")), "the writer does not start");
    child
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// An empty store at epoch 0.
fn create(dir: &Path) {
    let store = Store::create(dir, &options()).unwrap();
    let mut progress = StateBatch::new();
    progress.put("epoch", &0).unwrap();
    store.put_state(progress).unwrap();
}

#[test]
fn a_writer_killed_at_any_moment_leaves_the_last_committed_epoch() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path());
    let mut before = 0;
    for kill_number in 0..MOST_KILLS {
        if kill_number >= KILLS && before > 0 {
            break;
        }
        let child = start(dir.path());
        // Moments all over the time that an epoch takes.
        std::thread::sleep(Duration::from_millis(kill_number * 7919 % 331));
        kill(child);

        let store = open(dir.path()).unwrap();
        let epoch = store.get_state::<u32>("epoch").unwrap().unwrap();
        assert!(epoch >= before, "epoch {epoch} after {before}");
        before = epoch;
        assert_eq!(store.recovery(), None);
        assert_eq!(store.missing_epochs().unwrap(), []);
        for number in (0..SHARDS).filter(|_| epoch > 0) {
            let epochs = store.epochs_of(shard(number)).unwrap();
            let last = epochs.last().expect("a committed epoch");
            assert_eq!((last.key.epoch, last.values), (Epoch(epoch), VALUES as u64));
            // The one before is there if it was not dropped yet; then it is whole, too.
            assert!(epochs.len() <= 2);
            epochs.iter().for_each(|epoch| assert_intact(&store, epoch));
        }
        assert_eq!(dir.path().join("staging").read_dir().unwrap().count(), 0);
        assert_eq!(common::value_files(dir.path()).len(), store.epochs().unwrap().len());
    }
    assert!(before > 0, "nothing was ever committed");
}

#[test]
fn a_store_in_use_by_another_process_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    create(dir.path());
    let child = start(dir.path());
    let refused = open(dir.path()).map(drop);
    kill(child);
    assert!(matches!(refused, Err(StoreError::InUse { .. })), "{refused:?}");
    open(dir.path()).unwrap();
}
