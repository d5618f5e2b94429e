//! `.rgu` files against real ones: what other programs wrote, we read; what we write has their
//! keys.

mod common;

use common::{made_up, reference, ruleset};
use ziggurat_encoding::Encoding;
use ziggurat_game::{Position, Ruleset, RulesetParts, Side};
use ziggurat_table::{
    AnyTable, Compression, Existing, Table, TableError, TableWriter, TierStatistics, ValueType,
    rgu::{self, GameSettings, KeyLayout, Keys, RguTable},
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
    let listed = |lines: &str| {
        let text = format!("extends = \"finkel\"\nname = \"listed\"\n{lines}");
        Ruleset::from_toml(&text, "").unwrap()
    };
    let refused = refusal(&listed("safe = [[2, 4], [2, 6]]"));
    assert!(refused.contains("the safe squares of listed: (2,4) (2,6)"), "{refused}");
    assert!(refused.contains("the format has (2,4) or none"), "{refused}");
    let refused = refusal(&listed("rolls_again = [[2, 4]]"));
    assert!(refused.contains("the squares granting rolls of listed: (2,4)"), "{refused}");
    // The other rosettes are where nobody captures.
    for (lines, safe, again) in [
        ("safe = [[2, 4]]", true, true),
        ("safe = [[1, 2], [3, 2]]", false, true),
        ("rolls_again = []", true, false),
    ] {
        let settings = GameSettings::of(&listed(lines)).unwrap();
        assert_eq!((settings.safe_rosettes, settings.rosettes_grant_rolls), (safe, again));
    }
    for ruleset in ["finkel", "masters", "masters-four-dice", "blitz", "aseb"] {
        assert!(Keys::new(&Ruleset::builtin(ruleset).unwrap()).is_ok(), "{ruleset}");
    }
}

/// A reference file whose metadata reads otherwise.
fn with_metadata(name: &str, change: impl Fn(&str) -> String) -> Vec<u8> {
    let bytes = std::fs::read(reference(name)).unwrap();
    let length = u32::from_be_bytes(bytes[4..8].try_into().unwrap()) as usize;
    let metadata = change(std::str::from_utf8(&bytes[8..8 + length]).unwrap());
    let start = [&b"RGU\0"[..], &(metadata.len() as u32).to_be_bytes(), metadata.as_bytes()];
    [&start.concat(), &bytes[8 + length..]].concat()
}

/// Two tables have the same values in all positions that the first has keys of.
fn assert_same_values(ours: &RguTable, theirs: &RguTable) {
    for run in theirs.keys().runs() {
        theirs.keys().for_each(&run, |_, position| {
            assert_eq!(ours.value(position).unwrap(), theirs.value(position).unwrap());
        });
    }
}

