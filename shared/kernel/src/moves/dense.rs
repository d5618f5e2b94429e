//! Dense slabs: the moves within a slab of a ruleset without private squares, value by value.

use std::cmp::Reverse;

use ziggurat_encoding::{Encoding, shared::Budgets};

use crate::moves::lists::RowMove;

/// The values of the slabs whose outer squares leave the same pieces.
#[derive(Clone, Debug, Default)]
pub struct DenseSlab {
    pub values: Vec<DenseValue>,
    /// Their places, those with the pieces furthest along first.
    pub order: Vec<u32>,
    /// Moves within the slab, by the value that they start from: into the best for a roll from the stored
    /// or the mover's values, counted from the start of the slab's scratch memory.
    moves: Vec<RowMove>,
}

/// A value of a dense slab.
#[derive(Clone, Copy, Debug)]
pub struct DenseValue {
    /// Its place in the swapped slab.
    pub swapped: u32,
    /// Where its moves end, which start where those of the value before end.
    moves_end: u32,
}

impl DenseSlab {
    /// The values for the pieces that the outer squares leave, with their moves within the slab by the
    /// configuration of the inner squares.
    pub fn new(encoding: &Encoding, budgets: Budgets, moves: Vec<Vec<RowMove>>) -> Self {
        let mut this = Self::default();
        let mut order = Vec::new();
        for (x, moves) in (0..).zip(moves) {
            if place(encoding, budgets, x).is_some() {
                let advance = encoding.shared().inner_advance()[x as usize];
                order.push((Reverse(advance), this.values.len() as u32));
                let swapped = encoding.shared().inner_swapped(x);
                let swapped = place(encoding, (budgets.1, budgets.0), swapped);
                this.moves.extend(moves);
                this.values.push(DenseValue {
                    swapped: swapped.expect("the swapped slab has the swapped value") as u32,
                    moves_end: this.moves.len() as u32,
                });
            }
        }
        order.sort_unstable();
        this.order = order.into_iter().map(|(_, place)| place).collect();
        this
    }

    /// The moves from a value within the slab.
    #[inline(always)]
    pub fn moves(&self, place: usize) -> &[RowMove] {
        let start = place.checked_sub(1).map_or(0, |before| self.values[before].moves_end);
        &self.moves[start as usize..self.values[place].moves_end as usize]
    }
}

/// The place in a dense slab of a configuration of the inner squares, if they have no more pieces than the
/// outer squares leave.
pub fn place(encoding: &Encoding, budgets: Budgets, x: u16) -> Option<usize> {
    let shared = encoding.shared();
    let (own, opponent) = shared.inner_pieces()[x as usize];
    let fits = own <= budgets.0 && opponent <= budgets.1;
    fits.then(|| shared.inner_offsets(budgets)[x as usize] as usize)
}
