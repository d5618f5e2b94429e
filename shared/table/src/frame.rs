//! Frames: about a mebibyte of values each, with a checksum, readable on their own.
//!
//! A compressed frame holds its values *byte-shuffled*, all lowest bytes first, all highest last:
//! neighbouring values agree in their high bytes, which then become runs that zstd shrinks to
//! nearly nothing, and its low bytes, which are noise, do not get in between. A `percent16` has
//! too few bits for that; there, the differences of neighbours are what is shuffled.

use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::{ValueType, from_percent16, to_percent16, value::HALF};

/// Bytes of values in a frame; the last frame of a tier may hold fewer.
pub const FRAME_BYTES: usize = 1 << 20;
/// Where values may start in a file that is not compressed, so that it can be mapped.
pub(crate) const ALIGNMENT_BYTES: usize = 64;

/// How the values of a table are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// As they are: a tier is one array at a multiple of 64 bytes, fit for memory mapping.
    Raw,
    /// Byte-shuffled and zstd-compressed, frame by frame.
    #[default]
    Zstd,
}

impl Compression {
    /// Every way, by name.
    pub const ALL: [(&str, Self); 2] = [("raw", Self::Raw), ("zstd", Self::Zstd)];
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Raw => "raw",
            Self::Zstd => "zstd",
        })
    }
}

/// Values per frame.
pub(crate) fn frame_values(value_type: ValueType) -> usize {
    FRAME_BYTES / value_type.bytes()
}

/// A frame as it is written, with its checksum.
pub(crate) struct Packed {
    pub(crate) bytes: Vec<u8>,
    pub(crate) checksum: u64,
    /// The most that a value in it is away from what was meant.
    pub(crate) rounding: f64,
}

/// Packs values, chances less one half, in index order.
pub(crate) fn pack<V: Copy + Into<f64>>(
    values: &[V],
    value_type: ValueType,
    compression: Compression,
) -> std::io::Result<Packed> {
    let mut raw = to_little_endian(values, value_type);
    let rounding = rounding(values, value_type);
    let bytes = match compression {
        Compression::Raw => {
            raw.resize(raw.len().next_multiple_of(ALIGNMENT_BYTES), 0);
            raw
        }
        Compression::Zstd => {
            if value_type == ValueType::Percent16 {
                differ(&mut raw);
            }
            let mut packed = Vec::new();
            ziggurat_packing::pack(&raw, value_type.bytes(), &mut packed)?;
            packed
        }
    };
    let checksum = xxh3_64(&bytes);
    Ok(Packed { bytes, checksum, rounding })
}

/// The little-endian bytes of the `count` values of a frame, after its checksum was verified.
/// An error says what is wrong with it.
pub(crate) fn unpack(
    bytes: Vec<u8>,
    checksum: u64,
    count: usize,
    value_type: ValueType,
    compression: Compression,
) -> Result<Vec<u8>, String> {
    if xxh3_64(&bytes) != checksum {
        return Err("the checksum does not match".to_owned());
    }
    let length = count * value_type.bytes();
    match compression {
        Compression::Raw if bytes.len() < length => {
            Err(format!("it holds {} bytes, not {length}", bytes.len()))
        }
        Compression::Raw => {
            let mut raw = bytes;
            raw.truncate(length);
            Ok(raw)
        }
        Compression::Zstd => {
            let mut raw = vec![0; length];
            ziggurat_packing::unpack(&bytes, value_type.bytes(), &mut raw)?;
            if value_type == ValueType::Percent16 {
                add_up(&mut raw);
            }
            Ok(raw)
        }
    }
}

fn to_little_endian<V: Copy + Into<f64>>(values: &[V], value_type: ValueType) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * value_type.bytes() + ALIGNMENT_BYTES);
    let values = values.iter().map(|&value| value.into());
    match value_type {
        ValueType::Percent16 => {
            values.for_each(|value| bytes.extend(to_percent16(HALF + value).to_le_bytes()));
        }
        ValueType::F32 => values.for_each(|value| bytes.extend((value as f32).to_le_bytes())),
        ValueType::F64 => values.for_each(|value| bytes.extend(value.to_le_bytes())),
    }
    bytes
}

/// The most that one of these values is away from what is read where it was stored.
fn rounding<V: Copy + Into<f64>>(values: &[V], value_type: ValueType) -> f64 {
    if value_type == ValueType::F64 {
        return 0.0;
    }
    values.iter().map(|&value| value.into()).fold(0.0, |largest: f64, value: f64| {
        let rounding = (value_type.rounded(value) - value).abs();
        if rounding > largest { rounding } else { largest }
    })
}

/// Reads little-endian values into chances less one half; `into` says how many.
pub(crate) fn from_little_endian(bytes: &[u8], value_type: ValueType, into: &mut [f64]) {
    fn each<const N: usize>(bytes: &[u8], into: &mut [f64], read: impl Fn([u8; N]) -> f64) {
        let (words, _) = bytes.as_chunks::<N>();
        into.iter_mut().zip(words).for_each(|(value, word)| *value = read(*word));
    }
    match value_type {
        ValueType::Percent16 => {
            each(bytes, into, |word| from_percent16(u16::from_le_bytes(word)) - HALF)
        }
        ValueType::F32 => each(bytes, into, |word| f32::from_le_bytes(word).into()),
        ValueType::F64 => each(bytes, into, f64::from_le_bytes),
    }
}

/// Replaces 16-bit numbers by their differences to the ones before, modulo 2^16.
fn differ(bytes: &mut [u8]) {
    let mut before = 0;
    for word in bytes.as_chunks_mut::<2>().0 {
        let value = u16::from_le_bytes(*word);
        *word = value.wrapping_sub(before).to_le_bytes();
        before = value;
    }
}

/// Undoes [`differ`].
fn add_up(bytes: &mut [u8]) {
    let mut value = 0_u16;
    for word in bytes.as_chunks_mut::<2>().0 {
        value = value.wrapping_add(u16::from_le_bytes(*word));
        *word = value.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_frame_gives_back_its_values_to_half_a_quantum(
            values in proptest::collection::vec(-0.5..=0.5_f64, 1..500),
        ) {
            for value_type in ValueType::ALL {
                for (_, compression) in Compression::ALL {
                    let Packed { bytes, checksum, .. } = pack(&values, value_type, compression).unwrap();
                    let raw = unpack(bytes, checksum, values.len(), value_type, compression).unwrap();
                    let mut read = vec![f64::NAN; values.len()];
                    from_little_endian(&raw, value_type, &mut read);
                    for (read, value) in read.iter().zip(&values) {
                        let error = (read - value).abs();
                        prop_assert!(error <= value_type.quantum() / 2.0, "{value_type}: {error}");
                    }
                    if value_type == ValueType::F64 {
                        prop_assert_eq!(&read, &values);
                    }
                }
            }
        }
    }

    #[test]
    fn smooth_values_compress_well() {
        let values: Vec<f64> = (0..100_000).map(|i| 0.1 + f64::from(i) * 1e-7).collect();
        let packed = pack(&values, ValueType::F64, Compression::Zstd).unwrap();
        assert!(packed.bytes.len() < values.len() * 7, "{} bytes", packed.bytes.len());
    }
}
