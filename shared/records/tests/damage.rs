//! Records that are damaged, or made to do harm: errors that name the place, in bounded memory.

mod common;

use common::{records, ruleset_of};
use proptest::prelude::*;
use ziggurat_game::Ruleset;
use ziggurat_records::{End, MOST_BYTES, Rules, json, read, rgn};

/// Reads a record by the rules of finkel.
fn finkel(text: &str) -> String {
    let finkel = Ruleset::builtin("finkel").unwrap();
    match read(text.as_bytes(), Rules::Known(&finkel)) {
        Ok(game) => format!("{} actions, {:?}", game.actions.len(), game.end),
        Err(error) => error.to_string(),
    }
}

#[test]
fn mistakes_in_rgn_are_named_with_their_place_and_what_would_be_legal() {
    for (text, expected) in [
        ("", "0 actions, Unfinished"),
        ("1. A@A1 *", "1 actions, Unfinished"),
        ("1. A@A1 *\n", "1 actions, Unfinished"),
        (
            "A@A4 *",
            "line 1, column 1: read `A@A4`, where `1.` is expected, the number of light's round",
        ),
        ("1.", "line 1, column 3: the record ends before a move of light"),
        ("1. A@A3 /", "line 1, column 10: the record ends before a move of dark"),
        ("1. A@A1", "line 1, column 4: `A@A1` ends on a rosette; write ` *` after it"),
        (
            "1. A@A3 * / C@C4",
            "line 1, column 9: `A@A3` does not end on a rosette; leave out the `*`",
        ),
        (
            "1. A@A3 A@A2",
            "line 1, column 9: read `A@A2`, where `/` is expected, the beginning of dark's turn",
        ),
        (
            "1. A@A1 * / C@C4",
            "line 1, column 11: `/` is not a move for light here; legal are 0: --; 1: A@A4, A1B1",
        ),
        (
            "1. A@A3\n/ C@C3\n3. A3A2",
            "line 3, column 1: read `3.`, where `2.` is expected, the number of light's round",
        ),
        (
            "1. A@A5",
            "line 1, column 4: `A@A5` is not legal for light here; legal are 0: --; 1: A@A4; 2: A@A3; 3: A@A2; 4: A@A1",
        ),
        ("1. A@A3x", "line 1, column 4: `A@A3x` captures nothing; leave out the `x`"),
        ("1. A@A3#", "line 1, column 4: `A@A3#` does not win; leave out the `#`"),
        ("1. a@a3", "line 1, column 4: `a@a3` is not a move"),
        ("1. C@C3", "line 1, column 4: `C@C3` is not legal for light here"),
        (
            "1. 3 --",
            "line 1, column 4: `3 --` passes, where moving is compulsory; legal are 3: A@A2",
        ),
        ("1. 5 --", "line 1, column 4: `5` is no roll of the dice; rolls are 0, 1, 2, 3, 4"),
        ("1. 300 --", "line 1, column 4: `300` is no roll of the dice"),
        ("1. 0", "line 1, column 5: the record ends before `--` or a move"),
        ("1. 3 A@A3", "line 1, column 6: `A@A3` is not legal for light here; legal are 3: A@A2"),
        ("1. hello", "line 1, column 4: `hello` is not a move for light here"),
        ("[Start", "line 1, column 1: `[Start` does not end in `]`"),
        ("[]\n", "line 1, column 1: `[]` does not begin with a key"),
        ("[A]\n", "line 1, column 1: `[A]` has no value"),
        ("\n [A 1]\n", "line 2, column 5: `1]` is not a value; write it in double quotes"),
        ("[A \"x]\n", "line 1, column 4: `\"x]` is not a value in double quotes"),
        ("[Rules chess]\n", "line 1, column 1: unknown ruleset `chess`"),
        ("[Rules finkel]\n[Pieces many]\n", "line 2, column 1: `many` is not a number of pieces"),
        ("[Result drawn]\n\n1. A@A3", "line 1, column 1: this is no end of a game"),
    ] {
        let found = finkel(text);
        assert!(found.starts_with(expected), "{text:?}: {found}");
    }
    let (_, won, _) = &records().into_iter().find(|(name, ..)| name == "finkel-0").unwrap();
    let more = finkel(&format!("{won}9. A@A3"));
    assert!(more.ends_with("`9.` comes after the game was won"), "{more}");
    let hidden = finkel(&won.replace('#', ""));
    assert!(hidden.ends_with("`A7A+` wins; write `#` after it"), "{hidden}");
    let resigned = finkel(&won.replacen("[StartTime", "[Result resigned-light]\n[StartTime", 1));
    assert!(resigned.ends_with("the game is won; leave out how else it ended"), "{resigned}");
}