#[test]
fn unknown_and_repeated_metadata_are_tolerated_and_the_length_decides() {
    let changed = with_metadata("finkel1-f64", |metadata| {
        let more = metadata.replacen('{', r#"{"value_type":"percent16","new":[1,{"a":null}],"#, 1);
        let more = format!(r#"{},"value_type":"f32"}}"#, more.strip_suffix('}').unwrap());
        assert_eq!(more.matches("value_type").count(), 3);
        more
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("repeated.rgu");
    std::fs::write(&path, changed).unwrap();
    let (ours, theirs) =
        (RguTable::open(&path).unwrap(), RguTable::open(&reference("finkel1-f64")).unwrap());
    assert_eq!(ours.value_type(), ValueType::F64);
    let start = Position::start();
    assert_eq!(ours.value(&start).unwrap(), theirs.value(&start).unwrap());
}

#[test]
fn headers_of_older_files_are_read_as_they_were_meant() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("older.rgu");
    let no_type = r#""value_type":"percent16","#;
    let cases: [(&str, &[(&str, &str)]); 9] = [
        ("finkel2-published", &[(no_type, "")]),
        ("finkel2-published", &[(r#""percent16""#, "null")]),
        ("finkel2-published", &[("percent16", "Percent16")]),
        (
            "finkel2-published",
            &[
                (no_type, ""),
                ("standard", "Standard"),
                ("bell", "Bell"),
                ("four_binary", "FourBinary"),
            ],
        ),
        ("finkel2-published", &[("bell", "BELL"), ("four_binary", "fourbinary")]),
        ("finkel2-f64", &[("four_binary", "FOUR_BINARY"), ("f64", "F64")]),
        ("masters2-f64", &[("masters", "Masters"), ("three_binary_0eq4", "ThreeBinary0Max")]),
        ("masters1-f64", &[("standard", "STANDARD"), ("three_binary_0eq4", "threebinary0max")]),
        ("aseb2-f64", &[(r#":"aseb""#, r#":"Aseb""#), ("four_binary", "Four_Binary")]),
    ];
    for (name, changes) in cases {
        let changed = with_metadata(name, |metadata| {
            changes.iter().fold(metadata.to_owned(), |text, (today, then)| {
                assert!(text.contains(today), "{name}: {today}");
                text.replace(today, then)
            })
        });
        std::fs::write(&path, changed).unwrap();
        let older = RguTable::open(&path).unwrap_or_else(|error| panic!("{changes:?}: {error}"));
        let today = RguTable::open(&reference(name)).unwrap();
        assert_eq!(older.ruleset(), today.ruleset(), "{changes:?}");
        assert_eq!(older.value_type(), today.value_type(), "{changes:?}");
        assert_same_values(&older, &today);
    }
}

#[test]
fn what_an_older_header_cannot_have_meant_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("wrong.rgu");
    let refusal = |name: &str, today: &str, then: &str| {
        let changed = with_metadata(name, |metadata| metadata.replace(today, then));
        std::fs::write(&path, changed).unwrap();
        match RguTable::open(&path) {
            Ok(_) => panic!("{then} was read"),
            Err(TableError::ForeignGame { source, .. }) => source.to_string(),
            Err(error) => error.to_string(),
        }
    };
    // Without a type values are percent16, and there are not so many of them.
    let error = refusal("finkel1-f64", r#""value_type":"f64","#, "");
    assert!(error.contains("not one value of its type"), "{error}");
    let error = refusal("finkel1-f64", "four_binary", "FiveBinary");
    assert!(error.contains("`dice` is `FiveBinary`") && error.contains("four_binary"), "{error}");
    let error = refusal("finkel1-f64", "standard", "Round");
    assert!(error.contains("`board_shape` is `Round`") && error.contains("aseb"), "{error}");
    let error = refusal("finkel1-f64", "bell", "Murray");
    assert!(error.contains("`paths` is `Murray`") && error.contains("bell, masters"), "{error}");
}

/// The file of a game in which each key is another.
fn with_keys(name: &str, mut key: impl FnMut(usize, &Position) -> u64) -> Vec<u8> {
    let table = RguTable::open(&reference(name)).unwrap();
    let mut bytes = std::fs::read(reference(name)).unwrap();
    let values = table.keys().count() as usize * table.value_type().bytes();
    let keys_at = bytes.len() - values - 4 * table.keys().count() as usize;
    let mut ordinal = 0;
    for run in table.keys().runs() {
        table.keys().for_each(&run, |_, position| {
            let key = key(ordinal, position) as u32;
            bytes[keys_at + 4 * ordinal..][..4].copy_from_slice(&key.to_be_bytes());
            ordinal += 1;
        });
    }
    bytes
}

#[test]
fn keys_laid_out_as_in_early_2024_are_read_right() {
    let older = Keys::laid_out(&ruleset("finkel", 2), KeyLayout::Early2024).unwrap();
    // Published with the file of finkel with 2 pieces then: the start, and two positions that are won.
    assert_eq!(older.key(&Position::start()), 603_979_776);
    for (hand, key) in [(2, 67_108_864), (1, 33_554_432)] {
        let (own, opponent) = (Side::new([], 2), Side::new([], 2 - hand));
        assert_eq!(older.key(&Position { own, opponent }), key);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("older.rgu");
    for name in ["finkel2-published", "finkel1-f64"] {
        let today = RguTable::open(&reference(name)).unwrap();
        let older = Keys::laid_out(today.ruleset(), KeyLayout::Early2024).unwrap();
        let mut last = None;
        let bytes = with_keys(name, |_, position| {
            let key = older.key(position);
            assert!(last.replace(key) < Some(key), "the keys ascend");
            key
        });
        assert_ne!(bytes, std::fs::read(reference(name)).unwrap());
        std::fs::write(&path, &bytes).unwrap();
        let read = RguTable::open(&path).unwrap();
        assert_same_values(&read, &today);
        read.verify_keys(&unheard).unwrap();
        // What is made of it has the keys of today.
        let ours = directory.path().join("today.rgu");
        let table = AnyTable::open(&path).unwrap();
        table.export_rgu(&ours, Existing::Replace, today.value_type(), &unheard).unwrap();
        let theirs = std::fs::read(reference(name)).unwrap();
        assert!(maps_and_keys(&std::fs::read(&ours).unwrap()) == maps_and_keys(&theirs));
        // Damage is found in it as in others.
        let mut flipped = bytes.clone();
        let at = bytes.len() - read.held_bytes() as usize - 4;
        flipped[at] ^= 4;
        std::fs::write(&path, flipped).unwrap();
        let error = RguTable::open(&path).unwrap().verify_keys(&unheard).unwrap_err().to_string();
        assert!(error.contains(&format!("entry {} ", read.keys().count() - 1)), "{error}");
    }
}

#[test]
fn keys_in_a_layout_that_is_not_known_are_refused_as_that() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("unknown.rgu");
    let keys = Keys::new(&ruleset("finkel", 2)).unwrap();
    type Layout<'a> = &'a dyn Fn(usize, &Position) -> u64;
    let layouts: [Layout; 3] = [
        &|ordinal, _| ordinal as u64,
        // Hands in the lowest bits, and the players exchanged.
        &|_, position| keys.key(position).rotate_left(6) & 0xffff_ffff,
        &|_, position| position.own.board << 16 | position.opponent.board,
    ];
    for layout in layouts {
        std::fs::write(&path, with_keys("finkel2-published", layout)).unwrap();
        let refused = RguTable::open(&path).map(drop).unwrap_err();
        assert!(matches!(refused, TableError::ForeignKeys { .. }), "{refused}");
        assert!(refused.to_string().contains("an older key layout"), "{refused}");
    }
}

#[test]
fn readers_are_named_only_of_files_that_they_read_right() {
    let names = |game, pieces, value_type| -> Vec<String> {
        let readers = rgu::readers(&ruleset(game, pieces), value_type).unwrap();
        readers.iter().map(ToString::to_string).collect()
    };
    let both = ["RoyalUr-Java", "RoyalUr-Python"];
    assert_eq!(names("finkel", 7, ValueType::Percent16), both);
    for (game, pieces, value_type) in [
        ("finkel", 7, ValueType::F64),
        ("finkel", 7, ValueType::F32),
        ("finkel", 6, ValueType::Percent16),
        ("masters", 7, ValueType::Percent16),
        ("aseb", 5, ValueType::Percent16),
    ] {
        assert_eq!(names(game, pieces, value_type), both[..1], "{game} {pieces} {value_type}");
    }
    assert!(rgu::readers(&ruleset("murray", 2), ValueType::F64).is_err());

    // Unless another type is asked for, both read what they can.
    for own in ValueType::ALL {
        let default = |game, pieces| rgu::value_type_for_readers(&ruleset(game, pieces), own);
        assert_eq!(default("finkel", 7), ValueType::Percent16);
        for (game, pieces) in [("finkel", 6), ("masters", 7), ("blitz", 5), ("murray", 7)] {
            assert_eq!(default(game, pieces), own, "{game} {pieces}");
        }
    }
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
