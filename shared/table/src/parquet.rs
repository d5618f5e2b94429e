//! Parquet export, for DuckDB, Polars, pandas and the like: one row for each undecided position.
//!
//! | column | type | content |
//! | --- | --- | --- |
//! | `own`, `opponent` | 64-bit integer | where the pieces of the player to move and of the opponent are: bit `i` is path position `i` of the owner's path |
//! | `own_scored`, `opponent_scored` | 32-bit integer | pieces scored |
//! | `value` | double; float for `f32` and `percent16` | the chance that the player to move wins |
//!
//! The rest of the pieces is in hand. The rows are in the encoder's order, the ruleset is in the
//! file's metadata under `ruleset`, as TOML.
//!
//! The file is the plainest that Parquet has, so that readers of all ages and languages take it: signed integers, which
//! Spark and Athena know, where unsigned ones would do; values plain, not split by bytes, and compressed with Snappy;
//! columns in the order of their type. `tests/parquet.rs` holds it to that, `tests/parquet/run.sh` tries real readers.

use std::{io, path::Path, sync::Arc};

use parquet::{
    basic::Compression,
    data_type::{DoubleType, FloatType, Int32Type, Int64Type},
    errors::ParquetError,
    file::{
        metadata::KeyValue,
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::{parser::parse_message_type, types::ColumnPath},
};
use rayon::prelude::*;
use ziggurat_game::{Path as Track, Position, Side};

use crate::{
    AnyTable, Existing, TableError, Tell, ValueType, from_percent16, output::Output,
    progress::Work, to_percent16, value::HALF,
};

/// Masks of path positions are no negative numbers.
const _: () = assert!(Track::MAX_LEN < i64::BITS as usize - 1);

impl AnyTable {
    /// Writes the table as a Parquet file: see the source of this module for its columns.
    ///
    /// # Errors
    /// If the table cannot be read, the file exists and is to be kept, or cannot be written.
    pub fn export_parquet(
        &self,
        path: &Path,
        existing: Existing,
        value_type: ValueType,
        tell: &Tell<'_>,
    ) -> Result<(), TableError> {
        let failed = |error: ParquetError| TableError::io(path, "write")(io::Error::other(error));
        let mut output = Output::create(path, existing)?;
        let schema = parse_message_type(&schema(value_type)).map_err(failed)?;
        let properties = properties(self.ruleset().to_toml());
        let mut file =
            SerializedFileWriter::new(&mut output, Arc::new(schema), Arc::new(properties))
                .map_err(failed)?;
        let work = Work::new(self.encoding().undecided(), tell);
        for (tier, offsets) in self.batches() {
            let stored = self.read_range(tier, offsets.clone())?;
            let unranking = || self.encoding().unranking(tier);
            let positions: Vec<Position> = (0..stored.len())
                .into_par_iter()
                .map_init(unranking, |positions, i| positions.position(offsets.start + i as u64))
                .collect();
            let mut rows = file.next_row_group().map_err(failed)?;
            write_rows(&mut rows, &positions, &stored, value_type).map_err(failed)?;
            rows.close().map_err(failed)?;
            work.did(stored.len() as u64);
        }
        file.close().map_err(failed)?;
        output.finish()
    }
}

fn schema(value_type: ValueType) -> String {
    let value = match value_type {
        ValueType::F64 => "DOUBLE",
        ValueType::F32 | ValueType::Percent16 => "FLOAT",
    };
    format!(
        "message table {{ \
            REQUIRED INT64 own; \
            REQUIRED INT64 opponent; \
            REQUIRED INT32 own_scored; \
            REQUIRED INT32 opponent_scored; \
            REQUIRED {value} value; }}"
    )
}

/// No two values are the same, so a dictionary of them would be in vain.
fn properties(ruleset: String) -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_column_dictionary_enabled(ColumnPath::from("value"), false)
        .set_key_value_metadata(Some(vec![KeyValue::new("ruleset".to_owned(), ruleset)]))
        .build()
}

fn write_rows(
    rows: &mut SerializedRowGroupWriter<'_, &mut Output>,
    positions: &[Position],
    stored: &[f64],
    value_type: ValueType,
) -> Result<(), ParquetError> {
    for side in [|it: &Position| it.own, |it: &Position| it.opponent] as [fn(&Position) -> Side; 2]
    {
        let boards: Vec<i64> = positions.iter().map(|it| side(it).board as i64).collect();
        let mut column = rows.next_column()?.ok_or_else(missing)?;
        column.typed::<Int64Type>().write_batch(&boards, None, None)?;
        column.close()?;
    }
    for side in [|it: &Position| it.own, |it: &Position| it.opponent] as [fn(&Position) -> Side; 2]
    {
        let scored: Vec<i32> = positions.iter().map(|it| side(it).scored.into()).collect();
        let mut column = rows.next_column()?.ok_or_else(missing)?;
        column.typed::<Int32Type>().write_batch(&scored, None, None)?;
        column.close()?;
    }
    let chances = stored.iter().map(|stored| HALF - stored);
    let mut column = rows.next_column()?.ok_or_else(missing)?;
    match value_type {
        ValueType::F64 => {
            let values: Vec<f64> = chances.collect();
            column.typed::<DoubleType>().write_batch(&values, None, None)?;
        }
        ValueType::F32 => {
            let values: Vec<f32> = chances.map(|chance| chance as f32).collect();
            column.typed::<FloatType>().write_batch(&values, None, None)?;
        }
        ValueType::Percent16 => {
            let rounded = |chance| from_percent16(to_percent16(chance)) as f32;
            let values: Vec<f32> = chances.map(rounded).collect();
            column.typed::<FloatType>().write_batch(&values, None, None)?;
        }
    }
    column.close()
}

fn missing() -> ParquetError {
    ParquetError::General("the schema has fewer columns than are written".to_owned())
}
