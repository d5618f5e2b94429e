//! Rules that people play: squares that are safe and grant no roll, the reverse, any number of binary dice.

use std::{fs, path::Path};

use serde_json::{Value, json};
use ziggurat_game::{Overrides, Ruleset};

use crate::support::{last_json, run, stderr, succeed, succeed_with_json, ziggurat};

/// A square that is safe and grants no roll, one that grants one and is not safe, and the middle rosette that is both.
const LISTED: &str = r#"
    extends = "finkel"
    name = "listed"
    pieces = 1
    safe = [[2, 4], [2, 6]]
    rolls_again = [[2, 4], [2, 7]]
"#;

fn listed() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("listed.toml"), LISTED).unwrap();
    directory
}

/// The chances of positions by a table, in percent.
fn chances(path: &Path, table: &str, positions: &[String]) -> Vec<f64> {
    fs::write(path.join("positions"), positions.join("\n")).unwrap();
    let mut get = ziggurat(path, &["table", "get", table, "-", "--json"]);
    let output = get.stdin(fs::File::open(path.join("positions")).unwrap()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| last_json(line)["percent"].as_f64().unwrap()).collect()
}

#[test]
fn lists_of_squares_and_any_number_of_dice_are_solved_as_the_reference_does() {
    let directory = listed();
    let path = directory.path();
    let checked = succeed(path, &["rulesets", "check", "listed.toml"]);
    assert!(checked.contains("✿ safe, rolls again; ◆ safe; ↻ rolls again"), "{checked}");
    for dice in ["binary5", "binary2", "0:1/4,1:1/4,2:1/2"] {
        let solve = ["solve", "--ruleset", "listed.toml", "--dice", dice, "--force"];
        succeed(path, &[&solve[..], &["--out", "listed.zgt"]].concat());
        let dice = Some(dice.parse().unwrap());
        let ruleset = Ruleset::from_toml(LISTED, "listed.toml").unwrap();
        let ruleset = ruleset.with(&Overrides { dice, ..Overrides::default() }).unwrap();
        let reference = ziggurat_reference::solve(&ruleset);
        let (positions, values): (Vec<String>, Vec<f64>) = reference
            .iter()
            .map(|(position, value)| (ruleset.format_position(position), value))
            .unzip();
        let solved = chances(path, "listed.zgt", &positions);
        assert_eq!(solved.len(), values.len());
        for ((position, value), solved) in positions.iter().zip(values).zip(solved) {
            assert!((solved - 100.0 * value).abs() < 1e-9, "{position}: {solved}");
        }
        // The table knows its rules, and what they are is proven of it again.
        let info = succeed_with_json(path, &["table", "info", "listed.zgt", "--json"]);
        assert_eq!(info["ruleset_toml"], ruleset.to_toml());
        succeed(path, &["table", "verify", "listed.zgt", "--certificate"]);
    }
}

#[test]
fn an_rgu_file_that_cannot_say_the_rules_is_refused() {
    let directory = listed();
    let path = directory.path();
    succeed(path, &["solve", "--ruleset", "listed.toml", "--out", "listed.zgt"]);
    let output = run(path, &["export", "listed.zgt", "listed.rgu"]);
    let message = stderr(&output);
    assert!(!output.status.success() && !path.join("listed.rgu").exists(), "{message}");
    assert!(message.contains("the safe squares of listed: (2,4) (2,6)"), "{message}");
    // What the format can say, it says, however the ruleset is written: the other rosettes are where nobody captures.
    let same = "extends = \"finkel\"\npieces = 1\nsafe = [[2, 4]]\n";
    fs::write(path.join("same.toml"), same).unwrap();
    succeed(path, &["solve", "--ruleset", "same.toml", "--out", "same.zgt"]);
    succeed(path, &["export", "same.zgt", "same.rgu"]);
    succeed(path, &["solve", "finkel", "--pieces", "1", "--out", "finkel.zgt"]);
    succeed(path, &["table", "diff", "same.rgu", "finkel.zgt"]);
    // Tables of other rules are not compared.
    let output = run(path, &["table", "diff", "listed.zgt", "finkel.zgt"]);
    assert!(stderr(&output).contains("safe squares"), "{}", stderr(&output));
}

#[test]
fn rulesets_tell_machines_which_squares_do_what() {
    let directory = listed();
    let path = directory.path();
    let show =
        |name: &str| -> Value { succeed_with_json(path, &["rulesets", "show", name, "--json"]) };
    let listed = show("./listed.toml");
    assert_eq!(listed["safe"], json!([[2, 4], [2, 6]]));
    assert_eq!(listed["rolls_again"], json!([[2, 4], [2, 7]]));
    let masters = show("masters");
    assert_eq!(masters["safe"], json!([]));
    assert_eq!(masters["rolls_again"], masters["rosettes"]);
}

#[test]
fn dice_that_are_none_are_refused_with_those_there_are() {
    let directory = tempfile::tempdir().unwrap();
    for (dice, parts) in [
        ("binary16", &["unknown dice `binary16`", "binary15, binary3-zero-is-four"][..]),
        ("binary0", &["unknown dice `binary0`"]),
        ("0:1/2,1:1/3", &["sum to 5/6"]),
        ("2:1", &["never roll 1"]),
    ] {
        let output = run(directory.path(), &["plan", "finkel", "--dice", dice]);
        assert_eq!(output.status.code(), Some(2), "{dice}");
        let message = stderr(&output);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
}

#[test]
fn where_the_locale_has_no_pictures_boards_are_ascii() {
    let directory = listed();
    let path = directory.path();
    let in_locale = |locale: &str, arguments: &[&str]| {
        let output = ziggurat(path, arguments).env("LC_ALL", locale).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        (output.stdout, output.stderr)
    };
    succeed(path, &["solve", "--ruleset", "listed.toml", "--out", "listed.zgt"]);
    for arguments in [
        &["rulesets", "show", "finkel"][..],
        &["rulesets", "check", "listed.toml"],
        &["rulesets", "list"],
        &["best", "listed.zgt", "4/8"],
        &["solve", "finkel", "--pieces", "2", "--force"],
        &["count", "finkel"],
        &["plan", "finkel"],
    ] {
        for locale in ["C", "POSIX", "en_US.ISO-8859-1"] {
            let (out, err) = in_locale(locale, arguments);
            assert!(
                out.is_ascii() && err.is_ascii(),
                "{arguments:?}: {}",
                String::from_utf8_lossy(&out)
            );
        }
    }
    let (drawn, _) = in_locale("C.UTF-8", &["rulesets", "show", "finkel"]);
    assert!(String::from_utf8(drawn).unwrap().contains("┌────"));
}
