//! Groups of values in registers, for each instruction set.
//!
//! All instruction sets do the same, lane by lane: a maximum `a > b ? a : b`, and products and sums
//! that are rounded one by one. So the results are bit-identical.
#![expect(unsafe_code)]

/// A set of vector instructions.
pub trait Instructions: Copy {
    /// Four 64-bit values.
    type F64: Vector<f64>;
    /// Eight 32-bit values.
    type F32: Vector<f32>;

    /// Asks for the line of memory at an address, which need not be readable.
    fn prefetch(self, at: *const u8);
}

/// A group of values in a register.
pub trait Vector<T>: Copy {
    /// As many groups as a group has lanes.
    type Square: AsRef<[Self]>;

    /// The same value in every lane.
    fn splat(x: T) -> Self;
    /// The values at an address, aligned or not.
    ///
    /// # Safety
    /// A group must be readable there.
    unsafe fn read(at: *const T) -> Self;
    /// Writes the values to an address, aligned or not.
    ///
    /// # Safety
    /// A group must be writable there.
    unsafe fn write(self, at: *mut T);
    /// The first lane.
    fn first(self) -> T;
    /// The larger value of each lane.
    fn larger(self, other: Self) -> Self;
    /// `self * other` in each lane.
    fn times(self, other: Self) -> Self;
    /// `self + other` in each lane.
    fn plus(self, other: Self) -> Self;
    /// The chances of the other player: `1 - self` in each lane.
    fn complement(self) -> Self;
    /// Reads as many rows of as many values as a group has, `row(i)` being the address of row i, and
    /// transposes them.
    ///
    /// # Safety
    /// A group must be readable at each address.
    unsafe fn read_transposed(row: impl Fn(usize) -> *const T) -> Self::Square;
}

/// Whatever the target has always.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

impl Instructions for Portable {
    type F64 = PortableVector<f64, 4>;
    type F32 = PortableVector<f32, 8>;

    #[inline(always)]
    fn prefetch(self, _: *const u8) {}
}

/// A group as an array.
#[derive(Clone, Copy, Debug)]
pub struct PortableVector<T, const LANES: usize>([T; LANES]);

