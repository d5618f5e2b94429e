//! The checkpoint store in a bucket of a real server, which `tests/s3.sh` starts.
//!
//! `ZIGGURAT_TEST_S3_BUCKET` names a bucket that may be written to; how to reach it is in the variables `AWS_*`.

mod behaviour;

use std::{env, sync::Arc, time::SystemTime};

use behaviour::{INCARNATION, key, numbers};
use object_store::{ObjectStore, aws::AmazonS3Builder, prefix::PrefixStore};
use ziggurat_checkpoints::CheckpointStore;

fn bucket() -> String {
    env::var("ZIGGURAT_TEST_S3_BUCKET").expect("ZIGGURAT_TEST_S3_BUCKET should name a bucket")
}

/// A store in a place of its own, and its prefix.
async fn opened(test: &str) -> (CheckpointStore, String) {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let prefix = format!("{test}/{now}");
    let url = format!("s3://{}/{prefix}", bucket());
    (CheckpointStore::open(&url, "babylon").await.unwrap(), prefix)
}

#[tokio::test]
#[ignore = "needs an S3 server: run tests/s3.sh"]
async fn numbers_are_kept() {
    let (store, _) = opened("kept").await;
    behaviour::keeps_numbers(&store).await;
}

#[tokio::test]
#[ignore = "needs an S3 server: run tests/s3.sh"]
async fn all_know_a_store_by_the_same() {
    let (store, _) = opened("identity").await;
    behaviour::has_an_identity(&store).await;
}

#[tokio::test]
#[ignore = "needs an S3 server: run tests/s3.sh"]
async fn what_is_kept_is_listed_and_deleted() {
    let (store, _) = opened("listed").await;
    behaviour::lists_and_deletes(&store).await;
}

#[tokio::test]
#[ignore = "needs an S3 server: run tests/s3.sh"]
async fn damage_is_noticed_and_named() {
    let (store, prefix) = opened("damage").await;
    let bucket = AmazonS3Builder::from_env().with_bucket_name(bucket()).build().unwrap();
    let objects: Arc<dyn ObjectStore> = Arc::new(PrefixStore::new(bucket, prefix));
    behaviour::notices_damage(&store, objects, "babylon").await;
}

#[tokio::test]
#[ignore = "needs an S3 server: run tests/s3.sh"]
async fn many_may_write_the_same() {
    let (store, _) = opened("many").await;
    behaviour::takes_the_same_from_many(&store).await;
}

#[tokio::test]
#[ignore = "needs an S3 server: run tests/s3.sh"]
async fn an_object_that_is_sent_in_parts_comes_back() {
    let (store, _) = opened("parts").await;
    // 80 MiB that do not compress.
    let bytes = numbers(1, 10 << 20);
    store.put(key(0, 1, 8), INCARNATION, 8, bytes.clone()).await.unwrap();
    assert!(store.written_bytes() > 64 << 20, "it should be large enough for parts");
    assert!(store.get(key(0, 1, 8), INCARNATION, 8).await.unwrap() == bytes);
    store.put(key(0, 1, 8), INCARNATION, 8, bytes).await.unwrap();
    store.delete_job(17).await.unwrap();
    assert!(store.get(key(0, 1, 8), INCARNATION, 8).await.is_err());
}

#[tokio::test]
#[ignore = "needs an S3 server: run tests/s3.sh"]
async fn a_bucket_that_is_not_there_is_named() {
    let error = CheckpointStore::open("s3://there-is-none/some", "babylon").await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("s3://there-is-none/some") && text.contains("AWS_"), "{text}");
}
