//! Who has which shards, in runs of shards with the same owner.

use super::WireError;
use crate::proto::Run;

/// The runs of a step, from the place of each shard's owner in a list of peers.
pub fn runs(owner_of_shard: &[u32]) -> Vec<Run> {
    let runs = owner_of_shard.chunk_by(|a, b| a == b);
    runs.map(|run| Run { count: run.len() as u32, peer: run[0] }).collect()
}

/// The owner of each of `shards` shards, a place among `peers`.
///
/// # Errors
/// If the runs do not cover the shards exactly, or name a peer that is none.
pub fn owners(runs: &[Run], shards: usize, peers: usize) -> Result<Vec<u32>, WireError> {
    let covered: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
    if covered != shards as u64 || runs.iter().any(|run| run.count == 0) {
        let problem = format_args!("runs of {covered} shards for {shards}");
        return Err(WireError::new("runs", problem));
    }
    if let Some(run) = runs.iter().find(|run| run.peer as usize >= peers) {
        let problem = format_args!("there is no peer {} among {peers}", run.peer);
        return Err(WireError::new("runs", problem));
    }
    Ok(runs.iter().flat_map(|run| std::iter::repeat_n(run.peer, run.count as usize)).collect())
}
