//! Names of things in the store, and their keys: bytes that sort as the things do.
//!
//! A page is stored under (job, tier, orientation, shard, epoch, page), every number big-endian, so
//! that the pages of a shard epoch are neighbours, in order, and so are the epochs of a shard. The
//! key range of one shard epoch touches no other's.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ValueType;

/// Bytes of the key of a shard.
const SHARD_BYTES: usize = 15;
/// Bytes of the key of a shard epoch.
pub(crate) const EPOCH_BYTES: usize = SHARD_BYTES + 4;
/// Bytes of the key of a page.
pub(crate) const PAGE_KEY_BYTES: usize = EPOCH_BYTES + 4;

/// Names a shard of a job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ShardKey {
    /// The job.
    pub job: u64,
    /// Pieces the two players have not scored yet.
    pub tier: (u8, u8),
    /// Which of the shard's ranges this is.
    pub orientation: u8,
    /// The shard's number in its tier.
    pub shard: u32,
}

/// A superstep number that a checkpoint is consistent at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u32);

/// Names the values of a shard at an epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
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

    fn to_bytes(self) -> [u8; SHARD_BYTES] {
        let mut bytes = [0; SHARD_BYTES];
        bytes[..8].copy_from_slice(&self.job.to_be_bytes());
        bytes[8..11].copy_from_slice(&[self.tier.0, self.tier.1, self.orientation]);
        bytes[11..].copy_from_slice(&self.shard.to_be_bytes());
        bytes
    }
}

impl EpochKey {
    pub(crate) fn to_bytes(self) -> [u8; EPOCH_BYTES] {
        let mut bytes = [0; EPOCH_BYTES];
        bytes[..SHARD_BYTES].copy_from_slice(&self.shard.to_bytes());
        bytes[SHARD_BYTES..].copy_from_slice(&self.epoch.0.to_be_bytes());
        bytes
    }

    /// The shard epoch at the front of a key, if the key is long enough to have one.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (job, rest) = bytes.split_first_chunk()?;
        let (&[n, m, orientation], rest) = rest.split_first_chunk()?;
        let (shard, rest) = rest.split_first_chunk()?;
        let (epoch, _) = rest.split_first_chunk()?;
        let job = u64::from_be_bytes(*job);
        let shard = u32::from_be_bytes(*shard);
        let shard = ShardKey { job, tier: (n, m), orientation, shard };
        Some(shard.at(Epoch(u32::from_be_bytes(*epoch))))
    }

    pub(crate) fn page(self, page: u32) -> [u8; PAGE_KEY_BYTES] {
        let mut bytes = [0; PAGE_KEY_BYTES];
        bytes[..EPOCH_BYTES].copy_from_slice(&self.to_bytes());
        bytes[EPOCH_BYTES..].copy_from_slice(&page.to_be_bytes());
        bytes
    }
}

/// The number of the page at the end of its key.
pub(crate) fn page_number(key: &[u8]) -> Option<u32> {
    key.get(EPOCH_BYTES..)?.try_into().ok().map(u32::from_be_bytes)
}

impl fmt::Display for ShardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job, tier: (n, m), orientation, shard } = self;
        write!(f, "shard {shard} of tier ({n}, {m}), orientation {orientation}, job {job}")
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
        (0..3_u64, 0..3_u8, 0..3_u8, 0..2_u8, small(), small()).prop_map(
            |(job, n, m, orientation, shard, epoch)| {
                ShardKey { job, tier: (n, m), orientation, shard }.at(Epoch(epoch))
            },
        )
    }

    proptest! {
        #[test]
        fn keys_sort_as_what_they_name(a in key(), b in key(), pages in any::<(u32, u32)>()) {
            let (x, y) = (a.page(pages.0), b.page(pages.1));
            prop_assert_eq!(x.cmp(&y), (a, pages.0).cmp(&(b, pages.1)));
        }

        #[test]
        fn a_key_gives_back_its_shard_epoch(key in key(), page: u32) {
            prop_assert_eq!(EpochKey::from_bytes(&key.page(page)), Some(key));
            prop_assert_eq!(page_number(&key.page(page)), Some(page));
        }
    }
}
