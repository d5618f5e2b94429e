//! Quantised deltas: the changes of a sweep, in a byte for each value.
//!
//! A unit does not publish the values after a sweep, but the values before, each changed by a number of quanta that
//! is a square (or minus one): that of a byte. So small changes are encoded as well as large ones, to a few parts in a
//! hundred. The quantum is a power of two, the same for a *piece* of at most [`PIECE`](crate::shards::ranges::PIECE) values, and so large that no
//! change of the piece is beyond the square of 127; where little changes it is larger, since changes far below the
//! last residual can wait. The rounding error is not lost: the next sweep finds it again, as part of its change (error
//! feedback: Seide et al. 2014). So the differences are known exactly, in a byte for each value, to every member that
//! knows the published values: readers of a unit can extrapolate its values without a message.

use ziggurat_planning::quanta::{MOST_ROOT, exponent_of, quantum};

use crate::{
    memory::budget::enforce_budget,
    simd::{dispatch::Simd, value::Value},
};

/// The largest change of a piece is this power of two times the quantum, or up to twice that.
pub const BITS: i32 = 13;

/// Added to a small `f32`, this leaves its nearest integer in the lowest bits: 1.5 * 2^23.
pub const ROUND: f32 = 12_582_912.0;

/// So many values are computed at a time.
pub const LANES: usize = 16;

/// The encoding of a superstep's changes of a piece, beside their bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EncodedDelta {
    /// The largest difference between an old value and a new one.
    pub residual: f64,
    /// The quantum of the bytes.
    pub quantum: f32,
}

/// Says in bytes by how many quanta, no finer than 2 to the power of `finest`, the values of a piece are to be changed
/// to come near new ones.
pub fn encode<T: Value>(
    new: &[T],
    old: &[T],
    bytes: &mut [i8],
    finest: i32,
    simd: Simd,
) -> EncodedDelta {
    enforce_budget();
    let residual = simd.compute(
        #[inline(always)]
        || largest_difference(new, old),
    );
    let quantum = quantum_for(residual, finest);
    simd.compute(
        #[inline(always)]
        || write_differences(new, old, bytes, quantum),
    );
    EncodedDelta { residual, quantum }
}

/// The quantum for a piece whose largest change this is.
pub fn quantum_for(largest: f64, finest: i32) -> f32 {
    quantum((exponent_of(largest) - BITS).max(finest))
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

/// How many quanta a byte stands for: its square, with its sign.
#[inline(always)]
pub fn quanta_of(byte: i8) -> f32 {
    f32::from(byte) * f32::from(byte).abs()
}

/// The byte that stands for nearly so many quanta.
#[inline(always)]
pub fn byte_for(quanta: f32) -> i8 {
    let root = quanta.abs().sqrt().min(MOST_ROOT).copysign(quanta);
    (root + ROUND).to_bits() as i8
}

/// Writes down differences in quanta.
#[inline(always)]
pub fn write_differences<T: Value>(new: &[T], old: &[T], bytes: &mut [i8], quantum: f32) {
    let per_quantum = 1.0 / quantum;
    for ((&new, &old), byte) in new.iter().zip(old).zip(bytes) {
        *byte = byte_for(new.difference(old, per_quantum));
    }
}

/// How many quanta the bytes from one on stand for; 0 beyond the last byte.
#[inline(always)]
pub fn read_lanes(bytes: &[i8], start: usize, quanta: &mut [f32; LANES]) {
    let rest = &bytes[start..];
    if let Some(lanes) = rest.first_chunk::<LANES>() {
        for (quanta, &byte) in quanta.iter_mut().zip(lanes) {
            *quanta = quanta_of(byte);
        }
    } else {
        *quanta = [0.0; LANES];
        for (quanta, &byte) in quanta.iter_mut().zip(rest) {
            *quanta = quanta_of(byte);
        }
    }
}

/// A value that is changed by a byte. It remains between a loss and a win.
#[inline(always)]
pub fn changed<T: Value>(value: T, byte: i8, quantum: f32) -> T {
    value.moved_by(quanta_of(byte) * quantum)
}

/// Changes values by bytes.
pub fn change<T: Value>(values: &mut [T], changes: &[i8], quantum: f32, simd: Simd) {
    simd.compute(
        #[inline(always)]
        || {
            for (value, &change) in values.iter_mut().zip(changes) {
                *value = changed(*value, change, quantum);
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
            assert_eq!(quanta_of(byte), f32::from(byte.signum()) * f32::from(byte).powi(2));
            assert_eq!(byte_for(quanta_of(byte)), byte);
        }
        assert_eq!([byte_for(1e9), byte_for(-1e9), byte_for(0.2)], [127, -127, 0]);
    }

    #[test]
    fn values_remain_between_a_loss_and_a_win() {
        assert_eq!(changed(0.4_f64, 127, 0.01), 0.5);
        assert_eq!(changed(-0.4_f32, -127, 0.01), -0.5);
    }
}
