//! Games that a user reviews and plays, and puzzles.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Output, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use ziggurat_game::{Move, Overrides, Position, Ruleset};

use crate::support::{
    data, files, in_a_browser, run, stderr, succeed, succeed_with_json, ziggurat,
};

/// A directory with `finkel-2.zgt` and the records of two games.
fn table_and_games() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    succeed(directory.path(), &["solve", "finkel", "--pieces", "2", "--json"]);
    for game in ["finkel2-0.rgn", "finkel2-0.json", "finkel2-1.rgn", "finkel-0.rgn"] {
        fs::copy(data(&format!("games/{game}")), directory.path().join(game)).unwrap();
    }
    directory
}

/// What the program says when somebody types these lines.
fn typing(directory: &Path, arguments: &[&str], lines: &str) -> Output {
    let mut child = ziggurat(directory, arguments);
    let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    // It may have ended before it read all.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn the_review_of_a_game_is_the_same_from_both_notations_and_its_ledger_closes() {
    let directory = table_and_games();
    let path = directory.path();
    let review = |game: &str| {
        succeed_with_json(path, &["review", game, "--table", "finkel-2.zgt", "--json"])
    };
    let (mut rgn, mut json) = (review("finkel2-0.rgn"), review("finkel2-0.json"));
    for review in [&mut rgn, &mut json] {
        review.as_object_mut().unwrap().remove("file");
    }
    assert_eq!(rgn, json);
    let ledger = |member: &str| rgn["ledger"][member].as_f64().unwrap();
    let sum = ledger("start_percent") + ledger("light_luck_points")
        - ledger("light_loss_points")
        - ledger("dark_luck_points")
        + ledger("dark_loss_points");
    assert!((sum - ledger("result_percent")).abs() < 1e-9, "{rgn}");
    assert_eq!(ledger("result_percent"), 100.0);
    let text = succeed(path, &["review", "finkel2-0.rgn", "--table", "finkel-2.zgt"]);
    assert!(text.contains("light won") && text.contains("light's chance at the end"), "{text}");
    let typed = fs::read_to_string(path.join("finkel2-0.rgn")).unwrap();
    let piped = typing(path, &["review", "-", "--table", "finkel-2.zgt"], &typed);
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), text);
    let several = ["review", "finkel2-0.rgn", "finkel2-1.rgn", "--table", "finkel-2.zgt"];
    let text = succeed(path, &several);
    assert!(text.contains("finkel2-0.rgn") && text.contains("finkel2-1.rgn"), "{text}");
    let sums = succeed_with_json(path, &[&several[..], &["--json"]].concat());
    assert_eq!(sums["games"], 2);
}

#[test]
fn records_that_are_wrong_are_said_to_be_where() {
    let directory = table_and_games();
    let path = directory.path();
    let fails = |game: &str, parts: &[&str]| {
        let output = run(path, &["review", game, "--table", "finkel-2.zgt", "--html", "page.html"]);
        let error = stderr(&output);
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]), "{error}");
        parts.iter().for_each(|part| assert!(error.contains(part), "{error}"));
        assert!(!path.join("page.html").exists());
    };
    fails("none.rgn", &["none.rgn", "No such file"]);
    let game = fs::read_to_string(path.join("finkel2-0.rgn")).unwrap();
    fs::write(path.join("moved.rgn"), game.replace("C@C2", "C@C7")).unwrap();
    fails("moved.rgn", &["moved.rgn", "line 3, column 11", "`C@C7`", "legal are 0: --; 1: C@C4"]);
    fails("finkel-0.rgn", &["finkel-0.rgn", "line ", "legal are"]);
}

