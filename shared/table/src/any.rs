//! Tables of either format behind one face.

use std::{
    fs::{self, File},
    io::Read,
    ops::Range,
    path::Path,
};

use rayon::prelude::*;
use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::{Position, Ruleset};

use crate::{
    Compression, Existing, Table, TableError, TableWriter, Tell, TierStatistics, ValueType, layout,
    progress::Work,
    rgu::{self, RguTable},
};

/// Positions per batch: a multiple of the positions of a frame, whatever the value type.
pub const BATCH_POSITIONS: u64 = 1 << 20;

/// A table in one of the formats that Ziggurat reads.
pub enum AnyTable {
    /// Ziggurat's own.
    Zgt(Box<Table>),
    /// The community's.
    Rgu(Box<RguTable>),
}

impl AnyTable {
    /// Opens a table of the format that its first bytes tell.
    ///
    /// # Errors
    /// If the file is no table, or [`Table::open`] or [`RguTable::open`] fails.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let mut start = Vec::new();
        // Before it is opened: who opens a pipe waits for a writer.
        let kind = fs::metadata(path).map_err(TableError::io(path, "open"))?;
        if kind.is_dir() {
            return Err(TableError::IsADirectory { path: path.to_owned() });
        }
        if !kind.is_file() {
            return Err(TableError::NotAFile { path: path.to_owned() });
        }
        let file = File::open(path).map_err(TableError::io(path, "open"))?;
        file.take(layout::MAGIC.len() as u64)
            .read_to_end(&mut start)
            .map_err(TableError::io(path, "read"))?;
        if layout::may_begin(&start, &rgu::format::MAGIC) {
            RguTable::open(path).map(|table| Self::Rgu(table.into()))
        } else {
            Table::open(path).map(|table| Self::Zgt(table.into()))
        }
    }

    /// Gives so much memory, in bytes, to what look-ups keep unpacked; see [`Table::keep_unpacked`].
    pub fn keep_unpacked(&mut self, bytes: u64) {
        match self {
            Self::Zgt(table) => table.keep_unpacked(bytes),
            Self::Rgu(_) => {}
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Zgt(table) => table.path(),
            Self::Rgu(table) => table.path(),
        }
    }

    /// The ruleset that was solved.
    pub fn ruleset(&self) -> &Ruleset {
        self.encoding().ruleset()
    }

    /// The ranking that [`AnyTable::read_range`] goes by.
    pub fn encoding(&self) -> &Encoding {
        match self {
            Self::Zgt(table) => table.encoding(),
            Self::Rgu(table) => table.encoding(),
        }
    }

    /// The type of the values.
    pub fn value_type(&self) -> ValueType {
        match self {
            Self::Zgt(table) => table.value_type(),
            Self::Rgu(table) => table.value_type(),
        }
    }

    /// The resolution of the values, as a probability: see [`ValueType::quantum`].
    pub fn quantum(&self) -> f64 {
        self.value_type().quantum()
    }

    /// What is known of how a tier was solved.
    pub fn statistics(&self, tier: Tier) -> TierStatistics {
        match self {
            Self::Zgt(table) => {
                let mut tiers = table.tiers();
                tiers.find(|(known, _)| *known == tier).map(|(_, it)| it).unwrap_or_default()
            }
            Self::Rgu(table) => {
                TierStatistics { residual: table.residual(), ..TierStatistics::default() }
            }
        }
    }

    /// The proven bound on the distance between the values in the file and the true ones, `None` if a tier has none.
    pub fn certificate(&self) -> Option<f64> {
        match self {
            Self::Zgt(table) => table.certificate(),
            Self::Rgu(_) => None,
        }
    }

    /// The chance that the player to move wins.
    ///
    /// # Errors
    /// If the position is not one of the ruleset's, or the file cannot be read or is damaged.
    pub fn value(&self, position: &Position) -> Result<f64, TableError> {
        match self {
            Self::Zgt(table) => table.value(position),
            Self::Rgu(table) => table.value(position),
        }
    }

    /// The chances that the player to move wins, for many positions at a time: each part of the file is read once.
    ///
    /// # Errors
    /// If a position is not one of the ruleset's, or the file cannot be read or is damaged.
    pub fn values(&self, positions: &[Position]) -> Result<Vec<f64>, TableError> {
        match self {
            Self::Zgt(table) => table.values(positions),
            Self::Rgu(table) => positions.par_iter().map(|it| table.value(it)).collect(),
        }
    }

    /// The value at an index: the chance of the player who just moved, less one half.
    ///
    /// # Errors
    /// If there is no such index, or the file cannot be read or is damaged.
    pub fn stored(&self, index: Index) -> Result<f64, TableError> {
        match self {
            Self::Zgt(table) => table.stored(index),
            Self::Rgu(table) => table.stored(index),
        }
    }

    /// The bytes that stay in memory of a table of which more than one value is read at a time.
    pub fn held_bytes(&self) -> u64 {
        match self {
            Self::Zgt(_) => 0,
            Self::Rgu(table) => table.held_bytes(),
        }
    }

    /// All undecided positions in the encoder's order, as ranges of at most [`BATCH_POSITIONS`]
    /// offsets.
    pub fn batches(&self) -> impl Iterator<Item = (Tier, Range<u64>)> + '_ {
        self.encoding().tiers().into_iter().flat_map(|tier| {
            let length = self.encoding().tier_len(tier);
            let starts = (0..length).step_by(BATCH_POSITIONS as usize);
            starts.map(move |start| (tier, start..length.min(start + BATCH_POSITIONS)))
        })
    }

    /// For each of some offsets of a tier, the chance of the player who just moved, less one half.
    ///
    /// # Errors
    /// If there is no such tier or offset, or the file cannot be read or is damaged.
    pub fn read_range(&self, tier: Tier, offsets: Range<u64>) -> Result<Vec<f64>, TableError> {
        match self {
            Self::Zgt(table) => table.read_range(tier, offsets),
            Self::Rgu(table) => table.read_range(tier, offsets),
        }
    }

    /// All of a tier, as [`AnyTable::read_range`].
    ///
    /// # Errors
    /// If there is no such tier, or the file cannot be read or is damaged.
    pub fn read_tier(&self, tier: Tier) -> Result<Vec<f64>, TableError> {
        self.read_range(tier, 0..self.encoding().tier_len(tier))
    }

    /// Reads the whole file and verifies what it has to tell damage by: checksums in a `.zgt`
    /// file, the keys and that values are chances in an `.rgu` file.
    ///
    /// # Errors
    /// The first damage that is found, or that the file cannot be read.
    pub fn verify_file(&self, tell: &Tell<'_>) -> Result<(), TableError> {
        match self {
            Self::Zgt(table) => table.verify_checksums(tell),
            Self::Rgu(table) => table.verify_keys(tell),
        }
    }

    /// The tiers, in the order in which they are in a `.zgt` file.
    fn tiers(&self) -> Vec<Tier> {
        match self {
            Self::Zgt(table) => table.tiers().map(|(tier, _)| tier).collect(),
            Self::Rgu(table) => table.encoding().tiers(),
        }
    }

    /// Writes the table as a `.zgt` file. One that has nothing to change has the same bytes.
    ///
    /// # Errors
    /// If the table cannot be read, the file exists and is to be kept, or cannot be written.
    pub fn export_zgt(
        &self,
        path: &Path,
        existing: Existing,
        value_type: ValueType,
        compression: Compression,
        tell: &Tell<'_>,
    ) -> Result<(), TableError> {
        let work = Work::new(self.encoding().undecided(), tell);
        let mut writer =
            TableWriter::create(path, existing, self.encoding(), value_type, compression)?;
        for tier in self.tiers() {
            writer.write_tier(tier, self.statistics(tier), &self.read_tier(tier)?)?;
            work.did(self.encoding().tier_len(tier));
        }
        writer.finish()
    }
}
