//! `ziggurat exact`: fractions, and what is said about their proof.

use std::fs;

use serde_json::json;

use crate::support::{run, stderr, succeed, succeed_with_json};

/// One piece, dice without a choice, and no rosettes.
fn small(board: &str, path: &str, dice: &str) -> String {
    format!(
        "name = \"small\"\nboard = {board}\npath = {path}\nrosettes = []\ndice = {dice}\n\
         pieces = 1\nsafe_rosettes = false\nrosettes_grant_rolls = false\n\
         captures_grant_rolls = false\n"
    )
}

#[test]
fn finkel_with_one_piece_is_a_fraction_of_227_over_227_digits() {
    let directory = tempfile::tempdir().unwrap();
    let text = succeed(directory.path(), &["exact", "finkel", "--pieces", "1", "4/-"]);
    for words in [
        "the player to move wins with 53.0049839525 %, exactly",
        "a numerator of 227 and a denominator of 227 digits",
        "217 undecided positions with 5 rolls each: 1,085 cases",
        "4/-: the player to move",
        "  4  4 to 8\n",
    ] {
        assert!(text.contains(words), "no `{words}` in {text}");
    }

    let all = succeed_with_json(
        directory.path(),
        &["exact", "finkel", "--pieces", "1", "--all", "--json"],
    );
    let values = all["values"].as_array().unwrap();
    assert_eq!(values.len(), 217);
    let start = values.iter().find(|value| value["position"] == "-/-").unwrap();
    let (numerator, denominator) =
        (start["numerator"].as_str().unwrap(), start["denominator"].as_str().unwrap());
    assert_eq!((numerator.len(), denominator.len()), (227, 227));
    assert!(text.replace("\n    ", "").contains(numerator), "the digits in lines are the digits");
}

/// A square of one's own and a coin: from the square it takes one throw, so that the mover's
/// chance is 1/2 + 1/2 (1 - V) = 2/3.
#[test]
fn a_ruleset_of_ones_own_may_be_followed_by_positions() {
    let directory = tempfile::tempdir().unwrap();
    let ruleset = small("[\"ooo\"]", "[[1, 1]]", "{ 0 = \"1/2\", 1 = \"1/2\" }");
    fs::write(directory.path().join("small.toml"), ruleset).unwrap();
    let exact = ["exact", "--ruleset", "small.toml", "1/1", "--json"];
    let values = &succeed_with_json(directory.path(), &exact)["values"];
    assert_eq!(values[0]["position"], "-/-");
    assert_eq!(values[1]["position"], "1/1");
    assert_eq!((&values[1]["numerator"], &values[1]["denominator"]), (&json!("2"), &json!("3")));
}

#[test]
fn what_cannot_be_solved_exactly_is_refused_with_what_would_work() {
    let directory = tempfile::tempdir().unwrap();
    let says = |arguments: &[&str], words: &[&str]| {
        let output = run(directory.path(), &[&["exact"], arguments].concat());
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(output.stdout.is_empty());
        for word in words {
            assert!(message.contains(word), "no `{word}` in {message}");
        }
    };
    says(&["finkel"], &["finkel with 7 pieces", "29598456 positions", "at most 2 pieces"]);
    says(&["finkel", "--pieces", "1", "99/-"], &["`99`", "1 to 14"]);
    says(&["finkel", "--pieces", "1", "-+1/-"], &["`-+1/-` is decided"]);

    // With a roll of 1 only, the players enter on the first square and capture each other.
    let ruleset = small("[\".o.\", \".o.\"]", "[[2, 1], [2, 2]]", "{ 1 = 1 }");
    fs::write(directory.path().join("endless.toml"), ruleset).unwrap();
    says(&["--ruleset", "endless.toml"], &["from -/-", "go on for ever", "other dice"]);
}
