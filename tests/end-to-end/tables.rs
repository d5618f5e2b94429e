//! Tables that a user solves, queries, converts and verifies.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, absolute},
    process::{Command, Stdio},
};

use serde_json::Value;
use ziggurat_encoding::Tier;
use ziggurat_game::Ruleset;
use ziggurat_table::{AnyTable, Compression, Existing, TableWriter, TierStatistics, ValueType};

use crate::support::{files, last_json, run, stderr, succeed, succeed_with_json, ziggurat};

/// A directory with `table.zgt`, solved with some more arguments.
fn solved(arguments: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    succeed(directory.path(), &[&["solve", "--json", "--out", "table.zgt"], arguments].concat());
    directory
}

fn percent(value: &Value) -> f64 {
    value["percent"].as_f64().unwrap()
}

#[test]
fn the_first_thing_a_user_does_ends_with_the_chance_and_the_next_command() {
    let directory = tempfile::tempdir().unwrap();
    let text = succeed(directory.path(), &["solve", "finkel", "--pieces", "3"]);
    assert!(text.contains("The first player wins 51.6201102238 %"), "{text}");
    let hint = text.lines().last().unwrap();
    let words: Vec<&str> = hint.split_whitespace().skip(1).collect();
    assert_eq!(words[..2], ["best", "finkel-3.zgt"]);
    // The hint can be followed, and shows the position that was shown before.
    let best = succeed(directory.path(), &words);
    let board = best.lines().find(|line| line.contains('│')).unwrap();
    assert!(text.contains(board), "{text}\n{best}");
}

#[test]
fn raw_tables_are_read_by_the_python_of_the_manual() {
    let python = |arguments: &[&str]| Command::new("python3").args(arguments).output();
    if !python(&["-c", "import tomllib"]).is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: there is no Python 3.11 here");
    }
    let reader = absolute("../docs/zgt.py").unwrap();
    for (arguments, positions) in [
        (["finkel", "--pieces", "3"], ["start", "4,8+1/3,12", "14/1,2,13"]),
        (["masters", "--pieces", "2"], ["-/-", "-+1/5", "3,16/4"]),
        (["skiriuk", "--pieces", "2"], ["1/-", "7,9/-+1", "23/20,21"]),
    ] {
        for value_type in ["f64", "f32", "percent16"] {
            let raw = ["--raw", "--value-type", value_type];
            let directory = solved(&[&arguments[..], &raw].concat());
            let file = directory.path().join("table.zgt");
            let arguments = [&[reader.to_str().unwrap(), file.to_str().unwrap()], &positions[..]];
            let read = String::from_utf8(python(&arguments.concat()).unwrap().stdout).unwrap();
            let read: Vec<f64> = read
                .lines()
                .map(|line| line.split_whitespace().nth(1).unwrap().parse().unwrap())
                .collect();
            let get = [&["table", "get", "table.zgt", "--json"], &positions[..]].concat();
            let expected = succeed(directory.path(), &get);
            let expected: Vec<f64> = expected
                .lines()
                .map(|line| percent(&serde_json::from_str(line).unwrap()))
                .collect();
            assert_eq!(read.len(), positions.len(), "{positions:?}");
            for (read, expected) in read.iter().zip(&expected) {
                assert!((read - expected).abs() < 1e-9, "{value_type} {positions:?}: {read}");
            }
        }
    }
}

#[test]
fn positions_come_from_standard_input_too() {
    let directory = solved(&["finkel", "--pieces", "1"]);
    let path = directory.path();
    let get = |positions: &str| {
        fs::write(path.join("positions"), positions).unwrap();
        let mut get = ziggurat(path, &["table", "get", "table.zgt", "-"]);
        get.stdin(fs::File::open(path.join("positions")).unwrap()).output().unwrap()
    };
    let output = get("start\n\n-/3\r\n4/-\n");
    let typed = succeed(path, &["table", "get", "table.zgt", "start", "-/3", "4/-"]);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), typed);
    assert_eq!(typed.lines().count(), 3);
    let output = run(path, &["table", "get", "table.zgt", "start", ""]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]));
    // As some editors write it, and with a mistake: what is before that is answered.
    let wrong = get("\u{feff}start\r\n\r\n99/-\r\n4/-\r\n");
    let first = typed.lines().next().unwrap().to_owned() + "\n";
    assert_eq!(
        (wrong.status.code(), String::from_utf8_lossy(&wrong.stdout)),
        (Some(2), first.into())
    );
    for part in ["line 3 of standard input", "`99/-`"] {
        assert!(stderr(&wrong).contains(part), "{}", stderr(&wrong));
    }
}

