//! The checkpoint store in a bucket of a server of its own, which `tests/s3.sh` and `tests/clouds.sh` start.
//!
//! `ZIGGURAT_TEST_STORE` is the URL of a bucket that may be written to, such as `s3://BUCKET`; how to reach it is in
//! the variables of the cloud.

mod behaviour;
mod coordinators;

use std::{
    env,
    sync::Arc,
    time::{Duration, SystemTime},
};

use object_store::{
    ObjectStore, aws::AmazonS3Builder, azure::MicrosoftAzureBuilder,
    gcp::GoogleCloudStorageBuilder, prefix::PrefixStore,
};
use ziggurat_checkpoints::{CheckpointPlace, CheckpointStore};

/// Of coordinators that are not in a hurry: a request takes a while.
const LEASE: Duration = Duration::from_secs(1);

fn url() -> String {
    env::var("ZIGGURAT_TEST_STORE").expect("ZIGGURAT_TEST_STORE should be the URL of a bucket")
}

/// A store in a place of its own, and its prefix.
async fn opened(test: &str) -> (CheckpointStore, String) {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let prefix = format!("{test}/{now}");
    let place = CheckpointPlace::open(&format!("{}/{prefix}", url())).await.unwrap();
    // Of servers that talk like S3 some know no conditional writes.
    assert!(place.shortcoming().is_none() || url().starts_with("s3://"));
    (place.store("babylon").unwrap(), prefix)
}

#[tokio::test]
#[ignore = "needs a server: run tests/s3.sh or tests/clouds.sh"]
async fn numbers_are_kept() {
    let (store, _) = opened("kept").await;
    behaviour::keeps_numbers(&store).await;
}

#[tokio::test]
#[ignore = "needs a server: run tests/s3.sh or tests/clouds.sh"]
async fn all_know_a_store_by_the_same() {
    let (store, _) = opened("identity").await;
    behaviour::has_an_identity(&store).await;
}

#[tokio::test]
#[ignore = "needs a server: run tests/s3.sh or tests/clouds.sh"]
async fn what_is_kept_is_listed_and_deleted() {
    let (store, _) = opened("listed").await;
    behaviour::lists_and_deletes(&store).await;
}

#[tokio::test]
#[ignore = "needs a server: run tests/s3.sh or tests/clouds.sh"]
async fn damage_is_noticed_and_named() {
    let (store, prefix) = opened("damage").await;
    let objects: Arc<dyn ObjectStore> = Arc::new(PrefixStore::new(objects(), prefix));
    behaviour::notices_damage(&store, objects, "babylon").await;
}

/// What the bucket has.
fn objects() -> Arc<dyn ObjectStore> {
    let url = url();
    match url.split_once("://").unwrap() {
        ("s3", bucket) => {
            Arc::new(AmazonS3Builder::from_env().with_bucket_name(bucket).build().unwrap())
        }
        ("gs", bucket) => {
            let builder = GoogleCloudStorageBuilder::from_env();
            Arc::new(builder.with_bucket_name(bucket).build().unwrap())
        }
        (_, container) => {
            let builder = MicrosoftAzureBuilder::from_env();
            Arc::new(builder.with_container_name(container).build().unwrap())
        }
    }
}

#[tokio::test]
#[ignore = "needs a server: run tests/s3.sh or tests/clouds.sh"]
async fn many_may_write_the_same() {
    let (store, _) = opened("many").await;
    behaviour::takes_the_same_from_many(&store).await;
}

#[tokio::test]
#[ignore = "needs a server: run tests/s3.sh or tests/clouds.sh"]
async fn an_object_that_is_sent_in_parts_comes_back() {
    let (store, _) = opened("parts").await;
    behaviour::keeps_a_large_object(&store).await;
}

#[tokio::test]
#[ignore = "needs a server: run tests/s3.sh or tests/clouds.sh"]
async fn of_two_coordinators_the_second_is_fenced() {
    let (store, _) = opened("fenced").await;
    coordinators::fences_the_second(&store, LEASE).await;
}

#[tokio::test]
#[ignore = "needs a server: run tests/s3.sh or tests/clouds.sh"]
async fn what_a_coordinator_has_left_behind_one_takes() {
    let (store, _) = opened("left").await;
    coordinators::is_taken_by_one(&store, LEASE).await;
}

#[tokio::test]
#[ignore = "needs a server: run tests/s3.sh or tests/clouds.sh"]
async fn a_bucket_that_is_not_there_is_named() {
    let url = url();
    let (scheme, _) = url.split_once("://").unwrap();
    let none = format!("{scheme}://there-is-none/some");
    let error = CheckpointPlace::open(&none).await.unwrap_err();
    let text = error.to_string();
    let variable = match scheme {
        "s3" => "AWS_",
        "gs" => "GOOGLE_",
        _ => "AZURE_",
    };
    assert!(text.contains(&none) && text.contains(variable) && text.contains("no such"), "{text}");
    assert!(error.lasts(), "{text}");
}

#[tokio::test]
#[ignore = "needs a server: run tests/s3.sh or tests/clouds.sh"]
async fn a_wrong_key_is_named() {
    let secret = match url().split_once("://").unwrap().0 {
        "s3" => "AWS_SECRET_ACCESS_KEY",
        "az" => "AZURE_STORAGE_ACCOUNT_KEY",
        // The server in the place of Google's wants none.
        _ => return,
    };
    let variables = env::vars().map(|(name, value)| {
        let value = if name == secret { "c2VjcmV0".to_owned() } else { value };
        (name, value)
    });
    let error = CheckpointPlace::open_with(&url(), variables).await.unwrap_err();
    assert!(error.to_string().contains(secret) && error.lasts(), "{error}");
}
