//! A pass: the values of the mover from the best of other blocks and the block's own rows.
#![expect(unsafe_code)]

use crate::{
    moves::{layout::Block, private::PrivateMoves},
    simd::{
        value::Value,
        vector::{Instructions, LANES, Vector},
    },
    sweep::rows,
};

/// The inputs of a pass.
pub struct Pass<'a, T: Value> {
    /// The moves within the block, by row and roll.
    pub moves: &'a PrivateMoves,
    /// The probability of a roll of 0.
    pub zero: T,
    /// The probabilities of the rolls above 0.
    pub chances: &'a [T],
    /// The block.
    pub block: &'a Block,
    /// The number that is added to every value, if any is.
    pub shift: T,
}

impl<T: Value> Pass<'_, T> {
    /// Computes the values of the mover in a slab's scratch memory, from high rows to low ones:
    /// moves within the block lead to higher rows.
    #[inline(always)]
    pub fn run<I: Instructions, const SHIFTED: bool>(&self, slab: &mut [T::Group]) {
        let block = &mut slab[self.block.at..self.block.end()];
        if self.block.is_column {
            let (moves, width) = self.moves.column(self.block.rows, self.chances.len());
            return match (width, self.chances.len()) {
                (2, 4) => self.column::<SHIFTED, 4>(moves, 2, block),
                (3, 4) => self.column::<SHIFTED, 4>(moves, 3, block),
                (4, 4) => self.column::<SHIFTED, 4>(moves, 4, block),
                _ => self.column::<SHIFTED, 0>(moves, width, block),
            };
        }
        match (self.moves.width(), self.block.stride, self.chances.len()) {
            (Some(width), 1, 3) => self.small::<I, SHIFTED, 1, 3>(width, block),
            (Some(width), 2, 3) => self.small::<I, SHIFTED, 2, 3>(width, block),
            (Some(width), 1, 4) => self.small::<I, SHIFTED, 1, 4>(width, block),
            (Some(width), 2, 4) => self.small::<I, SHIFTED, 2, 4>(width, block),
            (_, _, 4) => self.strips::<I, SHIFTED, 4>(block),
            _ => self.strips::<I, SHIFTED, 0>(block),
        }
    }

    /// Computes a block of long rows, or of many: a strip of a few groups of all rows, then the next.
    #[inline(always)]
    fn strips<I: Instructions, const SHIFTED: bool, const ROLLS: usize>(
        &self,
        block: &mut [T::Group],
    ) {
        let stride = self.block.stride;
        for from in (0..stride).step_by(4) {
            match stride - from {
                1 => self.strip::<I, SHIFTED, ROLLS, 1>(from, block),
                2 => self.strip::<I, SHIFTED, ROLLS, 2>(from, block),
                3 => self.strip::<I, SHIFTED, ROLLS, 3>(from, block),
                _ => self.strip::<I, SHIFTED, ROLLS, 4>(from, block),
            }
        }
    }

    /// Computes a column, value by value, with so many moves for each row and roll. There are `ROLLS` rolls, or if
    /// that is 0, any number.
    #[inline(always)]
    fn column<const SHIFTED: bool, const ROLLS: usize>(
        &self,
        mut moves: &[u32],
        width: usize,
        block: &mut [T::Group],
    ) {
        let (rows, line) = (self.block.rows, self.block.stride * LANES);
        let rolls = if ROLLS == 0 { self.chances.len() } else { ROLLS };
        let chances = &self.chances[..rolls];
        let own_start = (2 + rolls) * line;
        let block = rows::values_of::<T>(block);
        assert!(block.len() >= own_start + line && rows <= line);
        // SAFETY: `at` is a value of the block's scratch memory: one of a matrix, or one that a move within
        // the block leads to.
        let read = |block: &[T], at: usize| unsafe { *block.get_unchecked(at) };
        for p in (0..rows).rev() {
            let own = read(block, own_start + p);
            let mut sum = own * self.zero;
            let of_row = moves.split_off(..width * rolls).expect("moves for every row");
            for (roll, &chance) in chances.iter().enumerate() {
                let mut top = read(block, (2 + roll) * line + p);
                for &at in &of_row[roll * width..][..width] {
                    top = top.larger(read(block, at as usize));
                }
                // Where there is no legal move the turn passes.
                sum = sum + chance * top.or_if_none(own);
            }
            if SHIFTED {
                sum = (sum + self.shift).larger(T::WIN.negated()).smaller(T::WIN);
            }
            block[line + p] = sum;
        }
    }

    /// Values and the shift, no further than a win or a loss.
    #[inline(always)]
    fn shifted<I: Instructions>(&self, values: T::Vector<I>) -> T::Vector<I> {
        let (loss, win) = (T::Vector::<I>::splat(T::WIN.negated()), T::Vector::<I>::splat(T::WIN));
        values.plus(T::Vector::<I>::splat(self.shift)).larger(loss).smaller(win)
    }

    #[inline(always)]
    fn small<I: Instructions, const SHIFTED: bool, const STRIDE: usize, const ROLLS: usize>(
        &self,
        width: usize,
        block: &mut [T::Group],
    ) {
        match width {
            0 => self.unrolled::<I, SHIFTED, STRIDE, ROLLS, 0>(block),
            2 => self.unrolled::<I, SHIFTED, STRIDE, ROLLS, 2>(block),
            _ => self.unrolled::<I, SHIFTED, STRIDE, ROLLS, 3>(block),
        }
    }

    /// Computes a block whose rows all have as many rolls and moves for each roll: no loop but
    /// that over the rows is left.
    #[inline(always)]
    fn unrolled<
        I: Instructions,
        const SHIFTED: bool,
        const STRIDE: usize,
        const ROLLS: usize,
        const WIDTH: usize,
    >(
        &self,
        block: &mut [T::Group],
    ) {
        let rows = self.block.rows;
        let own_start = self.block.own() - self.block.at;
        let first: *mut T::Group = block.as_mut_ptr();
        let zero = T::Vector::<I>::splat(self.zero);
        let mut chances = [zero; ROLLS];
        for (vector, &chance) in chances.iter_mut().zip(self.chances) {
            *vector = T::Vector::<I>::splat(chance);
        }
        let stream = self.moves.padded(rows, ROLLS);
        assert!(stream.len() == rows * ROLLS * WIDTH);
        let mut moves = stream.as_ptr();
        // Reads a row of the block's scratch memory, whose length `run` has checked: one of a matrix, or one that a
        // move within the block leads to.
        macro_rules! read {
            ($at:expr) => {
                // SAFETY: as just said.
                unsafe { read_groups::<T, I, STRIDE>(first.add($at)) }
            };
        }
        for p in (0..rows).rev() {
            let value = STRIDE + p * STRIDE;
            let own = read!(own_start + p * STRIDE);
            let mut sum = own;
            for sum in &mut sum {
                *sum = sum.times(zero);
            }
            for (roll, &chance) in chances.iter().enumerate() {
                let mut top = read!(value + (1 + roll) * rows * STRIDE);
                for i in 0..WIDTH {
                    // SAFETY: the stream has so many moves for each row and roll, as asserted above.
                    let row = unsafe { *moves.add(roll * WIDTH + i) } as usize;
                    let offered = read!(row * STRIDE);
                    for (top, offered) in top.iter_mut().zip(offered) {
                        *top = top.larger(offered);
                    }
                }
                for ((sum, top), own) in sum.iter_mut().zip(top).zip(own) {
                    // Where there is no legal move the turn passes.
                    *sum = sum.plus(chance.times(top.or_if_none(own)));
                }
            }
            // SAFETY: the moves of the next row, or the end of the stream.
            moves = unsafe { moves.add(ROLLS * WIDTH) };
            for (i, sum) in sum.into_iter().enumerate() {
                let sum = if SHIFTED { self.shifted::<I>(sum) } else { sum };
                // SAFETY: as for `read!`.
                unsafe { sum.write(first.add(value + i).cast()) };
            }
        }
    }

    /// Computes `WIDTH` groups of every row, from group `from` on. There are `ROLLS` rolls, or if that is 0, any
    /// number.
    #[inline(always)]
    fn strip<I: Instructions, const SHIFTED: bool, const ROLLS: usize, const WIDTH: usize>(
        &self,
        from: usize,
        block: &mut [T::Group],
    ) {
        let Block { rows, stride, .. } = *self.block;
        let rolls = if ROLLS == 0 { self.chances.len() } else { ROLLS };
        let chances = &self.chances[..rolls];
        let own_start = self.block.own() - self.block.at;
        let first: *mut T::Group = block[from..].as_mut_ptr();
        let mut stream = self.moves.counted(rows, rolls).as_ptr_range();
        macro_rules! next {
            () => {{
                // SAFETY: it is not the end: for so many rows and rolls there are so many moves as it says.
                let next = unsafe { *stream.start } as usize;
                stream.start = unsafe { stream.start.add(1) };
                next
            }};
        }
        // Reads a strip of a row of the block's scratch memory, whose length `run` has checked: one of a matrix, or
        // one that a move within the block leads to.
        macro_rules! read {
            ($at:expr) => {
                // SAFETY: as just said.
                unsafe { read_groups::<T, I, WIDTH>(first.add($at)) }
            };
        }
        let zero = T::Vector::<I>::splat(self.zero);
        for p in (0..rows).rev() {
            let value = stride + p * stride;
            let own = own_start + p * stride;
            let mut sum = read!(own);
            for sum in &mut sum {
                *sum = sum.times(zero);
            }
            let mut best = value;
            for &chance in chances {
                best += rows * stride;
                let mut top = read!(best);
                let moves = next!();
                if moves == 0 {
                    // Where there is no legal move the turn passes; there is one where one leads to a row of the block.
                    for (top, own) in top.iter_mut().zip(read!(own)) {
                        *top = top.or_if_none(own);
                    }
                }
                for _ in 0..moves {
                    let row = next!();
                    let offered = read!(row * stride);
                    for (top, offered) in top.iter_mut().zip(offered) {
                        *top = top.larger(offered);
                    }
                }
                let chance = T::Vector::<I>::splat(chance);
                for (sum, top) in sum.iter_mut().zip(top) {
                    *sum = sum.plus(chance.times(top));
                }
            }
            for (i, sum) in sum.into_iter().enumerate() {
                let sum = if SHIFTED { self.shifted::<I>(sum) } else { sum };
                // SAFETY: as for `read!`.
                unsafe { sum.write(first.add(value + i).cast()) };
            }
        }
        debug_assert!(stream.is_empty());
    }
}

/// Reads groups of scratch memory that stand together.
///
/// # Safety
/// They must be readable.
#[inline(always)]
unsafe fn read_groups<T: Value, I: Instructions, const N: usize>(
    first: *const T::Group,
) -> [T::Vector<I>; N] {
    let mut groups = [T::Vector::<I>::splat(T::default()); N];
    for (i, group) in groups.iter_mut().enumerate() {
        // SAFETY: the caller promises it.
        *group = unsafe { T::Vector::<I>::read(first.add(i).cast()) };
    }
    groups
}
