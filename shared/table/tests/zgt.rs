//! `.zgt` files: what is written is read, the same bytes every time, and no damage goes unnoticed.

mod common;

use std::path::PathBuf;

use common::{made_up, reference, ruleset, write_made_up};
use xxhash_rust::xxh3::xxh3_64;
use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::{Position, Side};
use ziggurat_table::{
    AnyTable, Compression, Existing, FORMAT_VERSION, FRAME_BYTES, Table, TableError, TableWriter,
    TierStatistics, ValueType, remove_leftovers, rgu::RguTable, unheard,
};

#[test]
fn every_value_reads_back_to_half_a_quantum() {
    let encoding = Encoding::new(&ruleset("masters", 3)).unwrap(); // several frames per tier
    let directory = tempfile::tempdir().unwrap();
    for value_type in ValueType::ALL {
        for (name, compression) in Compression::ALL {
            let path = directory.path().join(format!("{value_type}-{name}.zgt"));
            write_made_up(&path, &encoding, value_type, compression).unwrap();
            let table = Table::open(&path).unwrap();
            table.verify_checksums(&unheard).unwrap();
            assert_eq!(table.ruleset(), encoding.ruleset());
            assert_eq!((table.value_type(), table.compression()), (value_type, compression));
            assert_eq!(table.positions(), 512_349);
            let half = value_type.quantum() / 2.0;
            for tier in encoding.tiers() {
                let (read, meant) = (table.read_tier(tier).unwrap(), made_up(&encoding, tier));
                assert_eq!(read.len(), meant.len());
                assert!(read.iter().zip(&meant).all(|(read, meant)| (read - meant).abs() <= half));
                if value_type == ValueType::F64 {
                    assert_eq!(read, meant);
                }
                let length = read.len() as u64;
                for range in
                    [0..1, length / 3..length / 3, length / 5..length - 1, length - 1..length]
                {
                    let some = table.read_range(tier, range.clone()).unwrap();
                    assert_eq!(some, read[range.start as usize..range.end as usize], "{range:?}");
                }
                for offset in (0..length).step_by(10_007) {
                    let stored = table.stored(Index { tier, offset }).unwrap();
                    assert_eq!(stored, read[offset as usize]);
                }
            }
        }
    }
}

