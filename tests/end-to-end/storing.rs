//! A checkpoint store that takes its time: sweeps do not wait for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::cluster::{Cluster, expected_of};

#[path = "../../shared/checkpoints/tests/bucket/server.rs"]
#[expect(dead_code, reason = "it can misbehave in more ways")]
mod server;

use server::Bucket;

/// Its largest steps take a second.
const GAME: [&str; 3] = ["finkel", "--pieces", "4"];

/// How long a write takes once the bucket is slow.
const DELAY: Duration = Duration::from_secs(1);

/// A cluster whose workers have a bucket, and what makes that slow.
fn with_a_bucket(workers: usize) -> (Runtime, Cluster, Arc<AtomicBool>) {
    // Some threads wait in it, and some answer meanwhile.
    let runtime = Builder::new_multi_thread().worker_threads(16).enable_all().build().unwrap();
    let is_slow = Arc::new(AtomicBool::new(false));
    let slow = is_slow.clone();
    let bucket = runtime.block_on(Bucket::start(move |call| {
        if call.method == "PUT" && slow.load(Relaxed) {
            thread::sleep(DELAY);
        }
        None
    }));
    let arguments = ["--checkpoints", "s3://bucket/some"];
    let cluster = Cluster::with_variables(workers, &arguments, bucket.variables());
    (runtime, cluster, is_slow)
}

/// What is said about a step that is under way.
fn running(cluster: &Cluster, job: &str, step: &str) -> Option<Value> {
    let status = cluster.status(job)?;
    let mut steps = status["steps"].as_array()?.iter();
    steps.find(|it| it["tier"] == step && it["state"] == "running").cloned()
}

/// How many checkpoints are on a worker's disk, of all that it has saved, and how many it has stored behind its sweeps.
fn saves(cluster: &Cluster) -> (usize, usize) {
    let log = cluster.log("worker-0");
    (log.matches(" saved epoch=").count(), log.matches(" stored job=").count())
}

#[test]
fn sweeps_go_on_while_a_slow_store_takes_a_checkpoint_and_a_kill_meanwhile_changes_no_byte() {
    let expected = expected_of(GAME);
    let (_runtime, mut cluster, is_slow) = with_a_bucket(2);
    let job = cluster.submit_game(GAME, "50ms");
    cluster.wait_for("the last step", || running(&cluster, &job, "4-4").is_some());
    is_slow.store(true, Relaxed);
    // It is saved, sweeps on, and what is saved is not stored.
    let mut first_saves = None;
    let mut before: Option<(u64, (usize, usize))> = None;
    let mut storing = Value::Null;
    cluster.wait_for("sweeps behind which a checkpoint is stored", || {
        let saves = saves(&cluster);
        let Some(step) = running(&cluster, &job, "4-4") else { return false };
        let now = step["supersteps"].as_u64().unwrap();
        let has_saved = saves.0 > *first_saves.get_or_insert(saves.0);
        before = before.filter(|&(_, then)| then == saves).or(Some((now, saves)));
        if !step["storing"].is_null() {
            storing = step["storing"].clone();
        }
        has_saved && now > before.map_or(now, |(then, _)| then) + 5
    });
    assert_eq!(storing["workers"], 2, "the status does not say what is on its way: {storing}");
    cluster.kill(Some(1));
    is_slow.store(false, Relaxed);
    cluster.start_again(Some(1));
    cluster.ends_well(&job, &expected);
    assert!(saves(&cluster).1 > 0, "nothing was stored behind sweeps");
}
