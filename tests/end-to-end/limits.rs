//! Limits of a process (`ulimit`) are errors that name them. Nothing is left behind, and what was solved is not lost.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::support::{files, limited, run, stderr, succeed};

fn run_limited(directory: &Path, limits: &str, arguments: &[&str]) -> Output {
    limited(directory, limits, arguments).output().expect("a shell starts")
}

/// Fails with an exit code and says these things, under a limit, and leaves these files.
fn fails(
    directory: &Path,
    limits: &str,
    arguments: &[&str],
    exits: &[i32],
    said: &[&str],
    left: &[&str],
) {
    let output = run_limited(directory, limits, arguments);
    let message = stderr(&output);
    let exit = output.status.code();
    assert!(exit.is_some_and(|exit| exits.contains(&exit)), "{arguments:?}: {exit:?}: {message}");
    for words in said {
        assert!(message.contains(words), "{arguments:?} does not say `{words}`: {message}");
    }
    assert_eq!(files(directory), left, "{arguments:?}: {message}");
}

#[test]
fn a_table_larger_than_files_may_be_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let solve = ["solve", "finkel", "--pieces", "4"];
    let said = ["1.02 MB (ulimit -f)", "ulimit -f unlimited"];
    let limit = "ulimit -f 1000";
    fails(path, limit, &solve, &[3], &said, &[]);
    let with_directory = [&solve[..], &["--dir", "job"]].concat();
    fails(path, limit, &with_directory, &[3], &said, &[]);
    succeed(path, &["solve", "finkel", "--pieces", "3", "--out", "t.zgt"]);
    for out in ["t.rgu", "t.parquet", "raw.zgt"] {
        let export = ["export", "t.zgt", out];
        let limit = "ulimit -f 40";
        fails(path, limit, &export, &[3], &["41.0 kB (ulimit -f)"], &["t.zgt"]);
    }
}

#[test]
fn a_file_that_gets_too_large_is_an_error_and_the_solve_goes_on_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    // Files of the journal are larger than that, and the table is not.
    let limit = "ulimit -f 40";
    let solve = ["solve", "finkel", "--pieces", "2", "--value-type", "percent16", "--out", "t.zgt"];
    let job = ["--dir", "job", "--checkpoint-every", "1ms"];
    let said = ["ulimit -f", "resume job"];
    fails(path, limit, &[&solve[..], &job].concat(), &[1], &said, &["job"]);
    succeed(path, &["resume", "job"]);
    let whole = tempfile::tempdir().unwrap();
    succeed(whole.path(), &solve);
    let read = |path: &Path| std::fs::read(path.join("t.zgt")).unwrap();
    assert!(read(path) == read(whole.path()));
}

#[test]
fn few_open_files_are_enough_or_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let solve = ["solve", "finkel", "--pieces", "3", "--dir", "job", "--checkpoint-every", "50ms"];
    let output = run_limited(path, "ulimit -n 128", &solve);
    assert!(output.status.success(), "{}", stderr(&output));
    let other = [&solve[..5], &["other", "--out", "o.zgt"]].concat();
    let output = run_limited(path, "ulimit -n 12", &other);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("at most 12 files open (ulimit -n)"), "{said}");
}

#[test]
fn threads_that_cannot_be_started_are_an_error_and_the_solve_goes_on_later() {
    if !rustix::process::geteuid().is_root() {
        eprintln!(
            "SKIPPED: a user with no other process, whose threads can be counted, takes root"
        );
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut refused = 0;
    // The limit is one of the user, and none of root.
    let other_user = "exec setpriv --reuid 54321 --clear-groups --inh-caps +dac_override --ambient-caps +dac_override \
                      bash -c 'ulimit -u LIMIT && exec \"$0\" \"$@\"' \"$0\" \"$@\"";
    for limit in 1..=10 {
        let job = format!("job-{limit}");
        let table = format!("{limit}.zgt");
        let solve = ["solve", "finkel", "--pieces", "2", "--threads", "2"];
        let solve = [&solve[..], &["--dir", &job, "--out", &table]].concat();
        let script = other_user.replace("LIMIT", &limit.to_string());
        let mut command = Command::new("bash");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_ziggurat")]).args(&solve);
        let output = command.current_dir(path).stdin(Stdio::null()).output().unwrap();
        let said = stderr(&output);
        if !output.status.success() {
            assert_eq!(output.status.code(), Some(3), "{limit}: {said}");
            assert!(said.contains("(ulimit -u"), "{limit}: {said}");
            refused += 1;
            // It had begun, or it had not.
            let again = run(path, &solve);
            if !again.status.success() {
                assert!(stderr(&again).contains("resume job"), "{limit}: {}", stderr(&again));
                succeed(path, &["resume", &job]);
            }
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_solve_whose_processor_time_is_over_goes_on_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let solve = ["solve", "finkel", "--pieces", "5", "--threads", "1", "--dir", "job"];
    let said = ["(ulimit -t)", "resume job"];
    fails(path, "ulimit -t 2", &solve, &[130], &said, &["job"]);
    let in_memory = ["solve", "finkel", "--pieces", "5", "--threads", "1", "--out", "t.zgt"];
    fails(path, "ulimit -t 2", &in_memory, &[130], &["(ulimit -t)"], &["job"]);
}