#[test]
fn mistakes_in_json_are_named_with_their_place_and_what_would_be_legal() {
    let (_, _, text) = records().into_iter().find(|(name, ..)| name == "finkel2-0").unwrap();
    let pretty = text.replace("{\"type\"", "\n{\"type\"");
    for (from, to, expected) in [
        (
            "\"dest\":1}",
            "\"dest\":2}",
            "line 2, column 1: state 1: the move from null to 2 is not legal for light with a roll of 1; legal are 1: A@A4",
        ),
        ("\"value\":1}", "\"value\":5}", "line 2, column 1: state 1: the dice never show 5"),
        (
            "\"turn\":\"D\",\"roll\":{\"value\":3},\"move\"",
            "\"turn\":\"L\",\"roll\":{\"value\":3},\"move\"",
            "line 3, column 1: state 2: it is dark's turn, not light's",
        ),
        (
            ",\"captured\":-11",
            "",
            "line 14, column 1: state 13: B3B7 has `captured` null, where it captures -11",
        ),
        ("\"src\":1,", "", "line 4, column 1: state 3: the move from null to 3 is not legal"),
        ("\"winner\":\"L\"", "\"winner\":\"D\"", "line 32, column 1: state 31: dark has not won"),
        (
            "\"type\":\"win\"",
            "\"type\":\"won\"",
            "line 32, column 1: state 31: type is `won`, where light has won",
        ),
        ("\"start_pieces\":2", "\"start_pieces\":3", "line 1, column "),
        (
            "\"dice\":\"four_binary\"",
            "\"dice\":\"five\"",
            "line 1, column 86: `dice` is `five`; known are four_binary",
        ),
        (
            "\"notation_version\":2",
            "\"notation_version\":3",
            "line 1, column 21: `notation_version` is 3",
        ),
        ("\"safe_rosettes\":true,", "", "line 1, column "),
        ("}]}", "}]", "line 33, column 1: EOF"),
    ] {
        assert!(pretty.contains(from), "{from}");
        let error = read(pretty.replacen(from, to, 1).as_bytes(), Rules::Infer).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{from}: {error}");
    }
    // Names as older programs write them.
    let old = text.replace("four_binary", "FourBinary").replace("\"bell\"", "\"Bell\"");
    assert_eq!(read(old.as_bytes(), Rules::Infer), read(text.as_bytes(), Rules::Infer));
    // What is not known is ignored.
    let more = text.replacen("{\"type\"", "{\"mood\":{\"a\":[1]},\"type\"", 1);
    assert_eq!(read(more.as_bytes(), Rules::Infer), read(text.as_bytes(), Rules::Infer));
}

/// The words of a record in RGN that follow its headers.
fn words_of_actions(text: &str) -> Vec<&str> {
    text.lines()
        .skip_while(|line| line.is_empty() || line.trim_start().starts_with('['))
        .flat_map(str::split_whitespace)
        .collect()
}

/// A damaged record is an error with a place in the text, or says what was read from it.
fn check(name: &str, bytes: &[u8]) -> bool {
    let ruleset = ruleset_of(name);
    match read(bytes, Rules::Known(&ruleset)) {
        Err(error) => {
            let text = String::from_utf8_lossy(bytes);
            let lines: Vec<&str> = text.split('\n').collect();
            let line = lines.get(error.place.line - 1);
            let line = line.unwrap_or_else(|| panic!("{name}: {error}"));
            assert!(error.place.column <= line.chars().count() + 2, "{name}: {error}");
            assert!(!error.problem.is_empty());
            true
        }
        Ok(game) => {
            // It is the game that the text says: written, it has the same actions in the same words.
            let text = str::from_utf8(bytes).unwrap();
            if text.trim_start().starts_with('{') {
                let again = read(json::write(&game).unwrap().as_bytes(), Rules::Infer).unwrap();
                assert_eq!((again.actions, again.end), (game.actions, game.end), "{name}");
            } else {
                // A header may hold any character, which is written as an escape: it is read back, not compared.
                let written = rgn::write(&game).unwrap();
                assert_eq!(
                    read(written.as_bytes(), Rules::Known(&ruleset)).unwrap(),
                    game,
                    "{name}"
                );
                assert_eq!(words_of_actions(&written), words_of_actions(text), "{name}");
            }
            false
        }
    }
}

