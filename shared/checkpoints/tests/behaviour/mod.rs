//! What every place must do.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::join_all;
use object_store::{ObjectStore, path::Path};
use ziggurat_checkpoints::{CheckpointError, CheckpointStore, Epoch, EpochKey, ShardKey};

pub const STEP: (u8, u8) = (5, 4);
pub const INCARNATION: u64 = 0xc0de;

/// A key of job 17 at step 5-4.
pub fn key(column: u8, shard: u32, epoch: u32) -> EpochKey {
    ShardKey { job: 17, tier: STEP, range: 0, shard, column }.at(Epoch(epoch))
}

/// Numbers of 8 bytes, others for every seed.
pub fn numbers(seed: u64, count: u64) -> Bytes {
    let random = |i: u64| {
        let mixed = (seed + i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb)
    };
    (0..count).flat_map(|i| random(i).to_le_bytes()).collect()
}

/// All who open it know it by the same, whoever was the first.
pub async fn has_an_identity(store: &CheckpointStore) {
    let known = join_all((1..=8).map(|new| store.identity(new))).await;
    let known: Vec<u64> = known.into_iter().map(Result::unwrap).collect();
    assert!(known.iter().all(|identity| *identity == known[0]), "{known:?}");
    assert_eq!(store.identity(9).await.unwrap(), known[0]);
}

/// Numbers come back, are kept once, and are never replaced by others.
pub async fn keeps_numbers(store: &CheckpointStore) {
    let (written, read, sent) = (store.written_bytes(), store.read_bytes(), store.sent_bytes());
    for (column, width, bytes) in [
        (0, 8, numbers(1, 1000)),
        (1, 1, numbers(2, 7)),
        (2, 4, numbers(3, 200_000)),
        (3, 2, Bytes::new()),
    ] {
        let key = key(column, 3, 8);
        let missing = store.get(key, INCARNATION, width).await.unwrap_err();
        assert!(matches!(missing, CheckpointError::Missing { .. }), "{missing}");
        assert_eq!(missing.lost(), Some(key));
        store.put(key, INCARNATION, width, bytes.clone()).await.unwrap();
        assert!(store.get(key, INCARNATION, width).await.unwrap() == bytes);

        let once = store.written_bytes();
        store.put(key, INCARNATION, width, bytes.clone()).await.unwrap();
        assert_eq!(store.written_bytes(), once, "what is there is not written again");

        let others = store.put(key, INCARNATION, width, numbers(4, 5)).await.unwrap_err();
        assert!(matches!(others, CheckpointError::OtherNumbers { .. }), "{others}");
        assert!(
            others.to_string().contains(&format!("/17/5-4/8-000000000000c0de/{column}-3-0")),
            "{others}"
        );
        assert!(store.get(key, INCARNATION, width).await.unwrap() == bytes);
    }
    // Another incarnation's epoch of the same number is another.
    let (key, others) = (key(0, 3, 8), numbers(5, 6));
    store.put(key, INCARNATION + 1, 8, others.clone()).await.unwrap();
    assert!(store.get(key, INCARNATION + 1, 8).await.unwrap() == others);
    assert!(store.get(key, INCARNATION, 8).await.unwrap() == numbers(1, 1000));
    assert!(store.written_bytes() > written && store.read_bytes() > read);
    assert_eq!(store.sent_bytes() - sent, store.written_bytes() - written);
}

