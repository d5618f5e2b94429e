//! The innermost loops: whole rows of values, eight at a time.
//!
//! Rows in scratch memory are padded to a multiple of [`LANES`] values and aligned; rows in
//! stored blocks are not. The loops always take whole groups of eight, so they read up to
//! seven values beyond the end of a stored row (whose owner keeps [`PADDING`] values beyond its
//! last one) and compute values that nobody looks at in the padding of a scratch row.

use crate::value::Value;

/// How many values the innermost loops take at once.
pub const LANES: usize = 8;

/// How many values must be readable beyond the last one of an array of stored values.
pub const PADDING: usize = LANES;

/// A group of values in scratch memory.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Lanes<T>(pub [T; LANES]);

/// How many groups a row of `len` values takes.
#[inline(always)]
pub fn groups(len: usize) -> usize {
    len.div_ceil(LANES)
}

impl<T: Value> Lanes<T> {
    /// The same value in every lane.
    #[inline(always)]
    pub fn splat(x: T) -> Self {
        Self([x; LANES])
    }

    /// The first eight values of a stored row.
    #[inline(always)]
    pub fn load(row: &[T]) -> Self {
        Self(*row.first_chunk().expect("stored values are padded"))
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(T, T) -> T) -> Self {
        let mut out = self;
        for (x, y) in out.0.iter_mut().zip(other.0) {
            *x = f(*x, y);
        }
        out
    }

    /// The larger value of each lane.
    #[inline(always)]
    pub fn larger(self, other: Self) -> Self {
        self.zip(other, T::larger)
    }

    /// `self + weight * best` in each lane.
    #[inline(always)]
    pub fn add_weighted(self, weight: T, best: Self) -> Self {
        self.zip(best, |sum, best| sum.add_weighted(weight, best))
    }

    /// `weight * self` in each lane.
    #[inline(always)]
    pub fn weighted(self, weight: T) -> Self {
        self.zip(Self::splat(weight), T::times)
    }

    /// The chances of the other player.
    #[inline(always)]
    pub fn complement(mut self) -> Self {
        self.0.iter_mut().for_each(|x| *x = x.complement());
        self
    }
}
