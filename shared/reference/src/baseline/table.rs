//! The successors of every position, written down, and the sweep over them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ziggurat_encoding::{Encoding, Index};
use ziggurat_game::Position;

use super::{
    Design,
    places::{LAST_PLACE, Places},
};

/// Set in a successor after which the other player moves.
const TURN_PASSES: u32 = 1 << 31;
/// Set in the last successor of a roll in [`Design::Compact`].
const LAST: u32 = LAST_PLACE + 1;

/// The part of the table for some positions that are swept one after the other.
pub(super) struct Chunk {
    /// Where the values of the positions are.
    places: Vec<u32>,
    /// The successors, position after position, roll after roll.
    successors: Vec<u32>,
    /// [`Design::Published`]: 0, then for every position and roll, where its successors end.
    ends: Option<Vec<u64>>,
}

impl Chunk {
    pub(super) fn new(
        encoding: &Encoding,
        places: &Places,
        design: Design,
        positions: &[Index],
    ) -> Self {
        let rolls = encoding.ruleset().dice().rolls();
        let mut successors = Vec::new();
        let mut ends = vec![0];
        for &index in positions {
            let position = encoding.unrank(index);
            for roll in rolls {
                append_successors(encoding, places, &position, roll.value, &mut successors);
                ends.push(successors.len() as u64);
            }
        }
        successors.shrink_to_fit();
        let ends = match design {
            Design::Published => Some(ends),
            Design::Compact => {
                ends[1..].iter().for_each(|&end| successors[end as usize - 1] |= LAST);
                None
            }
        };
        let places = positions.iter().map(|&index| places.place(index)).collect();
        Self { places, successors, ends }
    }

    pub(super) fn bytes(&self) -> u64 {
        let words = self.places.len() + self.successors.len();
        let ends = self.ends.as_ref().map_or(0, Vec::len);
        (words * size_of::<u32>() + ends * size_of::<u64>()) as u64
    }

    /// Updates the values of the positions; returns the largest change.
    pub(super) fn sweep(&self, chances: &[f64], values: &[AtomicU64]) -> f64 {
        match &self.ends {
            Some(ends) => {
                let mut bounds = ends.windows(2);
                self.update(chances, values, || {
                    let of_roll = bounds.next().map_or(0..0, |b| b[0] as usize..b[1] as usize);
                    self.successors[of_roll]
                        .iter()
                        .map(|&successor| chance(successor, values))
                        .fold(f64::NEG_INFINITY, greater)
                })
            }
            None => {
                let mut successors = self.successors.iter();
                self.update(chances, values, || {
                    let mut best = f64::NEG_INFINITY;
                    for &successor in successors.by_ref() {
                        best = greater(best, chance(successor, values));
                        if successor & LAST != 0 {
                            break;
                        }
                    }
                    best
                })
            }
        }
    }

    /// Sets every value to the sum of the rolls' chances times `best_of_next_roll`.
    #[inline(always)]
    fn update(
        &self,
        chances: &[f64],
        values: &[AtomicU64],
        mut best_of_next_roll: impl FnMut() -> f64,
    ) -> f64 {
        let mut residual = 0.0_f64;
        for &place in &self.places {
            let mut sum = 0.0;
            for chance in chances {
                sum += chance * best_of_next_roll();
            }
            let value = &values[place as usize];
            let old = f64::from_bits(value.load(Relaxed));
            value.store(sum.to_bits(), Relaxed);
            residual = greater(residual, (sum - old).abs());
        }
        residual
    }
}

/// The chance, minus one half, of the player who moved to a successor.
#[inline(always)]
fn chance(successor: u32, values: &[AtomicU64]) -> f64 {
    let bits = values[(successor & LAST_PLACE) as usize].load(Relaxed);
    f64::from_bits(bits ^ u64::from(successor & TURN_PASSES) << 32)
}

/// The greater of two numbers: one instruction, unlike [`f64::max`], as neither is a NaN.
#[inline(always)]
fn greater(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// Appends what the moves for a roll lead to, or the pass if there are none.
fn append_successors(
    encoding: &Encoding,
    places: &Places,
    position: &Position,
    roll: u8,
    successors: &mut Vec<u32>,
) {
    let ruleset = encoding.ruleset();
    let place = |position: &Position| places.place(encoding.rank(position));
    let before = successors.len();
    successors.extend(ruleset.moves(position, roll).map(|mv| {
        let outcome = ruleset.apply(position, mv);
        match (outcome.won, outcome.rolls_again) {
            (true, _) => places.won(),
            (_, true) => place(&outcome.position),
            (_, false) => place(&outcome.position.swap()) | TURN_PASSES,
        }
    }));
    if successors.len() == before {
        successors.push(place(&position.swap()) | TURN_PASSES);
    }
}
