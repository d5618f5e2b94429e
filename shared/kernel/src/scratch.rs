//! The working memory of one thread.

use crate::candidates::Candidates;
use crate::value::{Group, Value, groups};

/// Matrices for the largest pair of blocks.
pub struct Scratch<T: Value> {
    /// For both views of a pair, by roll: the best of what other blocks offer.
    pub best: [Vec<T::Group>; 2],
    /// Both views' own blocks.
    pub own: [Vec<T::Group>; 2],
    /// The chances of the mover.
    pub value: Vec<T::Group>,
    /// A block turned to the mover's rows.
    pub turned: Vec<T::Group>,
    /// What other blocks offer both views of a pair, and those of the pair that comes next.
    pub candidates: [[Candidates; 2]; 2],
}

impl<T: Value> Scratch<T> {
    /// Working memory for blocks of up to `side` x `side` values and `rolls` rolls above 0.
    pub fn new(side: usize, rolls: usize) -> Self {
        let matrices = |count: usize| vec![T::Group::splat(T::ONE); Self::area(side) * count];
        Self {
            best: [matrices(rolls), matrices(rolls)],
            own: [matrices(1), matrices(1)],
            value: matrices(1),
            turned: matrices(1),
            candidates: Default::default(),
        }
    }

    /// The size in bytes of [`Scratch::new`]'s memory.
    pub fn bytes(side: usize, rolls: usize) -> u64 {
        (Self::area(side) * (2 * rolls + 4) * size_of::<T::Group>()) as u64
    }

    fn area(side: usize) -> usize {
        groups::<T>(side) * T::LANES * groups::<T>(side)
    }
}
