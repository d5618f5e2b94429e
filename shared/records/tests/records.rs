//! Records of the existing library: read, replayed, and written back.

mod common;

use common::{records, ruleset_of};
use proptest::prelude::*;
use serde_json::Value;
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_records::{Action, End, Game, Player, Replay, Rules, Start, json, read, rgn};

#[test]
fn every_record_is_written_back_as_it_was_and_both_notations_are_the_same_game() {
    for (name, rgn_text, json_text) in records() {
        let from_json = read(json_text.as_bytes(), Rules::Infer).unwrap();
        assert_eq!(from_json.ruleset, ruleset_of(&name), "{name}");
        let from_rgn = read(rgn_text.as_bytes(), Rules::Known(&from_json.ruleset)).unwrap();
        assert_eq!(rgn::write(&from_rgn).unwrap(), rgn_text, "{name}");
        assert_eq!(rgn::write(&from_json).unwrap(), rgn_text, "{name}");
        let written: Value = serde_json::from_str(&json::write(&from_json).unwrap()).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(&json_text).unwrap(), "{name}");
        let untimed = |action: &Action| Action { time: None, ..action.clone() };
        let actions: Vec<Action> = from_json.actions.iter().map(untimed).collect();
        assert_eq!(from_rgn.actions, actions, "{name}");
        assert_eq!((&from_rgn.end, &from_rgn.metadata), (&from_json.end, &from_json.metadata));
        assert!(matches!(from_rgn.end, End::Won(_)), "{name}");
    }
}

#[test]
fn the_rules_of_a_record_are_inferred_where_one_fits() {
    for (name, text, _) in records() {
        match read(text.as_bytes(), Rules::Infer) {
            Ok(game) => assert_eq!(game.ruleset, ruleset_of(&name), "{name}"),
            Err(error) => {
                assert!(error.problem.contains("[Rules "), "{name}: {error}");
                assert!(name.starts_with("masters"), "{name}: {error}");
            }
        }
    }
}

/// A game of light's first legal moves and dark's last, with rolls in a fixed order.
fn played(ruleset: &Ruleset, start: Start, most: usize, seed: usize) -> Game {
    let mut game = Game { start, ..Game::new(ruleset.clone()) };
    let rolls: Vec<u8> = ruleset.dice().rolls().iter().map(|roll| roll.value).collect();
    let mut replay = Replay::new(ruleset, start);
    for number in 0..most {
        let roll = rolls[(number * number + seed * number + seed) % rolls.len()];
        let moves = replay.moves(roll);
        let mv = if number % 3 == 0 { moves.first() } else { moves.last() }.copied();
        let turn = replay.play(roll, mv).unwrap();
        game.actions.push(Action { by: turn.by, roll, mv, time: None });
        if let Some(winner) = replay.winner() {
            game.end = End::Won(winner);
            break;
        }
    }
    game
}

proptest! {
    #[test]
    fn games_by_all_rules_come_back_from_rgn(
        which in 0..24_usize, pieces in 1..=4_u8, most in 0..300_usize, seed in 0..1000_usize,
    ) {
        let names: Vec<&str> = Ruleset::builtin_names().collect();
        let pieces = Overrides { pieces: Some(pieces), ..Overrides::default() };
        let usual = Ruleset::builtin(names[which % names.len()]).unwrap();
        let ruleset = usual.with(&pieces).unwrap();
        let game = played(&ruleset, Start::USUAL, most, seed);
        let text = rgn::write(&game).unwrap();
        let again = read(text.as_bytes(), Rules::Known(&ruleset)).unwrap();
        prop_assert_eq!(&again, &game);
        // As it would come from elsewhere: other line breaks, a mark before it.
        let crlf = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        prop_assert_eq!(&read(crlf.as_bytes(), Rules::Known(&ruleset)).unwrap(), &game);
        let narrow = text.replace(' ', "\n");
        prop_assert_eq!(&read(narrow.as_bytes(), Rules::Known(&ruleset)).unwrap(), &game);
        if let Ok(text) = json::write(&game) {
            prop_assert_eq!(&read(text.as_bytes(), Rules::Infer).unwrap().actions, &game.actions);
        }
    }
}

