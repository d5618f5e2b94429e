//! Moves within a block: from private squares or the hand to private squares.
//!
//! They lead from a row to a higher one, which ones depends on the row and on how many pieces a
//! row may have, nothing else. A pass takes them from a stream, in the order in which it needs them.

use ziggurat_encoding::Encoding;

use crate::{
    moves::rules::{RollMoves, Rules, path_moves},
    simd::{value::groups, vector::LANES},
};

/// The moves within a block, for blocks whose rows have at most k pieces: for each row from the
/// highest down, for each roll, the rows they lead to. Rows are counted in the block's scratch memory:
/// row 0 is below every value.
#[derive(Clone, Debug)]
pub struct PrivateMoves {
    rolls: usize,
    rows: usize,
    width: Option<usize>,
    /// The stream with as many moves for each row and roll, if there is a width.
    padded: Vec<u32>,
    /// The stream with the number of moves before those of each row and roll.
    counted: Vec<u32>,
    /// How many moves every row and roll has in the stream for columns, and the stream.
    column_width: usize,
    column: Vec<u32>,
}

/// In blocks of up to so many rows every row and roll has the same number of moves, with the row
/// below every value for those it does not have: a loop that is always as long costs less than the
/// moves. (In columns, whose rows are single values, that is so however many there are.)
const FEW_ROWS: usize = 32;

impl PrivateMoves {
    /// The moves within blocks whose rows have at most `k` pieces.
    pub fn new(encoding: &Encoding, rules: &Rules, k: u8) -> Self {
        let rows = encoding.private().count(k) as usize;
        let rolls = rules.rolls.len();
        let of_row = |row| {
            let of_roll = move |roll: &RollMoves| moves_of(encoding, k, row, roll.value);
            rules.rolls.iter().map(of_roll)
        };
        let moves: Vec<Vec<PrivateMove>> = (0..rows).rev().flat_map(of_row).collect();
        let most = moves.iter().map(Vec::len).max().unwrap_or(0);
        let column_width = if most == 1 { 2 } else { most };
        let width = (rows <= FEW_ROWS && column_width <= 3).then_some(column_width);
        // As `Layout` has it: one row, then the values of the mover, the best for each roll and padding, then
        // the block itself.
        let row = |PrivateMove { after, again }| {
            1 + after + if again { 0 } else { rolls * rows + groups(rows) * LANES }
        };
        let line = groups(rows) * LANES;
        let value = |PrivateMove { after, again }| {
            line + after + if again { 0 } else { (1 + rolls) * line }
        };
        let stream = |width: Option<usize>, place: &dyn Fn(PrivateMove) -> usize| {
            let mut stream = Vec::new();
            for moves in &moves {
                stream.extend(width.is_none().then_some(moves.len() as u32));
                stream.extend(moves.iter().map(|&mv| place(mv) as u32));
                let missing = width.map_or(0, |width| width - moves.len());
                stream.extend(std::iter::repeat_n(0, missing));
            }
            stream
        };
        Self {
            rolls,
            rows,
            width,
            padded: width.map_or_else(Vec::new, |width| stream(Some(width), &row)),
            counted: stream(None, &row),
            column_width,
            column: stream(Some(column_width), &value),
        }
    }

    /// How many moves every row and roll has in [`PrivateMoves::padded`]: 0, 2 or 3; `None` if there is no such stream.
    #[inline(always)]
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// The moves, for a block of so many rows and rolls above 0, where there is a width: so many for each row
    /// and roll. Every move leads to a row of the block's own or the mover's values, or to row 0.
    ///
    /// # Panics
    /// If these are the moves of other blocks.
    #[inline(always)]
    pub fn padded(&self, rows: usize, rolls: usize) -> &[u32] {
        assert!(self.rows == rows && self.rolls == rolls);
        &self.padded
    }

    /// The moves, for a block of so many rows and rolls above 0: for each row and roll how many there are, and then
    /// these. Every move leads to a row of the block's own or the mover's values.
    ///
    /// # Panics
    /// If these are the moves of other blocks.
    #[inline(always)]
    pub fn counted(&self, rows: usize, rolls: usize) -> &[u32] {
        assert!(self.rows == rows && self.rolls == rolls);
        &self.counted
    }

    /// The moves for a block of one column, and how many every row and roll has: they lead to single values, counted
    /// in its scratch memory, or to one below every value.
    ///
    /// # Panics
    /// If these are the moves of other blocks.
    #[inline(always)]
    pub fn column(&self, rows: usize, rolls: usize) -> (&[u32], usize) {
        assert!(self.rows == rows && self.rolls == rolls);
        (&self.column, self.column_width)
    }
}

/// A move within a block.
#[derive(Clone, Copy)]
struct PrivateMove {
    /// The row it leads to.
    after: usize,
    /// Whether the mover rolls again.
    again: bool,
}

/// The moves of a roll within a block from a row.
fn moves_of(encoding: &Encoding, k: u8, row: usize, roll: u8) -> Vec<PrivateMove> {
    let (ruleset, private) = (encoding.ruleset(), encoding.private());
    let is_private = |at| private.positions() >> at & 1 == 1;
    let rows = private.count(k) as usize;
    let mask = private.mask(row);
    let mut moves = Vec::new();
    for (from, to) in path_moves(encoding, roll) {
        let may_leave = match from {
            0 => mask.count_ones() < u32::from(k),
            _ => is_private(from) && mask >> from & 1 == 1,
        };
        if !may_leave || to > ruleset.path().len() || !is_private(to) {
            continue;
        }
        let without = if from == 0 { mask } else { mask & !(1 << from) };
        if without & ruleset.own_on_square_of(to) != 0 {
            continue;
        }
        let after = private.rank(without | 1 << to).expect("one piece to a square");
        assert!(row < after && after < rows, "moves within a block lead to higher rows");
        let again = ruleset.is_roll_granted_on(to);
        moves.push(PrivateMove { after, again });
    }
    moves
}
