//! Groups as registers of 16 bytes: four, or two.
#![expect(unsafe_code)]

use std::arch::{aarch64::*, asm};

use crate::simd::vector::LANES;
use crate::simd::vector::{Instructions, Operation, Vector};

/// A processor with NEON. There is none without a [`pulp::aarch64::Neon`] that proves it, and vectors of
/// its kind are made nowhere else: so the intrinsics below are safe to call.
#[derive(Clone, Copy, Debug)]
pub struct Neon(pulp::aarch64::Neon);

impl Neon {
    /// The instructions of a processor that has them.
    #[inline(always)]
    pub fn new(proof: pulp::aarch64::Neon) -> Self {
        Self(proof)
    }
}

impl Instructions for Neon {
    type F64 = NeonF64;
    type F32 = NeonF32;

    #[inline(always)]
    fn prefetch(self, at: *const u8) {
        // SAFETY: every AArch64 has the instruction; it ignores addresses that are not mapped.
        unsafe {
            asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack, readonly, preserves_flags));
        }
    }

    /// All code compiled for AArch64 has NEON.
    #[inline(never)]
    fn call<F: Operation>(self, operation: F) {
        operation.run(self);
    }
}

/// Eight 64-bit values.
#[derive(Clone, Copy, Debug)]
pub struct NeonF64([float64x2_t; 4]);

/// Eight 32-bit values.
#[derive(Clone, Copy, Debug)]
pub struct NeonF32([float32x4_t; 2]);

/// The methods that differ between the two only by the names of the intrinsics.
macro_rules! lanes {
    (
        $float:ty, $count:literal, $set1:ident, $load:ident, $store:ident, $equal:ident, $greater:ident,
        $select:ident, $mul:ident, $add:ident, $sub:ident
    ) => {
        #[inline(always)]
        fn splat(x: $float) -> Self {
            // SAFETY: the processor has NEON, see `Neon`; so below.
            Self([unsafe { $set1(x) }; LANES / $count])
        }
        #[inline(always)]
        unsafe fn read(at: *const $float) -> Self {
            // SAFETY: the caller promises that the values are readable.
            Self(std::array::from_fn(|i| unsafe { $load(at.add($count * i)) }))
        }
        #[inline(always)]
        unsafe fn write(self, at: *mut $float) {
            // Not by the array's own iterator, which the compiler keeps in memory.
            for i in 0..self.0.len() {
                // SAFETY: the caller promises that the values are writable.
                unsafe { $store(at.add($count * i), self.0[i]) };
            }
        }
        #[inline(always)]
        unsafe fn write_first(self, at: *mut $float, count: usize) {
            let mut lanes: [$float; LANES] = [0.0; LANES];
            // SAFETY: the array has a group's length.
            unsafe { self.write(lanes.as_mut_ptr()) };
            for (i, &x) in lanes[..count].iter().enumerate() {
                // SAFETY: the caller promises that so many values are writable.
                unsafe { at.add(i).write(x) };
            }
        }
        #[inline(always)]
        fn or_if_none(self, other: Self) -> Self {
            self.zip(other, |a, b| unsafe {
                // SAFETY: the processor has NEON.
                $select($equal(a, $set1(<$float>::NEG_INFINITY)), b, a)
            })
        }
        #[inline(always)]
        fn reaches(self, other: Self) -> bool {
            let (mut these, mut others) = ([0.0; LANES], [0.0; LANES]);
            // SAFETY: the arrays have a group's length.
            unsafe {
                self.write(these.as_mut_ptr());
                other.write(others.as_mut_ptr());
            }
            these.into_iter().zip(others).any(|(a, b)| a >= b)
        }
        // Not the instructions for minima and maxima: they take 0 for larger than -0.
        #[inline(always)]
        fn smaller(self, other: Self) -> Self {
            // SAFETY: the processor has NEON.
            self.zip(other, |a, b| unsafe { $select($greater(b, a), a, b) })
        }
        #[inline(always)]
        fn larger(self, other: Self) -> Self {
            // SAFETY: the processor has NEON.
            self.zip(other, |a, b| unsafe { $select($greater(a, b), a, b) })
        }
        #[inline(always)]
        fn times(self, other: Self) -> Self {
            // SAFETY: the processor has NEON.
            self.zip(other, |a, b| unsafe { $mul(a, b) })
        }
        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            // SAFETY: the processor has NEON.
            self.zip(other, |a, b| unsafe { $add(a, b) })
        }
        #[inline(always)]
        fn negated(self) -> Self {
            // SAFETY: the processor has NEON.
            Self::splat(0.0).zip(self, |zero, x| unsafe { $sub(zero, x) })
        }
    };
}

impl NeonF64 {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(float64x2_t, float64x2_t) -> float64x2_t) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl Vector<f64> for NeonF64 {
    lanes!(
        f64,
        2,
        vdupq_n_f64,
        vld1q_f64,
        vst1q_f64,
        vceqq_f64,
        vcgtq_f64,
        vbslq_f64,
        vmulq_f64,
        vaddq_f64,
        vsubq_f64
    );

    #[inline(always)]
    fn transposed(rows: [Self; LANES]) -> [Self; LANES] {
        // Register i of column j has rows 2i and 2i + 1.
        std::array::from_fn(|j| {
            Self(std::array::from_fn(|i| {
                let (a, b) = (rows[2 * i].0[j / 2], rows[2 * i + 1].0[j / 2]);
                // SAFETY: the processor has NEON.
                unsafe { if j % 2 == 0 { vzip1q_f64(a, b) } else { vzip2q_f64(a, b) } }
            }))
        })
    }
}

impl NeonF32 {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(float32x4_t, float32x4_t) -> float32x4_t) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl Vector<f32> for NeonF32 {
    lanes!(
        f32,
        4,
        vdupq_n_f32,
        vld1q_f32,
        vst1q_f32,
        vceqq_f32,
        vcgtq_f32,
        vbslq_f32,
        vmulq_f32,
        vaddq_f32,
        vsubq_f32
    );

    #[inline(always)]
    fn transposed(rows: [Self; LANES]) -> [Self; LANES] {
        // The square of 4 x 4 at register j of rows 4i to 4i + 3, transposed.
        let square = |i: usize, j: usize| {
            let load = |k: usize| rows[4 * i + k].0[j];
            // SAFETY: the processor has NEON.
            unsafe {
                let (ac0, ac1) = (vzip1q_f32(load(0), load(2)), vzip2q_f32(load(0), load(2)));
                let (bd0, bd1) = (vzip1q_f32(load(1), load(3)), vzip2q_f32(load(1), load(3)));
                [
                    vzip1q_f32(ac0, bd0),
                    vzip2q_f32(ac0, bd0),
                    vzip1q_f32(ac1, bd1),
                    vzip2q_f32(ac1, bd1),
                ]
            }
        };
        let squares: [[_; 2]; 2] = std::array::from_fn(|j| std::array::from_fn(|i| square(i, j)));
        std::array::from_fn(|column| {
            Self(std::array::from_fn(|i| squares[column / 4][i][column % 4]))
        })
    }
}
