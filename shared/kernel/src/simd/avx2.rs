//! Groups as registers of 32 bytes: two, or one.
#![expect(unsafe_code)]

use std::arch::x86_64::*;

use crate::simd::vector::LANES;
use crate::simd::vector::{Instructions, Operation, Vector};

/// A processor with AVX2. There is none without a [`pulp::x86::V3`] that proves it, and vectors of
/// its kind are made nowhere else, except on processors with AVX-512, which have AVX2: so the intrinsics below
/// are safe to call.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(pulp::x86::V3);

impl Avx2 {
    /// The instructions of a processor that has them.
    #[inline(always)]
    pub fn new(proof: pulp::x86::V3) -> Self {
        Self(proof)
    }
}

impl Instructions for Avx2 {
    type F64 = Avx2F64;
    type F32 = Avx2F32;

    #[inline(always)]
    fn prefetch(self, at: *const u8) {
        // SAFETY: every x86-64 has the instruction; it ignores addresses that are not mapped.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }

    #[inline(always)]
    unsafe fn widened(at: *const f32) -> Avx2F64 {
        // SAFETY: the processor has AVX2, and the caller promises that the values are readable.
        unsafe {
            Avx2F64([_mm256_cvtps_pd(_mm_loadu_ps(at)), _mm256_cvtps_pd(_mm_loadu_ps(at.add(4)))])
        }
    }

    #[inline(always)]
    unsafe fn numbers(at: *const u16, mask: u16) -> Avx2F64 {
        // SAFETY: the processor has AVX2, and the caller promises that the numbers are readable.
        unsafe {
            let numbers = _mm_and_si128(_mm_loadu_si128(at.cast()), _mm_set1_epi16(mask as i16));
            let numbers = _mm256_cvtepu16_epi32(numbers);
            let (first, last) =
                (_mm256_castsi256_si128(numbers), _mm256_extracti128_si256::<1>(numbers));
            Avx2F64([_mm256_cvtepi32_pd(first), _mm256_cvtepi32_pd(last)])
        }
    }

    #[inline(always)]
    fn call<F: Operation>(self, operation: F) {
        #[inline(never)]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
        fn apart<F: Operation>(instructions: Avx2, operation: F) {
            operation.run(instructions);
        }
        // SAFETY: `instructions` prove that the processor has these.
        unsafe { apart(self, operation) }
    }
}

/// Eight 64-bit values.
#[derive(Clone, Copy, Debug)]
pub struct Avx2F64([__m256d; 2]);

/// Eight 32-bit values.
#[derive(Clone, Copy, Debug)]
pub struct Avx2F32(pub(super) [__m256; 1]);

/// The methods that differ between the two only by the names of the intrinsics.
macro_rules! lanes {
    (
        $float:ty, $count:literal, $set1:ident, $load:ident, $store:ident, $cmp:ident, $blend:ident, $min:ident,
        $max:ident, $mul:ident, $add:ident, $sub:ident, $signs:ident
    ) => {
        #[inline(always)]
        fn splat(x: $float) -> Self {
            // SAFETY: the processor has AVX2, see `Avx2`; so below.
            Self([unsafe { $set1(x) }; LANES / $count])
        }
        #[inline(always)]
        unsafe fn read(at: *const $float) -> Self {
            let mut this = Self::splat(0.0);
            for (i, register) in this.0.iter_mut().enumerate() {
                // SAFETY: the caller promises that the values are readable.
                *register = unsafe { $load(at.add($count * i)) };
            }
            this
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
        fn or_if_none(mut self, other: Self) -> Self {
            for (a, b) in self.0.iter_mut().zip(&other.0) {
                // SAFETY: the processor has AVX2.
                *a = unsafe {
                    $blend(*a, *b, $cmp::<_CMP_EQ_OQ>(*a, $set1(<$float>::NEG_INFINITY)))
                };
            }
            self
        }
        #[inline(always)]
        fn reaches(self, other: Self) -> bool {
            let mut reaches = 0;
            for (a, b) in self.0.iter().zip(&other.0) {
                // SAFETY: the processor has AVX2.
                reaches |= unsafe { $signs($cmp::<_CMP_GE_OQ>(*a, *b)) };
            }
            reaches != 0
        }
        #[inline(always)]
        fn smaller(mut self, other: Self) -> Self {
            for (a, b) in self.0.iter_mut().zip(&other.0) {
                // SAFETY: the processor has AVX2.
                *a = unsafe { $min(*a, *b) };
            }
            self
        }
        #[inline(always)]
        fn larger(mut self, other: Self) -> Self {
            for (a, b) in self.0.iter_mut().zip(&other.0) {
                // SAFETY: the processor has AVX2.
                *a = unsafe { $max(*a, *b) };
            }
            self
        }
        #[inline(always)]
        fn times(mut self, other: Self) -> Self {
            for (a, b) in self.0.iter_mut().zip(&other.0) {
                // SAFETY: the processor has AVX2.
                *a = unsafe { $mul(*a, *b) };
            }
            self
        }
        #[inline(always)]
        fn plus(mut self, other: Self) -> Self {
            for (a, b) in self.0.iter_mut().zip(&other.0) {
                // SAFETY: the processor has AVX2.
                *a = unsafe { $add(*a, *b) };
            }
            self
        }
        #[inline(always)]
        fn negated(mut self) -> Self {
            for x in &mut self.0 {
                // SAFETY: the processor has AVX2.
                *x = unsafe { $sub($set1(0.0), *x) };
            }
            self
        }
    };
}

impl Vector<f64> for Avx2F64 {
    lanes!(
        f64,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_cmp_pd,
        _mm256_blendv_pd,
        _mm256_min_pd,
        _mm256_max_pd,
        _mm256_mul_pd,
        _mm256_add_pd,
        _mm256_sub_pd,
        _mm256_movemask_pd
    );

    #[inline(always)]
    fn transposed(rows: [Self; LANES]) -> [Self; LANES] {
        /// A quarter of the square: one half of half the rows.
        #[inline(always)]
        unsafe fn quarter(rows: &[Avx2F64], half: usize) -> [__m256d; 4] {
            // SAFETY: the processor has AVX2.
            unsafe {
                let (a, b) = (rows[0].0[half], rows[1].0[half]);
                let (c, d) = (rows[2].0[half], rows[3].0[half]);
                let (ab0, ab1) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
                let (cd0, cd1) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
                [
                    _mm256_permute2f128_pd::<0x20>(ab0, cd0),
                    _mm256_permute2f128_pd::<0x20>(ab1, cd1),
                    _mm256_permute2f128_pd::<0x31>(ab0, cd0),
                    _mm256_permute2f128_pd::<0x31>(ab1, cd1),
                ]
            }
        }
        // SAFETY: the processor has AVX2.
        unsafe {
            let (a, b) = (quarter(&rows[..4], 0), quarter(&rows[4..], 0));
            let (c, d) = (quarter(&rows[..4], 1), quarter(&rows[4..], 1));
            [
                Self([a[0], b[0]]),
                Self([a[1], b[1]]),
                Self([a[2], b[2]]),
                Self([a[3], b[3]]),
                Self([c[0], d[0]]),
                Self([c[1], d[1]]),
                Self([c[2], d[2]]),
                Self([c[3], d[3]]),
            ]
        }
    }
}

impl Vector<f32> for Avx2F32 {
    lanes!(
        f32,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_cmp_ps,
        _mm256_blendv_ps,
        _mm256_min_ps,
        _mm256_max_ps,
        _mm256_mul_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_movemask_ps
    );

    #[inline(always)]
    fn transposed(rows: [Self; LANES]) -> [Self; LANES] {
        /// The two 4 x 4 squares of 4 rows, side by side in the halves of the results.
        #[inline(always)]
        unsafe fn quad(rows: &[Avx2F32]) -> [__m256; 4] {
            // SAFETY: the processor has AVX2.
            unsafe {
                let [a, b, c, d] = [rows[0].0[0], rows[1].0[0], rows[2].0[0], rows[3].0[0]];
                let (ab0, ab1) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                let (cd0, cd1) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
                [
                    _mm256_shuffle_ps::<0x44>(ab0, cd0),
                    _mm256_shuffle_ps::<0xee>(ab0, cd0),
                    _mm256_shuffle_ps::<0x44>(ab1, cd1),
                    _mm256_shuffle_ps::<0xee>(ab1, cd1),
                ]
            }
        }
        // SAFETY: the processor has AVX2.
        unsafe {
            let (top, bottom) = (quad(&rows[..4]), quad(&rows[4..]));
            let low = |i: usize| Self([_mm256_permute2f128_ps::<0x20>(top[i], bottom[i])]);
            let high = |i: usize| Self([_mm256_permute2f128_ps::<0x31>(top[i], bottom[i])]);
            [low(0), low(1), low(2), low(3), high(0), high(1), high(2), high(3)]
        }
    }
}
