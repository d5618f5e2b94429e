//! Groups as arrays: for every processor, and the reference for the other instruction sets.
#![expect(unsafe_code)]

use crate::simd::vector::LANES;
use crate::simd::vector::{Instructions, Operation, Vector};

/// The instructions that the target has always.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Instructions for Portable {
    type F64 = PortableVector<f64>;
    type F32 = PortableVector<f32>;

    #[inline(always)]
    fn prefetch(self, _: *const u8) {}

    #[inline(never)]
    fn call<F: Operation>(self, operation: F) {
        operation.run(self);
    }
}

/// A group as an array.
#[derive(Clone, Copy, Debug)]
pub struct PortableVector<T>([T; LANES]);

macro_rules! portable {
    ($float:ty) => {
        impl PortableVector<$float> {
            #[inline(always)]
            fn zip(mut self, other: Self, f: impl Fn($float, $float) -> $float) -> Self {
                for (x, y) in self.0.iter_mut().zip(other.0) {
                    *x = f(*x, y);
                }
                self
            }
        }

        impl Vector<$float> for PortableVector<$float> {
            #[inline(always)]
            fn splat(x: $float) -> Self {
                Self([x; LANES])
            }
            #[inline(always)]
            unsafe fn read(at: *const $float) -> Self {
                // SAFETY: the caller promises that the values are readable.
                Self(unsafe { at.cast::<[$float; LANES]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn write(self, at: *mut $float) {
                // SAFETY: the caller promises that the values are writable.
                unsafe { at.cast::<[$float; LANES]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn write_first(self, at: *mut $float, count: usize) {
                for (i, &x) in self.0[..count].iter().enumerate() {
                    // SAFETY: the caller promises that so many values are writable.
                    unsafe { at.add(i).write(x) };
                }
            }
            #[inline(always)]
            fn or_if_none(self, other: Self) -> Self {
                self.zip(other, |a, b| if a == <$float>::NEG_INFINITY { b } else { a })
            }
            #[inline(always)]
            fn reaches(self, other: Self) -> bool {
                self.0.into_iter().zip(other.0).any(|(a, b)| a >= b)
            }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                self.zip(other, |a, b| if a < b { a } else { b })
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.zip(other, |a, b| if a > b { a } else { b })
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.zip(other, |a, b| a * b)
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.zip(other, |a, b| a + b)
            }
            #[inline(always)]
            fn negated(self) -> Self {
                self.zip(self, |x, _| 0.0 - x)
            }
            #[inline(always)]
            fn transposed(rows: [Self; LANES]) -> [Self; LANES] {
                std::array::from_fn(|j| Self(std::array::from_fn(|i| rows[i].0[j])))
            }
        }
    };
}

portable!(f64);
portable!(f32);
