//! Parquet export, for DuckDB, Polars, pandas and the like: one row for each undecided position.
//!
//! | column | type | content |
//! | --- | --- | --- |
//! | `own`, `opponent` | unsigned 64-bit | where the pieces of the player to move and of the opponent are: bit `i` is path position `i` of the owner's path |
//! | `own_scored`, `opponent_scored` | unsigned 8-bit | pieces scored |
//! | `value` | double; float for `f32` and `percent16` | the chance that the player to move wins |
//!
//! The rest of the pieces is in hand. The rows are in the encoder's order, the ruleset is in the
//! file's metadata under `ruleset`, as TOML.

use std::{io, path::Path, sync::Arc};

use parquet::{
    basic::{Compression, Encoding as ColumnEncoding, ZstdLevel},
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
use ziggurat_game::{Position, Side};

use crate::{
    AnyTable, Existing, TableError, Tell, ValueType, from_percent16, output::Output,
    progress::Work, to_percent16, value::HALF,
};

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
            REQUIRED INT64 own (INTEGER(64, false)); \
            REQUIRED INT64 opponent (INTEGER(64, false)); \
            REQUIRED INT32 own_scored (INTEGER(8, false)); \
            REQUIRED INT32 opponent_scored (INTEGER(8, false)); \
            REQUIRED {value} value; }}"
    )
}

/// Values are split by bytes, like those of a compressed `.zgt` table and for the same reason.
fn properties(ruleset: String) -> WriterProperties {
    let value = ColumnPath::from("value");
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_column_dictionary_enabled(value.clone(), false)
        .set_column_encoding(value, ColumnEncoding::BYTE_STREAM_SPLIT)
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
