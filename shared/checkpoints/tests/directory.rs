//! The checkpoint store in a directory.

mod behaviour;

use std::{fs, path::Path, sync::Arc};

use behaviour::{INCARNATION, STEP, key, numbers};
use futures::future::join_all;
use object_store::local::LocalFileSystem;
use tempfile::TempDir;
use ziggurat_checkpoints::{CheckpointError, CheckpointStore, Epoch};

async fn opened() -> (TempDir, CheckpointStore) {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("file://{}", dir.path().join("some/where").display());
    let store = CheckpointStore::open(&url, "babylon").await.unwrap();
    (dir, store)
}

#[tokio::test]
async fn numbers_are_kept() {
    let (_dir, store) = opened().await;
    behaviour::keeps_numbers(&store).await;
}

#[tokio::test]
async fn a_store_is_told_from_others() {
    let ((_dir, one), (_other_dir, other)) = (opened().await, opened().await);
    behaviour::has_an_identity(&one).await;
    assert_ne!(one.identity(10).await.unwrap(), other.identity(11).await.unwrap());
}

#[tokio::test]
async fn what_is_kept_is_listed_and_deleted() {
    let (dir, store) = opened().await;
    behaviour::lists_and_deletes(&store).await;
    store.delete_job(17).await.unwrap();
    let cluster = dir.path().join("some/where/babylon");
    assert!(!cluster.exists(), "empty directories are left");
}

#[tokio::test]
async fn damage_is_noticed_and_named() {
    let (dir, store) = opened().await;
    let files = LocalFileSystem::new_with_prefix(dir.path().join("some/where")).unwrap();
    behaviour::notices_damage(&store, Arc::new(files), "babylon").await;
}

#[tokio::test]
async fn many_may_write_the_same() {
    let (_dir, store) = opened().await;
    behaviour::takes_the_same_from_many(&store).await;
}

#[tokio::test]
async fn of_many_that_write_different_numbers_one_does() {
    let (_dir, store) = opened().await;
    let all =
        join_all((0..8).map(|i| store.put(key(0, 1, 8), INCARNATION, 8, numbers(i, 20_000)))).await;
    let winner = all.iter().position(Result::is_ok).unwrap();
    for (i, result) in all.iter().enumerate() {
        match result {
            Ok(()) => assert_eq!(i, winner),
            Err(error) => assert!(matches!(error, CheckpointError::OtherNumbers { .. }), "{error}"),
        }
    }
    assert!(
        store.get(key(0, 1, 8), INCARNATION, 8).await.unwrap() == numbers(winner as u64, 20_000)
    );
}

#[tokio::test]
async fn what_a_killed_write_leaves_over_is_nothing_and_goes_with_its_epoch() {
    let (dir, store) = opened().await;
    store.put(key(0, 1, 8), INCARNATION, 8, numbers(1, 10)).await.unwrap();
    store.put(key(0, 1, 9), INCARNATION, 8, numbers(1, 10)).await.unwrap();
    let step = dir.path().join("some/where/babylon/17/5-4");
    fs::write(step.join("8-000000000000c0de/.writing-x1y2"), "half of").unwrap();
    // Nor is what is deeper than objects are.
    fs::create_dir(step.join("8-000000000000c0de/0-2-0")).unwrap();
    fs::write(step.join("8-000000000000c0de/0-2-0/0-2-0"), "something").unwrap();
    assert_eq!(store.list(17, STEP, Epoch(8), INCARNATION).await.unwrap(), [key(0, 1, 8)]);
    store.delete_epochs(17, STEP, Epoch(9)).await.unwrap();
    assert!(!step.join("8-000000000000c0de").exists());
    assert_eq!(store.list(17, STEP, Epoch(9), INCARNATION).await.unwrap(), [key(0, 1, 9)]);
}

#[tokio::test]
async fn an_object_of_another_cluster_is_refused() {
    let (dir, store) = opened().await;
    let root = dir.path().join("some/where");
    let elsewhere = CheckpointStore::open(root.to_str().unwrap(), "nineveh").await.unwrap();
    store.put(key(0, 1, 8), INCARNATION, 8, numbers(1, 10)).await.unwrap();
    elsewhere.put(key(0, 1, 8), INCARNATION, 8, numbers(2, 10)).await.unwrap();
    let name = "17/5-4/8-000000000000c0de/0-1-0";
    fs::copy(root.join("babylon").join(name), root.join("nineveh").join(name)).unwrap();
    let error = elsewhere.get(key(0, 1, 8), INCARNATION, 8).await.unwrap_err();
    assert!(matches!(error, CheckpointError::Damaged { .. }), "{error}");
    assert!(store.get(key(0, 1, 8), INCARNATION, 8).await.unwrap() == numbers(1, 10));
}

#[tokio::test]
async fn others_may_read_what_the_umask_lets_them() {
    let (dir, store) = opened().await;
    store.put(key(0, 1, 8), INCARNATION, 8, numbers(1, 10)).await.unwrap();
    let usual = dir.path().join("usual");
    fs::write(&usual, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions();
    let object = dir.path().join("some/where/babylon/17/5-4/8-000000000000c0de/0-1-0");
    assert_eq!(mode(&object), mode(&usual));
}

#[tokio::test]
async fn a_place_or_a_name_that_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = CheckpointStore::open(file.to_str().unwrap(), "babylon").await.unwrap_err();
    assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
    for name in ["", "../babylon", "a/b", "é", &"x".repeat(65)] {
        let error = CheckpointStore::open(dir.path().to_str().unwrap(), name).await.unwrap_err();
        assert!(matches!(error, CheckpointError::Cluster { .. }), "{name}");
        assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
    }
}

#[tokio::test]
async fn a_large_object_comes_back() {
    let (_dir, store) = opened().await;
    behaviour::keeps_a_large_object(&store).await;
}
