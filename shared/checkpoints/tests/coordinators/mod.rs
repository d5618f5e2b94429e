//! What every place must do for coordinators of one cluster.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{task::JoinHandle, time::timeout};
use ziggurat_checkpoints::{CheckpointStore, Holder, Standing};

/// Machines under load take longer than some leases.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks at how workers stand.
const LOOK: Duration = Duration::from_millis(20);

/// A worker of a coordinator, which looks after the store until this is dropped.
pub struct Worker {
    standing: Arc<Mutex<Standing>>,
    holds: JoinHandle<()>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.holds.abort();
    }
}

impl Worker {
    pub fn of(store: &CheckpointStore, lease: Duration, incarnation: u64) -> Self {
        let standing = Arc::new(Mutex::new(Standing::Waits));
        let (told, holder) = (standing.clone(), holder(incarnation));
        let holds = store.clone().hold(holder, lease, move |now| *told.lock().unwrap() = now);
        Self { standing, holds: tokio::spawn(holds) }
    }

    pub async fn comes_to(&self, expected: &Standing) {
        let comes = async {
            while *self.standing.lock().unwrap() != *expected {
                tokio::time::sleep(LOOK).await;
            }
        };
        let came = timeout(PATIENCE, comes).await;
        assert!(came.is_ok(), "{:?}, not {expected:?}", self.standing.lock().unwrap());
    }
}

fn holder(incarnation: u64) -> Holder {
    Holder { incarnation, coordinator: format!("coordinator-{incarnation}:7400") }
}

/// Of two coordinators, the second is fenced until the first is gone.
pub async fn fences_the_second(store: &CheckpointStore, lease: Duration) {
    let first = [Worker::of(store, lease, 1), Worker::of(store, lease, 1)];
    for worker in &first {
        worker.comes_to(&Standing::Holds).await;
    }
    let second = Worker::of(store, lease, 2);
    second.comes_to(&Standing::Fenced(holder(1))).await;
    for worker in &first {
        assert_eq!(*worker.standing.lock().unwrap(), Standing::Holds);
    }
    // One worker is enough.
    let [one, other] = first;
    drop(one);
    tokio::time::sleep(20 * lease).await;
    assert_eq!(*other.standing.lock().unwrap(), Standing::Holds);
    assert_eq!(*second.standing.lock().unwrap(), Standing::Fenced(holder(1)));
    drop(other);
    second.comes_to(&Standing::Holds).await;
    // What it has taken over is its own.
    let third = Worker::of(store, lease, 1);
    third.comes_to(&Standing::Fenced(holder(2))).await;
}

/// What a coordinator has left behind is taken, and of many that try one takes it.
pub async fn is_taken_by_one(store: &CheckpointStore, lease: Duration) {
    Worker::of(store, lease, 9).comes_to(&Standing::Holds).await;
    let many: Vec<Worker> =
        (1..=5).map(|incarnation| Worker::of(store, lease, incarnation)).collect();
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
            tokio::time::sleep(LOOK).await;
        }
    };
    assert!(timeout(PATIENCE, decided).await.is_ok(), "{:?}", standings());
    tokio::time::sleep(10 * lease).await;
    assert!(is_decided(), "{:?}", standings());
}
