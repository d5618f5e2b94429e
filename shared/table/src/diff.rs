//! How far two tables of one ruleset are apart.

use rayon::prelude::*;
use ziggurat_encoding::{Index, Tier};
use ziggurat_game::Position;

use crate::{AnyTable, TableError, Tell, progress::Work, rules::same_game};

/// Positions whose differences are added up in sequence, so that sums do not depend on threads.
const CHUNK_POSITIONS: usize = 1 << 16;

/// The differences over all undecided positions of a ruleset, as probabilities.
#[derive(Clone, PartialEq, Debug)]
pub struct Diff {
    /// All positions.
    pub total: Differences,
    /// A position with the largest difference; `None` if all are equal.
    pub at: Option<Position>,
    /// Tier by tier, in the encoder's order.
    pub tiers: Vec<(Tier, Differences)>,
}

/// The differences over some positions, as probabilities.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Differences {
    /// The positions compared.
    pub compared: u64,
    /// Those with the same value.
    pub equal: u64,
    /// The largest difference.
    pub largest: f64,
    sum: f64,
}

impl Differences {
    /// The mean difference.
    pub fn mean(&self) -> f64 {
        if self.compared == 0 { 0.0 } else { self.sum / self.compared as f64 }
    }

    fn and(self, other: Self) -> Self {
        Self {
            compared: self.compared + other.compared,
            equal: self.equal + other.equal,
            largest: self.largest.max(other.largest),
            sum: self.sum + other.sum,
        }
    }
}

/// Compares two tables, of whatever formats and value types, in every undecided position.
///
/// # Errors
/// If the tables are not of the same game, or one cannot be read or is damaged.
pub fn diff(left: &AnyTable, right: &AnyTable, tell: &Tell<'_>) -> Result<Diff, TableError> {
    same_game(left.ruleset(), right.ruleset())?;
    let work = Work::new(left.encoding().undecided(), tell);
    let mut diff = Diff { total: Differences::default(), at: None, tiers: Vec::new() };
    for (tier, offsets) in left.batches() {
        let first = offsets.start;
        let lefts = left.read_range(tier, offsets.clone())?;
        let rights = right.read_range(tier, offsets)?;
        let chunks: Vec<(Differences, usize)> = lefts
            .par_chunks(CHUNK_POSITIONS)
            .zip(rights.par_chunks(CHUNK_POSITIONS))
            .map(|(lefts, rights)| compare(lefts, rights))
            .collect();
        for (chunk, (differences, at)) in chunks.into_iter().enumerate() {
            if differences.largest > diff.total.largest {
                let offset = first + (chunk * CHUNK_POSITIONS + at) as u64;
                diff.at = Some(left.encoding().unrank(Index { tier, offset }));
            }
            diff.total = diff.total.and(differences);
            match diff.tiers.last_mut() {
                Some((last, sum)) if *last == tier => *sum = sum.and(differences),
                _ => diff.tiers.push((tier, differences)),
            }
        }
        work.did(lefts.len() as u64);
    }
    Ok(diff)
}

/// The differences of some values, and where the largest is.
fn compare(lefts: &[f64], rights: &[f64]) -> (Differences, usize) {
    let mut differences = Differences::default();
    let mut at = 0;
    for (i, (left, right)) in lefts.iter().zip(rights).enumerate() {
        let difference = (left - right).abs();
        differences.compared += 1;
        differences.equal += u64::from(difference == 0.0);
        differences.sum += difference;
        if difference > differences.largest {
            (differences.largest, at) = (difference, i);
        }
    }
    (differences, at)
}