#[test]
fn records_that_are_cut_are_errors_or_games_that_are_not_over() {
    for (name, rgn, json) in records() {
        let mut unfinished = 0;
        for end in (1..rgn.trim_end().len()).step_by(2) {
            let ruleset = ruleset_of(&name);
            if let Ok(game) = read(&rgn.as_bytes()[..end], Rules::Known(&ruleset)) {
                assert_eq!(game.end, End::Unfinished, "{name} cut at {end}");
                assert!(check(&name, &rgn.as_bytes()[..end]) || rgn.is_char_boundary(end));
                unfinished += 1;
            }
        }
        assert!(unfinished > 10, "{name}");
        for end in (0..json.trim_end().len()).step_by(97) {
            assert!(read(&json.as_bytes()[..end], Rules::Infer).is_err() || end == 0, "{name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn flipped_bits_are_found_or_change_what_is_read(
        which in 0..10_usize, is_json: bool, at: prop::sample::Index, bit in 0..8_u8,
    ) {
        let (name, rgn, json) = &records()[which];
        let mut bytes = if is_json { json } else { rgn }.clone().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        check(name, &bytes);
    }

    #[test]
    fn moves_in_another_order_are_found_or_legal(
        which in 0..10_usize, a: prop::sample::Index, b: prop::sample::Index,
    ) {
        let (name, rgn, _) = &records()[which];
        let mut words: Vec<&str> = rgn.split(' ').collect();
        let (a, b) = (a.index(words.len()), b.index(words.len()));
        words.swap(a, b);
        check(name, words.join(" ").as_bytes());
    }

    #[test]
    fn nothing_panics_on_any_text(text in "[\\[\\]{}\"0-9A-C@+x#*/. \\-\n\u{e9}:,a-e]{0,80}") {
        let _ = read(text.as_bytes(), Rules::Infer);
        finkel(&text);
    }
}

#[test]
fn a_hundred_damaged_records_are_nearly_all_refused() {
    let mut found = 0;
    let mut tried = 0;
    for (name, rgn, json) in records() {
        for (number, text) in [rgn, json].into_iter().enumerate() {
            for place in 1..=5 {
                let mut bytes = text.clone().into_bytes();
                // In the moves, not in the metadata.
                let at = bytes.len() / 4 + bytes.len() * place / 8;
                bytes[at] ^= 2 << number;
                tried += 1;
                found += usize::from(check(&name, &bytes));
            }
        }
    }
    assert!(tried == 100 && found >= 90, "{found} of {tried}");
}

#[test]
fn what_is_huge_deep_or_endless_is_refused() {
    let huge = vec![b' '; MOST_BYTES + 1];
    let error = read(&huge, Rules::Infer).unwrap_err();
    assert!(error.problem.contains("no game is that long"), "{error}");
    let deep = "[".repeat(MOST_BYTES / 2);
    let error = read(format!("{{\"metadata\": {deep}").as_bytes(), Rules::Infer).unwrap_err();
    assert!(error.to_string().len() < 300, "{error}");
    let deep = format!("{{\"unknown\": {deep}");
    assert!(read(deep.as_bytes(), Rules::Infer).unwrap_err().to_string().len() < 300);
    for endless in ["A".repeat(MOST_BYTES), "[".repeat(MOST_BYTES), "1. ".repeat(1 << 20)] {
        let error = read(endless.as_bytes(), Rules::Infer).unwrap_err();
        assert!(error.to_string().len() < 1000, "{error}");
    }
    let passes: String = (1..100_000).map(|round| format!("{round}. 0 -- / 0 --\n")).collect();
    assert!(finkel(&passes).starts_with("199998 actions"));
}
