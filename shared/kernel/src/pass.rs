//! A pass: the chances of the mover from the best of other blocks and the block's own rows.
#![expect(unsafe_code)]

use crate::{
    rules::InnerMoves,
    value::{Group, Value},
};

/// What a pass works with. All matrices have `stride` groups per row.
pub struct Pass<'a, T: Value> {
    /// The moves within the block, by row and roll.
    pub inner: &'a InnerMoves,
    /// The probability of a roll of 0.
    pub zero: T,
    /// The probabilities of the rolls above 0.
    pub chances: &'a [T],
    /// By roll, the best of what other blocks offer; `area` groups each.
    pub best: &'a [T::Group],
    /// Groups from roll to roll.
    pub area: usize,
    /// The block of the player who just moved.
    pub own: &'a [T::Group],
    /// Rows of the block.
    pub rows: usize,
    /// Groups per row.
    pub stride: usize,
}

impl<T: Value> Pass<'_, T> {
    /// Computes `value`, the chances of the mover, from high rows to low ones: moves within the
    /// block lead to higher rows.
    #[inline(always)]
    pub fn run(&self, value: &mut [T::Group]) {
        let size = self.rows * self.stride;
        assert!(self.own.len() >= size && value.len() >= size && self.area >= size);
        assert!(self.best.len() >= self.area * self.chances.len());
        assert!(self.inner.fits(self.rows, self.chances.len()));
        let mut from = 0;
        while from < self.stride {
            match self.stride - from {
                1 => self.strip::<1>(from, value),
                2 => self.strip::<2>(from, value),
                3 => self.strip::<3>(from, value),
                _ => self.strip::<4>(from, value),
            }
            from += 4;
        }
    }

    /// Computes `WIDTH` groups of every row, from group `from` on.
    #[inline(always)]
    fn strip<const WIDTH: usize>(&self, from: usize, value: &mut [T::Group]) {
        let value = value.as_mut_ptr();
        for p in (0..self.rows).rev() {
            let at = p * self.stride + from;
            let read = |matrix: *const T::Group, at: usize| -> [T::Group; WIDTH] {
                // SAFETY: `at` is the start of a strip in a row below `rows` of a matrix whose size
                // `run` has checked (for `best`, of one of its rolls).
                std::array::from_fn(|i| unsafe { *matrix.add(at + i) })
            };
            let own = read(self.own.as_ptr(), at);
            let mut sum = own.map(|own| own.times(self.zero));
            for (roll, &chance) in self.chances.iter().enumerate() {
                let mut top = read(self.best.as_ptr(), roll * self.area + at);
                let moves = self.inner.of(p, roll);
                for mv in moves {
                    let at = mv.row() * self.stride + from;
                    let matrix =
                        if mv.rolls_again() { value.cast_const() } else { self.own.as_ptr() };
                    let offered = read(matrix, at);
                    for (top, offered) in top.iter_mut().zip(offered) {
                        *top = top.larger(offered);
                    }
                }
                if moves.is_empty() && top[0].lanes()[0] == T::NONE {
                    top = own; // no legal move: the turn passes
                }
                for (sum, top) in sum.iter_mut().zip(top) {
                    *sum = sum.add_weighted(chance, top);
                }
            }
            for (i, sum) in sum.into_iter().enumerate() {
                // SAFETY: as for `read`.
                unsafe { *value.add(at + i) = sum };
            }
        }
    }
}
