//! The table of a solve in a directory grows while steps end, and what nobody needs any more goes: whenever the solve is
//! killed, whatever becomes of the file, and with no more disk than was promised.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rustix::fs::statvfs;
use serde_json::Value;

use crate::{
    resume::{SmallDisk, arguments, ends_well, expected, start, stop_after, stop_at, value_files},
    support::{Random, run, stderr, succeed, succeed_with_json, ziggurat},
};

/// The steps of the solve.
const STEPS: usize = 6;

fn table_bytes(directory: &Path) -> u64 {
    fs::metadata(directory.join("job/unfinished-table")).map_or(0, |table| table.len())
}

#[test]
fn kills_while_the_table_grows_and_values_go_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    let mut random = Random::new();
    let mut kills = 0;
    for _ in 0..2 {
        loop {
            let before = table_bytes(path);
            let mut solve = start(path);
            // The table is longer than what was written down of it for a moment, then values are dropped.
            while table_bytes(path) <= before && solve.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_micros(50));
            }
            thread::sleep(Duration::from_micros(random.below(4000)));
            let ended = solve.try_wait().unwrap().is_some();
            solve.kill().unwrap();
            let output = solve.wait_with_output().unwrap();
            assert!(!stderr(&output).contains("Damaged"), "{}", stderr(&output));
            if ended {
                break;
            }
            kills += 1;
        }
        let said = ends_well(path, &expected);
        assert!(!said.contains("Damaged"), "{said}");
        fs::remove_dir_all(path.join("job")).unwrap();
        fs::remove_file(path.join("table.zgt")).unwrap();
    }
    assert!(kills > STEPS, "{kills} kills");
}

#[test]
fn a_solve_that_has_ended_has_no_values_left() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    let printed = succeed(path, &arguments(path));
    assert_eq!((value_files(path).len(), table_bytes(path)), (0, 0));
    let solved: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    // Killed before the table had its name, though that was written down.
    for killed in [true, false] {
        if killed {
            fs::rename(path.join("table.zgt"), path.join("job/unfinished-table")).unwrap();
        }
        let printed = succeed(path, &["resume", "job", "--json"]);
        assert!(fs::read(path.join("table.zgt")).unwrap() == expected, "other bytes");
        let again: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
        for told in ["first_player_percent", "certificate", "residual", "swept_positions", "tiers"]
        {
            assert_eq!(again[told], solved[told], "{told}");
        }
    }
}

#[test]
fn an_unfinished_table_that_is_damaged_is_named_with_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    stop_after(path, 100);
    let table = path.join("job/unfinished-table");
    let whole = fs::read(&table).unwrap();
    // In the first tier, which comes after the header, and of which there are no values any more.
    let header = u32::from_le_bytes(whole[12..16].try_into().unwrap());
    let first = (16 + header as usize).next_multiple_of(64);
    let mut flipped = whole.clone();
    flipped[first] ^= 1;
    for (damaged, said) in [
        (Some(flipped), "does not match"),
        (Some(whole[..first + 1].to_vec()), "bytes of at least"),
        (None, "No such file"),
    ] {
        match damaged {
            Some(bytes) => fs::write(&table, bytes).unwrap(),
            None => fs::remove_file(&table).unwrap(),
        }
        for _ in 0..2 {
            let output = run(path, &arguments(path));
            assert_eq!(output.status.code(), Some(1));
            let told = stderr(&output);
            for said in [said, "job/unfinished-table", "put the file back", "in another directory"]
            {
                assert!(told.contains(said), "{said}: {told}");
            }
        }
        fs::write(&table, &whole).unwrap();
    }
    // What was written after the last record does not count.
    fs::write(&table, [&whole[..], b"more"].concat()).unwrap();
    let said = ends_well(path, &expected);
    assert!(!said.contains("Damaged"), "{said}");
}

#[test]
fn an_unfinished_table_is_written_again_if_all_values_are_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    // The second step reads the first, and is not solved yet.
    stop_at(path, "\"tier\":\"2-1\"", 4);
    assert!(table_bytes(path) > 0);
    fs::remove_file(path.join("job/unfinished-table")).unwrap();
    let said = ends_well(path, &expected);
    assert!(said.contains("Damaged: ") && said.contains("unfinished-table"), "{said}");
}

#[test]
fn values_that_are_damaged_are_computed_again_from_those_that_were_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    stop_at(path, "\"tier\":\"3-3\"", 4);
    // Of the solved steps, only the one that this one reads has values.
    for file in value_files(path) {
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        fs::write(file, bytes).unwrap();
    }
    let said = ends_well(path, &expected);
    for step in [
        "step 3-2 is computed again",
        "step 2-2 is computed again: values of step 2-2 were given up",
    ] {
        assert!(said.contains(step), "{step}: {said}");
    }
    assert_eq!(value_files(path).len(), 0);
}

#[test]
fn a_disk_that_is_full_when_the_table_grows_stops_a_solve_that_goes_on_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    // A disk for the table alone.
    let Some(disk) = SmallDisk::mount(&path.join("small"), "16k") else { return };
    fs::create_dir(path.join("job")).unwrap();
    symlink(path.join("small/table"), path.join("job/unfinished-table")).unwrap();
    for _ in 0..2 {
        let output = run(path, &arguments(path));
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let said = stderr(&output);
        for part in ["No space left", "job/unfinished-table", "resume job"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    disk.remount("size=10m");
    ends_well(path, &expected);
}

/// Solves on a disk of the promised size, and returns this and the most that was used of it.
fn used(game: &[&str]) -> Option<(u64, u64)> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let in_files = [game, &["--dir", "disk/job", "--memory", "200MB", "--threads", "2"]].concat();
    let plan = succeed_with_json(path, &[&["plan", "--json"], &in_files[..]].concat());
    assert_eq!(plan["arrays"], "files");
    let promised = plan["disk_bytes"].as_u64().unwrap();
    let disk = SmallDisk::mount(&path.join("disk"), &promised.to_string())?;
    let is_over = AtomicBool::new(false);
    let most = thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let mut most = 0;
            while !is_over.load(Ordering::Relaxed) {
                let disk = statvfs(path.join("disk")).unwrap();
                most = most.max((disk.f_blocks - disk.f_bfree) * disk.f_frsize);
                thread::sleep(Duration::from_micros(200));
            }
            most
        });
        let more = ["--out", "disk/table.zgt", "--checkpoint-every", "100ms"];
        let solve = [&["solve"], &in_files[..], &more].concat();
        let output = ziggurat(path, &solve).stdout(Stdio::null()).output().unwrap();
        is_over.store(true, Ordering::Relaxed);
        assert!(output.status.success(), "{}", stderr(&output));
        looks.join().unwrap()
    });
    drop(disk);
    Some((promised, most))
}

#[test]
fn a_solve_takes_no_more_disk_than_was_promised_and_not_much_less() {
    for game in [
        &["finkel", "--pieces", "5", "--tolerance", "1e-2"][..],
        &["finkel", "--pieces", "5", "--tolerance", "1e-2", "--precision", "f32", "--raw"],
    ] {
        let Some((promised, used)) = used(game) else { return };
        println!("{game:?}: {used} of {promised} bytes");
        assert!(used <= promised && used > promised / 3, "{used} of {promised} bytes");
    }
}
