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
    /// The rank of each code.
    rank_of_code: Vec<u32>,
    /// The path positions on private squares.
    positions: u64,
}

/// The most codes (products of the private squares' digits) that tables are made for.
const MAX_CODES: u64 = 1 << 22;

const NO_RANK: u32 = u32::MAX;

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
        let codes = squares
            .iter()
            .try_fold(1u64, |codes, visits| codes.checked_mul(visits.len() as u64 + 1))
            .filter(|&codes| codes <= MAX_CODES)
            .ok_or(EncodingError::TooManyPrivateSquares { squares: squares.len() })?;
        let mut weights = vec![0; len as usize + 1];
        let mut masks = vec![0u64];
        let mut weight = 1;
        for visits in squares {
            let before = masks.len();
            for (visit, &at) in visits.iter().enumerate() {
                weights[at as usize] = weight * (visit as u32 + 1);
                for i in 0..before {
                    if masks[i].count_ones() < u32::from(pieces) {
                        masks.push(masks[i] | 1 << at);
                    }
                }
            }
            weight *= visits.len() as u32 + 1;
        }
        let progress = |mask: u64| (1..=len).filter(|at| mask >> at & 1 == 1).map(u64::from).sum();
        masks.sort_by_cached_key(|&mask| -> (u32, u64, u64) {
            (mask.count_ones(), progress(mask), mask)
        });
        let counts = (0..=u32::from(pieces))
            .map(|k| masks.partition_point(|mask| mask.count_ones() <= k) as u64)
            .collect();
        let positions = squares.iter().flatten().fold(0, |mask, at| mask | 1 << at);
        let mut this =
            Self { masks, counts, weights, rank_of_code: vec![NO_RANK; codes as usize], positions };
        for rank in 0..this.masks.len() {
            let code = this.code(this.masks[rank]);
            this.rank_of_code[code] = rank as u32;
        }
        Ok(this)
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
