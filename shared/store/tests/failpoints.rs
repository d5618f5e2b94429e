//! A process that fails or dies between any two steps of a commit leaves the last committed epoch.

mod common;

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use common::{assert_intact, new_store, open, options, shard, value_files, write};
use fail::FailScenario;
use ziggurat_store::{Epoch, ShardEpoch, StateBatch, Store, StoreError};

const DIR: &str = "ZIGGURAT_STORE_TEST_DIR";
const DIE_AT: &str = "ZIGGURAT_STORE_TEST_DIE_AT";
const VALUES: usize = 200_000;

/// Where a process may stop, and the epoch that is committed then if it is writing epoch 2.
const STOPS: [(&str, u32); 6] = [
    ("store::before-seal", 1),
    ("store::after-seal", 1),
    ("store::before-ingest", 1),
    ("store::before-commit", 1),
    ("store::before-state-sync", 1),
    ("store::before-drop", 2),
];

fn next_epoch(store: &Store, epoch: u32) -> Result<(), StoreError> {
    let written: Vec<ShardEpoch> = (0..2)
        .map(|number| write(store, shard(number).at(Epoch(epoch)), VALUES))
        .collect::<Result<_, _>>()?;
    let mut progress = StateBatch::new();
    progress.put("epoch", &epoch).unwrap();
    store.commit(&written, progress)?;
    store.drop_epochs(&[shard(0), shard(1)], ..Epoch(epoch))
}

fn assert_committed(store: &Store, epoch: u32) {
    assert_eq!(store.get_state::<u32>("epoch").unwrap(), Some(epoch));
    for number in 0..2 {
        let epochs = store.epochs_of(shard(number)).unwrap();
        assert_eq!(epochs.len(), 1, "{epochs:?}");
        assert_eq!(epochs[0].key.epoch, Epoch(epoch));
        assert_intact(store, &epochs[0]);
    }
}

/// What the test below starts: dies where it is told to, without any tidying up.
#[test]
#[ignore = "started by the other tests"]
fn dies_at_a_failpoint() {
    let (Some(dir), Ok(stop)) = (env::var_os(DIR), env::var(DIE_AT)) else { return };
    let store = open(Path::new(&dir)).unwrap();
    fail::cfg_callback(stop, || std::process::abort()).unwrap();
    next_epoch(&store, 2).unwrap();
}

#[test]
fn a_process_that_dies_between_two_steps_leaves_the_last_committed_epoch() {
    // Failpoints are the process's, and so is the scenario: one test at a time.
    let scenario = FailScenario::setup();
    for (stop, committed) in STOPS {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::create(dir.path(), &options()).unwrap();
        next_epoch(&store, 1).unwrap();
        drop(store);
        let died = Command::new(env::current_exe().unwrap())
            .args(["--exact", "dies_at_a_failpoint", "--ignored"])
            .envs([(DIR, dir.path().as_os_str()), (DIE_AT, stop.as_ref())])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!died.success(), "{stop} was not reached");

        let store = open(dir.path()).unwrap();
        assert_eq!(store.recovery(), None, "{stop}");
        assert_committed(&store, committed);
        assert_eq!(value_files(dir.path()).len(), 2, "{stop}");
        assert_eq!(dir.path().join("staging").read_dir().unwrap().count(), 0);
        // And it goes on.
        next_epoch(&store, 3).unwrap();
        assert_committed(&store, 3);
    }
    scenario.teardown();
}

#[test]
fn a_step_that_fails_can_be_tried_again() {
    let scenario = FailScenario::setup();
    for (stop, _) in STOPS {
        let (_dir, store) = new_store();
        next_epoch(&store, 1).unwrap();
        fail::cfg(stop, "1*return").unwrap();
        let error = next_epoch(&store, 2).expect_err(stop);
        assert!(error.to_string().contains(stop), "{error}");
        fail::remove(stop);
        next_epoch(&store, 3).unwrap();
        assert_committed(&store, 3);
    }
    scenario.teardown();
}

#[test]
fn a_recovery_that_dies_while_it_tidies_up_is_complete() {
    let scenario = FailScenario::setup();
    let (dir, store) = new_store();
    next_epoch(&store, 1).unwrap();
    drop(store);
    let current = dir.path().join("values/CURRENT");
    fs::remove_file(current).unwrap();
    fail::cfg("store::before-remove", "1*return").unwrap();
    let error = open(dir.path()).map(drop).unwrap_err();
    assert!(error.to_string().contains("store::before-remove"), "{error}");
    let rubbish = ["values-damaged", "staging/values-damaged"].map(|name| dir.path().join(name));
    let rubbish = rubbish.iter().find(|dir| dir.exists()).unwrap();
    let is_table = |file: &std::path::PathBuf| file.extension().is_some_and(|it| it == "sst");
    let files = rubbish.read_dir().unwrap().map(|file| file.unwrap().path()).filter(is_table);
    files.for_each(|file| fs::remove_file(file).unwrap());

    let store = open(dir.path()).unwrap();
    assert_eq!(store.recovery(), None);
    assert_committed(&store, 1);
    assert!(!rubbish.exists());
    scenario.teardown();
}

#[test]
fn a_store_that_somebody_else_makes_meanwhile_is_opened() {
    let scenario = FailScenario::setup();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    fail::cfg_callback("store::before-create", move || {
        fail::remove("store::before-create");
        next_epoch(&Store::create(&path, &options()).unwrap(), 1).unwrap();
    })
    .unwrap();
    assert_committed(&Store::open_or_create(dir.path(), &options()).unwrap(), 1);
    scenario.teardown();
}
