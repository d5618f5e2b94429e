//! Groups of values in registers, for each instruction set.
//!
//! All instruction sets do the same, lane by lane: a maximum `a > b ? a : b`, and products and sums
//! that are rounded one by one. So the results are bit-identical.
#![expect(unsafe_code)]

use crate::simd::address::{Address, Arrays};

/// A set of vector instructions.
pub trait Instructions: Copy {
    /// Eight 64-bit values.
    type F64: Vector<f64>;
    /// Eight 32-bit values.
    type F32: Vector<f32>;

    /// Asks for the line of memory at an address, which need not be readable.
    fn prefetch(self, at: *const u8);

    /// The 32-bit values at an address as 64-bit ones.
    ///
    /// # Safety
    /// A group must be readable there.
    #[inline(always)]
    unsafe fn widened(at: *const f32) -> Self::F64 {
        // SAFETY: the caller promises it; and the array is a group.
        unsafe {
            let values = at.cast::<[f32; LANES]>().read_unaligned().map(f64::from);
            Self::F64::read(values.as_ptr())
        }
    }

    /// The whole numbers at an address as values, without the bits that are not in the mask.
    ///
    /// # Safety
    /// As many numbers as a group has values must be readable there.
    #[inline(always)]
    unsafe fn numbers(at: *const u16, mask: u16) -> Self::F64 {
        // SAFETY: the caller promises it; and the array is a group.
        unsafe {
            let numbers = at.cast::<[u16; LANES]>().read_unaligned();
            Self::F64::read(numbers.map(|number| f64::from(number & mask)).as_ptr())
        }
    }

    /// The 64-bit values at a group of addresses.
    ///
    /// # Safety
    /// A group of addresses must be readable there, and the arrays have their places.
    #[inline(always)]
    unsafe fn gathered_f64(arrays: &Arrays<f64>, at: *const Address) -> Self::F64 {
        // SAFETY: the caller promises it; and the array is a group.
        unsafe { Self::F64::read(arrays.values::<LANES>(at).as_ptr()) }
    }

    /// The 32-bit values at a group of addresses.
    ///
    /// # Safety
    /// As for the others.
    #[inline(always)]
    unsafe fn gathered_f32(arrays: &Arrays<f32>, at: *const Address) -> Self::F32 {
        // SAFETY: the caller promises it; and the array is a group.
        unsafe { Self::F32::read(arrays.values::<LANES>(at).as_ptr()) }
    }

    /// Runs an operation as a function of its own, which is compiled once for all who call it, and not as a part of
    /// each: the compiler takes far longer for large functions than for small ones.
    fn call<F: Operation>(self, operation: F);
}

/// Something to be compiled for every instruction set; its code must be inlined into `run`.
pub trait Operation {
    /// Does it.
    fn run<I: Instructions>(self, instructions: I);
}

/// A group of values in a register.
pub trait Vector<T>: Copy {
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
    /// Writes the first values, as many as `count` says (at most all), to an address.
    ///
    /// # Safety
    /// So many values must be writable there.
    unsafe fn write_first(self, at: *mut T, count: usize);
    /// `self` where it is a value, `other` where it is [`Value::NONE`].
    ///
    /// [`Value::NONE`]: crate::simd::value::Value::NONE
    fn or_if_none(self, other: Self) -> Self;
    /// Whether any lane is at least as large as the other's.
    fn reaches(self, other: Self) -> bool;
    /// The smaller value of each lane.
    fn smaller(self, other: Self) -> Self;
    /// The larger value of each lane.
    fn larger(self, other: Self) -> Self;
    /// `self * other` in each lane.
    fn times(self, other: Self) -> Self;
    /// `self + other` in each lane.
    fn plus(self, other: Self) -> Self;
    /// The values of the other player: `0 - self` in each lane, so that no zero is negative.
    fn negated(self) -> Self;
    /// Transposes as many groups as a group has lanes.
    fn transposed(rows: [Self; LANES]) -> [Self; LANES];
}

/// Something for each lane. It is written out, since the compiler does not inline vector instructions into functions
/// that have not got them, as closures have not.
macro_rules! for_each_lane {
    ($lane:ident => $something:expr) => {{
        macro_rules! of {
            ($i:literal) => {{
                let $lane: usize = $i;
                $something
            }};
        }
        [of!(0), of!(1), of!(2), of!(3), of!(4), of!(5), of!(6), of!(7)]
    }};
}
pub(crate) use for_each_lane;

/// How many values a group has.
pub const LANES: usize = 8;