/// What is listed is what is there, and what is deleted is gone, and nothing else.
pub async fn lists_and_deletes(store: &CheckpointStore) {
    let of_step =
        |tier, epoch| ShardKey { job: 18, tier, range: 1, shard: 10, column: 0 }.at(Epoch(epoch));
    for epoch in [7, 8, 9, 10] {
        for shard in [11, 2, 10] {
            store
                .put(key(4, shard, epoch), INCARNATION, 8, numbers(shard.into(), 9))
                .await
                .unwrap();
        }
        for tier in [(5, 4), (5, 5), (15, 4)] {
            store.put(of_step(tier, epoch), INCARNATION, 8, numbers(1, 9)).await.unwrap();
        }
    }
    let listed = store.list(17, STEP, Epoch(9), INCARNATION).await.unwrap();
    assert_eq!(listed, [key(4, 2, 9), key(4, 10, 9), key(4, 11, 9)]);
    assert_eq!(store.list(17, (5, 5), Epoch(9), INCARNATION).await.unwrap(), []);

    store.delete_epochs(18, STEP, Epoch(9)).await.unwrap();
    let mut left = Vec::new();
    for epoch in [7, 8, 9, 10] {
        for tier in [(5, 4), (5, 5), (15, 4)] {
            left.extend(store.list(18, tier, Epoch(epoch), INCARNATION).await.unwrap());
        }
    }
    let expected = [7, 8, 9, 10].into_iter().flat_map(|epoch| {
        let tiers = [(5, 4), (5, 5), (15, 4)].into_iter();
        tiers.filter(move |&tier| tier != STEP || epoch >= 9).map(move |tier| of_step(tier, epoch))
    });
    assert_eq!(left, expected.collect::<Vec<_>>());
    assert_eq!(
        store.list(17, STEP, Epoch(7), INCARNATION).await.unwrap().len(),
        3,
        "another job's"
    );

    store.delete_job(18).await.unwrap();
    assert_eq!(store.list(18, (5, 5), Epoch(9), INCARNATION).await.unwrap(), []);
    assert_eq!(store.list(17, STEP, Epoch(9), INCARNATION).await.unwrap(), listed);
    // What is gone can be deleted.
    store.delete_job(18).await.unwrap();
    store.delete_epochs(18, STEP, Epoch(9)).await.unwrap();
}

/// What is not what was written is refused by name, and can be written again. `objects` is where the store has
/// them, under `cluster`.
pub async fn notices_damage(store: &CheckpointStore, objects: Arc<dyn ObjectStore>, cluster: &str) {
    let (one, other) = (key(9, 1, 8), key(9, 2, 8));
    let (values, others) = (numbers(1, 5000), numbers(2, 5000));
    store.put(one, INCARNATION, 8, values.clone()).await.unwrap();
    store.put(other, INCARNATION, 8, others.clone()).await.unwrap();
    let path = |name: &str| Path::from(format!("{cluster}/17/5-4/8-000000000000c0de/{name}"));
    let (here, there) = (path("9-1-0"), path("9-2-0"));
    let whole = objects.get(&here).await.unwrap().bytes().await.unwrap();

    let flipped = |at: usize| {
        let mut bytes = whole.to_vec();
        bytes[at] ^= 4;
        Bytes::from(bytes)
    };
    let elses = objects.get(&there).await.unwrap().bytes().await.unwrap();
    for (what, bytes) in [
        ("magic", flipped(0)),
        ("checksum", flipped(9)),
        ("length", flipped(24)),
        ("contents", flipped(whole.len() / 2)),
        ("last byte", flipped(whole.len() - 1)),
        ("truncated", whole.slice(..whole.len() / 2)),
        ("empty", Bytes::new()),
        ("another's", elses),
    ] {
        objects.put(&here, bytes.into()).await.unwrap();
        let error = store.get(one, INCARNATION, 8).await.unwrap_err();
        assert!(matches!(error, CheckpointError::Damaged { .. }), "{what}: {error}");
        assert_eq!(error.lost(), Some(one), "{what}");
        assert!(error.to_string().contains(here.as_ref()), "{what}: {error}");
        assert!(store.get(other, INCARNATION, 8).await.unwrap() == others, "{what}");
    }
    let error = store.get(other, INCARNATION, 4).await.unwrap_err();
    assert!(matches!(error, CheckpointError::Damaged { .. }), "{error}");

    store.put(one, INCARNATION, 8, values.clone()).await.unwrap();
    assert!(store.get(one, INCARNATION, 8).await.unwrap() == values);
}

/// Many may write the same at the same time.
pub async fn takes_the_same_from_many(store: &CheckpointStore) {
    let (key, bytes) = (key(20, 1, 8), numbers(1, 20_000));
    let all = join_all((0..8).map(|_| store.put(key, INCARNATION, 8, bytes.clone()))).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert!(store.get(key, INCARNATION, 8).await.unwrap() == bytes);
}

/// What is too large to be sent at once comes back.
pub async fn keeps_a_large_object(store: &CheckpointStore) {
    // 80 MiB that do not compress.
    let (key, bytes) = (key(0, 1, 8), numbers(1, 10 << 20));
    store.put(key, INCARNATION, 8, bytes.clone()).await.unwrap();
    assert!(store.written_bytes() > 64 << 20, "it should be large enough for parts");
    assert!(store.get(key, INCARNATION, 8).await.unwrap() == bytes);
    store.put(key, INCARNATION, 8, bytes).await.unwrap();
    store.delete_job(17).await.unwrap();
    assert!(store.get(key, INCARNATION, 8).await.is_err());
}
