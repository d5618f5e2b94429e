//! Moves agree with an independent implementation: the Python package RoyalUr plays random
//! games, and every roll of them must have the same moves, the same outcome and the same player
//! to roll next here.
//!
//! The package is installed into a virtual environment in the user's cache. The test is skipped,
//! visibly, only where there is no Python or pip cannot reach a package registry; with
//! `ZIGGURAT_REQUIRE_ROYALUR=1` in the environment that is a failure too.

use std::{
    io::{BufRead, BufReader, Write},
    path::{PathBuf, absolute},
    process::{Command, Stdio},
    thread,
};

use serde::Deserialize;
use ziggurat_game::{Move, Ruleset};

/// How many games of each ruleset. The last three are not in the package by these names; they
/// are put together from its settings, and add extra rolls for captures and paths with laps.
const GAMES: [(&str, usize); 6] = [
    ("finkel", 1000),
    ("masters", 1000),
    ("aseb", 1000),
    ("blitz", 100),
    ("skiriuk", 100),
    ("murray", 100),
];

/// The exit code of `setup.sh` where the package cannot be had.
const UNREACHABLE: i32 = 3;

/// One roll of a game; `tests/royalur/play.py` says what the fields are.
#[derive(Deserialize, Debug)]
struct Record {
    position: String,
    roll: u8,
    moves: Vec<(u8, u8)>,
    #[serde(rename = "move")]
    made: Option<(u8, u8)>,
    after: String,
    next: Option<String>,
}

fn folder() -> PathBuf {
    absolute("../../tests/royalur").expect("tests run in the directory of their package")
}

/// The python that has the package, `None` if the package cannot be had here.
fn python() -> Option<String> {
    let setup = Command::new("bash")
        .arg(folder().join("setup.sh"))
        .output()
        .expect("bash runs the set-up of the independent implementation");
    let said = String::from_utf8_lossy(&setup.stderr);
    let required = std::env::var_os("ZIGGURAT_REQUIRE_ROYALUR").is_some();
    match setup.status.code() {
        Some(0) => Some(String::from_utf8_lossy(&setup.stdout).trim().to_owned()),
        Some(UNREACHABLE) if !required => {
            // The test harness hides what `eprintln!` prints, but not this.
            let _ = writeln!(
                std::io::stderr(),
                "\n*** SKIPPED: moves are NOT compared with the package RoyalUr here:\n*** {}\n",
                said.trim().replace('\n', "\n*** ")
            );
            None
        }
        code => panic!("setting up the package RoyalUr failed ({code:?}):\n{said}"),
    }
}

/// Compares one roll; the error says what differs.
fn compare(ruleset: &Ruleset, record: &Record) -> Result<(), String> {
    let position = ruleset.parse_position(&record.position).map_err(|error| error.to_string())?;
    let moves: Vec<_> = ruleset.moves(&position, record.roll).map(|mv| (mv.from, mv.to)).collect();
    if moves != record.moves {
        return Err(format!("moves {moves:?}"));
    }
    let (after, next) = match record.made {
        None => (position, Some("opponent")),
        Some((from, to)) => {
            let outcome = ruleset.apply(&position, Move { from, to });
            let next = if outcome.rolls_again { "own" } else { "opponent" };
            (outcome.position, (!outcome.won).then_some(next))
        }
    };
    let after = ruleset.format_position(&after);
    if (&after, next) != (&record.after, record.next.as_deref()) {
        return Err(format!("after {after}, next {next:?}"));
    }
    Ok(())
}

/// Plays games of one ruleset and compares every roll; returns how many games and rolls.
fn compare_games(python: &str, name: &str, games: usize) -> (usize, usize) {
    let ruleset = Ruleset::builtin(name).expect("a built-in ruleset");
    let mut player = Command::new(python)
        .arg(folder().join("play.py"))
        .args([&games.to_string(), "1", name])
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    let (mut played, mut rolls) = (0, 0);
    for line in BufReader::new(player.stdout.take().expect("a pipe")).lines() {
        let line = line.expect("python writes text");
        if line == format!("{{\"ruleset\": \"{name}\"}}") {
            played += 1;
            continue;
        }
        let record: Record = serde_json::from_str(&line).expect("python writes records");
        if let Err(difference) = compare(&ruleset, &record) {
            panic!("{name}: RoyalUr says {record:?}, Ziggurat says {difference}");
        }
        rolls += 1;
    }
    assert!(player.wait().expect("python ends").success(), "play.py failed");
    (played, rolls)
}

#[test]
fn moves_agree_with_an_independent_implementation() {
    let Some(python) = python() else { return };
    thread::scope(|scope| {
        let compared = GAMES.map(|(name, games)| {
            let python = &python;
            scope.spawn(move || (name, games, compare_games(python, name, games)))
        });
        for handle in compared {
            let (name, games, (played, rolls)) = handle.join().expect("all rolls agree");
            println!("{name}: {played} games, {rolls} rolls agree");
            assert_eq!(played, games);
            assert!(rolls > 20 * games, "{name}: {rolls} rolls are no {games} games");
        }
    });
}
