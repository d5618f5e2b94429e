//! Games in which a piece hardly ever moves: a change that is small is no error that is small.

use std::fs;

use serde_json::Value;

use crate::support::{run, stderr, succeed, succeed_with_json};

/// One piece, three squares, and dice that let it move once in twenty thousand rolls.
const SLOW: &str = r#"
    name = "slow"
    path = [[1, 4], [2, 4], [2, 5]]
    dice = { 0 = "19999/20000", 1 = "1/20000" }
    pieces = 1
    safe_rosettes = true
    rosettes_grant_rolls = true
    captures_grant_rolls = false
"#;

fn slow() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("slow.toml"), SLOW).unwrap();
    directory
}

/// The largest distance of a table's chances from the exact ones, as a probability.
fn largest_error(path: &std::path::Path, table: &str) -> f64 {
    let positions = ["start", "1/-", "-/1", "1/1", "2/1", "3/1", "3/2", "1/3", "2/3"];
    let exact = [&["exact", "--ruleset", "slow.toml", "--json"], &positions[..]].concat();
    let exact = succeed_with_json(path, &exact);
    let solved = succeed(path, &[&["table", "get", table, "--json"], &positions[..]].concat());
    let solved = solved.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let percent = |value: &Value| value["percent"].as_f64().unwrap();
    let errors = exact["values"].as_array().unwrap().iter().zip(solved);
    let errors = errors.map(|(exact, solved)| (percent(exact) - percent(&solved)).abs() / 100.0);
    errors.fold(0.0, f64::max)
}

#[test]
fn what_is_estimated_of_a_slow_game_is_no_less_than_the_error() {
    let directory = slow();
    let path = directory.path();
    for tolerance in ["1e-5", "1e-12"] {
        let solve = ["solve", "--ruleset", "slow.toml", "--uncertified", "--tolerance", tolerance];
        let text =
            succeed(path, &[&solve[..], &["--out", "slow.zgt", "--force", "--json"]].concat());
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let solved = lines.last().unwrap();
        let supersteps = solved["tiers"][0]["supersteps"].as_u64().unwrap();
        let told = lines.iter().filter(|line| line["event"] == "superstep");
        let told: Vec<u64> = told.map(|line| line["superstep"].as_u64().unwrap()).collect();
        assert!(supersteps > 10_000 && told.len() < 5_000, "{} of {supersteps}", told.len());
        assert_eq!((told[..100].to_vec(), told.last()), ((1..=100).collect(), Some(&supersteps)));
        let estimate = solved["error_estimate"].as_f64().unwrap();
        let error = largest_error(path, "slow.zgt");
        let asked: f64 = tolerance.parse().unwrap();
        let least = asked.max(1e-8); // rounding and the length of the game allow no less
        assert!(error <= estimate && estimate <= least, "{tolerance}: {estimate} of {error}");
        let verified = succeed_with_json(path, &["table", "verify", "slow.zgt", "--json"]);
        assert_eq!((&verified["holds"], &verified["shown"]), (&true.into(), &"equation".into()));
        let undetected = verified["undetected_error"].as_f64();
        assert!(undetected.is_none_or(|undetected| error <= undetected), "{undetected:?}");
    }
}

#[test]
fn a_table_of_which_nothing_is_known_is_not_said_to_hold() {
    let directory = slow();
    let path = directory.path();
    let slower = SLOW.replace("20000", "1000000").replace("19999", "999999");
    fs::write(path.join("slow.toml"), slower).unwrap();
    let solve = ["solve", "--ruleset", "slow.toml", "--precision", "f32", "--uncertified"];
    let text = succeed(path, &[&solve[..], &["--out", "slow.zgt"]].concat());
    assert!(text.contains("how far chances are from the true ones is unknown"), "{text}");
    assert!(text.contains("(the residual, which is no error)"), "{text}");
    assert!(!text.contains("estimated"), "{text}");
    assert!(largest_error(path, "slow.zgt") > 0.1);
    let text = succeed(path, &["table", "verify", "slow.zgt"]);
    assert!(
        text.contains("Nothing contradicts the table") && text.contains("That shows nothing"),
        "{text}"
    );
    assert!(!text.contains("holds"), "{text}");
    let verified = succeed_with_json(path, &["table", "verify", "slow.zgt", "--json"]);
    assert_eq!(
        (&verified["shown"], &verified["undetected_error"]),
        (&"equation".into(), &Value::Null)
    );
    // Nor do more digits stand there than are known.
    let get = succeed(path, &["table", "get", "slow.zgt", "start"]);
    assert!(!get.contains('.'), "{get}");
    let proof = run(path, &["table", "verify", "slow.zgt", "--certificate"]);
    assert_eq!(proof.status.code(), Some(1), "{}", stderr(&proof));
}

#[test]
fn what_verifying_has_shown_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let solve = ["solve", "finkel", "--pieces", "1", "--force", "--out", "finkel.zgt"];
    let verify = |more: &[&str]| {
        let verify = [&["table", "verify", "finkel.zgt"], more].concat();
        let json = succeed_with_json(path, &[&verify[..], &["--json"]].concat());
        (succeed(path, &verify), json["shown"].as_str().unwrap().to_owned())
    };
    succeed(path, &solve);
    let (text, shown) = verify(&[]);
    assert_eq!(shown, "claim");
    assert!(text.contains("That was not proven again"), "{text}");
    let (text, shown) = verify(&["--certificate"]);
    assert_eq!(shown, "bound");
    assert!(text.contains("The table holds: that was proven"), "{text}");
    succeed(path, &[&solve[..], &["--uncertified"]].concat());
    let (text, shown) = verify(&[]);
    assert_eq!(shown, "equation");
    assert!(text.contains("That is no proof: about"), "{text}");
}
