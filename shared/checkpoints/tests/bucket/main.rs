//! The checkpoint store in buckets that misbehave: a small server that talks like S3 or Google Cloud Storage, and
//! answers as it is told.

#[path = "../behaviour/mod.rs"]
mod behaviour;
mod server;

use std::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use behaviour::{INCARNATION, key, numbers};
use futures::future::join_all;
use object_store::{
    ObjectStore, aws::AmazonS3Builder, gcp::GoogleCloudStorageBuilder, prefix::PrefixStore,
};
use server::{Bucket, Call, Dialect, error, html};
use ziggurat_checkpoints::{CheckpointError, CheckpointPlace, CheckpointStore, Numbers};

/// By then it is known whether a place is one.
const KNOWN: Duration = Duration::from_secs(10);

const DIALECTS: [Dialect; 2] = [Dialect::Amazon, Dialect::Google];

async fn opened(bucket: &Bucket) -> CheckpointPlace {
    CheckpointPlace::open_with(bucket.dialect.url(), bucket.variables()).await.unwrap()
}

/// Why a bucket cannot be opened, and whether that lasts.
async fn refusal(dialect: Dialect, variables: Vec<(String, String)>) -> (String, bool) {
    let (started, url) = (Instant::now(), dialect.url());
    let error = CheckpointPlace::open_with(url, variables).await.expect_err("it should be refused");
    assert!(started.elapsed() < KNOWN, "after {:?}: {error}", started.elapsed());
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    (text, error.lasts())
}

#[tokio::test]
async fn a_bucket_that_behaves_keeps_numbers() {
    for dialect in DIALECTS {
        let bucket = Bucket::talking(dialect, |_| None).await;
        let place = opened(&bucket).await;
        assert_eq!(place.shortcoming(), None);
        assert_eq!(bucket.names(), Vec::<String>::new(), "nothing of the trial is left");
        let store = place.store("babylon").unwrap();
        behaviour::keeps_numbers(&store).await;
        behaviour::takes_the_same_from_many(&store).await;
        behaviour::lists_and_deletes(&store).await;
        behaviour::has_an_identity(&store).await;
    }
}

#[tokio::test]
async fn an_object_that_is_sent_in_parts_comes_back() {
    for dialect in DIALECTS {
        let bucket = Bucket::talking(dialect, |_| None).await;
        let store = opened(&bucket).await.store("babylon").unwrap();
        behaviour::keeps_a_large_object(&store).await;
    }
}

#[tokio::test]
async fn damage_is_noticed_and_named() {
    for dialect in DIALECTS {
        let bucket = Bucket::talking(dialect, |_| None).await;
        let store = opened(&bucket).await.store("babylon").unwrap();
        let objects = PrefixStore::new(objects(&bucket), "some/where");
        behaviour::notices_damage(&store, Arc::new(objects), "babylon").await;
    }
}

/// What a bucket has.
fn objects(bucket: &Bucket) -> Arc<dyn ObjectStore> {
    let variables = bucket.variables().into_iter();
    let mut variables = variables.map(|(name, value)| (name.to_ascii_lowercase(), value));
    match bucket.dialect {
        Dialect::Amazon => {
            let builder = AmazonS3Builder::new().with_bucket_name("bucket");
            let given = |builder: AmazonS3Builder, (name, value): (String, String)| {
                builder.with_config(name.parse().unwrap(), value)
            };
            Arc::new(variables.fold(builder, given).build().unwrap())
        }
        Dialect::Google => {
            let (_, key) = variables.find(|(name, _)| name.ends_with("key")).unwrap();
            let builder = GoogleCloudStorageBuilder::new().with_bucket_name("bucket");
            Arc::new(builder.with_service_account_key(key).build().unwrap())
        }
    }
}

#[tokio::test]
async fn a_write_that_conflicts_with_another_is_tried_again() {
    // Of every object the first conditional writes conflict with one that comes to nothing.
    let conflicts = |call: &Call| {
        let conflicts = call.is_conditional && call.number < 3;
        conflicts.then(|| error(StatusCode::CONFLICT, "ConditionalRequestConflict"))
    };
    let bucket = Bucket::start(conflicts).await;
    let store = opened(&bucket).await.store("babylon").unwrap();
    behaviour::keeps_numbers(&store).await;
    behaviour::has_an_identity(&store).await;
}

