//! `.rgu` files against real ones: what other programs wrote, we read; what we write has their
//! keys.

mod common;

use common::{made_up, reference, ruleset};
use ziggurat_encoding::Encoding;
use ziggurat_game::{Position, Ruleset, RulesetParts};
use ziggurat_table::{
    AnyTable, Compression, Existing, Table, TableError, TableWriter, TierStatistics, ValueType,
    rgu::{self, Keys, RguTable},
    unheard,
};

/// The reference files: name, ruleset and pieces.
const FILES: [(&str, &str, u8); 7] = [
    ("finkel2-published", "finkel", 2),
    ("finkel1-f64", "finkel", 1),
    ("finkel2-f64", "finkel", 2),
    ("masters1-f64", "masters", 1),
    ("masters2-f64", "masters", 2),
    ("blitz2-f64", "blitz", 2),
    ("aseb2-f64", "aseb", 2),
];

/// The number of maps, and the bytes from there up to the values.
fn maps_and_keys(bytes: &[u8]) -> &[u8] {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let maps_at = 8 + number(4);
    let maps = number(maps_at);
    let keys: usize = (0..maps).map(|map| number(maps_at + 4 + 4 * map)).sum();
    &bytes[maps_at..maps_at + 4 + 4 * maps + 4 * keys]
}

#[test]
fn our_keys_are_byte_identical_with_those_of_every_reference_file() {
    let directory = tempfile::tempdir().unwrap();
    for (name, game, pieces) in FILES {
        let ours = directory.path().join(name);
        let keys = Keys::new(&ruleset(game, pieces)).unwrap();
        rgu::write(&ours, Existing::Keep, &keys, ValueType::F32, |_| Ok(0.5)).unwrap();
        let (ours, theirs) =
            (std::fs::read(&ours).unwrap(), std::fs::read(reference(name)).unwrap());
        assert!(maps_and_keys(&ours) == maps_and_keys(&theirs), "{name}");
    }
}

/// XXH3 of the part from the number of maps up to the values of `masters3-f64.rgu`, a reference
/// file of 6 MB with two maps that is not in the tree.
const MASTERS3_KEYS_XXH3: u64 = 9_554_712_500_031_794_569;

#[test]
fn our_keys_of_a_game_with_two_maps_are_those_of_the_reference_file() {
    let directory = tempfile::tempdir().unwrap();
    let ours = directory.path().join("masters3");
    let keys = Keys::new(&ruleset("masters", 3)).unwrap();
    assert_eq!(keys.map_lens(), [499_538, 13_662]);
    rgu::write(&ours, Existing::Keep, &keys, ValueType::Percent16, |_| Ok(0.5)).unwrap();
    let bytes = std::fs::read(&ours).unwrap();
    assert_eq!(xxhash_rust::xxh3::xxh3_64(maps_and_keys(&bytes)), MASTERS3_KEYS_XXH3);
}

#[test]
fn every_reference_file_names_its_ruleset_and_its_keys_are_in_place() {
    for (name, game, pieces) in FILES {
        let table = RguTable::open(&reference(name)).unwrap();
        assert_eq!(*table.ruleset(), ruleset(game, pieces), "{name}");
        let percent16 = name.ends_with("published");
        let expected = if percent16 { ValueType::Percent16 } else { ValueType::F64 };
        assert_eq!(table.value_type(), expected, "{name}");
        table.verify_keys(&unheard).unwrap();
    }
}

#[test]
fn the_keys_of_full_games_have_the_published_numbers() {
    let lens = |game, pieces| Keys::new(&ruleset(game, pieces)).unwrap().map_lens().to_vec();
    assert_eq!(lens("finkel", 7), [137_892_016]);
    assert_eq!(lens("blitz", 5), [36_313_546, 4_787_794, 152_694]);
    assert_eq!(lens("masters", 7).len(), 4);
    let masters = Encoding::new(&ruleset("masters", 7)).unwrap();
    let won = (masters.states() - 1 - masters.undecided()) / 2;
    assert_eq!(lens("masters", 7).iter().sum::<u64>(), masters.undecided() + won);
}

