//! Two coordinators on copies of one directory, with workers that share a checkpoint store: the second ends.

use std::{net::TcpStream, process::Command};

use crate::cluster::Cluster;

#[test]
fn a_second_coordinator_of_a_cluster_ends_and_names_the_first() {
    let mut cluster = Cluster::with(1, &["--checkpoints", "store"]);
    let job = cluster.submit();
    cluster.kill(None);
    let copies = ["-r", "coordinator", "copy"];
    let copied = Command::new("cp").args(copies).current_dir(cluster.path()).status().unwrap();
    assert!(copied.success());
    cluster.start_again(None);
    cluster.wait_for("the job", || cluster.state(&job) == "solved");

    let second = Cluster::free_address();
    let arguments = ["coordinator", "--dir", "copy", "--listen", &second, "--lease", "2s"];
    let mut coordinator = cluster.start("second", &arguments);
    cluster.wait_for("the second coordinator", || TcpStream::connect(&second).is_ok());
    let arguments = ["worker", "--coordinator", &second, "--dir", "other", "--name", "other"];
    let mut worker =
        cluster.start("other", &[&arguments[..], &["--checkpoints", "store"]].concat());
    let mut ended = None;
    cluster.wait_for("the end of the second coordinator", || {
        ended = coordinator.try_wait().unwrap();
        ended.is_some()
    });
    worker.kill().unwrap();
    worker.wait().unwrap();
    let log = cluster.log("second");
    assert_eq!(ended.unwrap().code(), Some(2), "{log}");
    let names = log.contains(&cluster.address()) && log.contains("store of worker other");
    assert!(log.contains("another coordinator of this cluster runs") && names, "{log}");
    // Nothing of the first is touched.
    cluster.kill(Some(0));
    std::fs::remove_dir_all(cluster.path().join("worker-0")).unwrap();
    cluster.start_again(Some(0));
    cluster.wait_for("the worker", || {
        cluster.ask(&["workers"]).contains("worker-0") && cluster.state(&job) == "solved"
    });
    cluster.ask(&["export", &job, "-o", "first.zgt"]);
}
