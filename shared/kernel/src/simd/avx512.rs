//! Groups as registers of 64 bytes.
#![expect(unsafe_code)]

use std::arch::x86_64::*;

use crate::simd::vector::LANES;
use crate::simd::{
    address::{Address, Arrays, PLACE_BITS},
    avx2::Avx2F32,
    vector::{Instructions, Operation, Vector},
};

/// A processor with AVX-512. There is none without a [`pulp::x86::V4`] that proves it, and vectors
/// of its kind are made nowhere else: so the intrinsics below are safe to call.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(pulp::x86::V4);

impl Avx512 {
    /// The instructions of a processor that has them.
    #[inline(always)]
    pub fn new(proof: pulp::x86::V4) -> Self {
        Self(proof)
    }
}

impl Instructions for Avx512 {
    type F64 = Avx512F64;
    type F32 = Avx2F32; // half a register of 64 bytes

    #[inline(always)]
    fn prefetch(self, at: *const u8) {
        // SAFETY: every x86-64 has the instruction; it ignores addresses that are not mapped.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }

    #[inline(always)]
    unsafe fn widened(at: *const f32) -> Avx512F64 {
        // SAFETY: the processor has AVX-512, and the caller promises that the values are readable.
        Avx512F64(unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(at)) })
    }

    #[inline(always)]
    unsafe fn numbers(at: *const u16, mask: u16) -> Avx512F64 {
        // SAFETY: the processor has AVX-512, and the caller promises that the numbers are readable.
        Avx512F64(unsafe {
            let numbers = _mm_and_si128(_mm_loadu_si128(at.cast()), _mm_set1_epi16(mask as i16));
            _mm512_cvtepi32_pd(_mm256_cvtepu16_epi32(numbers))
        })
    }

    #[inline(always)]
    unsafe fn gathered_f64(arrays: &Arrays<f64>, at: *const Address) -> Avx512F64 {
        // SAFETY: the processor has AVX-512, and the caller promises that the addresses and values are readable.
        Avx512F64(unsafe {
            let (at, negated) = pointers::<f64>(arrays, at);
            let values = _mm512_i64gather_pd::<1>(at, std::ptr::null());
            _mm512_mask_sub_pd(values, negated, _mm512_set1_pd(0.0), values)
        })
    }

    #[inline(always)]
    unsafe fn gathered_f32(arrays: &Arrays<f32>, at: *const Address) -> Avx2F32 {
        // SAFETY: the processor has AVX-512, and the caller promises that the addresses and values are readable.
        Avx2F32([unsafe {
            let (at, negated) = pointers::<f32>(arrays, at);
            let values = _mm512_i64gather_ps::<1>(at, std::ptr::null());
            _mm256_mask_sub_ps(values, negated, _mm256_set1_ps(0.0), values)
        }])
    }

    #[inline(always)]
    fn call<F: Operation>(self, operation: F) {
        #[inline(never)]
        #[target_feature(
            enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt"
        )]
        fn apart<F: Operation>(instructions: Avx512, operation: F) {
            operation.run(instructions);
        }
        // SAFETY: `instructions` prove that the processor has these.
        unsafe { apart(self, operation) }
    }
}

/// Where the values of a group of addresses are, and which are read negated.
///
/// # Safety
/// The processor must have AVX-512, and the addresses be readable.
#[inline(always)]
unsafe fn pointers<T>(arrays: &Arrays<T>, at: *const Address) -> (__m512i, __mmask8) {
    // SAFETY: the caller promises it, and there are eight arrays.
    unsafe {
        let starts = _mm512_loadu_epi64(arrays.0.as_ptr().cast());
        let at = _mm256_loadu_si256(at.cast());
        let negated = _mm256_movepi32_mask(at);
        let at = _mm512_cvtepu32_epi64(at);
        // The permutation looks at the three lowest bits, which are the array.
        let starts = _mm512_permutexvar_epi64(_mm512_srli_epi64::<PLACE_BITS>(at), starts);
        let place = _mm512_and_si512(at, _mm512_set1_epi64((1 << PLACE_BITS) - 1));
        let bytes = match size_of::<T>() {
            4 => _mm512_slli_epi64::<2>(place),
            _ => _mm512_slli_epi64::<3>(place),
        };
        (_mm512_add_epi64(starts, bytes), negated)
    }
}

