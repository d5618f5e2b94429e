//! Bad input gives one clear error that names the input and the remedy, and changes nothing.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path, process::Stdio};

use serde_json::json;

use crate::support::{data, files, last_json, run, stderr, succeed, ziggurat};

const FAILED: i32 = 1;
const BAD_INPUT: i32 = 2;
const REFUSED: i32 = 3;

/// Runs a command that must fail with an exit code and say these things, and nothing else.
fn fails(directory: &Path, arguments: &[&str], exit: i32, said: &[&str]) {
    let before = files(directory);
    let output = run(directory, arguments);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {message}");
    assert_eq!(message.matches("error:").count(), 1, "{arguments:?}: {message}");
    for words in said {
        assert!(message.contains(words), "{arguments:?} does not say `{words}`: {message}");
    }
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments:?}");
    assert_eq!(files(directory), before, "{arguments:?}");
}

/// A directory with `table.zgt`, finkel with one piece.
fn with_table() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let solve = ["solve", "finkel", "--pieces", "1", "--out", "table.zgt"];
    succeed(directory.path(), &solve);
    directory
}

#[test]
fn rulesets_that_do_not_exist_are_named_with_the_one_that_was_meant() {
    let empty = tempfile::tempdir().unwrap();
    let fails = |arguments: &[&str], said: &[&str]| fails(empty.path(), arguments, BAD_INPUT, said);
    fails(&["solve", "finkl"], &["`finkl`", "did you mean `finkel`", "--ruleset FILE"]);
    fails(&["count", "mastres"], &["`mastres`", "did you mean `masters`"]);
    fails(&["rulesets", "show", "quake"], &["`quake`", "finkel, masters"]);
    fails(&["solve", "--ruleset", "none.toml"], &["none.toml", "No such file"]);
    fails(&["solve", "finkel", "--dice", "d7"], &["`d7`", "binary4"]);
    fails(&["solve", "finkel", "--pieces", "0"], &["0 pieces", "1 to 15"]);
    fails(&["solve", "finkel", "--pieces", "16"], &["16 pieces", "1 to 15"]);
    fails(&["solve", "finkel", "--captures", "never"], &["never", "any"]);
    fails(&["solve"], &["<RULESET|--ruleset <FILE>>"]);
    fails(&["solve", "finkel", "--ruleset", "none.toml"], &["--ruleset", "RULESET"]);
    fails(&["solve", "finkel", "--value-type", "f16"], &["f16", "percent16"]);
    fails(&["solve", "finkel", "--tolerance", "2"], &["'2'", "1e-12"]);
    fails(&["solve", "finkel", "--tolerance", "nan"], &["'nan'", "1e-12"]);
    fails(&["solve", "finkel", "--threads", "4097"], &["4097", "4096"]);
    fails(&["solve", "finkel", "--memory", "much"], &["`much`", "6GiB"]);
    fails(&["solve", "finkel", "--safe-rosettes", "maybe"], &["'maybe'", "yes or no"]);
    fails(&["solve", "finkel", "--checkpoint-every", "1s"], &["--checkpoint-every", "--dir DIR"]);
    fails(&["solve", "finkel", "--out", "-"], &["standard output", "--out FILE"]);
    fails(&["bench", "finkel", "--threads", "4097"], &["4097", "4096"]);
    fails(&["worker", "--dir", "w", "--metrics", "x"], &["'x'", "127.0.0.1:"]);
    fails(&["submit", "finkel", "--name", ""], &["--name"]);
}

#[test]
fn a_ruleset_that_cannot_be_solved_is_refused_when_it_is_checked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let column: Vec<_> = (1..=40).map(|row| format!("[1, {row}]")).collect();
    let rules = |pieces: u8| {
        let (board, path) = (vec![r#""o.o""#; 40].join(", "), column.join(", "));
        format!(
            "extends = \"finkel\"\nboard = [{board}]\npath = [{path}]\ndice = \"binary4\"\npieces = {pieces}\n"
        )
    };
    fs::write(path.join("few.toml"), rules(2)).unwrap();
    succeed(path, &["rulesets", "check", "few.toml"]);
    fs::write(path.join("many.toml"), rules(15)).unwrap();
    let said = ["many.toml cannot be solved", "40 private squares", "fewer pieces"];
    fails(path, &["rulesets", "check", "many.toml"], BAD_INPUT, &said);
    fails(path, &["solve", "--ruleset", "many.toml"], BAD_INPUT, &said[1..]);
}

#[test]
fn nothing_is_said_to_be_proven_of_a_game_that_need_not_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let rules = r#"board = ["ooo"]
        path = [[3, 1], [2, 1], [1, 1]]
        dice = { 1 = "1" }
        pieces = 1
        safe_rosettes = true
        rosettes_grant_rolls = false
        captures_grant_rolls = false
        captures = "same-lap""#;
    fs::write(path.join("endless.toml"), rules).unwrap();
    let output = run(path, &["solve", "--ruleset", "endless.toml", "--out", "endless.zgt"]);
    let (text, message) = (String::from_utf8_lossy(&output.stdout), stderr(&output));
    assert_eq!(output.status.code(), Some(FAILED), "{message}");
    assert!(text.contains("\nNot proven\n"), "{text}");
    assert!(message.contains("nothing is proven"), "{message}");
    assert!(message.contains("a game that ends soon enough"), "{message}");
    let output = run(path, &["table", "verify", "endless.zgt", "--certificate"]);
    assert_eq!(output.status.code(), Some(FAILED));
}

