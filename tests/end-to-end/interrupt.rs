//! Whoever stops a solve is left with nothing broken.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use crate::support::{files, stderr, ziggurat};

/// Starts a long solve, waits until it sweeps, sends a signal, and checks how it ends.
fn stops_cleanly(signal: &str) {
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

    let kill = Command::new("kill").args([signal, &solve.id().to_string()]).status().unwrap();
    assert!(kill.success());
    // The pipe must be read for the solve not to wait on it.
    lines.for_each(drop);
    let output = solve.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(stderr(&output).contains("error: interrupted; no table was written"));
    assert_eq!(files(directory.path()), [""; 0]);
}

#[test]
fn ctrl_c_leaves_no_file() {
    stops_cleanly("-INT");
}

#[test]
fn a_request_to_terminate_leaves_no_file() {
    stops_cleanly("-TERM");
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