/// Eight 64-bit values.
#[derive(Clone, Copy, Debug)]
pub struct Avx512F64(__m512d);

impl Vector<f64> for Avx512F64 {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: the processor has AVX-512, see `Avx512`; so below.
        Self(unsafe { _mm512_set1_pd(x) })
    }
    #[inline(always)]
    unsafe fn read(at: *const f64) -> Self {
        // SAFETY: the caller promises that the values are readable.
        Self(unsafe { _mm512_loadu_pd(at) })
    }
    #[inline(always)]
    unsafe fn write(self, at: *mut f64) {
        // SAFETY: the caller promises that the values are writable.
        unsafe { _mm512_storeu_pd(at, self.0) }
    }
    #[inline(always)]
    unsafe fn write_first(self, at: *mut f64, count: usize) {
        // SAFETY: the caller promises that so many values are writable.
        unsafe { _mm512_mask_storeu_pd(at, ((1u32 << count) - 1) as __mmask8, self.0) }
    }
    #[inline(always)]
    fn or_if_none(self, other: Self) -> Self {
        // SAFETY: the processor has AVX-512.
        Self(unsafe {
            let none = _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(self.0, _mm512_set1_pd(f64::NEG_INFINITY));
            _mm512_mask_blend_pd(none, self.0, other.0)
        })
    }
    #[inline(always)]
    fn reaches(self, other: Self) -> bool {
        // SAFETY: the processor has AVX-512.
        unsafe { _mm512_cmp_pd_mask::<_CMP_GE_OQ>(self.0, other.0) != 0 }
    }
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        // SAFETY: the processor has AVX-512.
        Self(unsafe { _mm512_min_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        // SAFETY: the processor has AVX-512.
        Self(unsafe { _mm512_max_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        // SAFETY: the processor has AVX-512.
        Self(unsafe { _mm512_mul_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        // SAFETY: the processor has AVX-512.
        Self(unsafe { _mm512_add_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn negated(self) -> Self {
        // SAFETY: the processor has AVX-512.
        Self(unsafe { _mm512_sub_pd(_mm512_set1_pd(0.0), self.0) })
    }

    #[inline(always)]
    fn transposed(rows: [Self; LANES]) -> [Self; LANES] {
        // SAFETY: the processor has AVX-512.
        unsafe {
            // Pairs of rows; each quarter of a register has one column (0, 2, 4, 6 or 1, 3, 5, 7).
            macro_rules! pair {
                ($i:literal) => {{
                    let (a, b) = (rows[$i].0, rows[$i + 1].0);
                    (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b))
                }};
            }
            let ((a0, a1), (b0, b1)) = (pair!(0), pair!(2));
            let ((c0, c1), (d0, d1)) = (pair!(4), pair!(6));
            // The even or the odd quarters of two registers.
            macro_rules! even {
                ($a:expr, $b:expr) => {
                    _mm512_shuffle_f64x2::<0b10_00_10_00>($a, $b)
                };
            }
            macro_rules! odd {
                ($a:expr, $b:expr) => {
                    _mm512_shuffle_f64x2::<0b11_01_11_01>($a, $b)
                };
            }
            let (top04, top26) = (even!(a0, b0), odd!(a0, b0));
            let (low04, low26) = (even!(c0, d0), odd!(c0, d0));
            let (top15, top37) = (even!(a1, b1), odd!(a1, b1));
            let (low15, low37) = (even!(c1, d1), odd!(c1, d1));
            [
                Self(even!(top04, low04)),
                Self(even!(top15, low15)),
                Self(even!(top26, low26)),
                Self(even!(top37, low37)),
                Self(odd!(top04, low04)),
                Self(odd!(top15, low15)),
                Self(odd!(top26, low26)),
                Self(odd!(top37, low37)),
            ]
        }
    }
}