macro_rules! portable {
    ($float:ty, $lanes:literal) => {
        impl PortableVector<$float, $lanes> {
            #[inline(always)]
            fn zip(mut self, other: Self, f: impl Fn($float, $float) -> $float) -> Self {
                for (x, y) in self.0.iter_mut().zip(other.0) {
                    *x = f(*x, y);
                }
                self
            }
        }

        impl Vector<$float> for PortableVector<$float, $lanes> {
            type Square = [Self; $lanes];

            #[inline(always)]
            fn splat(x: $float) -> Self {
                Self([x; $lanes])
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
            fn first(self) -> $float {
                self.0[0]
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
            fn complement(self) -> Self {
                self.zip(self, |x, _| 1.0 - x)
            }
            #[inline(always)]
            unsafe fn read_transposed(row: impl Fn(usize) -> *const $float) -> Self::Square {
                // SAFETY: the caller promises that the values are readable.
                let rows: [Self; $lanes] = std::array::from_fn(|i| unsafe { Self::read(row(i)) });
                std::array::from_fn(|j| Self(std::array::from_fn(|i| rows[i].0[j])))
            }
        }
    };
}

portable!(f64, 4);
portable!(f32, 8);

#[cfg(target_arch = "x86_64")]
pub use avx::Avx;

/// AVX2. AVX-512 runs the same code, compiled with its registers and encodings.
#[cfg(target_arch = "x86_64")]
mod avx {
    use std::arch::x86_64::*;

    use super::{Instructions, Vector};

    /// A processor with AVX2. There is none without a [`pulp::x86::V3`] that proves it, and vectors of
    /// its kind are made nowhere else: so the intrinsics below are safe to call.
    #[derive(Clone, Copy, Debug)]
    pub struct Avx(pulp::x86::V3);

    impl Avx {
        /// The instructions of a processor that has them.
        #[inline(always)]
        pub fn new(proof: pulp::x86::V3) -> Self {
            Self(proof)
        }
    }

    impl Instructions for Avx {
        type F64 = AvxF64;
        type F32 = AvxF32;

        #[inline(always)]
        fn prefetch(self, at: *const u8) {
            // SAFETY: every x86-64 has the instruction; it ignores addresses that are not mapped.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
        }
    }

    /// Four 64-bit values.
    #[derive(Clone, Copy, Debug)]
    pub struct AvxF64(__m256d);

    /// Eight 32-bit values.
    #[derive(Clone, Copy, Debug)]
    pub struct AvxF32(__m256);

    /// What differs between the two only by the names of the intrinsics.
    macro_rules! lanes {
        (
            $float:ty, $set1:ident, $load:ident, $store:ident, $first:ident, $max:ident, $mul:ident,
            $add:ident, $sub:ident
        ) => {
            #[inline(always)]
            fn splat(x: $float) -> Self {
                // SAFETY: the processor has AVX2, see `Avx`; so below.
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
            fn first(self) -> $float {
                // SAFETY: the processor has AVX2.
                unsafe { $first(self.0) }
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                // SAFETY: the processor has AVX2.
                Self(unsafe { $max(self.0, other.0) })
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                // SAFETY: the processor has AVX2.
                Self(unsafe { $mul(self.0, other.0) })
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                // SAFETY: the processor has AVX2.
                Self(unsafe { $add(self.0, other.0) })
            }
            #[inline(always)]
            fn complement(self) -> Self {
                // SAFETY: the processor has AVX2.
                Self(unsafe { $sub($set1(1.0), self.0) })
            }
        };
    }

    impl Vector<f64> for AvxF64 {
        type Square = [Self; 4];

        lanes!(
            f64,
            _mm256_set1_pd,
            _mm256_loadu_pd,
            _mm256_storeu_pd,
            _mm256_cvtsd_f64,
            _mm256_max_pd,
            _mm256_mul_pd,
            _mm256_add_pd,
            _mm256_sub_pd
        );

        #[inline(always)]
        unsafe fn read_transposed(row: impl Fn(usize) -> *const f64) -> [Self; 4] {
            // SAFETY: the caller promises that the values are readable; the processor has AVX2.
            unsafe {
                let (a, b) = (_mm256_loadu_pd(row(0)), _mm256_loadu_pd(row(1)));
                let (c, d) = (_mm256_loadu_pd(row(2)), _mm256_loadu_pd(row(3)));
                let (ab0, ab1) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
                let (cd0, cd1) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
                [
                    Self(_mm256_permute2f128_pd::<0x20>(ab0, cd0)),
                    Self(_mm256_permute2f128_pd::<0x20>(ab1, cd1)),
                    Self(_mm256_permute2f128_pd::<0x31>(ab0, cd0)),
                    Self(_mm256_permute2f128_pd::<0x31>(ab1, cd1)),
                ]
            }
        }
    }

    impl Vector<f32> for AvxF32 {
        type Square = [Self; 8];

        lanes!(
            f32,
            _mm256_set1_ps,
            _mm256_loadu_ps,
            _mm256_storeu_ps,
            _mm256_cvtss_f32,
            _mm256_max_ps,
            _mm256_mul_ps,
            _mm256_add_ps,
            _mm256_sub_ps
        );

        #[inline(always)]
        unsafe fn read_transposed(row: impl Fn(usize) -> *const f32) -> [Self; 8] {
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
            // SAFETY: the caller promises that the values are readable; the processor has AVX2.
            unsafe {
                let load = |i: usize| _mm256_loadu_ps(row(i));
                let top = quad(load(0), load(1), load(2), load(3));
                let bottom = quad(load(4), load(5), load(6), load(7));
                let low = |i: usize| Self(_mm256_permute2f128_ps::<0x20>(top[i], bottom[i]));
                let high = |i: usize| Self(_mm256_permute2f128_ps::<0x31>(top[i], bottom[i]));
                [low(0), low(1), low(2), low(3), high(0), high(1), high(2), high(3)]
            }
        }
    }
}
