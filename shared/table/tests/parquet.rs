//! Parquet export: every undecided position is there once, with its value.

mod common;

use std::{collections::HashMap, fs::File};

use common::{reference, ruleset};
use parquet::{
    basic::{ColumnOrder, Compression, Encoding, PageType, Repetition, SortOrder, Type},
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
                board: row.get_long(board).unwrap().try_into().unwrap(),
                scored: row.get_int(scored).unwrap().try_into().unwrap(),
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

/// Any of these some reader in `docs/TABLES.md` refuses or takes for something else: unsigned integers, values split by
/// bytes, other orders than that of the type, pages of the second version, uncommon compression.
#[test]
fn nothing_is_in_a_file_that_old_readers_do_not_know() {
    let table = AnyTable::open(&reference("masters2-f64")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for value_type in ValueType::ALL {
        let path = directory.path().join(format!("{value_type}.parquet"));
        table.export_parquet(&path, Existing::Keep, value_type, &unheard).unwrap();
        let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let metadata = file.metadata().file_metadata();
        assert_eq!(metadata.version(), 1);
        let columns = metadata.schema_descr().columns();
        let found: Vec<_> = columns.iter().map(|it| (it.name(), it.physical_type())).collect();
        let value = if value_type == ValueType::F64 { Type::DOUBLE } else { Type::FLOAT };
        let expected = [
            ("own", Type::INT64),
            ("opponent", Type::INT64),
            ("own_scored", Type::INT32),
            ("opponent_scored", Type::INT32),
            ("value", value),
        ];
        assert_eq!(found, expected, "{value_type}");
        for column in columns {
            assert_eq!(column.logical_type_ref(), None, "{}", column.name());
            assert_eq!(column.self_type().get_basic_info().repetition(), Repetition::REQUIRED);
        }
        let orders = metadata.column_orders().unwrap();
        let plain = ColumnOrder::TYPE_DEFINED_ORDER(SortOrder::SIGNED);
        assert_eq!(*orders, vec![plain; expected.len()]);
        for (group, rows) in file.metadata().row_groups().iter().enumerate() {
            for (place, column) in rows.columns().iter().enumerate() {
                assert_eq!(column.compression(), Compression::SNAPPY);
                for encoding in column.encodings() {
                    let known = [Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY];
                    assert!(known.contains(&encoding), "{value_type}: {encoding}");
                }
                let group = file.get_row_group(group).unwrap();
                for page in group.get_column_page_reader(place).unwrap() {
                    let kind = page.unwrap().page_type();
                    assert!(matches!(kind, PageType::DATA_PAGE | PageType::DICTIONARY_PAGE));
                }
            }
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