/// Whatever a store does with conditions, checkpoints are kept in it, and all workers know it by the same.
async fn does_without_conditions(bucket: Bucket) {
    let place = opened(&bucket).await;
    let shortcoming = place.shortcoming().unwrap().to_ascii_lowercase();
    assert!(shortcoming.contains(bucket.dialect.condition()), "{shortcoming}");
    let store = place.store("babylon").unwrap();
    behaviour::keeps_numbers(&store).await;
    let stores: Vec<CheckpointStore> = (0..8).map(|_| place.store("nineveh").unwrap()).collect();
    let known = join_all((1..).zip(&stores).map(|(new, store)| store.identity(new))).await;
    let known: Vec<u64> = known.into_iter().map(Result::unwrap).collect();
    assert!(known.iter().all(|identity| *identity == known[0]), "{known:?}");
}

#[tokio::test]
async fn a_store_that_does_not_implement_conditions_is_found_out_and_used() {
    let refuses = |call: &Call| {
        call.is_conditional.then(|| error(StatusCode::NOT_IMPLEMENTED, "NotImplemented"))
    };
    join_all(DIALECTS.map(async |dialect| {
        does_without_conditions(Bucket::talking(dialect, refuses).await).await;
    }))
    .await;
}

#[tokio::test]
async fn a_store_that_ignores_conditions_is_found_out_and_used() {
    join_all(DIALECTS.map(async |dialect| {
        does_without_conditions(Bucket::ignoring_conditions(dialect).await).await;
    }))
    .await;
}

#[tokio::test]
async fn what_lasts_is_said_at_the_start() {
    let xml = |status: u16, code: &'static str| {
        move |_: &Call| Some(error(StatusCode::from_u16(status).unwrap(), code))
    };
    let (amazon, google) = (Dialect::Amazon, Dialect::Google);
    for (dialect, status, code, says) in [
        (amazon, 403, "AccessDenied", "may list, read, write and delete"),
        (amazon, 403, "InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"),
        (amazon, 403, "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"),
        (amazon, 403, "RequestTimeTooSkewed", "clock"),
        (amazon, 400, "ExpiredToken", "AWS_SESSION_TOKEN"),
        (amazon, 400, "InvalidToken", "AWS_SESSION_TOKEN"),
        (amazon, 400, "AuthorizationHeaderMalformed", "AWS_REGION"),
        (amazon, 301, "PermanentRedirect", "AWS_REGION"),
        (amazon, 404, "NoSuchBucket", "no such bucket"),
        (amazon, 401, "", "AWS_ACCESS_KEY_ID"),
        (google, 403, "AccessDenied", "may list, read, write and delete"),
        (google, 401, "AuthenticationRequired", "GOOGLE_SERVICE_ACCOUNT"),
        (google, 403, "RequestTimeTooSkewed", "clock"),
        (google, 403, "UserProjectAccountProblem", "billing"),
        (google, 404, "NoSuchBucket", "no such bucket"),
    ] {
        let bucket = Bucket::talking(dialect, xml(status, code)).await;
        let (text, lasts) = refusal(dialect, bucket.variables()).await;
        assert!(text.contains(says) && text.contains(dialect.url()), "{code}: {text}");
        assert!(lasts, "{code}: {text}");
    }
}

#[tokio::test]
async fn a_right_that_is_missing_is_said_at_the_start() {
    for dialect in DIALECTS {
        for (method, what) in [("PUT", "write"), ("DELETE", "delete"), ("GET", "list")] {
            let denies = move |call: &Call| {
                (call.method == method).then(|| error(StatusCode::FORBIDDEN, "AccessDenied"))
            };
            let bucket = Bucket::talking(dialect, denies).await;
            let (text, lasts) = refusal(dialect, bucket.variables()).await;
            assert!(lasts && text.contains(what), "{method}: {text}");
        }
    }
}