#[test]
fn a_mistake_in_a_ruleset_file_is_named_with_file_and_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("bad.toml"), "name = \"bad\"\npiecs = 3\n").unwrap();
    fails(path, &["rulesets", "check", "bad.toml"], BAD_INPUT, &["bad.toml:2", "piecs", "pieces"]);
    fails(path, &["solve", "--ruleset", "bad.toml"], BAD_INPUT, &["bad.toml:2"]);
    fs::write(path.join("binary.toml"), [0xff, 0xfe, 0x00]).unwrap();
    fails(path, &["rulesets", "check", "binary.toml"], BAD_INPUT, &["binary.toml", "UTF-8"]);
}

#[test]
fn a_file_that_exists_is_kept_unless_the_user_says_otherwise() {
    let directory = with_table();
    let path = directory.path();
    let before = fs::read(path.join("table.zgt")).unwrap();
    let solve = ["solve", "blitz", "--pieces", "1", "--out", "table.zgt"];
    fails(path, &solve, BAD_INPUT, &["table.zgt exists already", "--force"]);
    let export = ["export", "table.zgt", "--format", "zgt"];
    fails(path, &export, BAD_INPUT, &["table.zgt exists already", "--out FILE"]);
    let export = ["export", "table.zgt", "table.zgt"];
    fails(path, &export, BAD_INPUT, &["table.zgt exists already"]);
    fails(path, &["export", "table.zgt"], BAD_INPUT, &["which format", "--format"]);
    assert_eq!(fs::read(path.join("table.zgt")).unwrap(), before);

    succeed(path, &[&solve[..], &["--force"]].concat());
    assert_ne!(fs::read(path.join("table.zgt")).unwrap(), before);
}

#[test]
fn places_that_cannot_be_written_are_named_before_any_work() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let solve = |out| ["solve", "finkel", "--out", out];
    fails(path, &solve("none/table.zgt"), BAD_INPUT, &["there is no directory none"]);
    fails(path, &solve("."), BAD_INPUT, &[". is a directory"]);
}

#[test]
fn a_solve_that_does_not_fit_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let solve = ["solve", "finkel", "--memory", "1MB"];
    let said = ["finkel with 7 pieces takes", "of memory", "1.00 MB", "--dir DIR", "--memory "];
    fails(path, &solve, REFUSED, &said);
    // Of a game so small that its arrays are nothing, a directory is no help.
    let solve = ["solve", "finkel", "--pieces", "1", "--memory", "1MB"];
    let output = run(path, &solve);
    assert!(!stderr(&output).contains("--dir"), "{}", stderr(&output));
    fails(path, &solve, REFUSED, &["1.00 MB", "help: allow ", "--memory "]);
    let solve = ["solve", "finkel", "--memory", "1MB", "--dir", "job"];
    fails(path, &solve, REFUSED, &["of memory", "1.00 MB", "--memory ", "--threads N"]);
    let worker = ["worker", "--dir", "w", "--memory", "1MB"];
    fails(path, &worker, REFUSED, &["a worker takes", "1.00 MB", "--memory "]);
    let solve = ["solve", "double-long"];
    fails(path, &solve, REFUSED, &["double-long with 7 pieces takes", "of memory", "--pieces N"]);
    for plan in [&["plan"][..], &["plan", "--dir", "job"], &["plan", "--json"]] {
        let plan = [plan, &["finkel", "--memory", "1MB"]].concat();
        fails(path, &plan, REFUSED, &["finkel with 7 pieces takes", "1.00 MB", "--memory "]);
    }
    // What fits only with a directory is planned with one only, as it is solved.
    let between = ["finkel", "--memory", "300MB", "--threads", "1"];
    for command in ["plan", "solve"] {
        let without = [&[command][..], &between].concat();
        fails(path, &without, REFUSED, &["300 MB", "--dir DIR"]);
    }
    let plan = [&["plan", "--dir", "job", "--json"][..], &between].concat();
    let planned = last_json(&succeed(path, &plan));
    assert_eq!(
        (&planned["arrays"], &planned["memory_bytes"]),
        (&json!("files"), &json!(300_000_000))
    );
    // What is planned for another machine need not fit this one; what is to be solved has to, however much is allowed.
    succeed(path, &["plan", "double-long", "--memory", "1000000TB"]);
    let solve = ["solve", "double-long", "--memory", "1000000TB"];
    fails(path, &solve, REFUSED, &["of memory", "is available", "--dir DIR"]);
    let solve = ["solve", "double-long", "--dir", "job", "--raw"];
    fails(path, &solve, REFUSED, &["TB of disk", "is free in .", "--value-type percent16"]);
}