#[test]
fn a_page_is_written_once() {
    let directory = table_and_games();
    let path = directory.path();
    let html = ["review", "finkel2-0.rgn", "--table", "finkel-2.zgt", "--html", "page.html"];
    succeed(path, &html);
    let page = fs::read_to_string(path.join("page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    let again = run(path, &html);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("page.html already exists"), "{}", stderr(&again));
    let before = files(path);
    succeed(path, &[&html[..], &["--force"]].concat());
    assert_eq!(files(path), before);
}

#[test]
fn a_page_opens_in_a_browser_and_is_stepped_through() {
    in_a_browser("page.sh");
}

#[test]
fn a_game_that_is_played_is_recorded_and_can_be_reviewed() {
    let directory = table_and_games();
    let path = directory.path();
    // The first move there is, again and again.
    let play = ["play", "finkel-2.zgt", "--seed", "5", "--against", "random", "--chances"];
    let lines = format!("hint\nundo\n1\nundo\n{}", "1\n".repeat(300));
    let output = typing(path, &play, &lines);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    for part in ["you are light", "nothing to take back", "Best: ", " %", "finkel-2-5.rgn"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("You win.") || text.contains("You lose."), "{text}");
    let record = fs::read_to_string(path.join("finkel-2-5.rgn")).unwrap();
    assert!(record.starts_with("[Opponent random]\n[Rules finkel]\n[Pieces \"2\"]\n\n1. A@"));
    succeed(path, &["review", "finkel-2-5.rgn", "--table", "finkel-2.zgt"]);
    // The same seed, the same dice; and a record is not written over.
    let again = typing(path, &play, &lines);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("finkel-2-5.rgn already exists"), "{}", stderr(&again));
    let elsewhere = typing(path, &[&play[..], &["--record", "other.rgn"]].concat(), &lines);
    assert!(elsewhere.status.success());
    assert_eq!(fs::read_to_string(path.join("other.rgn")).unwrap(), record);
}

#[test]
fn a_game_with_dice_of_wood_is_left_and_kept() {
    let directory = table_and_games();
    let path = directory.path();
    let play = ["play", "finkel-2.zgt", "--dice", "enter", "--side", "dark", "--record", "x.json"];
    let output = typing(path, &play, "9\n2\n4\nC@C1\n1\nquit\n");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Rolls are 0, 1, 2, 3, 4."), "{text}");
    let record: Value = serde_json::from_slice(&fs::read(path.join("x.json")).unwrap()).unwrap();
    let states = record["states"].as_array().unwrap();
    assert_eq!(states.last().unwrap()["type"], "abandoned", "{record}");
    succeed(path, &["review", "x.json", "--table", "finkel-2.zgt"]);
}

#[test]
fn a_game_that_is_interrupted_is_kept() {
    let directory = table_and_games();
    let path = directory.path();
    let play = ["play", "finkel-2.zgt", "--dice", "enter", "--record", "x.rgn"];
    let mut playing = ziggurat(path, &play);
    playing.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut playing = playing.spawn().unwrap();
    // Kept open: whoever waits for a process closes what it reads, and an end of that is another end of a game.
    let mut typed = playing.stdin.take().unwrap();
    typed.write_all(b"1\nA@A4\n").unwrap();
    let mut shown = BufReader::new(playing.stdout.take().unwrap());
    let mut text = Vec::new();
    while !text.ends_with(b"dark rolls:") {
        assert!(shown.read_until(b':', &mut text).unwrap() > 0);
    }
    kill_process(Pid::from_child(&playing), Signal::INT).unwrap();
    assert_eq!(playing.wait().unwrap().code(), Some(130));
    let record = fs::read_to_string(path.join("x.rgn")).unwrap();
    assert!(record.contains("[Result abandoned-light]"), "{record}");
    assert!(record.ends_with("1. A@A4\n"), "{record}");
}

#[test]
fn puzzles_have_one_best_move_and_are_the_same_for_a_seed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    succeed(path, &["solve", "finkel", "--pieces", "3", "--json"]);
    let puzzles = ["puzzles", "finkel-3.zgt", "--count", "3", "--seed", "4"];
    let text = succeed(path, &puzzles);
    assert_eq!(text, succeed(path, &puzzles));
    assert_eq!(text.matches("What is the best move?").count(), 3, "{text}");
    let lines = succeed(path, &[&puzzles[..], &["--json"]].concat());
    for line in lines.lines() {
        let puzzle: Value = serde_json::from_str(line).unwrap();
        let moves = puzzle["moves"].as_array().unwrap();
        let percent = |at: usize| moves[at]["percent"].as_f64().unwrap();
        assert!(percent(0) - percent(1) > 1.0, "{puzzle}");
        assert!(puzzle["thumb"]["loss_points"].as_f64().unwrap() > 1.0, "{puzzle}");
        assert_ne!(puzzle["thumb"]["from"], moves[0]["from"], "{puzzle}");
    }
    let other = succeed(path, &["puzzles", "finkel-3.zgt", "--count", "3", "--seed", "5"]);
    assert_ne!(text, other);
    let unknown = run(path, &["puzzles", "finkel-3.zgt", "--thumb", "perfect"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn every_move_of_finkel_with_3_pieces_is_worth_what_the_reference_solver_says() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    succeed(path, &["solve", "finkel", "--pieces", "3", "--json"]);
    let pieces = Overrides { pieces: Some(3), ..Overrides::default() };
    let finkel = Ruleset::builtin("finkel").unwrap().with(&pieces).unwrap();
    let reference = ziggurat_reference::solve(&finkel);
    let value = |position: &Position| reference.value(position).unwrap();
    let sample: Vec<&Position> =
        reference.iter().map(|(position, _)| position).step_by(97).collect();
    let lines = sample.iter().map(|position| finkel.format_position(position) + "\n");
    let output = typing(path, &["best", "finkel-3.zgt", "-", "--json"], &lines.collect::<String>());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), sample.len(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut compared = 0;
    for (line, position) in text.lines().zip(sample) {
        let answer: Value = serde_json::from_str(line).unwrap();
        for roll in answer["rolls"].as_array().unwrap() {
            let value_of = roll["roll"].as_u64().unwrap() as u8;
            let mut legal: Vec<Move> = finkel.moves(position, value_of).collect();
            for valued in roll["moves"].as_array().unwrap() {
                let number = |member: &str| valued[member].as_u64().unwrap() as u8;
                let mv = Move { from: number("from"), to: number("to") };
                let outcome = finkel.apply(position, mv);
                let expected = match outcome {
                    _ if outcome.won => 1.0,
                    _ if outcome.rolls_again => value(&outcome.position),
                    _ => 1.0 - value(&outcome.next()),
                };
                let percent = valued["percent"].as_f64().unwrap();
                assert!((percent - 100.0 * expected).abs() < 1e-9, "{line}: {mv:?} {expected}");
                legal.retain(|it| *it != mv);
                compared += 1;
            }
            assert!(legal.is_empty(), "{line}: {legal:?}");
        }
    }
    assert!(compared > 10_000, "{compared} moves");
}

#[test]
fn positions_are_read_by_the_names_of_squares_and_as_they_are_drawn() {
    let directory = table_and_games();
    let path = directory.path();
    let get = |position: &str| {
        succeed_with_json(path, &["table", "get", "finkel-2.zgt", position, "--json"])
    };
    let numbered = get("4,8/3");
    for same in ["A1,B4/C2", "a1,b4/c2", "1d2xx2/3l4/l3xx2 l 0 0 1 0"] {
        assert_eq!(get(same), numbered, "{same}");
    }
    let best = ["best", "finkel-2.zgt", "A1,B4/C2", "--squares"];
    let text = succeed(path, &best);
    assert!(text.contains("A1,B4/C2") && text.contains("B4B5"), "{text}");
}
