//! Whoever stops a solve is left with nothing broken.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use crate::support::{files, run, stderr, ziggurat};

/// Starts a long solve, waits until it sweeps, sends some signals, and checks how it ends.
fn stops_cleanly(signals: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let mut solve = ziggurat(directory.path(), &["solve", "finkel", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(solve.stdout.take().unwrap()).lines();
    let sweeping = lines.find(|line| line.as_ref().unwrap().contains("\"superstep\""));
    assert!(sweeping.is_some(), "the solve ended before it could be stopped");
    assert_eq!(files(directory.path()).len(), 1, "a file is being written");

    for signal in signals {
        let kill = Command::new("kill").args([*signal, &solve.id().to_string()]).status().unwrap();
        assert!(kill.success());
    }
    // The pipe must be read for the solve not to wait on it.
    lines.for_each(drop);
    let output = solve.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(stderr(&output).contains("error: interrupted; no file was written"));
    assert_eq!(files(directory.path()), [""; 0]);
}

#[test]
fn ctrl_c_leaves_no_file() {
    stops_cleanly(&["-INT"]);
}

#[test]
fn a_request_to_terminate_leaves_no_file() {
    stops_cleanly(&["-TERM"]);
}

#[test]
fn a_second_ctrl_c_leaves_no_file_either() {
    stops_cleanly(&["-INT", "-INT"]);
}

#[test]
fn what_a_killed_solve_left_goes_with_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let others = [".table.zgt.partial-toolong", ".table.zgt.backup", ".other.zgt.partial-abc123"];
    let written = ".table.zgt.partial-abc124";
    for name in others.into_iter().chain([".table.zgt.partial-abc123", written]) {
        fs::write(path.join(name), "values").unwrap();
    }
    let writing = File::open(path.join(written)).unwrap();
    writing.lock().unwrap();

    let solve = run(path, &["solve", "finkel", "--pieces", "1", "--out", "table.zgt"]);
    assert!(stderr(&solve).contains(".table.zgt.partial-abc123"), "{}", stderr(&solve));
    let mut expected = others.to_vec();
    expected.extend([written, "table.zgt"]);
    expected.sort();
    assert_eq!(files(path), expected);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut list = ziggurat(directory.path(), &["rulesets", "show", "finkel"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(list.stdout.take());
    let output = list.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "");
}
