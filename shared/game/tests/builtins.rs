//! The built-in rulesets are those of the published tables.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use ziggurat_game::{Board, Dice, Path, Ruleset, Square};

/// The reference data: for every track its squares and what the encoder must count.
fn reference() -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string("../../tests/data/rulesets.json")
        .expect("the reference data are in the repository");
    serde_json::from_str(&text).expect("the reference data are JSON")
}

#[test]
fn every_track_of_the_reference_data_is_a_built_in_ruleset() {
    let reference = reference();
    assert_eq!(reference.len(), 17);
    let named: BTreeSet<_> = Path::names().map(str::to_owned).collect();
    assert_eq!(named, reference.keys().cloned().collect());
    for (name, track) in reference {
        let ruleset = Ruleset::builtin(&name).unwrap_or_else(|| panic!("no ruleset {name}"));
        let path: Vec<(u8, u8)> = serde_json::from_value(track["path"].clone()).unwrap();
        let path: Vec<Square> = path.into_iter().map(Square::from).collect();
        assert_eq!(ruleset.path().squares(), path, "{name}");
        assert_eq!(ruleset.path().name(), Some(name.as_str()));
        assert_eq!(u64::from(ruleset.path().len()), track["length"], "{name}");
        assert_eq!(ruleset.shared_squares().len() as u64, track["shared_squares"], "{name}");
        assert_eq!(ruleset.private_squares().len() as u64, track["private_squares"], "{name}");
    }
}

/// Name, path, pieces, dice, safe rosettes, rosettes roll again, captures roll again.
type Row = (&'static str, &'static str, u8, &'static str, bool, bool, bool);

#[test]
fn the_popular_games_have_their_published_rules() {
    let rows: [Row; 7] = [
        ("finkel", "single-short", 7, "binary4", true, true, false),
        ("masters", "single-long", 7, "binary3-zero-is-four", false, true, false),
        ("masters-four-dice", "single-long", 7, "binary4", false, true, false),
        ("blitz", "single-long", 5, "binary4", false, true, true),
        ("aseb", "aseb", 5, "binary4", true, true, false),
        ("skiriuk", "long-central-backtrack", 7, "binary4", true, true, false),
        ("murray", "long-twisted-backtrack", 7, "binary4", true, true, false),
    ];
    assert_eq!(
        rows.map(|row| row.0).to_vec(),
        Ruleset::builtin_names().take(7).collect::<Vec<_>>()
    );
    for (name, path, pieces, dice, safe, rosettes, captures) in rows {
        let ruleset = Ruleset::builtin(name).unwrap();
        assert_eq!(ruleset.name(), name);
        assert_eq!(ruleset.path().name(), Some(path), "{name}");
        assert_eq!(ruleset.board().name(), if name == "aseb" { "aseb" } else { "standard" });
        assert_eq!(ruleset.pieces(), pieces, "{name}");
        assert_eq!(ruleset.dice().name(), dice, "{name}");
        assert_eq!(ruleset.safe_rosettes(), safe, "{name}");
        assert_eq!(ruleset.rosettes_grant_rolls(), rosettes, "{name}");
        assert_eq!(ruleset.captures_grant_rolls(), captures, "{name}");
    }
}

#[test]
fn every_other_track_is_played_by_the_rules_of_finkel() {
    let finkel = Ruleset::builtin("finkel").unwrap();
    assert_eq!(Ruleset::builtin_names().count(), 7 + 16);
    for name in Ruleset::builtin_names().skip(7) {
        let ruleset = Ruleset::builtin(name).unwrap();
        assert_eq!(ruleset.name(), name);
        let mut parts = finkel.parts().clone();
        parts.name = name.to_owned();
        parts.path = ruleset.path().clone();
        assert_eq!(ruleset, Ruleset::new(parts).unwrap(), "{name}");
    }
}

#[test]
fn rosettes_are_where_the_boards_have_them() {
    let squares = |ruleset: &str| {
        let ruleset = Ruleset::builtin(ruleset).unwrap();
        ruleset.parts().rosettes.iter().map(|&s| s.into()).collect::<Vec<(u8, u8)>>()
    };
    assert_eq!(squares("murray"), [(1, 1), (1, 7), (2, 4), (3, 1), (3, 7)]);
    assert_eq!(squares("aseb"), [(1, 1), (2, 4), (2, 8), (2, 12), (3, 1)]);
}

#[test]
fn squares_are_shared_exactly_if_the_mirrored_path_visits_them() {
    for name in Ruleset::builtin_names() {
        let ruleset = Ruleset::builtin(name).unwrap();
        let far: BTreeSet<_> =
            ruleset.path().squares().iter().map(|square| square.mirror()).collect();
        assert!(ruleset.shared_squares().iter().all(|square| far.contains(square)), "{name}");
        assert!(ruleset.private_squares().iter().all(|square| !far.contains(square)), "{name}");
        let near: BTreeSet<_> = ruleset.path().squares().iter().collect();
        let both = ruleset.shared_squares().len() + ruleset.private_squares().len();
        assert_eq!(both, near.len(), "{name}");
    }
}

#[test]
fn the_canonical_text_reads_back_to_the_same_ruleset_and_the_same_text() {
    for name in Ruleset::builtin_names() {
        let ruleset = Ruleset::builtin(name).unwrap();
        let text = ruleset.to_toml();
        let again = Ruleset::from_toml(&text, "stored").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again, ruleset);
        assert_eq!(again.to_toml(), text);
        for named in ["extends", "standard", "single", "binary"] {
            let body = text.split_once('\n').unwrap().1;
            assert!(!body.contains(named), "{name}: {body} relies on the name {named}");
        }
    }
}

#[test]
fn named_dice_have_their_published_chances() {
    let chances = |name: &str| -> Vec<(u8, String)> {
        let dice = Dice::named(name).unwrap_or_else(|| panic!("no dice {name}"));
        dice.rolls().iter().map(|roll| (roll.value, roll.probability.to_string())).collect()
    };
    let rows = |rows: &[(u8, &str)]| -> Vec<(u8, String)> {
        rows.iter().map(|&(value, chance)| (value, chance.to_owned())).collect()
    };
    let binary4 = [(0, "1/16"), (1, "1/4"), (2, "3/8"), (3, "1/4"), (4, "1/16")];
    assert_eq!(chances("binary4"), rows(&binary4));
    assert_eq!(chances("binary3"), rows(&[(0, "1/8"), (1, "3/8"), (2, "3/8"), (3, "1/8")]));
    let zero_is_four = [(1, "3/8"), (2, "3/8"), (3, "1/8"), (4, "1/8")];
    assert_eq!(chances("binary3-zero-is-four"), rows(&zero_is_four));
    assert_eq!(chances("d4"), rows(&[(1, "1/4"), (2, "1/4"), (3, "1/4"), (4, "1/4")]));
    let d6 = [(0, "1/6"), (1, "1/6"), (2, "1/3"), (3, "1/6"), (4, "1/6")];
    assert_eq!(chances("d6-ur"), rows(&d6));
    // binary1 to binary15, and three others.
    assert_eq!(Dice::names().count(), 18);
}

#[test]
fn boards_and_dice_spelled_out_are_the_named_ones() {
    for name in Board::NAMES {
        let named = Board::named(name).unwrap();
        assert_eq!(Board::explicit(named.squares().clone()), named);
    }
    for name in Dice::names() {
        let named = Dice::named(name).unwrap();
        assert_eq!(Dice::explicit(named.rolls().to_vec()).unwrap(), named);
    }
}
