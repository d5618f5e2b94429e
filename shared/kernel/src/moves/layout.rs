//! The layout of a slab in scratch memory, and in storage.
//!
//! Blocks of a slab lie one after the other, and all matrices of a block lie together, as
//! rows of whole groups:
//!
//! ```text
//! nothing (one row) | value | best of the first roll | of the second | ... | padding | own
//! ```
//!
//! `own` is the block of the player who just moved; `value` the values of that player as the one to
//! move; `best` the best of other blocks for a roll. The first row is below every value, for moves
//! that there are not. All this depends on nothing but the pieces that the outer squares leave, so
//! lists of rows can be made once for all slabs.
//!
//! A block with one column, a *column*, would be one value to a row of eight. Its matrices are transposed: all their
//! values stand in one row.
//!
//! Where there are no private squares every block is a single value. Such a slab is *dense*: all its values
//! are one row of one block, in their stored order.

use std::cmp::Reverse;

use ziggurat_encoding::{Encoding, shared::Budgets};
use ziggurat_planning::basis::is_dense;

use crate::simd::{value::groups, vector::LANES};

/// A block of a slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its rows: private configurations of the player who just moved.
    pub rows: usize,
    /// Its columns: private configurations of the player to move.
    pub columns: usize,
    /// Whether it has one column only, so that each of its matrices is one row of scratch memory.
    pub is_column: bool,
    /// Groups per row of scratch memory.
    pub stride: usize,
    /// Rows of scratch memory, padded so that a matrix can be transposed in squares. Only `own` has so many; groups
    /// that are read or written beyond the rows of another matrix belongs to the next, which is written later.
    pub padded_rows: usize,
    /// Where it starts in the stored slab.
    pub start: usize,
    /// Where it starts in the slab's scratch memory, in groups.
    pub at: usize,
    /// Rolls above 0.
    rolls: usize,
}

impl Block {
    fn new(rows: u64, columns: u64, start: u64, at: usize, rolls: usize) -> Self {
        let (rows, columns) = (rows as usize, columns as usize);
        let (is_column, start) = (columns == 1, start as usize);
        let (stride, padded_rows) = match is_column {
            true => (groups(rows), 1),
            false => (groups(columns), groups(rows) * LANES),
        };
        Self { rows, columns, is_column, stride, padded_rows, start, at, rolls }
    }

    /// Whether all its values are one row of scratch memory, and the transpose's, too.
    #[inline(always)]
    pub fn is_flat(&self) -> bool {
        self.is_column || self.rows == 1
    }

    /// The rows of scratch memory of a matrix, and how many values each has.
    #[inline(always)]
    pub fn lines(&self) -> (usize, usize) {
        if self.is_column { (1, self.rows) } else { (self.rows, self.columns) }
    }

    /// Groups of a matrix with padded rows.
    #[inline(always)]
    pub fn area(&self) -> usize {
        self.padded_rows * self.stride
    }

    /// Where the values of the mover are.
    #[inline(always)]
    pub fn value(&self) -> usize {
        self.at + self.stride
    }

    /// Where the best of other blocks is, by the place of the roll among those above 0.
    #[inline(always)]
    pub fn best(&self, roll: usize) -> usize {
        self.value() + (1 + roll) * self.lines().0 * self.stride
    }

    /// Where the block of the player who just moved is.
    #[inline(always)]
    pub fn own(&self) -> usize {
        self.best(self.rolls) + (self.padded_rows - self.lines().0) * self.stride
    }

    /// Where the block ends.
    #[inline(always)]
    pub fn end(&self) -> usize {
        self.own() + self.area()
    }
}

/// The blocks of a slab.
#[derive(Clone, Debug)]
pub struct Layout {
    /// By the inner squares; `None` where they have more pieces than the outer squares leave. One block
    /// if the slab is dense.
    pub by_inner: Vec<Option<Block>>,
    /// Those that there are, ascending.
    pub blocks: Vec<Block>,
    /// The inner squares that fit, those with the pieces furthest along first.
    pub fitting: Vec<u16>,
    /// Groups of scratch memory.
    pub groups: usize,
}

impl Layout {
    /// The layout for the pieces that the outer squares leave and the number of rolls above 0.
    pub fn new(encoding: &Encoding, budgets: Budgets, rolls: usize) -> Self {
        if is_dense(encoding) {
            return Self::dense(encoding.shared().slab_len(budgets), rolls);
        }
        let (shared, private) = (encoding.shared(), encoding.private());
        let mut groups = 0;
        let inner = shared.inner_pieces().iter().zip(shared.inner_offsets(budgets));
        let by_inner: Vec<Option<Block>> = inner
            .map(|(&(a, b), &start)| {
                let rows = private.count(budgets.0.checked_sub(a)?);
                let columns = private.count(budgets.1.checked_sub(b)?);
                let block = Block::new(rows, columns, start, groups, rolls);
                groups = block.end();
                Some(block)
            })
            .collect();
        let fits = |x: &u16| by_inner[*x as usize].is_some();
        let mut fitting: Vec<u16> = (0..by_inner.len() as u16).filter(fits).collect();
        fitting.sort_unstable_by_key(|&x| Reverse(shared.inner_advance()[x as usize]));
        let blocks = by_inner.iter().copied().flatten().collect();
        Self { by_inner, blocks, fitting, groups }
    }

    /// The layout of a dense slab.
    fn dense(len: u64, rolls: usize) -> Self {
        let len = len as usize;
        let (stride, is_column) = (groups(len), false);
        let block = Block {
            rows: 1,
            columns: len,
            is_column,
            stride,
            padded_rows: 1,
            start: 0,
            at: 0,
            rolls,
        };
        let (by_inner, blocks) = (vec![Some(block)], vec![block]);
        Self { by_inner, blocks, fitting: vec![0], groups: block.end() }
    }

    /// The block of an inner value that fits.
    #[inline(always)]
    pub fn block(&self, x: u16) -> &Block {
        self.by_inner[x as usize].as_ref().expect("the inner squares fit the slab")
    }
}
