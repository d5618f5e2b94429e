//! The floating-point types values are computed in.

use std::fmt::Debug;

/// A floating-point type for values. Multiplications and additions are separate on every
/// processor, so that results are the same everywhere.
pub trait Value: Copy + PartialOrd + Debug + Default + Send + Sync + 'static {
    /// Below every value: what a roll is worth before any move is seen.
    const NONE: Self;
    /// Certainty.
    const ONE: Self;
    /// The distance from 1 to the next larger number.
    const EPSILON: f64;
    /// The nearest value to a number.
    fn from_f64(x: f64) -> Self;
    /// The value as a number.
    fn to_f64(self) -> f64;
    /// The larger of two values.
    fn larger(self, other: Self) -> Self;
    /// `self + weight * best`, rounded after each operation.
    fn add_weighted(self, weight: Self, best: Self) -> Self;
    /// `self * other`
    fn times(self, other: Self) -> Self;
    /// The chance of the other player.
    fn complement(self) -> Self;
    /// `|self - other|`
    fn distance(self, other: Self) -> Self;
}

macro_rules! value {
    ($float:ty) => {
        impl Value for $float {
            const NONE: Self = <$float>::NEG_INFINITY;
            const ONE: Self = 1.0;
            const EPSILON: f64 = <$float>::EPSILON as f64;
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
            fn add_weighted(self, weight: Self, best: Self) -> Self {
                self + weight * best
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn complement(self) -> Self {
                1.0 - self
            }
            #[inline(always)]
            fn distance(self, other: Self) -> Self {
                (self - other).abs()
            }
        }
    };
}

value!(f32);
value!(f64);
