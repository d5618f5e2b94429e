//! A job that does not fit keeps no other waiting.

use std::{process::Stdio, time::Instant};

use crate::{cluster::Cluster, support::limited};

#[test]
fn a_job_that_does_not_fit_lets_others_be_solved() {
    let cluster = Cluster::new(0);
    let address = cluster.address();
    // Its files may have 256 KiB. To write more is an error, without the signal that would end the worker.
    let worker = ["worker", "--coordinator", &address, "--dir", "worker", "--name", "small"];
    let mut command = limited(cluster.path(), "trap '' XFSZ; ulimit -f 256", &worker);
    let mut worker = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    cluster.wait_for("the worker", || cluster.log("coordinator").contains("worker small is here"));
    let large = cluster.ask(&["submit", "finkel", "--pieces", "5"]).trim().to_owned();
    let message = |job: &str| {
        let status = cluster.status(job).unwrap_or_default();
        status["job"]["message"].as_str().unwrap_or_default().to_owned()
    };
    cluster.wait_for("the large job to fail", || {
        assert_ne!(cluster.state(&large), "solved");
        message(&large).contains("cannot take part")
    });
    let started = Instant::now();
    let small = cluster.ask(&["submit", "finkel", "--pieces", "2"]).trim().to_owned();
    cluster.wait_for("the small job", || {
        assert!(!message(&small).contains("cannot take part"), "{}", message(&small));
        cluster.state(&small) == "solved"
    });
    // The worker rests for a minute, and from the steps of the large job alone.
    assert!(started.elapsed().as_secs() < 45, "{:?}", started.elapsed());
    worker.kill().unwrap();
    worker.wait().unwrap();
}
