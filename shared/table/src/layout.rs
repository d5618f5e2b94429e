//! The parts of a `.zgt` file around its values. All numbers are little-endian.
//!
//! | part | content |
//! | --- | --- |
//! | magic | 8 bytes, which a transfer as text would spoil |
//! | format version | u32 |
//! | length of the header | u32 |
//! | header | JSON, see [`Header`]; then zeros up to a multiple of 64 bytes |
//! | values | frame after frame, tier after tier |
//! | index | JSON, see [`TierEntry`]: where the frames are, and their checksums |
//! | trailer | offset and length of the index (u64), XXH3 of all before the values and of the index (u64), 8 bytes magic |
//!
//! The index comes last, so that a table is written in one go, and every byte of the file is
//! under a checksum or fixed.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;
use ziggurat_encoding::Tier;

use crate::{Compression, ValueType, frame::ALIGNMENT_BYTES};

/// The first bytes of a `.zgt` file.
pub(crate) const MAGIC: [u8; 8] = *b"\x89ZGT\r\n\x1a\n";
/// The last bytes of a `.zgt` file.
const END_MAGIC: [u8; 8] = *b"\x89ZGTend\n";
/// The version of the format that this program writes, and the latest that it reads.
pub const FORMAT_VERSION: u32 = 3;
/// The first version whose floating-point values are chances less one half; before, they were chances.
pub(crate) const LESS_ONE_HALF_SINCE: u32 = 2;
/// The first version whose certificates are about the values in the file; before, they were about what these were rounded from.
pub(crate) const CERTIFIED_AS_STORED_SINCE: u32 = 3;
/// Bytes before the header.
pub(crate) const PREAMBLE_BYTES: usize = 16;
/// Bytes of the trailer.
pub(crate) const TRAILER_BYTES: usize = 40;

/// What a table is about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    /// The ruleset as canonical TOML.
    pub(crate) ruleset: String,
    /// `Encoding::VERSION` of the ranking that orders the values.
    pub(crate) encoder_version: u32,
    /// The type of the values.
    pub(crate) value_type: ValueType,
    /// How the frames are packed.
    pub(crate) compression: Compression,
    /// The number of values.
    pub(crate) positions: u64,
}

/// How the values of a tier came about.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TierStatistics {
    /// Supersteps made; 0 if the values were not computed by Ziggurat.
    pub supersteps: u32,
    /// The largest change of a value, as a probability, in the last superstep.
    pub residual: Option<f64>,
    /// The proven bound on the distance between the values and the true ones, as a probability.
    pub certificate: Option<f64>,
}

/// A frame in the file: offset and length in bytes, and the XXH3 checksum of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct FrameEntry(
    pub(crate) u64,
    pub(crate) u64,
    #[serde(with = "hexadecimal")] pub(crate) u64,
);

/// A tier in the file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct TierEntry {
    pub(crate) tier: Tier,
    /// Positions of the tier.
    pub(crate) length: u64,
    pub(crate) statistics: TierStatistics,
    pub(crate) frames: Vec<FrameEntry>,
}

/// The bytes of a file before its values.
pub(crate) fn preamble(header: &Header) -> serde_json::Result<Vec<u8>> {
    let json = serde_json::to_vec(header)?;
    let mut bytes = Vec::with_capacity(PREAMBLE_BYTES + json.len() + ALIGNMENT_BYTES);
    bytes.extend(MAGIC);
    bytes.extend(FORMAT_VERSION.to_le_bytes());
    bytes.extend((json.len() as u32).to_le_bytes());
    bytes.extend(json);
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT_BYTES), 0);
    Ok(bytes)
}

/// The last bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Trailer {
    pub(crate) index_offset: u64,
    pub(crate) index_length: u64,
    pub(crate) preamble_checksum: u64,
    pub(crate) index_checksum: u64,
}

impl Trailer {
    pub(crate) fn new(preamble: &[u8], index_offset: u64, index: &[u8]) -> Self {
        Self {
            index_offset,
            index_length: index.len() as u64,
            preamble_checksum: xxh3_64(preamble),
            index_checksum: xxh3_64(index),
        }
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let numbers =
            [self.index_offset, self.index_length, self.preamble_checksum, self.index_checksum];
        numbers.iter().flat_map(|number| number.to_le_bytes()).chain(END_MAGIC).collect()
    }

    /// The trailer in the last bytes of a file, `None` if they are no trailer.
    pub(crate) fn from_bytes(bytes: &[u8; TRAILER_BYTES]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let number = |i: usize| u64::from_le_bytes(words[i]);
        (words[4] == END_MAGIC).then(|| Self {
            index_offset: number(0),
            index_length: number(1),
            preamble_checksum: number(2),
            index_checksum: number(3),
        })
    }
}

/// Whether these may be the first bytes, few as they are, of a file that begins with `magic`.
pub(crate) fn may_begin(start: &[u8], magic: &[u8]) -> bool {
    !start.is_empty() && start.iter().zip(magic).all(|(byte, expected)| byte == expected)
}

/// Checksums in JSON: as text, since most readers round large numbers.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{number:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = String::deserialize(from)?;
        u64::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}
