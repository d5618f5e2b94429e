//! What a table says of whole games.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::{run, stderr, succeed, succeed_with_json};

/// A directory with `finkel-2.zgt` and a policy.
fn table() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    succeed(directory.path(), &["solve", "finkel", "--pieces", "2", "--json"]);
    let policy = "[weights]\nadvancement = 1\ncaptured = 1\nexposure = -1\n";
    fs::write(directory.path().join("careful.toml"), policy).unwrap();
    directory
}

fn analyse(path: &Path, options: &[&str]) -> Value {
    let line = [&["analyse", "finkel-2.zgt", "--json"], options].concat();
    succeed_with_json(path, &line)
}

/// Asserts that a number is known, and is this one to 1e-9 of it.
fn assert_is(bounded: &Value, expected: f64) {
    let [value, low, high] = ["value", "low", "high"].map(|name| bounded[name].as_f64().unwrap());
    assert!((value / expected - 1.0).abs() < 1e-9, "{bounded}, not {expected}");
    assert!(low <= value && value <= high && high - low < 1e-8, "{bounded}");
}

#[test]
fn games_are_as_long_as_an_independent_oracle_says() {
    let directory = table();
    let found = analyse(directory.path(), &[]);
    let rolls = &found["begins"]["rolls"];
    assert_is(&rolls["mean"], 39.798001641);
    assert_is(&rolls["deviation"], 8.831499378);
    assert_is(&found["percent_if_it_begins"], 51.8572907496);
    assert_eq!(found["positions_that_occur"], 12786);
    assert_eq!(found["ties"], 0);
    let text = succeed(directory.path(), &["analyse", "finkel-2.zgt"]);
    assert!(text.contains("39.79800164") && text.contains("12,786 of 12,869"), "{text}");
}

#[test]
fn policies_meet_by_name_and_from_a_file() {
    let directory = table();
    let path = directory.path();
    let random = analyse(path, &["--policy", "random", "--best-response"]);
    assert_is(&random["percent_if_it_begins"], 27.785769581);
    assert_is(&random["percent_if_it_answers"], 100.0 - 75.499491595);
    let best = &random["best_response"]["percent_if_it_begins"]["value"];
    assert!(best.as_f64().unwrap() > 75.499491595, "{best}");
    let percent = |found: &Value| found["percent_if_it_begins"]["value"].as_f64().unwrap();
    let careful = analyse(path, &["--policy", "careful.toml"]);
    assert_eq!(careful["policy"], "careful");
    let gain = analyse(path, &["--policy", "gain"]);
    for found in [&careful, &gain] {
        assert!((40.0..51.8572907496).contains(&percent(found)), "{}", percent(found));
    }
    // Chances alone are the same, without anything else.
    let chances = analyse(path, &["--policy", "random", "--chances"]);
    assert_is(&chances["percent_if_it_begins"], 27.785769581);
    assert_is(&chances["percent_if_it_answers"], 100.0 - 75.499491595);
    assert!(chances.get("begins").is_none(), "{chances}");
    assert_eq!(chances["all_decisions"], random["players"][0]["all_decisions"]);
    let both = run(path, &["analyse", "finkel-2.zgt", "--chances", "--distribution"]);
    assert_eq!(both.status.code(), Some(2));
    // The same bytes on any number of threads.
    let on = |threads: &str| {
        let options = ["--policy", "gain", "--against", "random", "--json", "--threads", threads];
        succeed(path, &[&["analyse", "finkel-2.zgt"], &options[..]].concat())
    };
    assert_eq!(on("1"), on("3"));
}

#[test]
fn pictures_are_drawn_and_bars_stand_between_their_ends() {
    let directory = table();
    let path = directory.path();
    succeed(path, &["analyse", "finkel-2.zgt", "--plots", "pictures"]);
    for picture in ["chances.svg", "luck.svg", "lengths.svg"] {
        assert!(
            fs::read_to_string(path.join("pictures").join(picture)).unwrap().contains("</svg>")
        );
    }
    let gaps = fs::read_to_string(path.join("pictures/gaps.svg")).unwrap();
    // Those of the horizontal axis stand below their place.
    let lines: Vec<&str> = gaps.lines().collect();
    let below = lines.windows(2).filter(|two| two[0].contains("text-anchor=\"middle\""));
    let labels: Vec<&str> =
        below.map(|two| two[1]).filter(|it| it.parse::<f64>().is_ok()).collect();
    assert_eq!(labels, ["0", "0.01", "0.03", "0.1", "0.3", "1", "3", "10", "30", "100"]);
    let again = run(path, &["analyse", "finkel-2.zgt", "--plots", "pictures"]);
    assert_eq!(again.status.code(), Some(2), "a picture would be written over");
}

#[test]
fn a_mistake_is_named_with_its_remedy() {
    let directory = table();
    let path = directory.path();
    fs::write(path.join("bad.toml"), "[weights]\nexposed = 1\n").unwrap();
    for (options, code, said) in [
        (["--policy", "greed"], 2, "`greed`"),
        (["--policy", "bad.toml"], 2, "bad.toml: unknown feature `exposed`"),
        (["--against", "none.toml"], 2, "cannot read none.toml"),
        (["--memory", "1MiB"], 3, "--memory allows"),
    ] {
        let output = run(path, &[&["analyse", "finkel-2.zgt"], &options[..]].concat());
        assert_eq!(output.status.code(), Some(code), "{options:?}: {}", stderr(&output));
        let text = stderr(&output);
        assert!(text.starts_with("error: ") && text.contains(said), "{options:?}: {text}");
        assert!(output.stdout.is_empty());
    }
}
