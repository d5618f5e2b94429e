//! Names of things in the store, and their keys: bytes that sort as the things do.
//!
//! A page is stored under (job, tier, epoch, range, shard, column, page), every number
//! big-endian, so that the pages of a shard epoch are neighbours, in order. The key range of one shard
//! epoch touches no other's. The epoch comes before the shard, so that all that a checkpoint wrote are
//! neighbours, too, and can be dropped at once.
//!
//! Pages are numbered from 1 on. The keys right before the first page and right after the last have no
//! values: taking a file in, RocksDB reads what is under its first key and its last, which
//! should not be pages.

use std::{cmp::Ordering, fmt};

use serde::{Deserialize, Serialize};

use crate::ValueType;

/// Bytes of the key of a shard epoch.
pub(crate) const EPOCH_BYTES: usize = 20;
/// Bytes of the key of a page.
pub(crate) const PAGE_KEY_BYTES: usize = EPOCH_BYTES + 4;

/// Names an array of values of a shard of a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ShardKey {
    /// The job.
    pub job: u64,
    /// Pieces the two players have not scored yet.
    pub tier: (u8, u8),
    /// Which of the shard's ranges this is.
    pub range: u8,
    /// The shard's number in its tier.
    pub shard: u32,
    /// Which array of the shard this is; the caller's choice.
    pub column: u8,
}

/// A superstep number that a checkpoint is consistent at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u32);

/// Names the values of a shard at an epoch. Sorts as its key does: by job, tier and epoch first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct EpochKey {
    /// The shard.
    pub shard: ShardKey,
    /// The epoch.
    pub epoch: Epoch,
}

/// The values of a shard at an epoch, as they were written: what they are read by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ShardEpoch {
    /// Which shard at which epoch.
    pub key: EpochKey,
    /// The type of the values.
    pub value_type: ValueType,
    /// How many there are.
    pub values: u64,
}

impl ShardEpoch {
    /// Pages the values take.
    pub fn pages(&self) -> u64 {
        self.values.div_ceil(self.value_type.values_per_page() as u64)
    }
}

impl ShardKey {
    /// The shard at an epoch.
    pub fn at(self, epoch: Epoch) -> EpochKey {
        EpochKey { shard: self, epoch }
    }
}

impl EpochKey {
    pub(crate) fn to_bytes(self) -> [u8; EPOCH_BYTES] {
        let ShardKey { job, tier, range, shard, column } = self.shard;
        let mut bytes = [0; EPOCH_BYTES];
        bytes[..8].copy_from_slice(&job.to_be_bytes());
        bytes[8..10].copy_from_slice(&[tier.0, tier.1]);
        bytes[10..14].copy_from_slice(&self.epoch.0.to_be_bytes());
        bytes[14] = range;
        bytes[15..19].copy_from_slice(&shard.to_be_bytes());
        bytes[19] = column;
        bytes
    }

    /// The shard epoch at the front of a key, if the key is long enough to have one.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (job, rest) = bytes.split_first_chunk()?;
        let (&[n, m], rest) = rest.split_first_chunk()?;
        let (epoch, rest) = rest.split_first_chunk()?;
        let (&[range], rest) = rest.split_first_chunk()?;
        let (shard, rest) = rest.split_first_chunk()?;
        let (&[column], _) = rest.split_first_chunk()?;
        let job = u64::from_be_bytes(*job);
        let shard = u32::from_be_bytes(*shard);
        let shard = ShardKey { job, tier: (n, m), range, shard, column };
        Some(shard.at(Epoch(u32::from_be_bytes(*epoch))))
    }

    /// The first key of a shard epoch that has pages.
    pub(crate) fn head(self) -> [u8; PAGE_KEY_BYTES] {
        self.with_number(0)
    }

    /// The key of a page, counted from 0 on.
    pub(crate) fn page(self, page: u32) -> [u8; PAGE_KEY_BYTES] {
        self.with_number(page + 1)
    }

    /// The last key of a shard epoch that has so many pages.
    pub(crate) fn tail(self, pages: u32) -> [u8; PAGE_KEY_BYTES] {
        self.with_number(pages + 1)
    }

    fn with_number(self, number: u32) -> [u8; PAGE_KEY_BYTES] {
        let mut bytes = [0; PAGE_KEY_BYTES];
        bytes[..EPOCH_BYTES].copy_from_slice(&self.to_bytes());
        bytes[EPOCH_BYTES..].copy_from_slice(&number.to_be_bytes());
        bytes
    }
}

/// More pages than this are not numbered.
pub(crate) const MOST_PAGES: u32 = u32::MAX - 1;

impl Ord for EpochKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_bytes().cmp(&other.to_bytes())
    }
}

impl PartialOrd for EpochKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// How many pages a shard epoch has whose last key this is.
pub(crate) fn pages_before(tail: &[u8]) -> Option<u32> {
    let number = tail.get(EPOCH_BYTES..)?.try_into().ok().map(u32::from_be_bytes)?;
    number.checked_sub(1)
}

impl fmt::Display for ShardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job, tier: (n, m), range, shard, column } = self;
        write!(f, "shard {shard} of tier ({n}, {m}), range {range}, column {column}, job {job}")
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {}", self.0)
    }
}

impl fmt::Display for EpochKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.shard, self.epoch)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = EpochKey> {
        let small = || prop_oneof![0..3_u32, any::<u32>()];
        (0..3_u64, 0..3_u8, 0..3_u8, 0..2_u8, small(), 0..3_u8, small()).prop_map(
            |(job, n, m, range, shard, column, epoch)| {
                ShardKey { job, tier: (n, m), range, shard, column }.at(Epoch(epoch))
            },
        )
    }

    fn named(EpochKey { shard, epoch }: EpochKey) -> impl Ord {
        let ShardKey { job, tier, range, shard, column } = shard;
        (job, tier, epoch, range, shard, column)
    }

    proptest! {
        #[test]
        fn keys_sort_as_what_they_name(
            a in key(),
            b in key(),
            pages in (0..MOST_PAGES, 0..MOST_PAGES),
        ) {
            let (x, y) = (a.page(pages.0), b.page(pages.1));
            prop_assert_eq!(x.cmp(&y), (named(a), pages.0).cmp(&(named(b), pages.1)));
            prop_assert_eq!(a.cmp(&b), named(a).cmp(&named(b)));
        }

        #[test]
        fn a_key_gives_back_its_shard_epoch(key in key(), page in 0..MOST_PAGES) {
            prop_assert_eq!(EpochKey::from_bytes(&key.page(page)), Some(key));
            prop_assert_eq!(pages_before(&key.tail(page)), Some(page));
            prop_assert!(key.head() < key.page(0));
            prop_assert!(key.page(page) < key.tail(page + 1));
        }
    }
}
