//! The private configurations of a player: the rows and columns of a block.
//!
//! Configurations are sorted by (number of pieces, progress), so that those with at most k pieces
//! are the prefix of length C(k), and the rank of a configuration does not depend on k. Progress
//! is the sum of the path positions: a move within the private squares leads to a higher rank.

use ziggurat_game::PathPosition;

use crate::EncodingError;

/// All private configurations with at most as many pieces as a player has, ranked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrivateConfigurations {
    /// The configurations by rank, as masks of path positions.
    masks: Vec<u64>,
    /// C(k): how many configurations have at most k pieces.
    counts: Vec<u64>,
    /// For each path position what it adds to the code of a mask; 0 off the private squares.
    weights: Vec<u32>,
    /// The rank of each code; empty if there are too many codes.
    rank_of_code: Vec<u32>,
    /// The path positions on private squares.
    positions: u64,
}

/// The most configurations there may be, and the most codes (products of the private squares' digits) that a table is made for.
const MAX_CODES: u64 = 1 << 22;

const NO_RANK: u32 = u32::MAX;

/// By what configurations are sorted: number of pieces, then progress.
fn order(mask: u64) -> (u32, u64, u64) {
    let progress = (0..64).filter(|at| mask >> at & 1 == 1).sum();
    (mask.count_ones(), progress, mask)
}

impl PrivateConfigurations {
    /// Ranks the configurations of `pieces` pieces on private squares, given by the path
    /// positions on each, on a path of `len` squares.
    ///
    /// # Errors
    /// If there are more than a few million: no such ruleset could be solved.
    pub fn new(
        squares: &[Vec<PathPosition>],
        len: PathPosition,
        pieces: u8,
    ) -> Result<Self, EncodingError> {
        let mut masks = vec![0u64];
        for visits in squares {
            let before = masks.len();
            for &at in visits {
                for i in 0..before {
                    if masks[i].count_ones() < u32::from(pieces) {
                        masks.push(masks[i] | 1 << at);
                    }
                }
                if masks.len() as u64 > MAX_CODES {
                    return Err(EncodingError::TooManyPrivateSquares { squares: squares.len() });
                }
            }
        }
        masks.sort_by_cached_key(|&mask| order(mask));
        let counts = (0..=u32::from(pieces))
            .map(|k| masks.partition_point(|mask| mask.count_ones() <= k) as u64)
            .collect();
        let positions = squares.iter().flatten().fold(0, |mask, at| mask | 1 << at);
        let weights = vec![0; len as usize + 1];
        let mut this = Self { masks, counts, weights, rank_of_code: Vec::new(), positions };
        this.make_table(squares);
        Ok(this)
    }

    /// Makes the table of ranks by code, unless there are too many codes.
    fn make_table(&mut self, squares: &[Vec<PathPosition>]) {
        let bases = squares.iter().map(|visits| visits.len() as u64 + 1);
        let codes = bases.into_iter().try_fold(1, u64::checked_mul);
        let Some(codes) = codes.filter(|&codes| codes <= MAX_CODES) else { return };
        let mut weight = 1;
        for visits in squares {
            for (&at, digit) in visits.iter().zip(1..) {
                self.weights[at as usize] = weight * digit;
            }
            weight *= visits.len() as u32 + 1;
        }
        self.rank_of_code = vec![NO_RANK; codes as usize];
        for rank in 0..self.masks.len() {
            let code = self.code(self.masks[rank]);
            self.rank_of_code[code] = rank as u32;
        }
    }

    /// C(k): how many configurations have at most `k` pieces; they have the ranks 0..C(k).
    pub fn count(&self, k: u8) -> u64 {
        self.counts[k as usize]
    }

    /// The configuration of a rank, as a mask of path positions.
    pub fn mask(&self, rank: usize) -> u64 {
        self.masks[rank]
    }

    /// The rank of the part of a mask that is on private squares. `None` if it has more pieces
    /// than a player or two on one square.
    pub fn rank(&self, mask: u64) -> Option<usize> {
        let mask = mask & self.positions;
        if self.rank_of_code.is_empty() {
            return self.masks.binary_search_by_key(&order(mask), |&mask| order(mask)).ok();
        }
        let code = self.code(mask);
        let rank = *self.rank_of_code.get(code)? as usize;
        (self.masks.get(rank) == Some(&mask)).then_some(rank)
    }

    /// The path positions on private squares, as a mask.
    pub fn positions(&self) -> u64 {
        self.positions
    }

    fn code(&self, mask: u64) -> usize {
        let mut rest = mask;
        let mut code = 0;
        while rest != 0 {
            code += self.weights[rest.trailing_zeros() as usize] as usize;
            rest &= rest - 1;
        }
        code
    }
}
