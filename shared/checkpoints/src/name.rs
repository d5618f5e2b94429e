//! Names of objects: `JOB/N-M/EPOCH-INCARNATION/COLUMN-SHARD-RANGE`, below the name of the cluster.

use crate::{Epoch, EpochKey, ShardKey};

/// The name of the object with the numbers of a shard at an epoch of an incarnation.
pub(crate) fn object(key: EpochKey, incarnation: u64) -> String {
    let ShardKey { job, tier, range, shard, column } = key.shard;
    format!("{}/{column}-{shard}-{range}", epoch(job, tier, key.epoch, incarnation))
}

/// What the names of all objects of an epoch begin with.
pub(crate) fn epoch(job: u64, tier: (u8, u8), epoch: Epoch, incarnation: u64) -> String {
    format!("{}/{}-{incarnation:016x}", step(job, tier), epoch.0)
}

/// The number of an epoch all of whose objects have names with this part.
pub(crate) fn number_of(part: &str) -> Option<u32> {
    part.split_once('-')?.0.parse().ok()
}

/// What the names of all objects of a step begin with.
pub(crate) fn step(job: u64, (n, m): (u8, u8)) -> String {
    format!("{job}/{n}-{m}")
}

/// The shard at an epoch whose object has a name that ends in `COLUMN-SHARD-RANGE`; nothing if it does not, as
/// what is left over from a write that was killed.
pub(crate) fn key_of(job: u64, tier: (u8, u8), epoch: Epoch, last: &str) -> Option<EpochKey> {
    let mut parts = last.split('-');
    let column = parts.next()?.parse().ok()?;
    let shard = parts.next()?.parse().ok()?;
    let range = parts.next()?.parse().ok()?;
    let key = ShardKey { job, tier, range, shard, column }.at(epoch);
    // As it is written, not `+1` or `01`.
    object(key, 0).ends_with(&format!("/{last}")).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_back_its_key() {
        let key = ShardKey { job: 17, tier: (5, 4), range: 1, shard: 30, column: 2 };
        let key = key.at(Epoch(8));
        assert_eq!(object(key, 0xc0de), "17/5-4/8-000000000000c0de/2-30-1");
        assert_eq!(number_of("8-000000000000c0de"), Some(8));
        assert_eq!(key_of(17, (5, 4), Epoch(8), "2-30-1"), Some(key));
    }

    #[test]
    fn other_names_are_nobodys() {
        for last in ["", "2-30", "2-30-1-1", "02-30-1", "+2-30-1", "2-30-256", ".writing-1"] {
            assert_eq!(key_of(17, (5, 4), Epoch(8), last), None, "{last}");
        }
    }
}
