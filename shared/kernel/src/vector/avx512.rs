//! Groups as registers of 64 bytes.
#![expect(unsafe_code)]

use std::arch::x86_64::*;

use super::{Instructions, Vector};

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
    type F32 = Avx512F32;

    #[inline(always)]
    fn prefetch(self, at: *const u8) {
        // SAFETY: every x86-64 has the instruction; it ignores addresses that are not mapped.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
}

/// Eight 64-bit values.
#[derive(Clone, Copy, Debug)]
pub struct Avx512F64(__m512d);

/// Sixteen 32-bit values.
#[derive(Clone, Copy, Debug)]
pub struct Avx512F32(__m512);

/// What differs between the two only by the names of the intrinsics.
macro_rules! lanes {
    (
        $float:ty, $mask:ty, $set1:ident, $load:ident, $store:ident, $mask_store:ident,
        $cmp:ident, $blend:ident, $min:ident, $max:ident, $mul:ident, $add:ident, $sub:ident
    ) => {
        #[inline(always)]
        fn splat(x: $float) -> Self {
            // SAFETY: the processor has AVX-512, see `Avx512`; so below.
            Self(unsafe { $set1(x) })
        }
        #[inline(always)]
        unsafe fn read(at: *const $float) -> Self {
            // SAFETY: the caller promises that the values are readable.
            Self(unsafe { $load(at) })
        }
        #[inline(always)]
        unsafe fn write(self, at: *mut $float) {
            // SAFETY: the caller promises that the values are writable.
            unsafe { $store(at, self.0) }
        }
        #[inline(always)]
        unsafe fn write_first(self, at: *mut $float, count: usize) {
            // SAFETY: the caller promises that so many values are writable.
            unsafe { $mask_store(at, ((1u32 << count) - 1) as $mask, self.0) }
        }
        #[inline(always)]
        fn or_if_none(self, other: Self) -> Self {
            // SAFETY: the processor has AVX-512.
            Self(unsafe {
                let none = $cmp::<_CMP_EQ_OQ>(self.0, $set1(<$float>::NEG_INFINITY));
                $blend(none, self.0, other.0)
            })
        }
        #[inline(always)]
        fn smaller(self, other: Self) -> Self {
            // SAFETY: the processor has AVX-512.
            Self(unsafe { $min(self.0, other.0) })
        }
        #[inline(always)]
        fn larger(self, other: Self) -> Self {
            // SAFETY: the processor has AVX-512.
            Self(unsafe { $max(self.0, other.0) })
        }
        #[inline(always)]
        fn times(self, other: Self) -> Self {
            // SAFETY: the processor has AVX-512.
            Self(unsafe { $mul(self.0, other.0) })
        }
        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            // SAFETY: the processor has AVX-512.
            Self(unsafe { $add(self.0, other.0) })
        }
        #[inline(always)]
        fn complement(self) -> Self {
            // SAFETY: the processor has AVX-512.
            Self(unsafe { $sub($set1(1.0), self.0) })
        }
    };
}

impl Vector<f64> for Avx512F64 {
    type Square = [Self; 8];

    lanes!(
        f64,
        __mmask8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_mask_storeu_pd,
        _mm512_cmp_pd_mask,
        _mm512_mask_blend_pd,
        _mm512_min_pd,
        _mm512_max_pd,
        _mm512_mul_pd,
        _mm512_add_pd,
        _mm512_sub_pd
    );

    #[inline(always)]
    fn transposed(row: impl Fn(usize) -> Self) -> [Self; 8] {
        // SAFETY: the processor has AVX-512.
        unsafe {
            // Pairs of rows; each quarter of a register has one column (0, 2, 4, 6 or 1, 3, 5, 7).
            macro_rules! pair {
                ($i:literal) => {{
                    let (a, b) = (row($i).0, row($i + 1).0);
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

impl Vector<f32> for Avx512F32 {
    type Square = [Self; 16];

    lanes!(
        f32,
        __mmask16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_mask_storeu_ps,
        _mm512_cmp_ps_mask,
        _mm512_mask_blend_ps,
        _mm512_min_ps,
        _mm512_max_ps,
        _mm512_mul_ps,
        _mm512_add_ps,
        _mm512_sub_ps
    );

    #[inline(always)]
    fn transposed(row: impl Fn(usize) -> Self) -> [Self; 16] {
        // SAFETY: the processor has AVX-512.
        unsafe {
            // Four rows, transposed within each quarter of the register: result j has the columns
            // j, 4 + j, 8 + j, 12 + j.
            macro_rules! quad {
                ($i:literal) => {{
                    let (a, b) = (row($i).0, row($i + 1).0);
                    let (c, d) = (row($i + 2).0, row($i + 3).0);
                    let (ab0, ab1) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
                    let (cd0, cd1) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
                    [
                        _mm512_shuffle_ps::<0x44>(ab0, cd0),
                        _mm512_shuffle_ps::<0xee>(ab0, cd0),
                        _mm512_shuffle_ps::<0x44>(ab1, cd1),
                        _mm512_shuffle_ps::<0xee>(ab1, cd1),
                    ]
                }};
            }
            let (a, b, c, d) = (quad!(0), quad!(4), quad!(8), quad!(12));
            // The even or the odd quarters of two registers.
            macro_rules! even {
                ($a:expr, $b:expr) => {
                    _mm512_shuffle_f32x4::<0b10_00_10_00>($a, $b)
                };
            }
            macro_rules! odd {
                ($a:expr, $b:expr) => {
                    _mm512_shuffle_f32x4::<0b11_01_11_01>($a, $b)
                };
            }
            // The columns j, 4 + j, 8 + j and 12 + j.
            macro_rules! columns {
                ($j:literal) => {{
                    let (top02, top13) = (even!(a[$j], b[$j]), odd!(a[$j], b[$j]));
                    let (low02, low13) = (even!(c[$j], d[$j]), odd!(c[$j], d[$j]));
                    [
                        Self(even!(top02, low02)),
                        Self(even!(top13, low13)),
                        Self(odd!(top02, low02)),
                        Self(odd!(top13, low13)),
                    ]
                }};
            }
            let (e, f, g, h) = (columns!(0), columns!(1), columns!(2), columns!(3));
            [
                e[0], f[0], g[0], h[0], e[1], f[1], g[1], h[1], e[2], f[2], g[2], h[2], e[3], f[3],
                g[3], h[3],
            ]
        }
    }
}
