//! The numbers of an `.rgu` file: big-endian, chances in percent of the player to move.

use crate::{ValueType, from_percent16, to_percent16};

/// The first bytes of an `.rgu` file.
pub(crate) const MAGIC: [u8; 3] = *b"RGU";
/// The version of the format.
pub(super) const VERSION: u8 = 0;
/// Bytes of a stored key.
pub(super) const KEY_BYTES: u64 = 4;
/// The most pieces a three-bit hand counts.
pub(super) const MAX_PIECES: u8 = 7;

const PERCENT: f64 = 100.0;

/// Appends a chance.
pub(super) fn push_value(bytes: &mut Vec<u8>, chance: f64, value_type: ValueType) {
    match value_type {
        ValueType::Percent16 => bytes.extend(to_percent16(chance).to_be_bytes()),
        ValueType::F32 => bytes.extend(((chance * PERCENT) as f32).to_be_bytes()),
        ValueType::F64 => bytes.extend((chance * PERCENT).to_be_bytes()),
    }
}

/// Reads a chance from as many bytes as the type has; a number that is none is an error.
pub(super) fn read_value(bytes: &[u8], value_type: ValueType) -> Result<f64, f64> {
    let word = bytes.iter().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
    let percent = match value_type {
        ValueType::Percent16 => return Ok(from_percent16(word as u16)),
        ValueType::F32 => f64::from(f32::from_bits(word as u32)),
        ValueType::F64 => f64::from_bits(word),
    };
    let chance = percent / PERCENT;
    if crate::value::is_chance(chance) { Ok(chance) } else { Err(percent) }
}
