//! A solve in a directory can be killed at any moment and its files damaged: it goes on to the same
//! bytes, or says what is wrong.

use std::{
    fs::{self, File, FileTimes},
    io::{BufRead, BufReader},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant, SystemTime},
};

use serde_json::Value;

use crate::support::{Random, run, stderr, succeed, succeed_with_json, ziggurat};

/// The solve of these tests: less than a second, with many steps, supersteps and proofs.
const GAME: [&str; 4] = ["finkel", "--pieces", "3", "--json"];

/// Every superstep is written down.
const AT_ONCE: [&str; 2] = ["--checkpoint-every", "0s"];

/// What the solve of [`GAME`] in memory writes.
pub fn expected(directory: &Path) -> Vec<u8> {
    let out = directory.join("expected.zgt");
    let out = out.to_str().unwrap();
    succeed(directory, &[&["solve"], &GAME[..], &["--out", out]].concat());
    fs::read(out).unwrap()
}

/// The arguments that start a job or go on with it.
pub fn arguments(directory: &Path) -> Vec<&'static str> {
    if directory.join("job/progress.json").exists() {
        vec!["resume", "job", "--json"]
    } else {
        let job = ["--dir", "job", "--out", "table.zgt"];
        [&["solve"], &GAME[..], &job].concat()
    }
}

pub fn start(directory: &Path) -> Child {
    start_with(directory, &arguments(directory))
}

fn start_with(directory: &Path, arguments: &[&str]) -> Child {
    ziggurat(directory, &[arguments, &AT_ONCE].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Starts the job, and kills it after so many supersteps.
fn begin(directory: &Path, supersteps: usize) {
    kill_after(start(directory), supersteps);
}

fn kill_after(mut solve: Child, supersteps: usize) {
    let lines = BufReader::new(solve.stdout.take().unwrap()).lines();
    let swept =
        lines.filter(|line| line.as_ref().unwrap().contains("\"superstep\"")).take(supersteps);
    assert_eq!(swept.count(), supersteps);
    solve.kill().unwrap();
    solve.wait().unwrap();
}

/// Starts the job, and asks it to stop after so many supersteps. It closes its store, which then has no files but those
/// that are needed.
pub fn stop_after(directory: &Path, supersteps: usize) -> Output {
    stop_at(directory, "\"superstep\"", supersteps)
}

/// The same after so many lines with a text.
pub fn stop_at(directory: &Path, text: &str, count: usize) -> Output {
    let mut solve = start(directory);
    let mut lines = BufReader::new(solve.stdout.take().unwrap()).lines();
    let told = lines.by_ref().filter(|line| line.as_ref().unwrap().contains(text));
    assert_eq!(told.take(count).count(), count);
    assert!(Command::new("kill").arg(solve.id().to_string()).status().unwrap().success());
    lines.for_each(drop);
    solve.wait_with_output().unwrap()
}

/// Goes on to the end, and compares the table. Returns the standard error.
pub fn ends_well(directory: &Path, expected: &[u8]) -> String {
    let output = run(directory, &arguments(directory));
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(fs::read(directory.join("table.zgt")).unwrap() == expected, "other bytes");
    stderr(&output)
}

/// The files of values, the largest first.
pub fn value_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join("job/store/values")).unwrap();
    let mut files: Vec<(u64, PathBuf)> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sst"))
        .map(|path| (fs::metadata(&path).unwrap().len(), path))
        .collect();
    files.sort();
    files.into_iter().rev().map(|(_, path)| path).collect()
}

/// Whether a solve got to its end before it was killed.
fn ended_well(directory: &Path, output: &Output) -> bool {
    if output.status.code().is_some_and(|code| code != 0) {
        // The one before was killed when there was a job, but before it could say so.
        assert!(stderr(output).contains("ziggurat resume job"), "{}", stderr(output));
        succeed(directory, &["resume", "job", "--json"]);
        return true;
    }
    output.status.success()
}

