//! Basis functions of the coarse correction: which there are for a ruleset.

use ziggurat_encoding::{Encoding, Place};
use ziggurat_game::PathPosition;

/// Where the regions of a ruleset's path begin but the first, which begins with the hand: where the path comes to
/// shared squares or leaves them, but for the last time, and at safe squares among shared ones and behind them.
pub fn region_starts(encoding: &Encoding) -> Vec<PathPosition> {
    let (ruleset, places) = (encoding.ruleset(), &encoding.geometry().own_place);
    let is_shared = |at: PathPosition| matches!(places[at as usize], Place::Shared { .. });
    let is_safe = |at: PathPosition| is_shared(at) && ruleset.capturable_from(at) == 0;
    let last = (1..=ruleset.path().len()).rev().find(|&at| is_shared(at)).unwrap_or(0);
    let begins =
        |&at: &PathPosition| is_shared(at) != is_shared(at - 1) || is_safe(at) || is_safe(at - 1);
    (2..=last).filter(begins).collect()
}

/// How many functions there are of so many numbers of pieces: 1, these, and their products by two.
pub fn basis_len(variables: usize) -> usize {
    1 + variables + variables * (variables + 1) / 2
}

/// How many functions there are that are not 0 in an orientation of a step.
pub fn basis_len_of_orientation(encoding: &Encoding) -> usize {
    basis_len(2 * region_starts(encoding).len())
}

/// Whether the slabs of a ruleset are dense.
pub fn is_dense(encoding: &Encoding) -> bool {
    encoding.private().count(encoding.ruleset().pieces()) == 1
}
