//! Quantised deltas: what a sweep changes, in a byte for each value.
//!
//! A shard does not publish what a sweep has made of its values, but the values before, each changed by a
//! number of units that is a square (or minus one): that of a byte. So small changes are told as well as large ones, to a
//! few parts in a hundred. The unit is a power of two, the same for a *piece* of
//! at most [`PIECE`] values, and so large that no change of the piece is beyond the square of 127; where
//! little changes it is larger, since what is far below the last residual need not be told yet. What is left
//! over is not lost: the next sweep finds it again, as part of the change that it makes. So the differences
//! are known exactly, in a byte for each value, to whoever knows what was published: who reads a shard's
//! values can extrapolate them without being told.

use ziggurat_planning::quanta::{MOST_ROOT, exponent_of, unit};

use crate::{
    memory::budget::look,
    simd::{dispatch::Simd, value::Value},
};

/// The most values a piece has: what is rounded together.
pub const PIECE: usize = 8 << 10;

/// The largest change of a piece is this power of two times the unit, or up to twice that.
pub const BITS: i32 = 13;

/// Added to a small `f32`, this leaves its nearest integer in the lowest bits: 1.5 * 2^23.
pub const ROUND: f32 = 12_582_912.0;

/// So many values are computed at a time.
pub const LANES: usize = 16;

/// What a superstep has made of a piece, beside the bytes that say it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Told {
    /// The largest difference between an old value and a new one.
    pub residual: f64,
    /// What a unit of the bytes is worth.
    pub unit: f32,
}

/// Says in bytes by how many units, no finer than 2 to the power of `finest`, the values of a piece are to be changed to come
/// near new ones.
pub fn tell<T: Value>(new: &[T], old: &[T], bytes: &mut [i8], finest: i32, simd: Simd) -> Told {
    look();
    let residual = simd.compute(
        #[inline(always)]
        || largest_difference(new, old),
    );
    let unit = unit_for(residual, finest);
    simd.compute(
        #[inline(always)]
        || write_differences(new, old, bytes, unit),
    );
    Told { residual, unit }
}

/// The unit for a piece whose largest change this is.
pub fn unit_for(largest: f64, finest: i32) -> f32 {
    unit((exponent_of(largest) - BITS).max(finest))
}

/// The largest difference between values; several at a time, since each maximum waits for the one before it.
#[inline(always)]
pub fn largest_difference<T: Value>(new: &[T], old: &[T]) -> f64 {
    const LANES: usize = 32;
    let mut largest = [T::default(); LANES];
    let (new, last_new) = new.as_chunks::<LANES>();
    let (old, last_old) = old.as_chunks::<LANES>();
    for (new, old) in new.iter().zip(old) {
        for ((largest, &new), &old) in largest.iter_mut().zip(new).zip(old) {
            *largest = largest.larger(new.distance(old));
        }
    }
    for ((largest, &new), &old) in largest.iter_mut().zip(last_new).zip(last_old) {
        *largest = largest.larger(new.distance(old));
    }
    largest.into_iter().fold(T::default(), T::larger).to_f64()
}

/// How many units a byte stands for: its square, with its sign.
#[inline(always)]
pub fn units_of(byte: i8) -> f32 {
    f32::from(byte) * f32::from(byte).abs()
}

/// The byte that stands for nearly so many units.
#[inline(always)]
pub fn byte_for(units: f32) -> i8 {
    let root = units.abs().sqrt().min(MOST_ROOT).copysign(units);
    (root + ROUND).to_bits() as i8
}

/// Writes down differences in units.
#[inline(always)]
pub fn write_differences<T: Value>(new: &[T], old: &[T], bytes: &mut [i8], unit: f32) {
    let per_unit = 1.0 / unit;
    for ((&new, &old), byte) in new.iter().zip(old).zip(bytes) {
        *byte = byte_for(new.difference(old, per_unit));
    }
}

/// How many units the bytes from one on stand for; 0 beyond the last byte.
#[inline(always)]
pub fn read_lanes(bytes: &[i8], start: usize, units: &mut [f32; LANES]) {
    let rest = &bytes[start..];
    if let Some(lanes) = rest.first_chunk::<LANES>() {
        for (units, &byte) in units.iter_mut().zip(lanes) {
            *units = units_of(byte);
        }
    } else {
        *units = [0.0; LANES];
        for (units, &byte) in units.iter_mut().zip(rest) {
            *units = units_of(byte);
        }
    }
}

/// A value that is changed by what a byte stands for. It remains between a loss and a win.
#[inline(always)]
pub fn changed<T: Value>(value: T, byte: i8, unit: f32) -> T {
    value.moved_by(units_of(byte) * unit)
}

/// Changes values by what bytes stand for.
pub fn change<T: Value>(values: &mut [T], changes: &[i8], unit: f32, simd: Simd) {
    simd.compute(
        #[inline(always)]
        || {
            for (value, &change) in values.iter_mut().zip(changes) {
                *value = changed(*value, change, unit);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stand_for_squares() {
        for byte in -127..=127_i8 {
            assert_eq!(units_of(byte), f32::from(byte.signum()) * f32::from(byte).powi(2));
            assert_eq!(byte_for(units_of(byte)), byte);
        }
        assert_eq!([byte_for(1e9), byte_for(-1e9), byte_for(0.2)], [127, -127, 0]);
    }

    #[test]
    fn values_remain_between_a_loss_and_a_win() {
        assert_eq!(changed(0.4_f64, 127, 0.01), 0.5);
        assert_eq!(changed(-0.4_f32, -127, 0.01), -0.5);
    }
}