#[test]
fn whoever_is_killed_while_beginning_can_begin_again() {
    let mut random = Random::new();
    let solve =
        ["solve", "finkel", "--pieces", "2", "--json", "--dir", "job", "--out", "table.zgt"];
    for _ in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let mut killed = ziggurat(path, &solve).stdout(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(random.below(40)));
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert!(ended_well(path, &run(path, &solve)));
    }
}

#[test]
fn fifty_kills_at_random_moments_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let begun = Instant::now();
    let expected = expected(path);
    // On a slow or busy machine a solve takes longer to get anywhere, and the longer it is until the next kill.
    let mut longest = (begun.elapsed().as_millis() as u64).max(400);
    let mut random = Random::new();
    let mut kills = 0;
    let mut most_solved = 0;
    while kills < 50 {
        let mut solve = start(path);
        thread::sleep(Duration::from_millis(random.below(longest)));
        if solve.try_wait().unwrap().is_none() {
            kills += 1;
        }
        solve.kill().unwrap();
        let output = solve.wait_with_output().unwrap();
        assert!(!stderr(&output).contains("Damaged"), "{}", stderr(&output));
        if ended_well(path, &output) {
            assert!(fs::read(path.join("table.zgt")).unwrap() == expected, "after {kills} kills");
            most_solved = 6;
            fs::remove_dir_all(path.join("job")).unwrap();
            fs::remove_file(path.join("table.zgt")).unwrap();
        } else if let Ok(progress) = fs::read(path.join("job/progress.json")) {
            let progress: Value = serde_json::from_slice(&progress).unwrap();
            let solved = progress["steps"].as_array().unwrap().iter();
            most_solved = most_solved.max(solved.filter(|step| step["solved"] == true).count());
            if most_solved <= 2 {
                longest += longest / 10;
            }
        }
    }
    println!("at most {most_solved} steps were solved between kills");
    assert!(most_solved > 2, "a killed solve gets on");
    let said = ends_well(path, &expected);
    assert!(!said.contains("Damaged"), "{said}");
}

#[test]
fn a_killed_solve_goes_on_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let supersteps = |printed: &str| -> Vec<(Value, Value)> {
        let events = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let swept = events.filter(|event| event["event"] == "superstep");
        swept.map(|event| (event["tier"].clone(), event["superstep"].clone())).collect()
    };
    let solve = [&["solve"], &GAME[..], &["--out", "expected.zgt"]].concat();
    let all = supersteps(&succeed(path, &solve));
    let expected = fs::read(path.join("expected.zgt")).unwrap();
    // The steps of the first levels are solved by then, and the only one of its level is begun.
    let before = all.iter().position(|(tier, _)| *tier == "3-2").unwrap();
    begin(path, before + 8);
    let printed = succeed(path, &arguments(path));
    assert!(fs::read(path.join("table.zgt")).unwrap() == expected, "other bytes");
    for event in ["step-found", "step-resumed"] {
        assert!(printed.contains(&format!("\"{event}\"")), "no {event}: {printed}");
    }
    // The last ones that were printed need not have been written down.
    let again = supersteps(&printed);
    assert!(again.len() + before + 4 <= all.len(), "{again:?} of {all:?}");
    assert!(again.iter().all(|superstep| all.contains(superstep)));
}

#[test]
fn whoever_is_killed_when_the_table_is_written_finds_it_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    succeed(path, &arguments(path));
    assert_eq!(arguments(path)[0], "resume");
    ends_well(path, &expected);
    // It may be another's table. There are no values any more, of which it could be written once more.
    let mut other = expected.clone();
    other[expected.len() / 2] ^= 1;
    for other in [other, expected[1..].to_vec()] {
        fs::write(path.join("table.zgt"), &other).unwrap();
        let output = run(path, &arguments(path));
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        assert!(said.contains("table.zgt is not as it was written"), "{said}");
        assert!(said.contains("solve again in another directory"), "{said}");
        assert!(fs::read(path.join("table.zgt")).unwrap() == other, "it was replaced");
    }
    let left = fs::read_dir(path).unwrap().count();
    assert_eq!(left, 3, "the job, its table, and the one that was expected");
}