#[test]
fn every_key_has_its_ordinal_and_the_keys_ascend() {
    for (game, pieces) in [("finkel", 3), ("masters", 2), ("aseb", 1)] {
        let keys = Keys::new(&ruleset(game, pieces)).unwrap();
        let (mut ordinal, mut last) = (0, None);
        for run in keys.runs() {
            assert_eq!(run.first, ordinal);
            keys.for_each(&run, |key, position| {
                assert!(last < Some(key), "{key} after {last:?}");
                assert_eq!(keys.ordinal(position), Some(ordinal), "{position:?}");
                assert_eq!(keys.key(position), key, "{position:?}");
                (ordinal, last) = (ordinal + 1, Some(key));
            });
        }
        assert_eq!(ordinal, keys.count());
    }
}

#[test]
fn won_positions_are_those_the_encoder_leaves_out() {
    let finkel = ruleset("finkel", 3);
    let (keys, encoding) = (Keys::new(&finkel).unwrap(), Encoding::new(&finkel).unwrap());
    let mut won = 0;
    keys.for_each_won(|position| {
        assert_eq!(position.own.scored, 3);
        won += 1;
    });
    assert_eq!(won + encoding.undecided(), keys.count());
}

/// The chance of the player to move, by Bellman's equation from the values of the next positions.
fn expected(table: &AnyTable, position: &Position) -> f64 {
    let ruleset = table.ruleset();
    let roll = |value| {
        let after = |mv| {
            let outcome = ruleset.apply(position, mv);
            let next = table.value(&outcome.next());
            if outcome.rolls_again || outcome.won {
                table.value(&outcome.position)
            } else {
                next.map(|v| 1.0 - v)
            }
        };
        let best = ruleset.moves(position, value).map(|mv| after(mv).unwrap()).reduce(f64::max);
        best.unwrap_or_else(|| 1.0 - table.value(&position.swap()).unwrap())
    };
    ruleset.dice().rolls().iter().map(|it| it.chance() * roll(it.value)).sum()
}

#[test]
fn the_values_of_f64_files_satisfy_bellmans_equation() {
    for (name, ..) in FILES.into_iter().filter(|(.., pieces)| *pieces < 3) {
        let table = AnyTable::open(&reference(name)).unwrap();
        let encoding = table.encoding();
        let tolerance = table.quantum() + 1e-13;
        for tier in encoding.tiers() {
            for (offset, stored) in table.read_tier(tier).unwrap().into_iter().enumerate() {
                let index = ziggurat_encoding::Index { tier, offset: offset as u64 };
                let position = encoding.unrank(index);
                let violation = (0.5 - stored - expected(&table, &position)).abs();
                assert!(violation <= tolerance, "{name} {position:?}: {violation:e}");
            }
        }
    }
}

#[test]
fn a_file_survives_the_way_to_zgt_and_back() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["finkel2-published", "masters2-f64"] {
        let original = AnyTable::open(&reference(name)).unwrap();
        for (how, compression) in Compression::ALL {
            let zgt = directory.path().join(format!("{name}-{how}.zgt"));
            let back = directory.path().join(format!("{name}-{how}.rgu"));
            let value_type = original.value_type();
            original.export_zgt(&zgt, Existing::Keep, value_type, compression, &unheard).unwrap();
            let zgt = AnyTable::open(&zgt).unwrap();
            assert_eq!(zgt.ruleset(), original.ruleset());
            zgt.export_rgu(&back, Existing::Keep, value_type, &unheard).unwrap();
            let (back, theirs) =
                (RguTable::open(&back).unwrap(), RguTable::open(&reference(name)).unwrap());
            back.verify_keys(&unheard).unwrap();
            for run in theirs.keys().runs() {
                theirs.keys().for_each(&run, |_, position| {
                    let (ours, theirs) =
                        (back.value(position).unwrap(), theirs.value(position).unwrap());
                    assert!((ours - theirs).abs() <= 1e-15, "{position:?}: {ours} and {theirs}");
                });
            }
        }
    }
}

