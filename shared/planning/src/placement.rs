//! Placement: which member of a team gets which shards.
//!
//! A superstep waits, wave by wave, for the slowest member, and so does an interval sweep, which has waves of its own.
//! So the shards of every wave of a superstep are dealt out one by one, the largest first, each to whoever would be done
//! first, with what it has of the shard's wave of either kind (after Graham 1969, who has one kind of work; for members
//! that are not equally fast, Gonzalez, Ibarra and Sahni 1977).
//! That the shards of a member are from all over a wave costs little: it reads most of the shards of others, whichever
//! its own are.

use std::cmp::Reverse;

use crate::waves::{ShardIndex, Wave};

/// Steps with fewer positions are solved by one worker each, several at a time.
pub const TEAM_STEP_POSITIONS: u64 = 2 << 20;

/// For each shard, by its positions, the member that owns it. The waves are those of supersteps and of interval sweeps;
/// members are given by their speeds in positions per second. A member that would only make others wait gets none.
pub fn deal(shards: &[u64], waves: [&[Wave]; 2], speeds: &[f64]) -> Vec<usize> {
    let mut dealing = Dealing::new(shards, waves, speeds);
    dealing.deal();
    dealing.owners
}

/// For each shard, the wave that it is in.
pub fn wave_of_shards(waves: &[Wave], shards: usize) -> Vec<usize> {
    let mut wave_of = vec![0; shards];
    for (i, wave) in waves.iter().enumerate() {
        wave.iter().for_each(|shard| wave_of[shard.0] = i);
    }
    wave_of
}

/// Shards in the hands of members.
struct Dealing<'a> {
    shards: &'a [u64],
    speeds: &'a [f64],
    /// The waves of supersteps and of interval sweeps.
    waves: [&'a [Wave]; 2],
    /// By kind, the wave of each shard.
    wave_of: [Vec<usize>; 2],
    /// By kind and wave, the positions that each member has.
    loads: [Vec<Vec<u64>>; 2],
    owners: Vec<usize>,
}

impl<'a> Dealing<'a> {
    /// Nobody has anything; the first member is said to own all.
    fn new(shards: &'a [u64], waves: [&'a [Wave]; 2], speeds: &'a [f64]) -> Self {
        let wave_of = waves.map(|waves| wave_of_shards(waves, shards.len()));
        let loads = waves.map(|waves| vec![vec![0; speeds.len()]; waves.len()]);
        Self { shards, speeds, waves, wave_of, loads, owners: vec![0; shards.len()] }
    }

    fn deal(&mut self) {
        for wave in self.waves[0] {
            let mut wave = wave.clone();
            wave.sort_by_key(|shard| Reverse(self.shards[shard.0]));
            for shard in wave {
                let done = |&member: &usize| {
                    let load = |kind: usize| self.loads[kind][self.wave_of[kind][shard.0]][member];
                    (load(0) + load(1) + self.shards[shard.0]) as f64 / self.speeds[member]
                };
                let members = 0..self.speeds.len();
                let first = members.min_by(|a, b| done(a).total_cmp(&done(b)));
                self.give(shard, first.expect("there are members"));
            }
        }
    }

    fn give(&mut self, ShardIndex(shard): ShardIndex, member: usize) {
        for (loads, wave_of) in self.loads.iter_mut().zip(&self.wave_of) {
            loads[wave_of[shard]][member] += self.shards[shard];
        }
        self.owners[shard] = member;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_goes_to_whoever_is_done_first_with_both_kinds_of_waves() {
        let wave = |shards: &[usize]| shards.iter().copied().map(ShardIndex).collect::<Wave>();
        let supersteps = [wave(&[0, 1]), wave(&[2, 3])];
        let intervals = [wave(&[0]), wave(&[1, 2]), wave(&[3])];
        // The largest first, 0 to the first member and 1 to the second. Shard 2 shares an interval wave with 1.
        let owners = deal(&[9, 8, 5, 4], [&supersteps, &intervals], &[1.0, 1.0]);
        assert_eq!(owners, [0, 1, 0, 1]);
        let owners = deal(&[9, 8, 5, 4], [&supersteps, &intervals], &[1.0, 1e-3]);
        assert_eq!(owners, [0; 4], "the second would make the first wait");
    }
}