#[test]
fn a_table_whose_name_is_taken_meanwhile_stays_in_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    let mut solve = start(path);
    let lines = BufReader::new(solve.stdout.take().unwrap()).lines();
    lines.map(Result::unwrap).find(|line| line.contains("\"superstep\"")).unwrap();
    fs::write(path.join("table.zgt"), "precious").unwrap();
    let output = solve.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("table.zgt already exists") && said.contains("--out FILE"), "{said}");
    assert_eq!(fs::read(path.join("table.zgt")).unwrap(), b"precious");
    succeed(path, &["resume", "job", "--json", "--out", "other.zgt"]);
    assert!(fs::read(path.join("other.zgt")).unwrap() == expected);
}

#[test]
fn whoever_goes_on_replaces_what_may_be_replaced_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    let table = path.join("table.zgt");
    fs::write(&table, "precious").unwrap();
    let is_precious = || fs::read(&table).unwrap() == b"precious";
    let solve = [&arguments(path), &["--force"][..]].concat();
    kill_after(start_with(path, &solve), 20);
    assert!(is_precious());
    ends_well(path, &expected);

    fs::remove_dir_all(path.join("job")).unwrap();
    fs::remove_file(&table).unwrap();
    begin(path, 20);
    fs::write(&table, "precious").unwrap();
    let output = run(path, &arguments(path));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("table.zgt exists already") && is_precious());
    succeed(path, &[&arguments(path), &["--force"][..]].concat());
    assert!(fs::read(&table).unwrap() == expected, "other bytes");
}

#[test]
fn damaged_values_are_computed_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    type Damage = (&'static str, fn(&Path));
    let damages: [Damage; 3] = [
        ("a flipped bit", |file| {
            let mut bytes = fs::read(file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 4;
            fs::write(file, bytes).unwrap();
        }),
        ("a truncated file", |file| {
            let half = fs::metadata(file).unwrap().len() / 2;
            fs::File::options().write(true).open(file).unwrap().set_len(half).unwrap();
        }),
        ("a deleted file", |file| fs::remove_file(file).unwrap()),
    ];
    for (what, damage) in damages {
        for which in [0, 3] {
            stop_after(path, 100);
            let files = value_files(path);
            damage(&files[which.min(files.len() - 1)]);
            let said = ends_well(path, &expected);
            assert!(said.contains("Damaged"), "{what}: {said}");
            if what != "a flipped bit" {
                assert!(said.contains("Damaged: the database of values ("), "{what}: {said}");
            }
            fs::remove_dir_all(path.join("job")).unwrap();
            fs::remove_file(path.join("table.zgt")).unwrap();
        }
    }
}

#[test]
fn a_damaged_state_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    begin(path, 20);
    let state = path.join("job/store/state");
    for entry in fs::read_dir(&state).unwrap() {
        let file = entry.unwrap().path();
        if file.file_name().unwrap().to_str().unwrap().starts_with("MANIFEST") {
            fs::write(file, "rubbish").unwrap();
        }
    }
    let output = run(path, &arguments(path));
    assert!(!output.status.success());
    let said = stderr(&output);
    assert!(said.contains("job/store") && !path.join("table.zgt").exists(), "{said}");
}

#[test]
fn a_state_without_its_log_is_refused_and_no_values_are_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    stop_after(path, 50);
    let files = value_files(path);
    for entry in fs::read_dir(path.join("job/store/state")).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_some_and(|extension| extension == "log") {
            fs::remove_file(file).unwrap();
        }
    }
    for _ in 0..2 {
        let output = run(path, &["resume", "job"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("job/store is damaged"), "{}", stderr(&output));
        assert!(!files.is_empty() && value_files(path) == files);
    }
}

