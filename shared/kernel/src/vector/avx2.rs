//! Groups as two registers of 32 bytes.
#![expect(unsafe_code)]

use std::arch::x86_64::*;

use super::{Instructions, Vector};

/// A processor with AVX2. There is none without a [`pulp::x86::V3`] that proves it, and vectors of
/// its kind are made nowhere else: so the intrinsics below are safe to call.
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
}

/// Eight 64-bit values.
#[derive(Clone, Copy, Debug)]
pub struct Avx2F64([__m256d; 2]);

/// Sixteen 32-bit values.
#[derive(Clone, Copy, Debug)]
pub struct Avx2F32([__m256; 2]);

/// What differs between the two only by the names of the intrinsics.
macro_rules! lanes {
    (
        $float:ty, $half:literal, $set1:ident, $load:ident, $store:ident, $cmp:ident, $blend:ident, $min:ident,
        $max:ident, $mul:ident, $add:ident, $sub:ident
    ) => {
        #[inline(always)]
        fn splat(x: $float) -> Self {
            // SAFETY: the processor has AVX2, see `Avx2`; so below.
            Self(unsafe { [$set1(x); 2] })
        }
        #[inline(always)]
        unsafe fn read(at: *const $float) -> Self {
            // SAFETY: the caller promises that the values are readable.
            Self(unsafe { [$load(at), $load(at.add($half))] })
        }
        #[inline(always)]
        unsafe fn write(self, at: *mut $float) {
            // SAFETY: the caller promises that the values are writable.
            unsafe {
                $store(at, self.0[0]);
                $store(at.add($half), self.0[1]);
            }
        }
        #[inline(always)]
        unsafe fn write_first(self, at: *mut $float, count: usize) {
            let mut lanes: [$float; 2 * $half] = [0.0; 2 * $half];
            // SAFETY: the array has a group's length.
            unsafe { self.write(lanes.as_mut_ptr()) };
            for (i, &x) in lanes[..count].iter().enumerate() {
                // SAFETY: the caller promises that so many values are writable.
                unsafe { at.add(i).write(x) };
            }
        }
        #[inline(always)]
        fn or_if_none(self, other: Self) -> Self {
            // SAFETY: the processor has AVX2.
            Self(unsafe {
                let none = |x| $cmp::<_CMP_EQ_OQ>(x, $set1(<$float>::NEG_INFINITY));
                [
                    $blend(self.0[0], other.0[0], none(self.0[0])),
                    $blend(self.0[1], other.0[1], none(self.0[1])),
                ]
            })
        }
        #[inline(always)]
        fn smaller(self, other: Self) -> Self {
            // SAFETY: the processor has AVX2.
            Self(unsafe { [$min(self.0[0], other.0[0]), $min(self.0[1], other.0[1])] })
        }
        #[inline(always)]
        fn larger(self, other: Self) -> Self {
            // SAFETY: the processor has AVX2.
            Self(unsafe { [$max(self.0[0], other.0[0]), $max(self.0[1], other.0[1])] })
        }
        #[inline(always)]
        fn times(self, other: Self) -> Self {
            // SAFETY: the processor has AVX2.
            Self(unsafe { [$mul(self.0[0], other.0[0]), $mul(self.0[1], other.0[1])] })
        }
        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            // SAFETY: the processor has AVX2.
            Self(unsafe { [$add(self.0[0], other.0[0]), $add(self.0[1], other.0[1])] })
        }
        #[inline(always)]
        fn complement(self) -> Self {
            // SAFETY: the processor has AVX2.
            Self(unsafe { [$sub($set1(1.0), self.0[0]), $sub($set1(1.0), self.0[1])] })
        }
    };
}

impl Vector<f64> for Avx2F64 {
    type Square = [Self; 8];

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
        _mm256_sub_pd
    );

    #[inline(always)]
    fn transposed(row: impl Fn(usize) -> Self) -> [Self; 8] {
        /// A quarter of the square: one half of half the rows.
        #[inline(always)]
        unsafe fn quarter(rows: &[Avx2F64], half: usize) -> [__m256d; 4] {
            // SAFETY: the processor has AVX2.
            unsafe {
                let load = |i: usize| rows[i].0[half];
                let (a, b, c, d) = (load(0), load(1), load(2), load(3));
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
        let rows: [Self; 8] = std::array::from_fn(row);
        // SAFETY: the processor has AVX2.
        unsafe {
            let (a, b) = (quarter(&rows[..4], 0), quarter(&rows[4..], 0));
            let (c, d) = (quarter(&rows[..4], 1), quarter(&rows[4..], 1));
            let (low, high) = (|i: usize| Self([a[i], b[i]]), |i: usize| Self([c[i], d[i]]));
            [low(0), low(1), low(2), low(3), high(0), high(1), high(2), high(3)]
        }
    }
}

impl Vector<f32> for Avx2F32 {
    type Square = [Self; 16];

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
        _mm256_sub_ps
    );

    #[inline(always)]
    fn transposed(row: impl Fn(usize) -> Self) -> [Self; 16] {
        /// The four 4 x 4 squares of 4 rows, side by side in the halves of the results.
        #[inline(always)]
        unsafe fn quad(a: __m256, b: __m256, c: __m256, d: __m256) -> [__m256; 4] {
            // SAFETY: the processor has AVX2.
            unsafe {
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
        /// A quarter of the square: one half of half the rows.
        #[inline(always)]
        unsafe fn quarter(rows: &[Avx2F32], half: usize) -> [__m256; 8] {
            // SAFETY: the processor has AVX2.
            unsafe {
                let load = |i: usize| rows[i].0[half];
                let top = quad(load(0), load(1), load(2), load(3));
                let bottom = quad(load(4), load(5), load(6), load(7));
                let low = |i: usize| _mm256_permute2f128_ps::<0x20>(top[i], bottom[i]);
                let high = |i: usize| _mm256_permute2f128_ps::<0x31>(top[i], bottom[i]);
                [low(0), low(1), low(2), low(3), high(0), high(1), high(2), high(3)]
            }
        }
        let rows: [Self; 16] = std::array::from_fn(row);
        // SAFETY: the processor has AVX2.
        unsafe {
            let (a, b) = (quarter(&rows[..8], 0), quarter(&rows[8..], 0));
            let (c, d) = (quarter(&rows[..8], 1), quarter(&rows[8..], 1));
            std::array::from_fn(|i| match i {
                0..8 => Self([a[i], b[i]]),
                _ => Self([c[i - 8], d[i - 8]]),
            })
        }
    }
}
