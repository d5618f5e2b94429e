//! A pass: the chances of the mover from the best of other blocks and the block's own rows.
#![expect(unsafe_code)]

use crate::{
    rules::InnerMoves,
    value::Value,
    vector::{Instructions, Vector},
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
    pub fn run<I: Instructions>(&self, value: &mut [T::Group]) {
        let size = self.rows * self.stride;
        assert!(self.own.len() >= size && value.len() >= size && self.area >= size);
        assert!(self.best.len() >= self.area * self.chances.len());
        assert!(self.inner.fits(self.rows, self.chances.len()));
        let mut from = 0;
        while from < self.stride {
            match self.stride - from {
                1 => self.strip::<I, 1>(from, value),
                2 => self.strip::<I, 2>(from, value),
                3 => self.strip::<I, 3>(from, value),
                _ => self.strip::<I, 4>(from, value),
            }
            from += 4;
        }
    }

    /// Computes `WIDTH` groups of every row, from group `from` on.
    #[inline(always)]
    fn strip<I: Instructions, const WIDTH: usize>(&self, from: usize, value: &mut [T::Group]) {
        let value = value.as_mut_ptr();
        let mut stream = self.inner.stream();
        let zero = T::Vector::<I>::splat(self.zero);
        for p in (0..self.rows).rev() {
            let at = p * self.stride + from;
            let read = |matrix: *const T::Group, at: usize| -> [T::Vector<I>; WIDTH] {
                // SAFETY: `at` is the start of a strip in a row below `rows` of a matrix whose size
                // `run` has checked (for `best`, of one of its rolls).
                std::array::from_fn(|i| unsafe { T::Vector::<I>::read(matrix.add(at + i).cast()) })
            };
            let own = read(self.own.as_ptr(), at);
            let mut sum = own.map(|own| own.times(zero));
            for (roll, &chance) in self.chances.iter().enumerate() {
                let mut top = read(self.best.as_ptr(), roll * self.area + at);
                let moves = stream.count();
                for _ in 0..moves {
                    let mv = stream.next();
                    let at = mv.row() * self.stride + from;
                    let matrix =
                        if mv.rolls_again() { value.cast_const() } else { self.own.as_ptr() };
                    let offered = read(matrix, at);
                    for (top, offered) in top.iter_mut().zip(offered) {
                        *top = top.larger(offered);
                    }
                }
                if moves == 0 && top[0].first() == T::NONE {
                    top = own; // no legal move: the turn passes
                }
                let chance = T::Vector::<I>::splat(chance);
                for (sum, top) in sum.iter_mut().zip(top) {
                    *sum = sum.plus(chance.times(top));
                }
            }
            for (i, sum) in sum.into_iter().enumerate() {
                // SAFETY: as for `read`.
                unsafe { sum.write(value.add(at + i).cast()) };
            }
        }
    }
}