#[test]
fn questions_are_answered_as_they_come() {
    let directory = solved(&["finkel", "--pieces", "1"]);
    for arguments in [["table", "get", "table.zgt", "-"], ["best", "table.zgt", "-", "--json"]] {
        let mut asked = ziggurat(directory.path(), &arguments);
        let asked = asked.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut asked = asked.spawn().unwrap();
        let mut questions = asked.stdin.take().unwrap();
        let mut answers = BufReader::new(asked.stdout.take().unwrap()).lines();
        // The next question is asked when the one before is answered: else this waits for ever.
        for question in ["start", "4/-", "-/3"] {
            writeln!(questions, "{question}").unwrap();
            let answer = answers.next().unwrap().unwrap();
            let question = if question == "start" { "-/-" } else { question };
            assert!(answer.contains(question), "{answer}");
        }
        drop(questions);
        assert!(asked.wait().unwrap().success());
    }
}

#[test]
fn best_moves_of_many_positions_are_a_line_each() {
    let directory = solved(&["finkel", "--pieces", "2", "--value-type", "percent16"]);
    let path = directory.path();
    fs::write(path.join("positions"), "5,6/9,14\t3\n1,2/-\t1\n").unwrap();
    let best = |arguments: &[&str]| {
        let mut best = ziggurat(path, &[&["best", "table.zgt", "-"], arguments].concat());
        best.stdin(fs::File::open(path.join("positions")).unwrap()).output().unwrap()
    };
    let output = best(&[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 2, "{text}");
    // Their chances are nearer to each other than these values can tell.
    assert_eq!(lines[0][..3], ["5,6/9,14", "3", "5 to 8 = 6 to 9"]);
    assert_eq!(lines[1][..3], ["1,2/-", "1", "2 to 3"]);
    let json = String::from_utf8(best(&["--json"]).stdout).unwrap();
    let json: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    let moves = json["rolls"][0]["moves"].as_array().unwrap();
    assert!(moves.iter().all(|mv| mv["place"] == 1 && mv["tied"] == true), "{json}");
    fs::write(path.join("positions"), "start\nstart\t5\n").unwrap();
    let output = best(&[]);
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(
        error.contains("line 2 of standard input") && error.contains("never show 5"),
        "{error}"
    );
}

#[test]
fn unproven_chances_are_not_printed_with_ten_decimals() {
    let directory = solved(&["finkel", "--pieces", "2", "--uncertified"]);
    let output = run(directory.path(), &["table", "get", "table.zgt", "start"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let decimals = text.trim().trim_end_matches(" %").split_once('.').unwrap().1;
    assert!(decimals.len() <= 4, "{text}");
    assert!(stderr(&output).contains("Nothing is proven"), "{}", stderr(&output));
}

#[test]
fn positions_and_rulesets_are_read_however_an_editor_saved_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let ruleset = "\u{feff}extends = \"finkel\"\r\npieces = 1\r\nname = \"marked\"\r\n";
    fs::write(path.join("marked.toml"), ruleset).unwrap();
    succeed(path, &["solve", "--ruleset", "marked.toml", "--out", "table.zgt"]);
    fs::write(path.join("wrong.toml"), ruleset.replace("extends", "extend")).unwrap();
    let wrong = run(path, &["rulesets", "check", "wrong.toml"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("wrong.toml:1:1: "), "{}", stderr(&wrong));

    let get = |positions: &str| {
        fs::write(path.join("positions"), positions).unwrap();
        let mut get = ziggurat(path, &["table", "get", "table.zgt", "-"]);
        get.stdin(fs::File::open(path.join("positions")).unwrap()).output().unwrap()
    };
    let typed = succeed(path, &["table", "get", "table.zgt", "start", "-/12", "4/-"]);
    let read = get("\u{feff}start\r\n - / 12 \r\n4/-\r\n");
    assert_eq!(String::from_utf8_lossy(&read.stdout), typed, "{}", stderr(&read));
    // A blank does not make one number of two.
    for read in [get("-/1 2\n"), run(path, &["best", "table.zgt", "-/1 2"])] {
        assert_eq!(read.status.code(), Some(2));
        assert!(stderr(&read).contains("`1 2` is not a path position"), "{}", stderr(&read));
    }
}

#[test]
fn an_exported_file_comes_with_who_reads_it() {
    let directory = solved(&["finkel", "--pieces", "1"]);
    let path = directory.path();
    let said = succeed(path, &["export", "table.zgt", "table.rgu"]);
    assert!(said.contains("RoyalUr-Java reads it"), "{said}");
    assert!(said.contains("RoyalUr-Python would misread it"), "{said}");
    let said = succeed_with_json(path, &["export", "table.zgt", "table.rgu", "--force", "--json"]);
    assert_eq!(said["read_by"], serde_json::json!(["RoyalUr-Java"]));
    assert_eq!(said["value_type"], "f64");
    let said = succeed_with_json(path, &["export", "table.zgt", "table.parquet", "--json"]);
    assert_eq!(said["read_by"], serde_json::Value::Null);
}

/// Dice and a board as no built-in ruleset has them.
const ONES_OWN: &str = r#"
    name = "own"
    board = "aseb"
    path = "aseb"
    dice = { 1 = "1/2", 2 = "1/3", 5 = "1/6" }
    pieces = 1
    safe_rosettes = false
    rosettes_grant_rolls = true
    captures_grant_rolls = true
"#;

/// More pieces than squares, so that tiers of one level are nearly all as large as the largest.
const POCKET: &str = r#"
    name = "pocket"
    board = ["*o*", ".o.", "*o*"]
    path = [[1, 1], [2, 1], [2, 2], [2, 3], [1, 3]]
    dice = { 0 = "1/4", 1 = "1/2", 2 = 0.25 }
    pieces = 6
    safe_rosettes = true
    rosettes_grant_rolls = true
    captures_grant_rolls = false
"#;

#[test]
fn every_value_of_a_ruleset_of_ones_own_is_that_of_the_reference_solver() {
    for toml in [ONES_OWN, POCKET] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::write(path.join("own.toml"), toml).unwrap();
        succeed(path, &["rulesets", "check", "own.toml"]);
        // A rule overridden on the command line, and the same rule in the file.
        let rule = "rosettes_grant_rolls";
        let overridden = toml.replace(&format!("{rule} = true"), &format!("{rule} = false"));
        let ruleset = Ruleset::from_toml(&overridden, "own.toml").unwrap();
        let solve =
            ["solve", "--ruleset", "own.toml", "--rosettes-grant-rolls", "no", "--out", "own.zgt"];
        succeed(path, &solve);

        let reference = ziggurat_reference::solve(&ruleset);
        let (positions, values): (Vec<String>, Vec<f64>) = reference
            .iter()
            .map(|(position, value)| (ruleset.format_position(position), value))
            .unzip();
        let mut get = vec!["table", "get", "own.zgt", "--json"];
        get.extend(positions.iter().map(String::as_str));
        let text = succeed(path, &get);
        assert_eq!(text.lines().count(), positions.len());
        for ((line, position), value) in text.lines().zip(&positions).zip(values) {
            let found = last_json(line);
            assert_eq!(found["position"], position.as_str());
            assert!((percent(&found) - 100.0 * value).abs() < 1e-10, "{position}");
        }
    }
}

#[test]
fn the_chance_before_the_roll_is_the_mean_of_the_best_moves() {
    let directory = solved(&["masters", "--pieces", "2"]);
    for position in ["start", "-/3", "4,13/8", "-+1/2,16+0", "7,12/6,14"] {
        let best = succeed_with_json(directory.path(), &["best", "table.zgt", position, "--json"]);
        let mut mean = 0.0;
        for roll in best["rolls"].as_array().unwrap() {
            let chances: Vec<f64> = roll["moves"].as_array().unwrap().iter().map(percent).collect();
            assert!(chances.is_sorted_by(|a, b| a >= b), "{position}: best first");
            if let Some(best) = chances.first() {
                assert_eq!(*best, percent(roll));
            }
            mean += roll["probability"].as_f64().unwrap() * percent(roll);
        }
        assert!((mean - percent(&best)).abs() < 1e-10, "{position}: {mean}");
    }
}

#[test]
fn a_move_leads_to_the_position_it_names() {
    let directory = solved(&["finkel", "--pieces", "2"]);
    let path = directory.path();
    let best = succeed_with_json(path, &["best", "table.zgt", "3,6/4,8", "--roll", "1", "--json"]);
    let moves = best["rolls"][0]["moves"].as_array().unwrap();
    assert_eq!(moves.len(), 2);
    for mv in moves {
        let next = mv["next"].as_str().unwrap();
        let there =
            percent(&succeed_with_json(path, &["table", "get", "table.zgt", next, "--json"]));
        let expected = if mv["rolls_again"] == true { there } else { 100.0 - there };
        assert!((percent(mv) - expected).abs() < 1e-10, "{mv}");
    }
    let text = succeed(path, &["best", "table.zgt", "3,6/4,8", "--roll", "1"]);
    assert!(text.contains("3 to 4, rolls again") && text.contains("6 to 7"), "{text}");
}

#[test]
fn tables_of_all_formats_and_types_agree_and_hold() {
    let directory = solved(&["blitz", "--pieces", "2"]);
    let path = directory.path();
    for (format, value_type) in
        [("zgt", "f32"), ("zgt", "percent16"), ("rgu", "f64"), ("rgu", "f32"), ("rgu", "percent16")]
    {
        let out = format!("{value_type}.{format}");
        let how = ["--format", format, "--value-type", value_type, "--out", &out];
        succeed(path, &[&["export", "table.zgt"], &how[..]].concat());
        let diff = succeed_with_json(path, &["table", "diff", "table.zgt", &out, "--json"]);
        assert_eq!(diff["same"], true, "{out}");
        assert_eq!(succeed_with_json(path, &["table", "verify", &out, "--json"])["holds"], true);
        let info = succeed_with_json(path, &["table", "info", &out, "--json"]);
        assert_eq!((&info["format"], &info["value_type"]), (&format.into(), &value_type.into()));
    }
    // There and back again, nothing is lost but the last digit.
    succeed(path, &["export", "f64.rgu", "back.zgt", "--raw"]);
    let diff = ["table", "diff", "table.zgt", "back.zgt", "--json"];
    assert!(succeed_with_json(path, &diff)["largest_points"].as_f64().unwrap() < 1e-13);
    let packing =
        |file| succeed_with_json(path, &["table", "info", file, "--json"])["compression"].clone();
    assert_eq!([packing("table.zgt"), packing("back.zgt")], ["zstd", "raw"]);
}

#[test]
fn one_wrong_value_is_found_by_comparing_and_by_verifying() {
    let directory = solved(&["finkel", "--pieces", "2"]);
    let path = directory.path();
    succeed(path, &["export", "table.zgt", "--format", "rgu"]);
    spoil_last_value(&path.join("table.rgu"));

    let diff = run(path, &["table", "diff", "table.zgt", "table.rgu", "--json"]);
    assert_eq!(diff.status.code(), Some(1));
    let found = last_json(&String::from_utf8(diff.stdout).unwrap());
    assert_eq!(found["same"], false);
    let number = |name: &str| found[name].as_f64().unwrap();
    assert!((number("largest_points") - 10.0).abs() < 1e-9, "{found}");
    // All others agree: the one difference is the sum of all.
    assert!((number("mean_points") * number("compared") - 10.0).abs() < 1e-9, "{found}");
    for (points, code) in [("9.9", 1), ("10.1", 0)] {
        let diff = run(path, &["table", "diff", "table.zgt", "table.rgu", "--tolerance", points]);
        assert_eq!(diff.status.code(), Some(code), "{points}");
    }

    let verify = run(path, &["table", "verify", "table.rgu", "--json"]);
    assert_eq!(verify.status.code(), Some(1));
    let found = last_json(&String::from_utf8(verify.stdout).unwrap());
    assert!(found["largest_violation_points"].as_f64().unwrap() > 1.0);
}

/// Makes the last value of an f64 `.rgu` file another chance.
fn spoil_last_value(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.len() - 8;
    let value = f64::from_be_bytes(bytes[at..].try_into().unwrap());
    let other = if value < 50.0 { value + 10.0 } else { value - 10.0 };
    bytes[at..].copy_from_slice(&other.to_be_bytes());
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_table_is_told_from_a_good_one() {
    let directory = solved(&["finkel", "--pieces", "2"]);
    let path = directory.path();
    succeed(path, &["table", "verify", "table.zgt"]);
    let good = fs::read(path.join("table.zgt")).unwrap();

    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    fs::write(path.join("table.zgt"), &flipped).unwrap();
    let output = run(path, &["table", "verify", "table.zgt"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("table.zgt is damaged"), "{}", stderr(&output));

    fs::write(path.join("table.zgt"), &good[..good.len() - 100]).unwrap();
    let output = run(path, &["table", "get", "table.zgt", "start"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("table.zgt is incomplete"), "{}", stderr(&output));
}

#[test]
fn an_f32_solve_is_right_to_its_precision() {
    let directory = solved(&["finkel", "--pieces", "3", "--precision", "f32"]);
    let path = directory.path();
    let info = succeed_with_json(path, &["table", "info", "table.zgt", "--json"]);
    assert_eq!(info["value_type"], "f32");
    succeed(path, &["solve", "finkel", "--pieces", "3", "--out", "exact.zgt", "--json"]);
    let diff = ["table", "diff", "table.zgt", "exact.zgt", "--json", "--tolerance", "0.001"];
    assert_eq!(succeed_with_json(path, &diff)["same"], true);
}

#[test]
fn a_claim_finer_than_the_type_of_the_table_is_proven() {
    // Chances of 1/4 round nothing.
    let rules = ["finkel", "--pieces", "2", "--dice", "d4"];
    let directory = solved(&[&rules[..], &["--precision", "f32", "--tolerance", "1e-6"]].concat());
    let path = directory.path();
    let first = AnyTable::open(&path.join("table.zgt")).unwrap();
    let claims = first
        .encoding()
        .tiers()
        .into_iter()
        .map(|tier| first.statistics(tier).certificate.unwrap());
    let finest = claims.fold(f64::INFINITY, f64::min);
    assert!(finest < f64::from(f32::EPSILON), "no claim is finer than the type: {finest}");
    succeed(path, &["table", "verify", "table.zgt", "--certificate"]);
}

/// Writes `planted.zgt`: `table.zgt` with its claims, and one value of a tier wrong by `error`.
fn plant(path: &Path, tier: Tier, error: f64) {
    let wrong = |of_table: Tier, values: &mut [f64]| {
        if of_table == tier {
            let middle = values.len() / 2;
            values[middle] += error;
        }
    };
    plant_with(path, wrong, |_, statistics| statistics);
}

/// Writes `planted.zgt`: `table.zgt` with other values and claims.
fn plant_with(
    path: &Path,
    change: impl Fn(Tier, &mut [f64]),
    say: impl Fn(Tier, TierStatistics) -> TierStatistics,
) {
    let table = AnyTable::open(&path.join("table.zgt")).unwrap();
    let (planted, replace) = (path.join("planted.zgt"), Existing::Replace);
    let compression = Compression::default();
    let mut writer =
        TableWriter::create(&planted, replace, table.encoding(), ValueType::F64, compression)
            .unwrap();
    for of_table in table.encoding().tiers() {
        let mut values = table.read_tier(of_table).unwrap();
        change(of_table, &mut values);
        let statistics = say(of_table, table.statistics(of_table));
        writer.write_tier(of_table, statistics, &values).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn a_certificate_is_proven_from_the_file_alone_and_refused_where_it_is_wrong() {
    let directory = solved(&["finkel", "--pieces", "2"]);
    let path = directory.path();
    let info = succeed_with_json(path, &["table", "info", "table.zgt", "--json"]);
    assert!(info["certificate"].as_f64().unwrap() <= 1e-12);
    let proven =
        succeed_with_json(path, &["table", "verify", "table.zgt", "--certificate", "--json"]);
    assert_eq!(proven["proof"]["proven"], true);
    for tier in [Tier::new(1, 1), Tier::new(2, 1), Tier::new(2, 2)] {
        let claims = info["tiers"].as_array().unwrap();
        let claim = claims.iter().find(|claim| claim["tier"] == tier.to_string()).unwrap();
        plant(path, tier, 2.0 * claim["certificate"].as_f64().unwrap());
        let output = run(path, &["table", "verify", "planted.zgt", "--certificate", "--json"]);
        assert_eq!(output.status.code(), Some(1), "{tier}");
        let refused = last_json(&String::from_utf8(output.stdout).unwrap());
        assert_eq!(refused["proof"]["refused_tier"], tier.to_string());
        assert_eq!(refused["proof"]["bound"], serde_json::Value::Null);
    }
}

#[test]
fn whatever_is_claimed_of_either_tier_of_a_step_is_to_be_proven() {
    let directory = solved(&["finkel", "--pieces", "2"]);
    let path = directory.path();
    for claim in [1e-17, 1e-300, 5e-324] {
        for tier in [Tier::new(1, 1), Tier::new(1, 2), Tier::new(2, 1)] {
            plant_with(
                path,
                |_, _| {},
                |of_table, statistics| match of_table == tier {
                    true => TierStatistics { certificate: Some(claim), ..statistics },
                    false => statistics,
                },
            );
            let output = run(path, &["table", "verify", "planted.zgt", "--certificate", "--json"]);
            assert_eq!(output.status.code(), Some(1), "{claim:e} of {tier}");
            let refused = last_json(&String::from_utf8(output.stdout).unwrap());
            let step = tier.first_of_step().to_string();
            assert_eq!(refused["proof"]["refused_tier"], step, "{claim:e} of {tier}");
        }
    }
}

#[test]
fn what_a_rounded_table_says_of_itself_is_true() {
    let directory = solved(&["finkel", "--pieces", "2"]);
    let path = directory.path();
    for (value_type, quantum) in [("percent16", 1.0 / 65535.0), ("f32", f64::from(f32::EPSILON))] {
        let solve = ["solve", "finkel", "--pieces", "2", "--value-type", value_type];
        let text = succeed(path, &[&solve[..], &["--out", "solved.zgt", "--force"]].concat());
        assert!(text.contains(&format!("before rounding to {value_type}")), "{text}");
        let export = ["export", "table.zgt", "exported.zgt", "--value-type", value_type, "--force"];
        succeed(path, &export);
        let read = |name: &str| fs::read(path.join(name)).unwrap();
        assert_eq!(read("solved.zgt"), read("exported.zgt"), "{value_type}");

        let info = succeed_with_json(path, &["table", "info", "solved.zgt", "--json"]);
        let certificate = info["certificate"].as_f64().unwrap();
        let diff = ["table", "diff", "table.zgt", "solved.zgt", "--json"];
        let largest = succeed_with_json(path, &diff)["largest_points"].as_f64().unwrap() / 100.0;
        assert!(certificate >= largest && certificate <= 0.51 * quantum, "{value_type}: {info}");
        // Less can be proven of what is rounded, and that is said.
        let verify = ["table", "verify", "solved.zgt", "--certificate"];
        let text = succeed(path, &verify);
        assert!(text.contains("is claimed, which rounded values alone cannot prove"), "{text}");
        let proof = succeed_with_json(path, &[&verify[..], &["--json"]].concat());
        let proof = &proof["proof"];
        assert_eq!((&proof["proven"], &proof["claimed"]), (&true.into(), &info["certificate"]));
        assert!(proof["bound"].as_f64().unwrap() > certificate, "{proof}");

        // Written with a finer type again, its values are as rounded as before.
        for finer in ["f32", "f64"] {
            succeed(path, &["export", "solved.zgt", "finer.zgt", "--value-type", finer, "--force"]);
            let text = succeed(path, &["table", "verify", "finer.zgt", "--certificate"]);
            let said = "is claimed, which rounded values alone cannot prove";
            assert!(text.contains(said), "{value_type} as {finer}: {text}");
        }
    }
}

#[test]
fn a_table_written_once_more_has_the_same_bytes() {
    let directory = solved(&["blitz", "--pieces", "2"]);
    let path = directory.path();
    succeed(path, &["export", "table.zgt", "again.zgt"]);
    let read = |name: &str| fs::read(path.join(name)).unwrap();
    assert!(read("again.zgt") == read("table.zgt"));
}

#[test]
fn a_correct_table_holds_however_often_players_pass() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for (file, pieces, passes) in [("often.toml", 2, 10), ("mostly.toml", 1, 100)] {
        let (zero, other) = (passes - 1, 2 * passes);
        let rules = format!(
            r#"extends = "finkel"
            pieces = {pieces}
            dice = {{ 0 = "{zero}/{passes}", 1 = "1/{other}", 2 = "1/{other}" }}"#
        );
        fs::write(path.join(file), rules).unwrap();
    }
    for solve in [
        &["short-backtrack", "--pieces", "1", "--dice", "d6-ur"][..],
        &["murray", "--pieces", "1", "--dice", "d6-ur"],
        &["--ruleset", "often.toml"],
        &["--ruleset", "mostly.toml"],
    ] {
        // Of games that are passed for the most part rounding lets no 1e-12 be proven.
        for how in [
            &["--tolerance", "1e-10"][..],
            &["--uncertified"],
            &["--uncertified", "--tolerance", "1e-6"],
        ] {
            let out = ["--out", "table.zgt", "--force"];
            succeed(path, &[&["solve"], solve, how, &out].concat());
            succeed(path, &["table", "verify", "table.zgt"]);
        }
    }
}

#[test]
fn what_is_not_proven_is_not_said_to_be_and_what_can_be_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let solve = ["solve", "finkel", "--pieces", "3", "--uncertified", "--tolerance", "1e-3"];
    let text = succeed(path, &[&solve[..], &["--out", "rough.zgt"]].concat());
    let (_, estimate) = text.split_once("estimated to be further than ").unwrap();
    let (estimate, rest) = estimate.split_once(' ').unwrap();
    assert!((1e-6..=1e-3).contains(&estimate.parse().unwrap()), "{text}");
    assert!(rest.starts_with("from the true one\n"), "{text}");
    succeed(path, &["solve", "finkel", "--pieces", "3", "--out", "fine.zgt"]);
    let verify = ["table", "verify", "rough.zgt", "--certificate", "--json"];
    let proof = succeed_with_json(path, &verify);
    let bound = proof["proof"]["bound"].as_f64().unwrap();
    let diff = run(path, &["table", "diff", "rough.zgt", "fine.zgt", "--json"]);
    let diff = last_json(&String::from_utf8(diff.stdout).unwrap());
    let largest = diff["largest_points"].as_f64().unwrap() / 100.0;
    assert!(largest > 1e-6 && largest <= bound && bound < 0.1, "{largest} and {bound}");
}

#[test]
fn no_error_is_estimated_to_be_less_than_rounding_allows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for (precision, tolerance, estimate) in
        [("f32", "1e-12", "2.0e-6"), ("f64", "1e-18", "3.6e-15")]
    {
        let solve = ["solve", "finkel", "--pieces", "1", "--uncertified", "--force"];
        let how = ["--precision", precision, "--tolerance", tolerance];
        let text = succeed(path, &[&solve[..], &how].concat());
        let told = format!("further than {estimate} from the true one; rounding allows no less\n");
        assert!(text.contains(&told), "{text}");
    }
}

#[test]
fn a_game_of_other_rules_is_called_a_variant() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    succeed(path, &["solve", "finkel", "--pieces", "1", "--safe-rosettes", "no"]);
    succeed(path, &["solve", "finkel", "--pieces", "1", "--safe-rosettes", "yes"]);
    succeed(path, &["solve", "finkel", "--pieces", "1", "--dice", "d4"]);
    let tables = files(path);
    let (variants, own): (Vec<_>, Vec<_>) =
        tables.iter().partition(|file| file.starts_with("finkel-variant-"));
    assert_eq!((variants.len(), &own[..]), (2, &[&"finkel-1.zgt".to_owned()][..]));
    for file in &tables {
        let name = if *file == "finkel-1.zgt" { "finkel" } else { "finkel-variant" };
        assert_eq!(succeed_with_json(path, &["table", "info", file, "--json"])["ruleset"], name);
    }
}

#[test]
fn counts_add_up() {
    let directory = tempfile::tempdir().unwrap();
    let count = ["count", "finkel", "--choices", "--json"];
    let count = succeed_with_json(directory.path(), &count);
    let tiers = count["tiers"].as_array().unwrap();
    let sum: u64 = tiers.iter().map(|tier| tier["positions"].as_u64().unwrap()).sum();
    assert_eq!(count["positions"], sum);
    assert_eq!(count["positions_in_all"], 137_913_936);
    let choices = count["choices"].as_array().unwrap();
    let pairs: u64 = choices.iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(pairs, 5 * sum + (137_913_936 - sum));
    let plan = succeed_with_json(directory.path(), &["plan", "finkel", "--json"]);
    assert_eq!(plan["positions"], sum);
}

#[test]
fn a_plan_says_how_far_a_solve_scales() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let plan = ["plan", "finkel", "--pieces", "5", "--cores", "16", "--json"];
    let alone = &succeed_with_json(path, &plan)["scale"];
    let number = |value: &Value| value.as_f64().unwrap();
    let speed_ups: Vec<f64> = alone["by_cores"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| number(&of["speed_up"]["together"]))
        .collect();
    assert_eq!(speed_ups.len(), 5, "1, 2, 4, 8 and 16 cores: {alone}");
    assert_eq!((speed_ups[0], &alone["cluster"]), (1.0, &Value::Null));
    assert!(speed_ups.is_sorted() && (1.5..=2.0).contains(&speed_ups[1]), "{speed_ups:?}");

    let cluster = |link: &[&str]| {
        let workers = ["--workers", "3", "--threads", "1"];
        succeed_with_json(path, &[&plan[..], &workers[..], link].concat())["scale"]["cluster"]
            .clone()
    };
    let fast = cluster(&[]);
    let by_workers = fast["by_workers"].as_array().unwrap();
    assert_eq!(
        by_workers.iter().map(|of| of["workers"].as_u64()).collect::<Vec<_>>(),
        [1, 2, 3].map(Some)
    );
    let [one, _, three] = [0, 1, 2].map(|i| &by_workers[i]);
    assert_eq!((number(&one["superstep_bytes"]), number(&one["halo_per_position"])), (0.0, 0.0));
    assert!(number(&three["superstep_bytes"]) > 0.0, "{three}");
    assert!(number(&three["disk_bytes"]) < number(&one["disk_bytes"]) / 2.0, "{fast}");
    let slow = cluster(&["--bandwidth", "1Mbit", "--latency", "100ms"]);
    assert_eq!(slow["worth_having"], 1, "{slow}");
    let together = |of: &Value| number(&of["by_workers"][2]["speed_up"]["together"]);
    assert!(together(&slow) < together(&fast) / 5.0, "{slow} {fast}");

    let told =
        succeed(path, &["plan", "finkel", "--pieces", "5", "--cores", "4", "--workers", "2"]);
    for said in ["4 cores", "2 workers", "10.000 Gbit/s", "worth having"] {
        assert!(told.contains(said), "{said}: {told}");
    }
}
