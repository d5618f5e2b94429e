//! A name is that of the worker that has saved values under it, until an operator says otherwise.

use std::fs;

use crate::{
    cluster::{Cluster, expected},
    support::{run, stderr},
};

/// A second worker of the name of the first ends, and says why.
fn refused(cluster: &Cluster, part: &str) {
    let address = cluster.address();
    let twin = ["worker", "--coordinator", &address, "--dir", "twin", "--name", "worker-0"];
    let output = run(cluster.path(), &twin);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("error: the coordinator at") && said.contains(part), "{said}");
}

#[test]
fn a_second_worker_of_a_name_changes_nothing_and_a_lost_disk_is_said_by_an_operator() {
    let expected = expected();
    let mut cluster = Cluster::new(1);
    let job = cluster.submit();
    cluster.ends_well(&job, &expected);
    refused(
        &cluster,
        "another worker called worker-0 is connected; give this one a name of its own",
    );
    let forget = ["worker", "forget", "worker-0", "--coordinator", &cluster.address()];
    let said = stderr(&run(cluster.path(), &forget));
    assert!(said.contains("worker worker-0 is connected"), "{said}");
    // While the first is away, and after a restart of the coordinator.
    cluster.kill(Some(0));
    cluster.kill(None);
    cluster.start_again(None);
    cluster.wait_for("the coordinator", || cluster.state(&job) == "solved");
    refused(&cluster, "alone has values");
    cluster.start_again(Some(0));
    cluster.ends_well(&job, &expected);

    // Its disk is lost.
    cluster.kill(Some(0));
    fs::remove_dir_all(cluster.path().join("worker-0")).unwrap();
    cluster.wait_for("the worker to be gone", || {
        let workers = cluster.ask(&["workers", "--json"]);
        workers.contains("\"connected\":false")
    });
    assert_eq!(cluster.ask(&["worker", "forget", "worker-0"]), "Worker worker-0 is given up\n");
    let status = cluster.status(&job).unwrap();
    let message = status["job"]["message"].as_str().unwrap();
    assert_eq!(status["job"]["state"], "solved");
    assert!(message.contains("values are lost: worker worker-0"), "{message}");
    cluster.start_again(Some(0));
    cluster.ask(&["resume", &job]);
    cluster.ends_well(&job, &expected);
}

#[test]
fn a_worker_is_asked_to_leave_by_its_name() {
    let mut cluster = Cluster::new(1);
    cluster.wait_for("the worker", || cluster.log("worker-0").contains("registered"));
    let said = cluster.ask(&["worker", "drain", "worker-0"]);
    assert_eq!(said, "Worker worker-0 leaves once its work is saved\n");
    let mut worker = cluster.take(Some(0));
    assert!(worker.wait().unwrap().success());
    assert_eq!(cluster.ask(&["workers"]), "There are no workers.\n");
    let drain = ["worker", "drain", "worker-0", "--coordinator", &cluster.address()];
    let output = run(cluster.path(), &drain);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("there is no worker worker-0"), "{}", stderr(&output));
}
