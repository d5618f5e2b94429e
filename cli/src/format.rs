//! The formats of tables, as they are named on the command line.

use std::path::Path;

use clap::ValueEnum;
use ziggurat_encoding::Encoding;
use ziggurat_kernel::PROGRAM_MEMORY_BYTES;
use ziggurat_table::{Compression, ValueType, rgu};

use crate::{
    failure::{Explain, Failure},
    needs::{check_available, check_file_size, check_free, table_bytes},
    resources::directory_of,
};

/// What a row of a Parquet file takes beside its value, rounded up: masks are numbers of a dictionary, scores are runs.
const PARQUET_ROW_BYTES: u64 = 5;

/// What a batch of rows takes that is packed for a Parquet file.
const PARQUET_BYTES: u64 = 64 << 20;

/// The formats tables are written in.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub enum Format {
    /// Ziggurat's own
    Zgt,
    /// That of the Java and Python libraries for the game
    Rgu,
    /// For DuckDB, Polars, pandas and the like
    Parquet,
}

impl Format {
    /// The format of files that are named like one.
    pub fn of_file(file: &Path) -> Option<Self> {
        let ending = file.extension()?.to_str()?;
        Self::value_variants().iter().copied().find(|format| format.ending() == ending)
    }

    /// How the names of such files end.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Zgt => "zgt",
            Self::Rgu => "rgu",
            Self::Parquet => "parquet",
        }
    }

    /// About how many bytes a table has in this format.
    ///
    /// # Errors
    /// If the format has no words for the rules.
    pub fn file_bytes(
        self,
        encoding: &Encoding,
        value_type: ValueType,
        compression: Compression,
    ) -> Result<u64, Failure> {
        Ok(match self {
            Self::Zgt => table_bytes(encoding, value_type, compression),
            Self::Rgu => rgu::export_file_bytes(encoding.ruleset(), value_type)?,
            Self::Parquet => {
                // A percent16 becomes a float.
                let value_bytes = value_type.bytes().max(size_of::<f32>()) as u64;
                encoding.undecided() * (PARQUET_ROW_BYTES + value_bytes)
            }
        })
    }

    /// Refuses to write a table where the disk has no room for it, nor for so many bytes more, or no file may be as large.
    ///
    /// # Errors
    /// If so, or the format has no words for the rules.
    pub fn check_disk(
        self,
        encoding: &Encoding,
        value_type: ValueType,
        compression: Compression,
        (out, more): (&Path, u64),
    ) -> Result<(), Failure> {
        let bytes = self.file_bytes(encoding, value_type, compression)?;
        let what = format!("writing {}", out.display());
        check_file_size(&what, bytes)?;
        check_free(&what, directory_of(out), bytes + more)
            .or_help("write it in another place (--out FILE), or with --value-type percent16")
    }

    /// Refuses to write a table, from tiers of numbers of so many bytes beside so many others, that would not fit memory.
    ///
    /// # Errors
    /// If so, or the format has no words for the rules.
    pub fn check_memory(
        self,
        encoding: &Encoding,
        number_bytes: usize,
        held_bytes: u64,
        out: &Path,
    ) -> Result<(), Failure> {
        let tiers = encoding.tiers().into_iter().map(|tier| encoding.tier_len(tier));
        let values_bytes = match self {
            Self::Zgt => tiers.max().unwrap_or(0) * number_bytes as u64,
            Self::Rgu => rgu::export_bytes(encoding.ruleset())?,
            Self::Parquet => PARQUET_BYTES,
        };
        check_available(
            &format!("writing {}", out.display()),
            PROGRAM_MEMORY_BYTES + held_bytes + values_bytes,
        )
        .or_help("write it on a machine with more memory")
    }
}
