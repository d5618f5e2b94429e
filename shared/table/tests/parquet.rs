//! Parquet export: every undecided position is there once, with its value.

mod common;

use std::{collections::HashMap, fs::File};

use common::{reference, ruleset};
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::RowAccessor,
};
use ziggurat_game::{Position, Side};
use ziggurat_table::{AnyTable, Existing, TableError, ValueType, unheard};

#[test]
fn every_undecided_position_has_a_row_with_its_value() {
    let table = AnyTable::open(&reference("masters2-f64")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for value_type in ValueType::ALL {
        let path = directory.path().join(format!("{value_type}.parquet"));
        table.export_parquet(&path, Existing::Keep, value_type, &unheard).unwrap();
        let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let mut values = HashMap::new();
        for row in file.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let side = |board: usize, scored: usize| Side {
                board: row.get_ulong(board).unwrap(),
                scored: row.get_ubyte(scored).unwrap(),
            };
            let position = Position { own: side(0, 2), opponent: side(1, 3) };
            let value = match value_type {
                ValueType::F64 => row.get_double(4).unwrap(),
                _ => row.get_float(4).unwrap().into(),
            };
            assert_eq!(values.insert(position, value), None, "{position:?}");
        }
        assert_eq!(values.len() as u64, table.encoding().undecided());
        for (position, value) in values {
            let distance = (value - table.value(&position).unwrap()).abs();
            assert!(distance <= value_type.quantum() * 0.51, "{position:?}: {distance:e}");
        }
    }
}

#[test]
fn the_ruleset_is_in_the_metadata() {
    let table = AnyTable::open(&reference("finkel1-f64")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("finkel1.parquet");
    table.export_parquet(&path, Existing::Keep, ValueType::F64, &unheard).unwrap();
    let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let metadata = file.metadata().file_metadata().key_value_metadata().unwrap();
    let said = metadata.iter().find(|entry| entry.key == "ruleset").unwrap();
    assert_eq!(said.value, Some(ruleset("finkel", 1).to_toml()));
}

#[test]
fn an_existing_file_is_kept() {
    let table = AnyTable::open(&reference("finkel1-f64")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("precious.parquet");
    std::fs::write(&path, "precious").unwrap();
    let refused = table.export_parquet(&path, Existing::Keep, ValueType::F64, &unheard);
    assert!(matches!(refused, Err(TableError::Exists { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    table.export_parquet(&path, Existing::Replace, ValueType::F64, &unheard).unwrap();
    assert!(SerializedFileReader::new(File::open(&path).unwrap()).is_ok());
}
