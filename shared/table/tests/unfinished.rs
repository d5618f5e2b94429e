//! Tables that are written by several processes, one after another.

use std::{
    fs::{self, File},
    path::Path,
};

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_table::{
    Compression, Existing, TableError, TableIndex, TableWriter, TierStatistics, UnfinishedTable,
    ValueType,
};

mod common;

use common::{made_up, ruleset};

fn encoding() -> Encoding {
    Encoding::new(&ruleset("finkel", 3)).unwrap()
}

/// What another process finds, by the index that was written down.
fn found(directory: &Path, index: &TableIndex) -> UnfinishedTable {
    let written_down = serde_json::to_string(index).unwrap();
    let index = serde_json::from_str(&written_down).unwrap();
    let (f32, zstd) = (ValueType::F32, Compression::Zstd);
    UnfinishedTable::new(&directory.join("unfinished"), &encoding(), f32, zstd, index).unwrap()
}

fn write(table: &mut UnfinishedTable, tiers: &[Tier]) -> TableIndex {
    for &tier in tiers {
        table.write_tier(tier, TierStatistics::default(), &made_up(&encoding(), tier)).unwrap();
    }
    table.sync().unwrap();
    table.index()
}

/// The bytes of a table that is written at once.
fn expected(directory: &Path) -> Vec<u8> {
    let (out, zstd) = (directory.join("expected"), Compression::Zstd);
    let encoding = encoding();
    let mut writer =
        TableWriter::create(&out, Existing::Replace, &encoding, ValueType::F32, zstd).unwrap();
    for tier in encoding.tiers() {
        writer.write_tier(tier, TierStatistics::default(), &made_up(&encoding, tier)).unwrap();
    }
    writer.finish().unwrap();
    fs::read(out).unwrap()
}

#[test]
fn what_is_not_in_the_index_is_written_again_to_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (expected, tiers) = (expected(path), encoding().tiers());
    let mut index = TableIndex::default();
    for (i, &tier) in tiers.iter().enumerate() {
        // Killed after more was written than was written down.
        write(&mut found(path, &index), &tiers[i..(i + 3).min(tiers.len())]);
        let mut table = found(path, &index);
        assert!(table.give_up_damaged().is_none());
        assert!(tiers[..i].iter().all(|&tier| table.has(tier)) && !table.has(tier));
        index = write(&mut table, &[tier]);
    }
    // Killed when it was complete, but had no name.
    found(path, &index).complete().unwrap();
    let out = path.join("table");
    assert!(found(path, &index).check_complete(&out).is_err());
    found(path, &index).publish(&out, Existing::Keep).unwrap();
    assert!(fs::read(&out).unwrap() == expected && !path.join("unfinished").exists());
    let table = found(path, &index);
    table.check_complete(&out).unwrap();
    table.copy(&out, &path.join("copy"), Existing::Keep).unwrap();
    assert!(fs::read(path.join("copy")).unwrap() == expected);
    for other in [&expected[1..], &expected[..expected.len() - 1], &[&expected[..], b"x"].concat()]
    {
        fs::write(&out, other).unwrap();
        assert!(table.check_complete(&out).is_err());
    }
}

#[test]
fn a_table_without_a_tier_is_not_complete() {
    let directory = tempfile::tempdir().unwrap();
    let tiers = encoding().tiers();
    let mut table = found(directory.path(), &TableIndex::default());
    write(&mut table, &tiers[1..]);
    assert!(matches!(table.complete(), Err(TableError::Unwritten { tier }) if tier == tiers[0]));
}

#[test]
fn tiers_before_the_damage_stay_and_those_after_it_are_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (expected, tiers) = (expected(path), encoding().tiers());
    let first = write(&mut found(path, &TableIndex::default()), &tiers[..1]);
    let file = path.join("unfinished");
    let of_first = fs::metadata(&file).unwrap().len();
    let index = write(&mut found(path, &first), &tiers[1..4]);
    let whole = fs::read(&file).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let of_first = of_first as usize;
    for (bytes, said, kept) in [
        (whole.clone(), "", 4),
        (flipped(whole.len() - 1), "the checksum of tier", 3),
        (whole[..whole.len() - 1].to_vec(), "bytes of at least", 3),
        (flipped(of_first + 1), "the checksum of tier", 1),
        (flipped(of_first - 1), "the checksum of tier", 0),
        (flipped(20), "it begins with something else", 0),
        (Vec::new(), "bytes of at least", 0),
    ] {
        fs::write(&file, bytes).unwrap();
        let mut table = found(path, &index);
        let wrong = table.give_up_damaged().map_or_else(String::new, |wrong| wrong.to_string());
        assert!(wrong.contains(said) && wrong.is_empty() == said.is_empty(), "{wrong}");
        assert_eq!(tiers.iter().filter(|&&tier| table.has(tier)).count(), kept, "{wrong}");
        write(&mut table, &tiers[kept..]);
        table.publish(&path.join("table"), Existing::Replace).unwrap();
        assert!(fs::read(path.join("table")).unwrap() == expected, "{wrong}");
    }
    let mut table = found(path, &index);
    assert!(matches!(table.give_up_damaged(), Some(TableError::Io { action: "open", .. })));
    assert!(!table.has(tiers[0]));
}

#[test]
fn a_table_that_cannot_have_its_name_stays_where_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (expected, tiers) = (expected(path), encoding().tiers());
    let index = write(&mut found(path, &TableIndex::default()), &tiers);
    let out = path.join("table");
    fs::write(&out, "precious").unwrap();
    for existing in [Existing::Keep, Existing::Expect] {
        let published = found(path, &index).publish(&out, existing);
        assert!(matches!(published, Err(TableError::Exists { .. })));
        assert_eq!(fs::read(&out).unwrap(), b"precious");
        assert!(found(path, &index).give_up_damaged().is_none());
    }
    // Nor does it take another's place that has the same bytes.
    fs::write(&out, &expected).unwrap();
    let there = File::open(&out).unwrap();
    found(path, &index).publish(&out, Existing::Keep).unwrap();
    assert!(!path.join("unfinished").exists());
    let same = |file: &File| std::os::unix::fs::MetadataExt::ino(&file.metadata().unwrap());
    assert_eq!(same(&there), same(&File::open(&out).unwrap()));
}
