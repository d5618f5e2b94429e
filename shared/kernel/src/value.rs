//! The floating-point types values are computed in, and groups of them.
#![expect(unsafe_code)]

use std::fmt::Debug;

use crate::simd::Instructions;

/// A floating-point type for values. Multiplications and additions are separate on every
/// processor, so that results are the same everywhere.
pub trait Value: Copy + PartialOrd + Debug + Default + Send + Sync + 'static {
    /// Below every value: what a roll is worth before any move is seen.
    const NONE: Self;
    /// Certainty.
    const ONE: Self;
    /// The distance from 1 to the next larger number.
    const EPSILON: f64;
    /// How many values a group has: 32 bytes.
    const LANES: usize;
    /// What the innermost loops take at once.
    type Group: Group<Self>;

    /// The nearest value to a number.
    fn from_f64(x: f64) -> Self;
    /// The value as a number.
    fn to_f64(self) -> f64;
    /// The larger of two values.
    fn larger(self, other: Self) -> Self;
    /// `|self - other|`
    fn distance(self, other: Self) -> Self;
}

/// How many values must be readable beyond the last one of an array of stored values: rows are
/// read in whole groups.
pub const PADDING: usize = 8;

/// [`Value::LANES`] values, aligned in scratch memory.
pub trait Group<T>: Copy + Debug + Send + Sync {
    /// A square of groups.
    type Square: AsRef<[Self]> + AsMut<[Self]>;

    /// The same value in every lane.
    fn splat(x: T) -> Self;
    /// The lanes.
    fn lanes(&self) -> &[T];
    /// The values at an address, aligned or not.
    ///
    /// # Safety
    /// [`Value::LANES`] values must be readable there.
    unsafe fn read(at: *const T) -> Self;
    /// Writes the values to an address, aligned or not.
    ///
    /// # Safety
    /// [`Value::LANES`] values must be writable there.
    unsafe fn write(self, at: *mut T);
    /// The larger value of each lane.
    fn larger(self, other: Self) -> Self;
    /// `self * weight` in each lane.
    fn times(self, weight: T) -> Self;
    /// `self + weight * best` in each lane, rounded after each operation.
    fn add_weighted(self, weight: T, best: Self) -> Self;
    /// The chances of the other player: `1 - self` in each lane.
    fn complement(self) -> Self;
    /// A square of the same group.
    fn square(self) -> Self::Square;
    /// The transpose of a square.
    fn transpose<I: Instructions>(instructions: I, square: &Self::Square) -> Self::Square;
}

macro_rules! value {
    ($float:ty, $lanes:literal, $group:ident, $transpose:ident) => {
        impl Value for $float {
            const NONE: Self = <$float>::NEG_INFINITY;
            const ONE: Self = 1.0;
            const EPSILON: f64 = <$float>::EPSILON as f64;
            const LANES: usize = $lanes;
            type Group = $group;

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
            fn distance(self, other: Self) -> Self {
                (self - other).abs()
            }
        }

        /// A group of values.
        #[derive(Clone, Copy, Debug)]
        #[repr(C, align(32))]
        pub struct $group([$float; $lanes]);

        impl $group {
            #[inline(always)]
            fn zip(mut self, other: Self, f: impl Fn($float, $float) -> $float) -> Self {
                for (x, y) in self.0.iter_mut().zip(other.0) {
                    *x = f(*x, y);
                }
                self
            }
        }

        impl Group<$float> for $group {
            type Square = [Self; $lanes];

            #[inline(always)]
            fn splat(x: $float) -> Self {
                Self([x; $lanes])
            }
            #[inline(always)]
            fn lanes(&self) -> &[$float] {
                &self.0
            }
            #[inline(always)]
            unsafe fn read(at: *const $float) -> Self {
                // SAFETY: the caller promises that the values are readable.
                Self(unsafe { at.cast::<[$float; $lanes]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn write(self, at: *mut $float) {
                // SAFETY: the caller promises that the values are writable.
                unsafe { at.cast::<[$float; $lanes]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.zip(other, Value::larger)
            }
            #[inline(always)]
            fn times(self, weight: $float) -> Self {
                self.zip(self, |x, _| x * weight)
            }
            #[inline(always)]
            fn add_weighted(self, weight: $float, best: Self) -> Self {
                self.zip(best, |sum, best| sum + weight * best)
            }
            #[inline(always)]
            fn complement(self) -> Self {
                self.zip(self, |x, _| 1.0 - x)
            }
            #[inline(always)]
            fn square(self) -> Self::Square {
                [self; $lanes]
            }
            #[inline(always)]
            fn transpose<I: Instructions>(instructions: I, square: &Self::Square) -> Self::Square {
                instructions.$transpose(square.map(|group| group.0)).map(Self)
            }
        }
    };
}

value!(f32, 8, GroupF32, transpose_f32);
value!(f64, 4, GroupF64, transpose_f64);

/// How many groups a row of `len` values takes.
#[inline(always)]
pub fn groups<T: Value>(len: usize) -> usize {
    len.div_ceil(T::LANES)
}