#[test]
fn a_directory_belongs_to_one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut first = start(path);
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("\"superstep\"")));
    let second = run(path, &["resume", "job"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains("is in use by another process"), "{}", stderr(&second));
    let again = run(path, &[&["solve"], &GAME[..], &["--dir", "job", "--out", "b.zgt"]].concat());
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("resume job"), "{}", stderr(&again));
    // Whoever only looks is welcome.
    let status = succeed(path, &["status", "job"]);
    assert!(status.contains("steps are solved"), "{status}");
    assert!(status.contains(&format!("Running: process {}, for ", first.id())), "{status}");
    first.kill().unwrap();
    first.wait().unwrap();
    let status = succeed(path, &["status", "job"]);
    assert!(
        status.contains("Not running; go on with it: ") && status.contains("resume job"),
        "{status}"
    );
    let status = succeed_with_json(path, &["status", "job", "--json"]);
    assert_eq!(status["running"], false);
    succeed(path, &["resume", "job", "--json"]);
    let status = succeed(path, &["status", "job"]);
    assert!(status.contains("Solved: the table is in "), "{status}");
}

#[test]
fn an_interrupted_job_says_how_to_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    let output = stop_after(path, 50);
    assert_eq!(output.status.code(), Some(130));
    assert!(stderr(&output).contains("resume job"), "{}", stderr(&output));
    ends_well(path, &expected);
}

#[test]
fn a_directory_without_a_solve_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for command in ["resume", "status"] {
        let output = run(directory.path(), &[command, "nothing"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("nothing holds no solve"), "{}", stderr(&output));
    }
}

#[test]
fn a_progress_that_is_gone_or_of_something_else_is_no_reason_to_begin_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    begin(path, 20);
    let progress = path.join("job/progress.json");
    let solve = [&["solve"], &GAME[..], &["--dir", "job", "--out", "table.zgt"]].concat();
    for write in [|file: &Path| fs::remove_file(file), |file: &Path| fs::write(file, "{}")] {
        write(&progress).unwrap();
        for (command, code) in [(&["status", "job"][..], 1), (&solve[..], 2)] {
            let output = run(path, command);
            assert_eq!(output.status.code(), Some(code));
            assert!(stderr(&output).contains("resume job"), "{}", stderr(&output));
        }
    }
    succeed(path, &["resume", "job", "--json"]);
    assert!(fs::read(path.join("table.zgt")).unwrap() == expected, "other bytes");
}

#[test]
fn a_directory_with_something_else_is_neither_solved_in_nor_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir(path.join("job")).unwrap();
    fs::write(path.join("job/progress.json"), "{}").unwrap();
    let solve = [&["solve"], &GAME[..], &["--dir", "job"]].concat();
    for (command, said) in [
        (&solve[..], "job has a progress.json of something else"),
        (&["status", "job"][..], "job holds no solve"),
        (&["resume", "job"][..], "job holds no solve"),
    ] {
        let output = run(path, command);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

#[test]
fn what_cannot_be_looked_at_is_not_said_to_be_missing_or_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    // A link to itself is what nobody may follow, whatever else they may.
    let refused = |command: &[&str]| {
        let output = run(path, command);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("symbolic links"), "{}", stderr(&output));
    };
    let solve = [&["solve"], &GAME[..], &["--dir", "job"]].concat();
    fs::create_dir(path.join("job")).unwrap();
    for (name, commands) in [
        ("job/progress.json", [&solve[..], &["status", "job"]]),
        ("job/store", [&solve[..], &["resume", "job"]]),
    ] {
        symlink(path.join(name), path.join(name)).unwrap();
        commands.into_iter().for_each(refused);
        fs::remove_file(path.join(name)).unwrap();
    }
}

#[test]
fn a_directory_that_cannot_be_written_to_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::set_permissions(path, fs::Permissions::from_mode(0o555)).unwrap();
    // Whoever may do anything has to be told otherwise by a place that is not a directory.
    let is_root = fs::write(path.join("probe"), "").is_ok();
    let dir = if is_root { "probe/job" } else { "job" };
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("table.zgt");
    let job = ["--dir", dir, "--out", out.to_str().unwrap()];
    let output = run(path, &[&["solve"], &GAME[..], &job].concat());
    assert!(!output.status.success());
    assert!(stderr(&output).contains(dir), "{}", stderr(&output));
    assert!(!out.exists());
}

