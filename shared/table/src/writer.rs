//! Writing a `.zgt` table, tier by tier: at once, or over days (`unfinished`).

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use ziggurat_encoding::{Encoding, Tier};

use crate::{
    Compression, Existing, TableError, TierStatistics, ValueType,
    frame::{self, frame_values},
    layout::{FrameEntry, Header, TierEntry, Trailer, preamble},
    output::Output,
    value::{HALF, is_chance},
};

/// Frames packed at a time; bounds the memory a large tier needs on the way to the file.
const FRAMES_AT_A_TIME: usize = 16;

/// A `.zgt` table being written. Until [`TableWriter::finish`] there is no file of that name, and
/// a writer that is dropped leaves nothing behind.
///
/// The bytes are a function of ruleset, value type, compression and the tiers, their statistics
/// and their order: nothing of the time or the machine goes in.
#[derive(Debug)]
pub struct TableWriter {
    output: Output,
    contents: Contents,
}

impl TableWriter {
    /// Starts a table that will be called `path`.
    ///
    /// # Errors
    /// If the file cannot be created, or exists and is to be kept.
    pub fn create(
        path: &Path,
        existing: Existing,
        encoding: &Encoding,
        value_type: ValueType,
        compression: Compression,
    ) -> Result<Self, TableError> {
        let contents = Contents::new(path, encoding, value_type, compression)?;
        let mut output = Output::create(path, existing)?;
        output.append(&contents.preamble)?;
        Ok(Self { output, contents })
    }

    /// Appends a tier: for each index, the chance of the player who just moved, less one half. Tiers may come in
    /// any order. What is proven of the values is written down as what is proven of those that are stored, which are
    /// rounded if they are of a narrower type.
    ///
    /// # Errors
    /// If there is no such tier, it is written already, has another number of positions, a value
    /// is not that of a chance, or the disk is full.
    pub fn write_tier<V: Copy + Into<f64> + Sync>(
        &mut self,
        tier: Tier,
        statistics: TierStatistics,
        values: &[V],
    ) -> Result<(), TableError> {
        let Self { output, contents } = self;
        contents.write_tier(tier, statistics, values, &mut |bytes| output.append(bytes))
    }

    /// Completes the file, makes it durable and gives it its name.
    ///
    /// # Errors
    /// If a tier is missing, a file of that name has appeared and is to be kept, or the disk is
    /// full.
    pub fn finish(mut self) -> Result<(), TableError> {
        self.output.append(&self.contents.end()?)?;
        self.output.finish()
    }
}

/// Appends bytes to a file.
pub(crate) type Append<'a> = dyn FnMut(&[u8]) -> Result<(), TableError> + 'a;

/// What is in a table so far, and what will be.
#[derive(Debug)]
pub(crate) struct Contents {
    path: PathBuf,
    /// The bytes before the values.
    pub(crate) preamble: Vec<u8>,
    value_type: ValueType,
    compression: Compression,
    ruleset: String,
    lengths: BTreeMap<Tier, u64>,
    /// The index so far.
    pub(crate) entries: Vec<TierEntry>,
}

impl Contents {
    /// Those of a table without a tier; errors name `path`.
    pub(crate) fn new(
        path: &Path,
        encoding: &Encoding,
        value_type: ValueType,
        compression: Compression,
    ) -> Result<Self, TableError> {
        let header = Header {
            ruleset: encoding.ruleset().to_toml(),
            encoder_version: Encoding::VERSION,
            value_type,
            compression,
            positions: encoding.undecided(),
        };
        let preamble = json(path, preamble(&header))?;
        let lengths =
            encoding.tiers().into_iter().map(|tier| (tier, encoding.tier_len(tier))).collect();
        let (path, ruleset) = (path.to_owned(), encoding.ruleset().name().to_owned());
        let entries = Vec::new();
        Ok(Self { path, preamble, value_type, compression, ruleset, lengths, entries })
    }

    /// Bytes of the file up to the last of its values.
    pub(crate) fn bytes(&self) -> u64 {
        let last = self.entries.iter().rev().find_map(|entry| entry.frames.last());
        last.map_or(self.preamble.len() as u64, |&FrameEntry(offset, length, _)| offset + length)
    }

    /// Appends a tier: see [`TableWriter::write_tier`].
    pub(crate) fn write_tier<V: Copy + Into<f64> + Sync>(
        &mut self,
        tier: Tier,
        statistics: TierStatistics,
        values: &[V],
        append: &mut Append<'_>,
    ) -> Result<(), TableError> {
        let found = values.len() as u64;
        match self.lengths.get(&tier) {
            None => return Err(TableError::NoSuchTier { ruleset: self.ruleset.clone(), tier }),
            Some(&expected) if expected != found => {
                return Err(TableError::WrongLength { tier, expected, found });
            }
            Some(_) if self.entries.iter().any(|entry| entry.tier == tier) => {
                return Err(TableError::WrittenTwice { tier });
            }
            Some(_) => {}
        }
        // A frame at a time, without branches: value by value it took 2 % of a solve.
        let chunk = frame_values(self.value_type);
        let is_wrong = |&value: &V| !is_chance(HALF + value.into());
        let some_wrong = |values: &[V]| values.iter().fold(false, |any, v| any | is_wrong(v));
        if let Some(place) = values.par_chunks(chunk).position_first(some_wrong) {
            let first = values[place * chunk..].iter().position(is_wrong);
            let offset = place * chunk + first.expect("a chunk with a wrong value");
            let value = HALF + values[offset].into();
            return Err(TableError::NotAChance { tier, offset: offset as u64, value });
        }
        let (mut frames, mut rounding, mut offset) = (Vec::new(), 0.0_f64, self.bytes());
        for some in values.chunks(chunk * FRAMES_AT_A_TIME) {
            let packed: Vec<_> = some
                .par_chunks(chunk)
                .map(|values| frame::pack(values, self.value_type, self.compression))
                .collect();
            for packed in packed {
                let packed = packed.map_err(TableError::io(&self.path, "compress"))?;
                let length = packed.bytes.len() as u64;
                frames.push(FrameEntry(offset, length, packed.checksum));
                append(&packed.bytes)?;
                offset += length;
                rounding = rounding.max(packed.rounding);
            }
        }
        // What is proven of the values that were given, and how far those in the file are from them.
        let stored =
            |proven: f64| if rounding > 0.0 { (proven + rounding).next_up() } else { proven };
        let certificate = statistics.certificate.map(stored);
        let statistics = TierStatistics { certificate, ..statistics };
        self.entries.push(TierEntry { tier, length: found, statistics, frames });
        Ok(())
    }

    /// What follows the values of a complete table: its index and the trailer.
    pub(crate) fn end(&self) -> Result<Vec<u8>, TableError> {
        let written = |tier: &Tier| self.entries.iter().any(|entry| entry.tier == *tier);
        if let Some(&tier) = self.lengths.keys().find(|tier| !written(tier)) {
            return Err(TableError::Unwritten { tier });
        }
        let mut end = json(&self.path, serde_json::to_vec(&self.entries))?;
        let trailer = Trailer::new(&self.preamble, self.bytes(), &end);
        end.extend(trailer.to_bytes());
        Ok(end)
    }
}

/// JSON of our own making fails only on numbers that JSON has not.
fn json(path: &Path, made: serde_json::Result<Vec<u8>>) -> Result<Vec<u8>, TableError> {
    made.map_err(|error| TableError::io(path, "describe the values of")(error.into()))
}