#[test]
fn an_exported_file_states_the_largest_residual() {
    let encoding = Encoding::new(&ruleset("finkel", 2)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let stated = |name: &str, unknown: bool| {
        let [zgt, rgu] = [name, "some.rgu"].map(|name| directory.path().join(name));
        let (keep, f64, zstd) = (Existing::Keep, ValueType::F64, Compression::Zstd);
        let mut writer = TableWriter::create(&zgt, keep, &encoding, f64, zstd).unwrap();
        for tier in encoding.tiers() {
            let residual = 1e-13 * f64::from(tier.just_moved + tier.to_move % 2);
            let residual = (!unknown || tier.just_moved < 2).then_some(residual);
            let statistics = TierStatistics { residual, ..TierStatistics::default() };
            writer.write_tier(tier, statistics, &made_up(&encoding, tier)).unwrap();
        }
        writer.finish().unwrap();
        AnyTable::open(&zgt).unwrap().export_rgu(&rgu, Existing::Replace, f64, &unheard).unwrap();
        RguTable::open(&rgu).unwrap().residual()
    };
    let largest = stated("known.zgt", false).unwrap();
    assert!((largest - 3e-13).abs() < 1e-20, "{largest:e}");
    assert_eq!(stated("unknown.zgt", true), None);
}

#[test]
fn won_and_lost_positions_have_certain_values() {
    let table = RguTable::open(&reference("finkel2-f64")).unwrap();
    table.keys().for_each_won(|position| {
        assert_eq!(table.value(position).unwrap(), 1.0);
        assert_eq!(table.value(&position.swap()).unwrap(), 0.0);
    });
}

#[test]
fn what_the_format_has_no_word_for_is_refused_by_name() {
    let refusal = |ruleset: &Ruleset| match Keys::new(ruleset) {
        Err(refusal) => refusal.to_string(),
        Ok(_) => panic!("{} has no word in the format", ruleset.name()),
    };
    assert!(refusal(&ruleset("finkel", 8)).contains("the number of pieces of finkel: 8"));
    assert!(refusal(&ruleset("skiriuk", 3)).contains("visits the square"));
    assert!(refusal(&ruleset("murray", 3)).contains("the path of murray"));
    let finkel = ruleset("finkel", 3);
    let d4 = ziggurat_game::Dice::named("d4").unwrap();
    let dice = RulesetParts { dice: d4, ..finkel.parts().clone() };
    assert!(refusal(&Ruleset::new(dice).unwrap()).contains("the dice of finkel: d4"));
    let mut rosettes = finkel.parts().clone();
    rosettes.rosettes.retain(|square| square.x != 2);
    assert!(refusal(&Ruleset::new(rosettes).unwrap()).contains("the rosettes of finkel"));
    for ruleset in ["finkel", "masters", "masters-four-dice", "blitz", "aseb"] {
        assert!(Keys::new(&Ruleset::builtin(ruleset).unwrap()).is_ok(), "{ruleset}");
    }
}

#[test]
fn unknown_and_repeated_metadata_are_tolerated_and_the_length_decides() {
    let bytes = std::fs::read(reference("finkel1-f64")).unwrap();
    let length = u32::from_be_bytes(bytes[4..8].try_into().unwrap()) as usize;
    let metadata = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    let more = metadata.replacen('{', r#"{"value_type":"percent16","new":[1,{"a":null}],"#, 1);
    let more = format!(r#"{},"value_type":"f32"}}"#, more.strip_suffix('}').unwrap());
    assert_eq!(more.matches("value_type").count(), 3);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("repeated.rgu");
    let mut changed = b"RGU\0".to_vec();
    changed.extend((more.len() as u32).to_be_bytes());
    changed.extend(more.as_bytes());
    changed.extend(&bytes[8 + length..]);
    std::fs::write(&path, changed).unwrap();
    let (ours, theirs) =
        (RguTable::open(&path).unwrap(), RguTable::open(&reference("finkel1-f64")).unwrap());
    assert_eq!(ours.value_type(), ValueType::F64);
    let start = Position::start();
    assert_eq!(ours.value(&start).unwrap(), theirs.value(&start).unwrap());
}

#[test]
fn what_is_no_chance_is_damage() {
    let bytes = std::fs::read(reference("finkel1-f64")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wrong.rgu");
    let values_at = bytes.len() - 8 * 232;
    let entry = 100;
    for (percent, is_right) in
        [(f64::NAN, false), (-1.0, false), (101.0, false), (f64::INFINITY, false), (50.0, true)]
    {
        let mut bytes = bytes.clone();
        let at = values_at + 8 * entry;
        bytes[at..at + 8].copy_from_slice(&percent.to_be_bytes());
        std::fs::write(&path, bytes).unwrap();
        let table = RguTable::open(&path).unwrap();
        let mut wrong = Vec::new();
        for run in table.keys().runs() {
            table.keys().for_each(&run, |_, position| {
                if table.value(position).is_err() {
                    wrong.push(table.keys().ordinal(position).unwrap());
                }
            });
        }
        assert_eq!(wrong, if is_right { vec![] } else { vec![entry as u64] }, "{percent}");
        let verified = table.verify_keys(&unheard).map_err(|error| error.to_string());
        assert_eq!(verified.is_ok(), is_right, "{percent}: {verified:?}");
        assert!(is_right || verified.unwrap_err().contains(&format!("entry {entry} ")));
    }
}

#[test]
fn a_damaged_file_is_refused_whatever_is_damaged() {
    let bytes = std::fs::read(reference("finkel1-f64")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.rgu");
    let open = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let opened = AnyTable::open(&path).map(|_| ());
        opened.map_err(|error: TableError| error.to_string())
    };
    assert_eq!(open(&bytes), Ok(()));
    for length in (0..bytes.len()).step_by(7) {
        let error = open(&bytes[..length]).unwrap_err();
        assert!(error.contains("damaged.rgu"), "{length} bytes: {error}");
    }
    let maps_at = 8 + u32::from_be_bytes(bytes[4..8].try_into().unwrap()) as usize;
    let keys_at = maps_at + 8;
    for at in keys_at..keys_at + 4 * 232 {
        let mut flipped = bytes.clone();
        flipped[at] ^= 4;
        std::fs::write(&path, flipped).unwrap();
        let table = RguTable::open(&path).unwrap();
        let entry = format!("entry {}", (at - keys_at) / 4);
        let error = table.verify_keys(&unheard).unwrap_err().to_string();
        assert!(error.contains(&entry), "{error}");
        // Nor is the value given that is under such a key.
        for run in table.keys().runs() {
            table.keys().for_each(&run, |_, position| {
                let is_it = table.keys().ordinal(position) == Some((at - keys_at) as u64 / 4);
                let error = table.value(position).map_err(|error| error.to_string()).err();
                assert_eq!(error.is_some_and(|error| error.contains(&entry)), is_it);
            });
        }
    }
    for at in maps_at..keys_at {
        let mut flipped = bytes.clone();
        flipped[at] ^= 4;
        assert!(open(&flipped).unwrap_err().contains("is damaged"), "byte {at}");
    }
    let mut newer = bytes.clone();
    newer[3] = 1;
    assert!(open(&newer).unwrap_err().contains("format version 1"));
    assert!(Table::open(&path).unwrap_err().to_string().contains("not a table"));
}
