//! Of two coordinators of a cluster, one has the checkpoint store.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{task::JoinHandle, time::timeout};
use ziggurat_checkpoints::{CheckpointStore, Holder, Standing};

/// Of coordinators in a hurry.
const LEASE: Duration = Duration::from_millis(150);

/// Machines under load take longer than some leases.
const PATIENCE: Duration = Duration::from_secs(60);

/// A worker of a coordinator, which looks after the store until this is dropped.
struct Worker {
    standing: Arc<Mutex<Standing>>,
    holds: JoinHandle<()>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.holds.abort();
    }
}

impl Worker {
    fn of(store: &CheckpointStore, incarnation: u64) -> Self {
        let standing = Arc::new(Mutex::new(Standing::Waits));
        let (told, holder) = (standing.clone(), holder(incarnation));
        let holds = store.clone().hold(holder, LEASE, move |now| *told.lock().unwrap() = now);
        Self { standing, holds: tokio::spawn(holds) }
    }

    async fn comes_to(&self, expected: &Standing) {
        let comes = async {
            while *self.standing.lock().unwrap() != *expected {
                tokio::time::sleep(LEASE / 8).await;
            }
        };
        let came = timeout(PATIENCE, comes).await;
        assert!(came.is_ok(), "{:?}, not {expected:?}", self.standing.lock().unwrap());
    }
}

fn holder(incarnation: u64) -> Holder {
    Holder { incarnation, coordinator: format!("coordinator-{incarnation}:7400") }
}

#[tokio::test]
async fn of_two_coordinators_the_second_is_fenced_until_the_first_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let store = CheckpointStore::open(dir.path().to_str().unwrap(), "babylon").await.unwrap();
    let first = [Worker::of(&store, 1), Worker::of(&store, 1)];
    for worker in &first {
        worker.comes_to(&Standing::Holds).await;
    }
    let second = Worker::of(&store, 2);
    second.comes_to(&Standing::Fenced(holder(1))).await;
    for worker in &first {
        assert_eq!(*worker.standing.lock().unwrap(), Standing::Holds);
    }
    // One worker is enough.
    let [one, other] = first;
    drop(one);
    tokio::time::sleep(20 * LEASE).await;
    assert_eq!(*other.standing.lock().unwrap(), Standing::Holds);
    assert_eq!(*second.standing.lock().unwrap(), Standing::Fenced(holder(1)));
    drop(other);
    second.comes_to(&Standing::Holds).await;
    // What it has taken over is its own.
    let third = Worker::of(&store, 1);
    third.comes_to(&Standing::Fenced(holder(2))).await;
}

#[tokio::test]
async fn what_a_coordinator_has_left_behind_is_taken_and_of_many_one_takes_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = CheckpointStore::open(dir.path().to_str().unwrap(), "babylon").await.unwrap();
    Worker::of(&store, 9).comes_to(&Standing::Holds).await;
    let many: Vec<Worker> = (1..=5).map(|incarnation| Worker::of(&store, incarnation)).collect();
    let standings =
        || many.iter().map(|worker| worker.standing.lock().unwrap().clone()).collect::<Vec<_>>();
    let is_decided = || {
        let all = standings();
        let winner = (1..).zip(&all).find(|(_, it)| **it == Standing::Holds);
        winner.is_some_and(|(winner, _)| {
            let fenced = Standing::Fenced(holder(winner));
            all.iter().filter(|it| **it == fenced).count() == all.len() - 1
        })
    };
    let decided = async {
        while !is_decided() {
            tokio::time::sleep(LEASE / 8).await;
        }
    };
    assert!(timeout(PATIENCE, decided).await.is_ok(), "{:?}", standings());
    tokio::time::sleep(10 * LEASE).await;
    assert!(is_decided(), "{:?}", standings());
    // Damage is nobody's.
    drop(many);
    std::fs::write(dir.path().join("babylon/coordinator"), b"what \xff").unwrap();
    Worker::of(&store, 7).comes_to(&Standing::Holds).await;
}