#[test]
fn the_value_of_a_position_is_the_chance_of_the_player_to_move() {
    let original = RguTable::open(&reference("finkel2-f64")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("finkel2.zgt");
    let zgt = |table: &AnyTable| {
        table.export_zgt(&path, Existing::Keep, ValueType::F64, Compression::Zstd, &unheard)
    };
    zgt(&AnyTable::open(&reference("finkel2-f64")).unwrap()).unwrap();
    let table = Table::open(&path).unwrap();
    for run in original.keys().runs() {
        original.keys().for_each(&run, |_, position| {
            let (ours, theirs) =
                (table.value(position).unwrap(), original.value(position).unwrap());
            assert!((ours - theirs).abs() < 1e-15, "{position:?}: {ours} and {theirs}");
        });
    }
    let won = Position { own: Side::new([], 2), opponent: Side::new([8], 0) };
    assert_eq!((table.value(&won).unwrap(), table.value(&won.swap()).unwrap()), (1.0, 0.0));
    let both_on_8 = Position { own: Side::new([8], 0), opponent: Side::new([8], 0) };
    let error = table.value(&both_on_8).unwrap_err().to_string();
    assert!(error.starts_with("not a position of finkel: "), "{error}");
}

#[test]
fn tables_of_version_1_whose_values_are_chances_are_read() {
    let exact = AnyTable::open(&reference("finkel1-f64")).unwrap();
    for value_type in [ValueType::F32, ValueType::F64] {
        let path = PathBuf::from(format!("../../tests/data/finkel1-{value_type}-version1.zgt"));
        assert_eq!(std::fs::read(&path).unwrap()[8], 1);
        let table = AnyTable::open(&path).unwrap();
        let diff = ziggurat_table::diff(&table, &exact, &unheard).unwrap();
        assert_eq!(diff.total.compared, 217);
        // The other file is right to its residual.
        assert!(diff.total.largest <= value_type.quantum() + 1e-13, "{diff:?}");
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new.zgt");
        let (keep, zstd) = (Existing::Keep, Compression::Zstd);
        table.export_zgt(&path, keep, value_type, zstd, &unheard).unwrap();
        // Small chances were finer than what they are less one half.
        let again = ziggurat_table::diff(&AnyTable::open(&path).unwrap(), &table, &unheard);
        assert!(again.unwrap().total.largest <= value_type.quantum() / 8.0);
    }
}

#[test]
fn percent16_values_are_read_alike_in_all_versions() {
    let bytes = &small_tables()[0];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.zgt");
    let tier = Tier::new(1, 1);
    let mut read = Vec::new();
    for version in 1..=FORMAT_VERSION as u8 {
        let mut bytes = bytes.clone();
        bytes[8] = version;
        std::fs::write(&path, with_header(&bytes, "ruleset", "ruleset")).unwrap();
        read.push(Table::open(&path).unwrap().read_tier(tier).unwrap());
    }
    assert!(read.iter().all(|values| *values == read[0]) && read.len() == 3);
}

#[test]
fn statistics_survive_to_the_last_bit() {
    let encoding = Encoding::new(&ruleset("aseb", 2)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("aseb2.zgt");
    write_made_up(&path, &encoding, ValueType::F64, Compression::Zstd).unwrap();
    let table = Table::open(&path).unwrap();
    assert_eq!(table.certificate(), Some(2e-12));
    let tiers: Vec<(Tier, TierStatistics)> = table.tiers().collect();
    assert_eq!(tiers.iter().map(|(tier, _)| *tier).collect::<Vec<_>>(), encoding.tiers());
    for (tier, statistics) in tiers {
        assert_eq!(statistics.supersteps, 10 * u32::from(tier.just_moved));
        assert_eq!(statistics.residual, Some(1e-13 / 3.0));
        assert_eq!(statistics.certificate, Some(1e-12 * f64::from(tier.to_move)));
    }
}

#[test]
fn nothing_is_proven_of_a_table_of_which_a_tier_is_not() {
    let encoding = Encoding::new(&ruleset("finkel", 2)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("finkel2.zgt");
    let (keep, zstd) = (Existing::Keep, Compression::Zstd);
    let mut writer = TableWriter::create(&path, keep, &encoding, ValueType::F64, zstd).unwrap();
    for tier in encoding.tiers() {
        let certificate = (tier != Tier::new(2, 1)).then_some(1e-12);
        let statistics = TierStatistics { certificate, ..TierStatistics::default() };
        writer.write_tier(tier, statistics, &made_up(&encoding, tier)).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(Table::open(&path).unwrap().certificate(), None);
}

#[test]
fn what_is_proven_of_a_table_of_a_narrower_type_is_proven_of_its_values() {
    let encoding = Encoding::new(&ruleset("aseb", 2)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for value_type in [ValueType::Percent16, ValueType::F32] {
        let path = directory.path().join(format!("{value_type}.zgt"));
        write_made_up(&path, &encoding, value_type, Compression::Zstd).unwrap();
        let table = Table::open(&path).unwrap();
        for (tier, statistics) in table.tiers() {
            let stored = table.read_tier(tier).unwrap();
            let off = stored.iter().zip(made_up(&encoding, tier)).map(|(it, was)| (it - was).abs());
            let proven = 1e-12 * f64::from(tier.to_move) + off.fold(0.0, f64::max);
            assert_eq!(statistics.certificate, Some(proven.next_up()), "{value_type} {tier}");
            assert!(proven > value_type.quantum() / 10.0 && proven < value_type.quantum());
        }
        // What is written once more is rounded no more.
        let again = directory.path().join("again.zgt");
        let read = AnyTable::open(&path).unwrap();
        let (keep, zstd) = (Existing::Keep, Compression::Zstd);
        read.export_zgt(&again, keep, value_type, zstd, &unheard).unwrap();
        assert_eq!(std::fs::read(&again).unwrap(), std::fs::read(&path).unwrap());
        std::fs::remove_file(&again).unwrap();
    }
}

#[test]
fn what_is_in_any_frame_of_a_tier_counts() {
    let encoding = Encoding::new(&ruleset("masters", 3)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("masters3.zgt");
    let (keep, zstd) = (Existing::Keep, Compression::Zstd);
    let mut writer = TableWriter::create(&path, keep, &encoding, ValueType::F32, zstd).unwrap();
    let tier = Tier::new(3, 3);
    let mut values = vec![0.25; encoding.tier_len(tier) as usize];
    let statistics = TierStatistics { certificate: Some(1e-12), ..TierStatistics::default() };
    let last = values.len() - 1;
    assert!(last > FRAME_BYTES / 4, "it takes several frames");
    values[last] = 0.75;
    let error = writer.write_tier(tier, statistics, &values).unwrap_err().to_string();
    assert!(error.contains(&format!("offset {last}")), "{error}");
    // Only the first frame has a value that is rounded.
    (values[0], values[last]) = (0.1, 0.25);
    writer.write_tier(tier, statistics, &values).unwrap();
    for tier in encoding.tiers().into_iter().filter(|other| *other != tier) {
        let values = vec![0.25; encoding.tier_len(tier) as usize];
        writer.write_tier(tier, statistics, &values).unwrap();
    }
    writer.finish().unwrap();
    let rounding = f64::from(0.1_f32) - 0.1;
    for (of, TierStatistics { certificate, .. }) in Table::open(&path).unwrap().tiers() {
        let proven = if of == tier { (1e-12 + rounding).next_up() } else { 1e-12 };
        assert_eq!(certificate, Some(proven), "{of}");
    }
}

#[test]
fn the_same_values_give_the_same_bytes_with_any_number_of_threads() {
    let encoding = Encoding::new(&ruleset("masters", 3)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for threads in [1, 2, 3, 7] {
        let path = directory.path().join(format!("{threads}.zgt"));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| write_made_up(&path, &encoding, ValueType::F64, Compression::Zstd))
            .unwrap();
        files.push(std::fs::read(&path).unwrap());
    }
    assert!(files.iter().all(|file| *file == files[0]));
}

#[test]
fn raw_tiers_are_aligned_arrays() {
    let encoding = Encoding::new(&ruleset("masters", 3)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("raw.zgt");
    write_made_up(&path, &encoding, ValueType::F64, Compression::Raw).unwrap();
    let (table, bytes) = (Table::open(&path).unwrap(), std::fs::read(&path).unwrap());
    for tier in encoding.tiers() {
        let range = table.raw_bytes(tier).unwrap();
        assert_eq!(range.start % 64, 0);
        let mapped = bytes[range.start as usize..range.end as usize].chunks_exact(8);
        let mapped = mapped.map(|word| f64::from_le_bytes(word.try_into().unwrap()));
        assert!(mapped.eq(made_up(&encoding, tier)));
    }
}

/// A small table of each compression, as bytes.
fn small_tables() -> Vec<Vec<u8>> {
    let encoding = Encoding::new(&ruleset("finkel", 1)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let table = |(name, compression): (&str, Compression)| {
        let path = directory.path().join(name);
        write_made_up(&path, &encoding, ValueType::Percent16, compression).unwrap();
        std::fs::read(path).unwrap()
    };
    Compression::ALL.into_iter().map(table).collect()
}

/// What opening and reading all of a file of these bytes says.
fn read_all(bytes: &[u8]) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some.zgt");
    std::fs::write(&path, bytes).unwrap();
    let read = AnyTable::open(&path).and_then(|table| table.verify_file(&unheard));
    read.map_err(|error: TableError| error.to_string())
}

#[test]
fn no_flipped_bit_goes_unnoticed() {
    for bytes in small_tables() {
        assert_eq!(read_all(&bytes), Ok(()));
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            let error = read_all(&flipped).expect_err(&format!("byte {at} of {}", bytes.len()));
            assert!(error.contains("some.zgt"), "{error}");
        }
    }
}

#[test]
fn no_missing_or_extra_byte_goes_unnoticed() {
    for bytes in small_tables() {
        for length in 0..bytes.len() {
            let error = read_all(&bytes[..length]).expect_err(&format!("{length} bytes"));
            let said = if length == 0 { "not a table" } else { "is incomplete" };
            assert!(error.contains(said), "{length} bytes: {error}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(read_all(&longer).unwrap_err().contains("is incomplete"));
    }
}

#[test]
fn a_frame_is_verified_when_it_is_read() {
    let encoding = Encoding::new(&ruleset("finkel", 1)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flipped.zgt");
    write_made_up(&path, &encoding, ValueType::F64, Compression::Raw).unwrap();
    let tier = Tier::new(1, 1);
    let range = Table::open(&path).unwrap().raw_bytes(tier).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[range.start as usize + 100] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let table = Table::open(&path).unwrap();
    let error = table.value(&Position::start()).unwrap_err().to_string();
    assert!(error.contains("frame 0 of tier 1-1") && error.contains("checksum"), "{error}");
    assert!(table.read_tier(tier).is_err());
}

#[test]
fn what_is_no_chance_is_damage_whatever_the_checksums_say() {
    let encoding = Encoding::new(&ruleset("finkel", 1)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wrong.zgt");
    write_made_up(&path, &encoding, ValueType::F64, Compression::Raw).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let tier = Tier::new(1, 1);
    let start = Table::open(&path).unwrap().raw_bytes(tier).unwrap().start as usize;
    let frame = start..start + (8 * encoding.tier_len(tier) as usize).next_multiple_of(64);
    let hexadecimal = |bytes: &[u8]| format!("{:016x}", xxh3_64(bytes)).into_bytes();
    for (wrong, is_right) in
        [(f64::NAN, false), (0.75, false), (f64::INFINITY, false), (0.25, true)]
    {
        let mut bytes = whole.clone();
        bytes[start..start + 8].copy_from_slice(&wrong.to_le_bytes());
        let (old, new) = (hexadecimal(&whole[frame.clone()]), hexadecimal(&bytes[frame.clone()]));
        let at = bytes.windows(16).position(|window| window == old).unwrap();
        bytes[at..at + 16].copy_from_slice(&new);
        let trailer = bytes.len() - 40;
        let index = u64::from_le_bytes(bytes[trailer..trailer + 8].try_into().unwrap()) as usize;
        let checksum = xxh3_64(&bytes[index..trailer]);
        bytes[trailer + 24..trailer + 32].copy_from_slice(&checksum.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        let table = Table::open(&path).unwrap();
        let read =
            [table.read_tier(tier).map(drop), table.stored(Index { tier, offset: 0 }).map(drop)];
        for read in read {
            let error = read.map_err(|error| error.to_string()).err().unwrap_or_default();
            assert_eq!(error.is_empty(), is_right, "{wrong}: {error}");
            assert!(is_right || error.contains("frame 0 of tier 1-1"), "{error}");
            assert!(is_right || error.contains("is not a chance"), "{error}");
        }
    }
}

#[test]
fn what_version_2_claims_of_rounded_values_is_widened_by_how_far_they_may_be_off() {
    let encoding = Encoding::new(&ruleset("finkel", 2)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for (value_type, rounding) in [
        (ValueType::Percent16, 0.5 / 65535.0 + f64::EPSILON),
        (ValueType::F32, 0.5f64.powi(25)),
        (ValueType::F64, 0.0),
    ] {
        let path = directory.path().join(format!("{value_type}.zgt"));
        write_made_up(&path, &encoding, value_type, Compression::Zstd).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes[8], 3);
        bytes[8] = 2;
        std::fs::write(&path, with_header(&bytes, "ruleset", "ruleset")).unwrap();
        let claims = |table: &Table| -> Vec<f64> {
            table.tiers().map(|(_, statistics)| statistics.certificate.unwrap()).collect()
        };
        let whole = std::fs::read(&path).unwrap();
        let widened = claims(&Table::open(&path).unwrap());
        bytes[8] = 3;
        std::fs::write(&path, with_header(&bytes, "ruleset", "ruleset")).unwrap();
        for (wide, written) in widened.iter().zip(claims(&Table::open(&path).unwrap())) {
            assert!((wide - written - rounding).abs() < 1e-20, "{value_type}: {wide}, {written}");
            assert!(*wide >= written + rounding, "{value_type}: {wide}, {written}");
        }
        // Written once more, it still claims no more.
        std::fs::write(&path, whole).unwrap();
        let again = directory.path().join("again.zgt");
        let (replace, zstd) = (Existing::Replace, Compression::Zstd);
        let read = AnyTable::open(&path).unwrap();
        read.export_zgt(&again, replace, value_type, zstd, &unheard).unwrap();
        assert_eq!(claims(&Table::open(&again).unwrap()), widened, "{value_type}");
    }
}

/// A table whose header was changed, with the checksum that belongs to it.
fn with_header(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
    let mut bytes = bytes.to_vec();
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let checksum = xxh3_64(&bytes[..(16 + length).next_multiple_of(64)]);
    let at = bytes.len() - 40 + 16;
    bytes[at..at + 8].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// A table of other parts, with the checksums that belong to them: its first bytes, its values, and the index.
fn of_parts(preamble: &[u8], values: &[u8], index: &[u8]) -> Vec<u8> {
    let mut bytes = [preamble, values, index].concat();
    let numbers = [
        (preamble.len() + values.len()) as u64,
        index.len() as u64,
        xxh3_64(preamble),
        xxh3_64(index),
    ];
    numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    bytes.extend(b"\x89ZGTend\n");
    bytes
}

#[test]
fn parts_that_do_not_fit_together_are_damage_whatever_the_checksums_say() {
    let bytes = &small_tables()[0];
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let trailer = bytes.len() - 40;
    let header = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let (preamble, rest) = bytes[..trailer].split_at((16 + header).next_multiple_of(64));
    let (values, index) = rest.split_at(number(trailer) - preamble.len());
    assert_eq!(of_parts(preamble, values, index), *bytes);

    let index = std::str::from_utf8(index).unwrap();
    let with_index = |from: &str, to: &str| {
        assert!(index.contains(from), "{index}");
        of_parts(preamble, values, index.replace(from, to).as_bytes())
    };
    let (start, length) = (preamble.len(), values.len());
    let frame = format!("[[{start},{length},");
    let more = [values, &[7; 64]].concat();
    let entry = index.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap();
    let again = entry.replace(&frame, &format!("[[{},{length},", start + length));
    let twice = format!("[{entry},{again}]");
    let no_version = |mut bytes: Vec<u8>| {
        bytes[8] = 0;
        with_header(&bytes, "ruleset", "ruleset")
    };
    let mut unread = of_parts(preamble, values, index.as_bytes());
    unread.splice(trailer..trailer, [7; 64]);
    for (what, damaged) in [
        ("the values end at byte", of_parts(preamble, &more, index.as_bytes())),
        ("a frame starts at byte", with_index(&frame, &format!("[[{},{length},", start + 64))),
        ("tier 1-1 has 216 positions in 1 frames", with_index(":217,", ":216,")),
        (
            "tier 1-1 has 217 positions in 2 frames",
            with_index("]]", &format!("],[{},0,\"0000000000000000\"]]", start + length)),
        ),
        ("tier 1-1 is missing", of_parts(preamble, &[], b"[]")),
        (
            "other tiers or positions",
            of_parts(preamble, &[values, values].concat(), twice.as_bytes()),
        ),
        ("other tiers or positions", with_header(bytes, ":217}", ":218}")),
        ("the index is not where the trailer says", unread),
        ("its format version is 0", no_version(bytes.clone())),
    ] {
        let error = read_all(&damaged).unwrap_err();
        assert!(error.contains(what) && error.contains("is damaged"), "{what}: {error}");
    }
}

#[test]
fn files_of_other_versions_say_so() {
    let bytes = &small_tables()[0];
    let mut newer = bytes.clone();
    newer[8] = 4;
    let error = read_all(&newer).unwrap_err();
    assert!(error.contains("has format version 4") && error.contains("newer ziggurat"), "{error}");
    let version = format!("\"encoder_version\":{}", Encoding::VERSION);
    let foreign = with_header(bytes, &version, "\"encoder_version\":9");
    let error = read_all(&foreign).unwrap_err();
    assert!(error.contains("encoder version 9"), "{error}");
    let error = read_all(&with_header(bytes, "pieces = 1", "pieces = 2")).unwrap_err();
    assert!(error.contains("is damaged: tier 1-2 is missing"), "{error}");
    let error = read_all(&with_header(bytes, "pieces = 1", "pieces = 0")).unwrap_err();
    assert!(error.contains("the ruleset in"), "{error}");
}

#[test]
fn what_is_no_table_is_refused() {
    for bytes in [
        &b""[..],
        b"RGB",
        b"hello",
        b"ten bytes.",
        &[0; 1000],
        b"\x89PNG\r\n\x1a\n and so on, at length",
    ] {
        assert!(read_all(bytes).unwrap_err().contains("is not a table"));
    }
    for bytes in [&b"R"[..], b"RGU", b"\x89ZG", b"\x89ZGT\r\n\x1a\n\x01\0"] {
        assert!(read_all(bytes).unwrap_err().contains("is incomplete"));
    }
}

#[test]
fn an_unfinished_table_leaves_nothing_behind() {
    let encoding = Encoding::new(&ruleset("finkel", 2)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("finkel2.zgt");
    let create = |existing| {
        TableWriter::create(&path, existing, &encoding, ValueType::F64, Compression::Zstd)
    };
    let files = || std::fs::read_dir(directory.path()).unwrap().count();
    let tier = Tier::new(2, 2);
    let values = made_up(&encoding, tier);

    let mut writer = create(Existing::Keep).unwrap();
    writer.write_tier(tier, TierStatistics::default(), &values).unwrap();
    assert_eq!(files(), 1);
    assert!(!path.exists());
    assert!(writer.finish().unwrap_err().to_string().contains("tier 1-1 is not written"));
    assert_eq!(files(), 0);

    std::fs::write(&path, "precious").unwrap();
    let error = create(Existing::Keep).unwrap_err().to_string();
    assert!(error.contains("already exists"), "{error}");
    drop(create(Existing::Replace).unwrap());
    assert_eq!((files(), std::fs::read(&path).unwrap()), (1, b"precious".to_vec()));
}

#[test]
fn a_file_that_appears_meanwhile_is_kept() {
    let encoding = Encoding::new(&ruleset("finkel", 1)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("finkel1.zgt");
    let fill = |existing, meanwhile: &[u8]| {
        let mut writer =
            TableWriter::create(&path, existing, &encoding, ValueType::F64, Compression::Zstd)?;
        std::fs::write(&path, meanwhile).unwrap();
        let tier = Tier::new(1, 1);
        writer.write_tier(tier, TierStatistics::default(), &made_up(&encoding, tier))?;
        writer.finish()
    };
    for number in [2, 3] {
        std::fs::remove_file(&path).unwrap_or_default();
        let Err(TableError::Taken { kept, .. }) = fill(Existing::Keep, b"precious") else {
            panic!("the name is taken");
        };
        assert_eq!(kept, directory.path().join(format!("finkel1-{number}.zgt")));
        Table::open(&kept).unwrap().verify_checksums(&unheard).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }
    fill(Existing::Replace, b"precious").unwrap();
    let complete = std::fs::read(&path).unwrap();
    Table::open(&path).unwrap().verify_checksums(&unheard).unwrap();
    // Whoever made it was to make the same.
    std::fs::remove_file(&path).unwrap();
    fill(Existing::Keep, &complete).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 3);
}

#[test]
fn a_file_that_is_expected_is_compared_to_its_end() {
    let encoding = Encoding::new(&ruleset("masters", 3)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("masters3.zgt");
    let write = |existing| {
        let raw = Compression::Raw;
        let mut writer = TableWriter::create(&path, existing, &encoding, ValueType::F64, raw)?;
        for tier in encoding.tiers() {
            writer.write_tier(tier, TierStatistics::default(), &made_up(&encoding, tier))?;
        }
        writer.finish()
    };
    write(Existing::Expect).unwrap();
    write(Existing::Expect).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for other in [flipped, [&whole[..], &[0]].concat(), whole[..whole.len() - 1].to_vec()] {
        std::fs::write(&path, &other).unwrap();
        assert!(matches!(write(Existing::Expect), Err(TableError::Exists { .. })));
        assert!(std::fs::read(&path).unwrap() == other);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}

#[test]
fn what_killed_processes_have_left_goes_and_nothing_else() {
    let encoding = Encoding::new(&ruleset("finkel", 1)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("finkel1.zgt");
    let names =
        |names: &[&str]| names.iter().map(|it| directory.path().join(it)).collect::<Vec<_>>();
    let (keep, zstd) = (Existing::Keep, Compression::Zstd);
    let writer = TableWriter::create(&path, keep, &encoding, ValueType::F64, zstd).unwrap();
    let left = names(&[".finkel1.zgt.partial-a1B2c3"]);
    let others = names(&[
        "finkel1.zgt",
        "finkel1.zgt.partial-a1B2c3",
        ".finkel2.zgt.partial-a1B2c3",
        ".finkel1.zgt.partial-a1B2c",
        ".finkel1.zgt.partial-a1B2c34",
        ".finkel1.zgt.partial-a1B2c-",
    ]);
    left.iter().chain(&others).for_each(|file| std::fs::write(file, "left").unwrap());
    assert_eq!(remove_leftovers(&path), left);
    assert!(!left[0].exists() && others.iter().all(|file| file.exists()));
    // What is being written is still there.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), others.len() + 1);
    drop(writer);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), others.len());
}

#[test]
fn tiers_that_do_not_fit_are_refused() {
    let encoding = Encoding::new(&ruleset("finkel", 1)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("finkel1.zgt");
    let (keep, zstd) = (Existing::Keep, Compression::Zstd);
    let mut writer = TableWriter::create(&path, keep, &encoding, ValueType::F32, zstd).unwrap();
    let mut write = |tier, values: &[f64]| {
        let written = writer.write_tier(tier, TierStatistics::default(), values);
        written.map_err(|error| error.to_string())
    };
    let tier = Tier::new(1, 1);
    let mut values = made_up(&encoding, tier);
    assert!(write(Tier::new(1, 2), &values).unwrap_err().contains("no tier 1-2"));
    assert!(write(tier, &values[1..]).unwrap_err().contains("217 positions, not 216"));
    for wrong in [f64::NAN, 0.6, -0.6, f64::INFINITY] {
        let right = std::mem::replace(&mut values[5], wrong);
        assert!(write(tier, &values).unwrap_err().contains("not a chance"));
        values[5] = right;
    }
    write(tier, &values).unwrap();
    assert!(write(tier, &values).unwrap_err().contains("written already"));
}