#[test]
fn machines_that_cannot_be_are_not_planned_for() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, said) in [
        (&["--cores", "5000"][..], &["5000", "--cores"][..]),
        (&["--workers", "0"], &["0", "--workers", "1..=1024"]),
        (&["--workers", "8", "--bandwidth", "10GB"], &["10GB", "10Gbit"]),
        (&["--workers", "8", "--bandwidth", "0Gbit"], &["0Gbit", "10Gbit"]),
        (&["--workers", "8", "--latency", "soon"], &["soon", "--latency"]),
        (&["--cores", "8", "--bandwidth", "1Gbit"], &["--workers"]),
        (&["--cores", "8", "--superstep-nanoseconds", "-1"], &["-1"]),
        (&["--cores", "8", "--superstep-nanoseconds=0"], &["`0`", "13.7"]),
    ] {
        fails(directory.path(), &[&["plan", "finkel"], arguments].concat(), BAD_INPUT, said);
    }
}

#[test]
fn a_table_whose_report_cannot_be_written_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let solve = ["solve", "finkel", "--pieces", "1", "--out", "table.zgt"];
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let export = ["export", "table.zgt", "table.rgu"];
    for (arguments, file) in [(&solve[..], "table.zgt"), (&export[..], "table.rgu")] {
        let output = ziggurat(path, arguments).stdout(full()).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(FAILED), "{said}");
        assert!(said.contains(&format!("help: {file} is complete; look at it: ")), "{said}");
        succeed(path, &["table", "verify", file]);
    }
}

#[test]
fn files_that_are_no_tables_are_named() {
    let directory = with_table();
    let path = directory.path();
    fs::write(path.join("text.zgt"), "This is a text, not a table.\n").unwrap();
    fs::write(path.join("short.zgt"), "table?").unwrap();
    fs::write(path.join("start.zgt"), b"\x89ZGT\r").unwrap();
    fs::write(path.join("empty.zgt"), "").unwrap();
    fails(path, &["table", "info", "/dev/null"], BAD_INPUT, &["/dev/null is no regular file"]);
    fails(path, &["best", "none.zgt", "start"], BAD_INPUT, &["none.zgt", "No such file"]);
    let said = ["short.zgt is not a table", "`ziggurat solve`"];
    fails(path, &["table", "info", "short.zgt"], BAD_INPUT, &said);
    let said = ["start.zgt is incomplete", "solve the ruleset again"];
    fails(path, &["table", "info", "start.zgt"], FAILED, &said);
    fails(path, &["table", "info", "empty.zgt"], BAD_INPUT, &["empty.zgt is not a table"]);
    fails(path, &["table", "info", "."], BAD_INPUT, &[". is a directory", "name of a file"]);
    fails(path, &["table", "info", "text.zgt"], BAD_INPUT, &["text.zgt is not a table"]);
    fails(path, &["table", "verify", "none.zgt"], BAD_INPUT, &["none.zgt", "No such file"]);
    fails(path, &["table", "diff", "table.zgt", "none.zgt"], BAD_INPUT, &["none.zgt"]);
    fails(path, &["export", "none.zgt", "--format", "rgu"], BAD_INPUT, &["none.zgt"]);
}

#[test]
fn positions_that_are_none_are_named_with_what_is_wrong() {
    let directory = with_table();
    let fails = |arguments: &[&str], said: &[&str]| {
        fails(directory.path(), arguments, BAD_INPUT, said);
    };
    fails(&["table", "get", "table.zgt", "start", "4;8/3"], &["`4;8/3`"]);
    fails(&["table", "get", "table.zgt", "15/-"], &["`15/-`", "1 to 14"]);
    fails(&["best", "table.zgt", "1,2/-"], &["`1,2/-`", "piece"]);
    fails(&["best", "table.zgt", "-/5/6"], &["`-/5/6`", "own/opponent"]);
    fails(&["best", "table.zgt", "-+1/-"], &["`-+1/-` is decided"]);
    fails(&["best", "table.zgt", "start", "--roll", "5"], &["never show 5", "0, 1, 2, 3, 4"]);
}