#[test]
fn games_that_begin_otherwise_or_end_otherwise_are_games() {
    let finkel = Ruleset::builtin("finkel").unwrap();
    let dark_first = Start { first: Player::Dark, ..Start::USUAL };
    let game = played(&finkel, dark_first, 5, 1);
    let text = rgn::write(&game).unwrap();
    assert!(text.starts_with("1. / "), "{text}");
    assert_eq!(read(text.as_bytes(), Rules::Known(&finkel)).unwrap(), game);
    for end in [
        End::Resigned(Player::Dark),
        End::Abandoned { by: Some(Player::Light), reason: None },
        End::Abandoned { by: None, reason: None },
    ] {
        let game = Game { end: end.clone(), ..played(&finkel, Start::USUAL, 9, 2) };
        let text = rgn::write(&game).unwrap();
        let read_rgn = read(text.as_bytes(), Rules::Known(&finkel)).unwrap();
        assert_eq!((&read_rgn.actions, &read_rgn.end), (&game.actions, &end));
        assert_eq!(rgn::write(&read_rgn).unwrap(), text);
        let text = json::write(&game).unwrap();
        assert_eq!(read(text.as_bytes(), Rules::Infer).unwrap(), game);
    }
    let reason = End::Abandoned { by: Some(Player::Dark), reason: Some("left".to_owned()) };
    let game = Game { end: reason, ..played(&finkel, Start::USUAL, 9, 2) };
    assert_eq!(read(json::write(&game).unwrap().as_bytes(), Rules::Infer).unwrap(), game);
    // In the middle of a game.
    let position = finkel.parse_position("4,8+1/3,12+2").unwrap();
    for first in Player::BOTH {
        let game = played(&finkel, Start { first, position }, 20, 3);
        let text = json::write(&game).unwrap();
        assert_eq!(read(text.as_bytes(), Rules::Known(&finkel)).unwrap(), game);
        assert!(rgn::write(&game).unwrap_err().to_string().contains("pieces on the board"));
    }
}

#[test]
fn metadata_come_back_whatever_is_in_them() {
    let mut game = Game::new(Ruleset::builtin("finkel").unwrap());
    let values = ["bare.word_1-x", "", "two words", "1", "\"q\" \\ \r\n", "ü", "]", "[x]"];
    for (number, value) in values.iter().enumerate() {
        game.metadata.push((format!("Key{number}"), (*value).to_owned()));
    }
    let text = rgn::write(&game).unwrap();
    assert!(text.contains("[Key0 bare.word_1-x]\n[Key1 \"\"]\n"), "{text}");
    assert_eq!(read(text.as_bytes(), Rules::Known(&game.ruleset)).unwrap(), game);
    game.metadata.push(("two words".to_owned(), String::new()));
    assert!(rgn::write(&game).is_err());
}

#[test]
fn a_move_that_two_rolls_fit_is_written_with_its_roll() {
    let toml = "name = \"far\"\nboard = \"standard\"\npath = \"short-backtrack\"\n\
                dice = { 1 = \"1/3\", 5 = \"1/3\", 9 = \"1/3\" }\npieces = 1\nsafe_rosettes = true\n\
                rosettes_grant_rolls = false\ncaptures_grant_rolls = false\n";
    let far = Ruleset::from_toml(toml, "").unwrap();
    let rules = Rules::Known(&far);
    // From B6, path position 10, B7 is 1 and 5 squares away: path positions 11 and 15.
    let before = "1. A@A4 / C@C4\n2. A4B6 / C4C3\n3. ";
    let error = read(format!("{before}B6B7 / C3C2").as_bytes(), rules).unwrap_err();
    assert!(
        error.to_string().starts_with("line 3, column 4: `B6B7` fits the rolls 1 and 5"),
        "{error}"
    );
    for roll in [1, 5] {
        let text = format!("{before}{roll} B6B7 / C3C2\n");
        let game = read(text.as_bytes(), rules).unwrap();
        assert_eq!(game.actions[4].roll, roll);
        assert_eq!(rgn::write(&game).unwrap(), text);
    }
}

#[test]
fn the_rules_that_a_record_names_are_those_it_is_read_by() {
    let text = "[Rules masters]\n[Pieces \"3\"]\n\n1. A@A4\n";
    let game = read(text.as_bytes(), Rules::Infer).unwrap();
    assert_eq!((game.ruleset.name(), game.ruleset.pieces()), ("masters", 3));
    assert_eq!(rgn::write(&game).unwrap(), text);
    let finkel = Ruleset::builtin("finkel").unwrap();
    let error = read(text.as_bytes(), Rules::Known(&finkel)).unwrap_err();
    assert_eq!((error.place.line, error.place.column), (1, 1));
    assert!(error.problem.contains("masters") && error.problem.contains("finkel"), "{error}");
}
