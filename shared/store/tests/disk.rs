//! A full disk and a read-only one, for real: a small file system in memory, mounted for this test
//! alone, in a name space of its own. Skipped, visibly, where that is not allowed.

mod common;

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use common::{assert_intact, open, options, shard, write};
use ziggurat_store::{Epoch, StateBatch, Store, StoreError};

const DIR: &str = "ZIGGURAT_STORE_TEST_DIR";

/// Mounts 24 MiB at $0 and runs the rest there.
const IN_SMALL_DISK: &str = "mount -t tmpfs -o size=24m none \"$0\" && exec \"$@\"";

fn in_small_disk(test: &str) {
    let dir = tempfile::tempdir().unwrap();
    let spaces: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
    let run = |space: &[&str], command: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(space).args(["sh", "-c", IN_SMALL_DISK]).arg(dir.path()).args(command);
        unshare.env(DIR, dir.path());
        unshare
    };
    let allowed = |space: &&&[&str]| {
        let mut probe = run(space, &["true"]);
        let probe = probe.stdout(Stdio::null()).stderr(Stdio::null()).status();
        probe.is_ok_and(|status| status.success())
    };
    let Some(space) = spaces.iter().find(allowed) else {
        return eprintln!("SKIPPED: no file system can be mounted here");
    };
    let test_program = env::current_exe().unwrap();
    let test_program = test_program.to_str().unwrap();
    let ran = run(space, &[test_program, "--exact", test, "--ignored", "--nocapture"]).output();
    let ran = ran.unwrap();
    let said = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_full_disk_is_said_and_harms_nothing() {
    in_small_disk("fills_the_disk");
}

#[test]
#[ignore = "started by the other tests"]
fn fills_the_disk() {
    let Some(dir) = env::var_os(DIR) else { return };
    let dir = Path::new(&dir);
    let store = Store::create(dir, &options()).unwrap();
    let good = write(&store, shard(0).at(Epoch(1)), 500_000).unwrap();
    store.commit(&[good], StateBatch::new()).unwrap();
    let error = loop {
        let number = store.statistics().unwrap().pages_written as u32;
        match write(&store, shard(number).at(Epoch(2)), 300_000) {
            Ok(_) => assert!(number < 100, "the disk does not get full"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
    assert!(error.to_string().contains(&*dir.to_string_lossy()), "{error}");
    assert!(store.require_space(20 << 20).is_err());
    assert_intact(&store, &good);
    drop(store);

    // What was not committed is gone, so that there is space again.
    let store = open(dir).unwrap();
    assert_intact(&store, &good);
    let next = write(&store, shard(0).at(Epoch(2)), 500_000).unwrap();
    store.commit(&[next], StateBatch::new()).unwrap();
    assert_intact(&store, &next);
    drop(store);

    // Not a single byte is left: neither opening nor writing is possible, and both say why.
    let filler = dir.join("filler");
    let _ = fs::write(&filler, vec![1; 24 << 20]);
    match open(dir) {
        Err(error) => assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}"),
        Ok(store) => {
            assert_intact(&store, &next);
            let error = write(&store, shard(0).at(Epoch(3)), 500_000).unwrap_err();
            assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
        }
    }
    fs::remove_file(&filler).unwrap();
    assert_intact(&open(dir).unwrap(), &next);
}

#[test]
fn a_read_only_disk_is_said() {
    in_small_disk("makes_the_disk_read_only");
}

#[test]
#[ignore = "started by the other tests"]
fn makes_the_disk_read_only() {
    let Some(dir) = env::var_os(DIR) else { return };
    let dir = Path::new(&dir);
    drop(Store::create(&dir.join("store"), &options()).unwrap());
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(dir).status().unwrap();
    assert!(remounted.success());
    for error in [
        open(&dir.join("store")).map(drop).unwrap_err(),
        Store::create(&dir.join("other"), &options()).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::NotWritable { .. }), "{error:?}");
        assert!(error.to_string().contains(&*dir.to_string_lossy()), "{error}");
    }
}
