//! Shards in the order of their sweeps.

use std::cmp::Reverse;

use rayon::prelude::*;
use ziggurat_encoding::{Encoding, Shard};
use ziggurat_planning::waves::{Wave, interval_waves};

/// The parts of a wave, to be swept at the same time, in the order in which threads take them: the largest first, so
/// that a thread that is done early finds a small one.
pub fn largest_first<P: Send>(
    mut parts: Vec<P>,
    len: impl Fn(&P) -> u64,
) -> impl ParallelIterator<Item = P> {
    parts.sort_by_key(|part| Reverse(len(part)));
    parts.into_iter().par_bridge()
}

/// A step cut into shards.
#[derive(Debug)]
pub struct Cut {
    /// The shards.
    pub shards: Vec<Shard>,
    /// The order of interval sweeps: places of shards, those that are swept at the same time together. A
    /// move forward that leaves a shard leads to an earlier wave.
    pub waves: Vec<Wave>,
}

impl Cut {
    /// The order of shards.
    pub fn new(encoding: &Encoding, shards: Vec<Shard>) -> Self {
        let waves = interval_waves(encoding, &shards);
        Self { shards, waves }
    }

    /// How many positions the largest wave has of some shards.
    pub fn live_len(&self, own: impl Fn(usize) -> bool) -> u64 {
        let of_wave = |wave: &Wave| {
            let own = wave.iter().filter(|&&shard| own(shard));
            own.map(|&shard| self.shards[shard].len()).sum()
        };
        self.waves.iter().map(of_wave).max().unwrap_or(0)
    }
}
