//! Of two coordinators of a cluster, one has the checkpoint store.

mod coordinators;

use std::time::Duration;

use coordinators::Worker;
use ziggurat_checkpoints::{CheckpointStore, Standing};

/// Of coordinators in a hurry.
const LEASE: Duration = Duration::from_millis(150);

#[tokio::test]
async fn of_two_coordinators_the_second_is_fenced_until_the_first_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let store = CheckpointStore::open(dir.path().to_str().unwrap(), "babylon").await.unwrap();
    coordinators::fences_the_second(&store, LEASE).await;
}

#[tokio::test]
async fn what_a_coordinator_has_left_behind_is_taken_and_of_many_one_takes_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = CheckpointStore::open(dir.path().to_str().unwrap(), "babylon").await.unwrap();
    coordinators::is_taken_by_one(&store, LEASE).await;
    // Damage is nobody's.
    std::fs::write(dir.path().join("babylon/coordinator"), b"what \xff").unwrap();
    Worker::of(&store, LEASE, 7).comes_to(&Standing::Holds).await;
}