#[test]
fn a_solve_writes_no_table_under_the_name_of_another_format() {
    let directory = with_table();
    let path = directory.path();
    for out in ["one.rgu", "one.parquet"] {
        let said = ["a .zgt table, not", "export", out];
        fails(path, &["solve", "finkel", "--pieces", "1", "--out", out], BAD_INPUT, &said);
    }
    let solve = ["solve", "finkel", "--pieces", "1", "--dir", "table.zgt"];
    fails(path, &solve, BAD_INPUT, &["table.zgt is not a directory", "--dir"]);
}

#[test]
fn what_a_format_cannot_express_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let solve = ["solve", "double-short", "--pieces", "1", "--out", "double.zgt"];
    succeed(path, &solve);
    fails(path, &["export", "double.zgt", "--format", "rgu"], BAD_INPUT, &["double-short", "path"]);
    let raw = ["export", "double.zgt", "--format", "parquet", "--raw"];
    fails(path, &raw, BAD_INPUT, &["--raw", ".parquet", "--format zgt"]);
    let published = data("finkel2-published.rgu").canonicalize().unwrap();
    let diff = ["table", "diff", "double.zgt", published.to_str().unwrap()];
    fails(path, &diff, BAD_INPUT, &["the tables differ in"]);
}

#[test]
fn what_is_no_regular_file_is_never_replaced() {
    let directory = with_table();
    let path = directory.path();
    std::os::unix::fs::symlink("table.zgt", path.join("link.zgt")).unwrap();
    for out in ["link.zgt", "/dev/null"] {
        let solve = ["solve", "blitz", "--pieces", "1", "--out", out, "--force"];
        fails(path, &solve, BAD_INPUT, &[out, "no regular file", "--out FILE"]);
    }
}

#[test]
fn a_solve_that_cannot_begin_its_table_leaves_no_job_behind() {
    let directory = tempfile::tempdir().unwrap();
    let name = "a".repeat(300) + ".zgt"; // longer than file names may be
    let solve = ["solve", "finkel", "--pieces", "1", "--dir", "job", "--out", &name];
    fails(directory.path(), &solve, BAD_INPUT, &["cannot create", "name too long"]);
}

#[test]
fn a_solve_that_cannot_announce_itself_leaves_no_job_behind() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let solve =
        ["solve", "finkel", "--pieces", "1", "--dir", "job", "--out", "table.zgt", "--json"];
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = ziggurat(path, &solve).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(FAILED), "{}", stderr(&output));
    assert!(files(path).is_empty());
    succeed(path, &solve);
}

#[test]
fn names_that_are_not_utf_8_are_names() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&path).unwrap();
    let solve = ["solve", "finkel", "--pieces", "1", "--json"];
    let job = [&solve[..], &["--dir", "job"]].concat();
    fails(&path, &job, BAD_INPUT, &["is not UTF-8", "--out FILE"]);
    assert!(files(&path).is_empty());

    let name = OsStr::from_bytes(b"\xff.zgt");
    let with_name = |arguments: &[&str]| {
        let output = ziggurat(&path, arguments).arg(name).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        last_json(&String::from_utf8(output.stdout).unwrap())
    };
    let solved = with_name(&[&solve[..], &["--out"]].concat());
    assert_eq!(solved["file"], "\u{fffd}.zgt");
    assert_eq!(with_name(&["table", "info", "--json"])["file"], "\u{fffd}.zgt");
    let copied = with_name(&["export", "--json", "--force", "--format", "zgt"]);
    assert_eq!(copied["file"], "\u{fffd}.zgt");
}

#[test]
fn a_standard_error_that_cannot_be_written_stops_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let status = |arguments: &[&str]| {
        let mut command = ziggurat(directory.path(), arguments);
        command.stdout(Stdio::null()).stderr(full()).status().unwrap().code()
    };
    assert_eq!(status(&["solve", "finkel", "--pieces", "1", "--out", "table.zgt"]), Some(0));
    assert_eq!(status(&["table", "info", "none.zgt"]), Some(BAD_INPUT));
    succeed(directory.path(), &["table", "verify", "table.zgt"]);
}

#[test]
fn what_the_environment_says_of_a_coordinator_matters_to_those_who_speak_to_one() {
    let directory = with_table();
    let with = |arguments: &[&str]| {
        let mut command = ziggurat(directory.path(), arguments);
        command.env("ZIGGURAT_COORDINATOR", "nowhere").output().unwrap()
    };
    assert!(with(&["export", "table.zgt", "table.rgu"]).status.success());
    let jobs = with(&["jobs"]);
    assert_eq!(jobs.status.code(), Some(BAD_INPUT));
    assert!(stderr(&jobs).contains("ZIGGURAT_COORDINATOR: `nowhere` is no address"));
}
