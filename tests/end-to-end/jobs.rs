//! Jobs wait for each other, and are removed when they have ended.

use serde_json::Value;

use crate::{
    cluster::{Cluster, saved_below},
    support::{run, stderr},
};

/// The numbers of the jobs that there are.
fn jobs(cluster: &Cluster) -> Vec<u64> {
    let listed: Value = serde_json::from_str(&cluster.ask(&["jobs", "--json"])).unwrap();
    listed["jobs"].as_array().unwrap().iter().map(|job| job["job"].as_u64().unwrap()).collect()
}

/// Submits a small job.
fn submit(cluster: &Cluster, more: &[&str]) -> String {
    cluster.ask(&[&["submit", "blitz", "--pieces", "1"], more].concat()).trim().to_owned()
}

#[test]
fn a_job_waits_for_another_which_is_removed_with_its_values_then() {
    let shared = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::with(1, &["--checkpoints", shared.path().to_str().unwrap()]);
    let first = cluster.submit();
    cluster.ask(&["pause", &first]);
    let next = submit(&cluster, &["--after", &first, "--priority", "-7", "--max-workers", "1"]);
    let told = &cluster.status(&next).unwrap()["job"];
    assert_eq!((&told["state"], &told["priority"]), (&"queued".into(), &(-7).into()));
    assert_eq!((&told["max_workers"], &told["after"]), (&1.into(), &1.into()));
    let why = told["message"].as_str().unwrap();
    assert_eq!(why, "waiting for job 1, which is paused: `ziggurat resume 1` goes on with it");
    let address = cluster.address();
    let refused = run(cluster.path(), &["jobs", "rm", &first, "--coordinator", &address]);
    let said = stderr(&refused);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("job 1 is paused; `ziggurat cancel 1` ends it"), "{said}");
    cluster.ask(&["resume", &first]);
    cluster.wait_for("the second job", || cluster.state(&next) == "solved");
    assert_eq!(cluster.state(&first), "solved");
    let before = saved_below(shared.path());
    assert_eq!(cluster.ask(&["jobs", "rm", &first]), "Job 1 is removed\n");
    cluster.wait_for("the space", || saved_below(shared.path()) < before / 2);
    let gone = run(cluster.path(), &["status", &first, "--coordinator", &address]);
    assert_eq!(gone.status.code(), Some(2));
    cluster.ask(&["export", &next, "-o", "next.zgt"]);
    // It stays so, and its number is not given again.
    cluster.kill(None);
    cluster.start_again(None);
    cluster.wait_for("the coordinator", || cluster.state(&next) == "solved");
    assert_eq!(jobs(&cluster), [2]);
    assert_eq!(submit(&cluster, &[]), "3");
    cluster.kill(None);
    let keeps =
        ["coordinator", "--dir", "coordinator", "--listen", &address, "--keep-solved", "1s"];
    let mut coordinator = cluster.start("coordinator", &keeps);
    cluster.wait_for("the jobs to be removed", || {
        let listed = run(cluster.path(), &["jobs", "--coordinator", &address]);
        listed.stdout == b"There are no jobs.\n"
    });
    coordinator.kill().unwrap();
    coordinator.wait().unwrap();
}
