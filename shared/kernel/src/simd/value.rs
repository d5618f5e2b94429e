//! The floating-point types values are computed in, and groups of them.
//!
//! A *value* is a player's chance less one half: from -1/2, a loss, to 1/2, a win. That of the other player is the
//! same number negated, which is exact, and around even chances, where most values are, numbers are finer than around
//! one half.
#![expect(unsafe_code)]

use std::{
    fmt::Debug,
    ops::{Add, Mul, Sub},
};

use crate::simd::{
    address::{Address, Arrays},
    vector::{Instructions, LANES, Vector},
};

/// A floating-point type for values. Multiplications and additions are separate on every
/// processor, so that results are the same everywhere.
pub trait Value:
    bytemuck::Pod
    + PartialOrd
    + Debug
    + Default
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
{
    /// Below every value: the best of a roll before any move is seen.
    const NONE: Self;
    /// The value of a win.
    const WIN: Self;
    /// The distance between numbers from 1/4 to 1/2, the largest between values.
    const UNIT: f64;
    /// A group in scratch memory.
    type Group: Group<Self>;
    /// A group in a register.
    type Vector<I: Instructions>: Vector<Self>;

    /// The values at an address as 64-bit ones.
    ///
    /// # Safety
    /// A group must be readable there.
    unsafe fn widened<I: Instructions>(at: *const Self) -> I::F64;
    /// The values at a group of addresses.
    ///
    /// # Safety
    /// A group of addresses must be readable there, and the arrays have their places.
    unsafe fn gathered<I: Instructions>(
        arrays: &Arrays<Self>,
        at: *const Address,
    ) -> Self::Vector<I>;
    /// The nearest value to a number.
    fn from_f64(x: f64) -> Self;
    /// The value as a number.
    fn to_f64(self) -> f64;
    /// The larger of two values.
    fn larger(self, other: Self) -> Self;
    /// The smaller of two values.
    fn smaller(self, other: Self) -> Self;
    /// `self` where it is a value, `other` where it is [`Value::NONE`].
    fn or_if_none(self, other: Self) -> Self;
    /// The value of the other player: `0 - self`, so that no zero is negative.
    #[inline(always)]
    fn negated(self) -> Self {
        Self::default() - self
    }
    /// `|self - other|`
    fn distance(self, other: Self) -> Self;
    /// `self - other`, times a power of two, rounded once.
    fn difference(self, other: Self, times: f32) -> f32;
    /// The value nearest to the value and a number, no further than a loss or a win.
    fn moved_by(self, by: f32) -> Self;
    /// The value moved, as a number that remains between a loss and a win.
    #[inline(always)]
    fn moved(self, by: f64) -> f64 {
        let win = Self::WIN.to_f64();
        (self.to_f64() + by).clamp(-win, win)
    }
}

/// How many values must be readable beyond the last one of an array of stored values: rows are
/// read in whole groups.
pub const PADDING: usize = LANES;

/// [`LANES`] values, aligned.
pub trait Group<T>: Copy + Debug + Send + Sync {
    /// The same value in every lane.
    fn splat(x: T) -> Self;
    /// The lanes.
    fn lanes(&self) -> &[T];
    /// The lanes.
    fn lanes_mut(&mut self) -> &mut [T];
}

macro_rules! value {
    ($float:ty, $align:literal, $group:ident, $vector:ident, $widened:expr, $gathered:ident) => {
        impl Value for $float {
            const NONE: Self = <$float>::NEG_INFINITY;
            const WIN: Self = 0.5;
            const UNIT: f64 = <$float>::EPSILON as f64 / 4.0;
            type Group = $group;
            type Vector<I: Instructions> = I::$vector;

            #[inline(always)]
            unsafe fn widened<I: Instructions>(at: *const Self) -> I::F64 {
                // SAFETY: the caller promises it.
                unsafe { $widened(at) }
            }
            #[inline(always)]
            unsafe fn gathered<I: Instructions>(
                arrays: &Arrays<Self>,
                at: *const Address,
            ) -> Self::Vector<I> {
                // SAFETY: the caller promises it.
                unsafe { I::$gathered(arrays, at) }
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $float
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                if self < other { self } else { other }
            }
            #[inline(always)]
            fn or_if_none(self, other: Self) -> Self {
                if self == Self::NONE { other } else { self }
            }
            #[inline(always)]
            fn distance(self, other: Self) -> Self {
                (self - other).abs()
            }
            #[inline(always)]
            fn difference(self, other: Self, times: f32) -> f32 {
                ((self - other) * Self::from(times)) as f32
            }
            #[inline(always)]
            fn moved_by(self, by: f32) -> Self {
                (self + Self::from(by)).clamp(-Self::WIN, Self::WIN)
            }
        }

        /// A group of values.
        #[derive(Clone, Copy, Debug)]
        #[repr(C, align($align))]
        pub struct $group([$float; LANES]);

        impl Group<$float> for $group {
            fn splat(x: $float) -> Self {
                Self([x; LANES])
            }
            #[inline(always)]
            fn lanes(&self) -> &[$float] {
                &self.0
            }
            #[inline(always)]
            fn lanes_mut(&mut self) -> &mut [$float] {
                &mut self.0
            }
        }
    };
}

value!(f32, 32, GroupF32, F32, I::widened, gathered_f32);
value!(f64, 64, GroupF64, F64, I::F64::read, gathered_f64);

/// How many groups a row of `len` values takes.
#[inline(always)]
pub fn groups(len: usize) -> usize {
    len.div_ceil(LANES)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers of all sizes, up to a half.
    fn number() -> impl Strategy<Value = f32> {
        (-1.0_f32..1.0, 1_u8..140).prop_map(|(x, halvings)| x * (-f32::from(halvings)).exp2())
    }

    proptest! {
        #[test]
        fn values_of_32_bits_are_moved_as_if_in_64(value in number(), by in number(), times in 1.0_f32..8.0) {
            for by in [by, times * by, times * value, times * value.abs() * f32::EPSILON / 4.0] {
                prop_assert_eq!(value.moved_by(by), Value::moved(value, by.into()) as f32);
            }
        }

        #[test]
        fn differences_of_32_bits_are_as_if_in_64(a in number(), b in number(), exponent in 1_u8..126) {
            let times = f32::from(exponent).exp2();
            for b in [b, a * (1.0 + f32::EPSILON), -a] {
                let wide = (a.to_f64() - b.to_f64()) * f64::from(times);
                prop_assert_eq!(a.difference(b, times), wide as f32);
            }
        }
    }
}