/// A file system of a few megabytes, if this machine lets us have one.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    pub fn mount(at: &Path, size: &str) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(at)
            .stderr(Stdio::null())
            .status();
        if mount.is_ok_and(|status| status.success()) {
            return Some(Self(at.to_owned()));
        }
        eprintln!("SKIPPED: no file system can be mounted here");
        None
    }

    pub fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        assert!(
            Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap().success()
        );
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).status());
    }
}

#[test]
fn a_full_disk_stops_a_solve_that_goes_on_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    let Some(disk) = SmallDisk::mount(&path.join("job"), "40m") else { return };
    let solve = [&["solve"], &GAME[..], &["--dir", "job", "--out", "table.zgt"]].concat();
    // As soon as the job has begun, something else fills its disk.
    let mut first = ziggurat(path, &[&solve[..], &AT_ONCE].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("\"superstep\"")));
    drop(fs::write(path.join("job/other"), vec![0; 40 << 20]));
    lines.for_each(drop);
    let output = first.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("resume job"), "{}", stderr(&output));
    disk.remount("size=200m");
    ends_well(path, &expected);
}

#[test]
fn a_disk_that_has_become_read_only_is_refused_until_it_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    let Some(disk) = SmallDisk::mount(&path.join("job"), "200m") else { return };
    begin(path, 20);
    disk.remount("ro");
    for arguments in [&arguments(path), &[&["solve"], &GAME[..], &["--dir", "job/new"]].concat()] {
        let output = run(path, arguments);
        assert!(!output.status.success());
        let said = stderr(&output);
        assert!(said.contains("job") && said.to_lowercase().contains("read-only"), "{said}");
        assert!(!path.join("table.zgt").exists());
    }
    disk.remount("rw");
    ends_well(path, &expected);
}

#[test]
fn a_clock_that_jumps_between_two_runs_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let expected = expected(path);
    let (future, past) = (Duration::from_secs(1 << 32), Duration::from_secs(1));
    for (i, since) in [future, past].into_iter().enumerate() {
        begin(path, 10 + 20 * i);
        // To the next run, all that was written down is from long before or after.
        let time = SystemTime::UNIX_EPOCH + since;
        let mut directories = vec![path.join("job")];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let file = entry.unwrap().path();
                let times = FileTimes::new().set_modified(time).set_accessed(time);
                File::open(&file).unwrap().set_times(times).unwrap();
                if file.is_dir() {
                    directories.push(file);
                }
            }
        }
    }
    succeed(path, &["status", "job"]);
    ends_well(path, &expected);
}

#[test]
fn memory_does_not_change_the_bytes_and_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let game = ["solve", "finkel", "--pieces", "5", "--tolerance", "1e-2", "--json"];
    succeed(path, &[&game[..], &["--out", "expected.zgt"]].concat());
    let job = ["--dir", "job", "--out", "table.zgt", "--memory", "200MB", "--threads", "2"];
    let printed = succeed(path, &[&game[..], &job].concat());
    assert!(printed.contains("\"arrays\":\"files\""), "{printed}");
    let expected = fs::read(path.join("expected.zgt")).unwrap();
    assert!(fs::read(path.join("table.zgt")).unwrap() == expected);
    let solved: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    let peak = solved["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak < 220_000_000, "{peak}");
}

#[test]
fn what_a_solve_may_replace_is_its_own_table_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    succeed(
        path,
        &["solve", "finkel", "--pieces", "1", "--dir", "job", "--out", "a.zgt", "--force"],
    );
    fs::write(path.join("other.zgt"), "precious").unwrap();
    let output = run(path, &["resume", "job", "--out", "other.zgt"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(fs::read(path.join("other.zgt")).unwrap(), b"precious");
    // A table that is there already is as good as one that is written now.
    for out in [&["--out", "b.zgt"][..], &["--out", "b.zgt"], &[]] {
        succeed(path, &[&["resume", "job"], out].concat());
    }
    assert_eq!(fs::read(path.join("a.zgt")).unwrap(), fs::read(path.join("b.zgt")).unwrap());
}
