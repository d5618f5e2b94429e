//! The parts of a wave in the order in which threads take them.

use std::cmp::Reverse;

use rayon::prelude::*;

/// The parts of a wave, to be swept at the same time, in the order in which threads take them: the largest first, so
/// that a thread that is done early finds a small one.
pub fn largest_first<P: Send>(
    mut parts: Vec<P>,
    len: impl Fn(&P) -> u64,
) -> impl ParallelIterator<Item = P> {
    parts.sort_by_key(|part| Reverse(len(part)));
    parts.into_iter().par_bridge()
}