#[tokio::test]
async fn what_is_no_store_is_said_at_the_start() {
    for (dialect, says, variable) in [
        (Dialect::Amazon, "as S3 does", "AWS_ENDPOINT"),
        (Dialect::Google, "as Google Cloud Storage does", "GOOGLE_SERVICE_ACCOUNT_KEY"),
    ] {
        for status in [StatusCode::OK, StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED] {
            let bucket = Bucket::talking(dialect, move |_| Some(html(status))).await;
            let (text, lasts) = refusal(dialect, bucket.variables()).await;
            assert!(lasts && text.contains(says) && text.contains(variable), "{text}");
        }
        // Nor does it speak TLS.
        let mut variables = Bucket::talking(dialect, |_| None).await.variables();
        for (_, value) in &mut variables {
            *value = value.replace("http://", "https://");
        }
        let (text, lasts) = refusal(dialect, variables).await;
        assert!(lasts && text.contains("does not speak TLS"), "{text}");
    }
}

#[tokio::test]
async fn without_credentials_the_variables_are_named() {
    let bucket = Bucket::start(|_| None).await;
    let mut variables = bucket.variables();
    variables.retain(|(name, _)| !name.contains("KEY"));
    // Where a machine of Amazon's would get them from.
    variables.push(("AWS_METADATA_ENDPOINT".to_owned(), "http://127.0.0.1:1".to_owned()));
    let (text, lasts) = refusal(Dialect::Amazon, variables).await;
    assert!(lasts && text.contains("AWS_ACCESS_KEY_ID"), "{text}");
}

