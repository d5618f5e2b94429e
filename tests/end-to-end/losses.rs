//! What is saved and intact is given up by proof or by an operator. Time gives up only parts of steps under way, and counts
//! from when a job first cannot go on without them.

use std::{fs, thread, time::Duration};

use crate::cluster::{Cluster, expected};

/// Longer than the clusters of these tests wait for lost workers.
const LONG: Duration = Duration::from_secs(9);

/// How many steps of a job are solved.
fn solved_steps(cluster: &Cluster, job: &str) -> u64 {
    let status = cluster.status(job).unwrap_or_default();
    status["job"]["solved_steps"].as_u64().unwrap_or(0)
}

/// Lets a job solve some steps, and pauses it.
pub fn begin(cluster: &Cluster) -> String {
    let job = cluster.submit();
    cluster.wait_for("solved steps", || solved_steps(cluster, &job) >= 2);
    cluster.ask(&["pause", &job]);
    cluster.wait_for("the pause", || message(cluster, &job).is_empty());
    job
}

/// Why a job waits.
pub fn message(cluster: &Cluster, job: &str) -> String {
    let status = cluster.status(job).unwrap_or_default();
    status["job"]["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_job_that_is_resumed_waits_for_a_worker_that_went_while_it_was_paused() {
    let expected = expected();
    let mut cluster = Cluster::new(1);
    let job = begin(&cluster);
    let solved = solved_steps(&cluster, &job);
    cluster.kill(Some(0));
    cluster.start_another_worker();
    thread::sleep(LONG);
    cluster.ask(&["resume", &job]);
    // What it has of a step under way is waited for from now on, of solved steps however long that takes.
    let waits = "`ziggurat worker forget worker-0`";
    cluster.wait_for("the job to say so", || message(&cluster, &job).contains(waits));
    thread::sleep(LONG);
    assert!(message(&cluster, &job).contains(waits), "{}", message(&cluster, &job));
    assert_eq!(solved_steps(&cluster, &job), solved);
    cluster.start_again(Some(0));
    cluster.ends_well(&job, &expected);
    let log = cluster.log("coordinator");
    let twice = log.lines().filter(|line| line.contains("step 1-1 is solved")).count();
    assert_eq!(twice, 1, "{log}");
}

#[test]
fn what_a_checkpoint_store_has_waits_for_a_worker_that_reads_it() {
    let expected = expected();
    let shared = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::with(1, &["--checkpoints", shared.path().to_str().unwrap()]);
    let job = begin(&cluster);
    let solved = solved_steps(&cluster, &job);
    cluster.kill(Some(0));
    fs::remove_dir_all(cluster.path().join("worker-0")).unwrap();
    let address = cluster.address();
    let without = ["worker", "--coordinator", &address, "--dir", "without", "--name", "without"];
    let mut without = cluster.start("without", &without);
    cluster.ask(&["resume", &job]);
    let waits = "only the checkpoint store has";
    cluster.wait_for("the job to say so", || message(&cluster, &job).contains(waits));
    thread::sleep(LONG);
    assert!(message(&cluster, &job).contains(waits), "{}", message(&cluster, &job));
    assert_eq!(solved_steps(&cluster, &job), solved);
    cluster.start_again(Some(0));
    cluster.ends_well(&job, &expected);
    let log = cluster.log("coordinator");
    let twice = log.lines().filter(|line| line.contains("step 1-1 is solved")).count();
    assert_eq!(twice, 1, "{log}");
    without.kill().unwrap();
    without.wait().unwrap();
}

/// How often the first step of a job was solved.
fn solved_first(cluster: &Cluster) -> usize {
    let log = cluster.log("coordinator");
    log.lines().filter(|line| line.contains("step 1-1 is solved")).count()
}

#[test]
fn a_worker_that_comes_back_after_it_was_given_up_brings_its_solved_steps() {
    let expected = expected();
    let mut cluster = Cluster::new(1);
    let job = begin(&cluster);
    cluster.kill(Some(0));
    cluster.wait_for("the worker to be gone", || cluster.log("coordinator").contains("is gone"));
    cluster.ask(&["worker", "forget", "worker-0"]);
    assert_eq!(solved_steps(&cluster, &job), 0);
    cluster.ask(&["resume", &job]);
    cluster.start_again(Some(0));
    cluster.ends_well(&job, &expected);
    assert_eq!(solved_first(&cluster), 1);

    // Those of a solved job, too.
    cluster.kill(Some(0));
    let is_away = || cluster.log("coordinator").matches("worker-0 is gone").count() == 2;
    cluster.wait_for("the worker to be gone", is_away);
    cluster.ask(&["worker", "forget", "worker-0"]);
    assert!(message(&cluster, &job).contains("if it comes back with its directory"));
    cluster.start_again(Some(0));
    cluster.wait_for("the worker", || message(&cluster, &job).is_empty());
    cluster.ends_well(&job, &expected);
    assert_eq!(solved_first(&cluster), 1);
}