#[tokio::test]
async fn without_credentials_for_a_container_the_variables_are_named() {
    let variables = [
        ("AZURE_STORAGE_ACCOUNT_NAME", "royal"),
        ("AZURE_STORAGE_ENDPOINT", "https://127.0.0.1:1"),
        // Where a machine of Azure's would get them from.
        ("AZURE_MSI_ENDPOINT", "http://127.0.0.1:1"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let started = Instant::now();
    let error = CheckpointPlace::open_with("az://ur5", variables).await.unwrap_err();
    assert!(started.elapsed() < KNOWN, "after {:?}: {error}", started.elapsed());
    let text = error.to_string();
    for variable in ["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_ID"] {
        assert!(text.contains(variable), "{text}");
    }
    assert!(error.lasts(), "{text}");
}

#[tokio::test]
async fn what_may_pass_is_told_from_what_lasts() {
    let busy = |_: &Call| Some(error(StatusCode::SERVICE_UNAVAILABLE, "SlowDown"));
    join_all(DIALECTS.map(async |dialect| {
        for (bucket, says) in [
            (Bucket::talking(dialect, busy).await, "503"),
            (Bucket::gone(dialect).await, "cannot be reached"),
            (Bucket::silent(dialect).await, "does not answer"),
        ] {
            let (text, lasts) = refusal(dialect, bucket.variables()).await;
            assert!(!lasts && text.contains(says), "{text}");
        }
    }))
    .await;
}

#[tokio::test]
async fn an_outage_of_a_moment_is_waited_for() {
    // Of every kind of request the first two meet a server that has too much to do.
    let busy =
        |call: &Call| (call.number < 2).then(|| error(StatusCode::SERVICE_UNAVAILABLE, "SlowDown"));
    let bucket = Bucket::start(busy).await;
    let store = opened(&bucket).await.store("babylon").unwrap();
    store.put(key(0, 3, 8), INCARNATION, 8, numbers(1, 100)).await.unwrap();
    assert!(store.get(key(0, 3, 8), INCARNATION, 8).await.unwrap() == numbers(1, 100));
}

#[tokio::test]
async fn a_write_without_an_answer_is_looked_at_and_tried_again() {
    for (dialect, arrives) in DIALECTS.into_iter().flat_map(|it| [(it, true), (it, false)]) {
        let bucket = Bucket::talking(dialect, |_| None).await;
        let mut variables = bucket.variables();
        let timeout = match dialect {
            Dialect::Amazon => "AWS_TIMEOUT",
            Dialect::Google => "GOOGLE_TIMEOUT",
        };
        variables.push((timeout.to_owned(), "1s".to_owned()));
        let place = CheckpointPlace::open_with(dialect.url(), variables).await.unwrap();
        let store = place.store("babylon").unwrap();
        bucket.hang_next_write(arrives);
        store.put(key(0, 3, 8), INCARNATION, 8, numbers(1, 100)).await.unwrap();
        assert!(store.get(key(0, 3, 8), INCARNATION, 8).await.unwrap() == numbers(1, 100));
    }
}

#[tokio::test]
async fn keys_that_lapse_later_are_named() {
    let bucket = Bucket::start(|_| None).await;
    let store = opened(&bucket).await.store("babylon").unwrap();
    store.put(key(0, 3, 8), INCARNATION, 8, numbers(1, 100)).await.unwrap();
    bucket.answer(|_| Some(error(StatusCode::BAD_REQUEST, "ExpiredToken")));
    let error = store.put(key(0, 3, 9), INCARNATION, 8, numbers(1, 100)).await.unwrap_err();
    assert!(error.to_string().contains("AWS_SESSION_TOKEN") && error.lasts(), "{error}");
}

#[tokio::test]
async fn nothing_is_taken_for_lost_because_somebody_else_answers() {
    for dialect in DIALECTS {
        let bucket = Bucket::talking(dialect, |_| None).await;
        let store = opened(&bucket).await.store("babylon").unwrap();
        store.put(key(0, 3, 8), INCARNATION, 8, numbers(1, 100)).await.unwrap();
        let nothing = async || store.get(key(0, 3, 8), INCARNATION, 8).await.unwrap_err();
        for (status, code) in [(404, "NoSuchBucket"), (404, "")] {
            let status = StatusCode::from_u16(status).unwrap();
            bucket.answer(move |_| {
                Some(if code.is_empty() { html(status) } else { error(status, code) })
            });
            let error = nothing().await;
            assert!(!matches!(error, CheckpointError::Missing { .. }), "{error}");
            assert_eq!(error.lost(), None);
        }
    }
}

/// Keeps some shards' numbers, in so much memory.
async fn put_many(store: &CheckpointStore, room_bytes: u32) -> Result<(), CheckpointError> {
    let all: Vec<_> = (0..12).map(|shard| (key(0, shard, 8), numbers(shard.into(), 100))).collect();
    let all = all.iter().map(|(key, numbers)| Numbers {
        key: *key,
        width: 8,
        bytes: numbers.len(),
        read: async { Ok(bytes::Bytes::copy_from_slice(numbers)) },
    });
    store.put_all(INCARNATION, all, room_bytes).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn as_many_objects_are_written_side_by_side_as_there_is_room_for() {
    // The numbers of an object have 800 bytes.
    for (room_bytes, expected) in [(u32::MAX, 4), (1700, 2), (10, 1)] {
        let bucket = Bucket::start(|_| None).await;
        let store = opened(&bucket).await.store("babylon").unwrap();
        let under_way = Arc::new((Mutex::new((0, 0)), Condvar::new()));
        let (counts, came) = (under_way.clone(), Duration::from_secs(20));
        bucket.answer(move |call| {
            if call.method == "PUT" {
                let (counts, changed) = &*counts;
                let mut count = counts.lock().unwrap();
                *count = (count.0 + 1, count.1.max(count.0 + 1));
                changed.notify_all();
                // Nobody is answered before all have come, and a while later.
                drop(changed.wait_timeout_while(count, came, |count| count.1 < expected).unwrap());
                std::thread::sleep(Duration::from_millis(30));
                counts.lock().unwrap().0 -= 1;
            }
            None
        });
        put_many(&store, room_bytes).await.unwrap();
        assert_eq!(under_way.0.lock().unwrap().1, expected, "{room_bytes}");
        assert_eq!(bucket.names().len(), 12);
        for shard in 0..12 {
            let kept = store.get(key(0, shard, 8), INCARNATION, 8).await.unwrap();
            assert!(kept == numbers(shard.into(), 100), "{shard}");
        }
    }
}

#[tokio::test]
async fn of_many_objects_no_more_are_begun_after_one_is_refused() {
    let bucket = Bucket::start(|_| None).await;
    let store = opened(&bucket).await.store("babylon").unwrap();
    let writes = Arc::new(AtomicUsize::new(0));
    let counted = writes.clone();
    bucket.answer(move |call| {
        let refused = call.method == "PUT" && counted.fetch_add(1, Ordering::Relaxed) >= 5;
        refused.then(|| error(StatusCode::FORBIDDEN, "AccessDenied"))
    });
    let error = put_many(&store, u32::MAX).await.unwrap_err();
    assert!(error.to_string().contains("AccessDenied"), "{error}");
    let writes = writes.load(Ordering::Relaxed);
    assert!((6..=9).contains(&writes), "{writes}");
}
