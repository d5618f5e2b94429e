//! The net: the solutions of small games, to the last bit, as one checksum each.
//!
//! A change of the kernel that is to change no byte passes this test; one that does change bytes fails it, writes
//! `checksums.txt` anew, and says in its commit why:
//!
//! ```sh
//! cargo test -p ziggurat-kernel --test checksums -- --ignored
//! ```
//!
//! A checksum covers the values of all tiers and their statistics. Those of teams cover all messages and checkpoints
//! as well. Arrays in files, threads and vector instructions have no checksums of their own: they change no bit.

mod common;

use common::{
    builtin,
    team::{self, Exchanged, Rules},
    tracks,
};
use xxhash_rust::xxh3::Xxh3;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::Ruleset;
use ziggurat_kernel::{
    Arrays, Cancelled, CorrectedFrom, MemberIndex, Memory, Precision, Settings, Surroundings,
    TierStatistics, TierValues, solve,
};

/// The expected checksums, a line for each game.
const EXPECTED: &str = include_str!("checksums.txt");
/// The same, to be written.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/checksums.txt");

/// Every track with 1 and 2 pieces.
fn small_games() -> Vec<Job> {
    Job::both([tracks(1), tracks(2)].concat())
}

/// Games with arrays that are large enough for files.
fn larger_games() -> Vec<Job> {
    let games = [("finkel", 4), ("masters", 3), ("skiriuk", 3)];
    Job::both(games.map(|(name, pieces)| builtin(name, pieces)).into())
}

/// The largest games, in one precision each.
fn largest_games() -> Vec<Job> {
    let blitz = Job { ruleset: builtin("blitz", 4), precision: Precision::F64 };
    let double_short = Job { ruleset: builtin("double-short", 3), precision: Precision::F32 };
    vec![blitz, double_short]
}

/// Games for teams.
fn games_of_teams() -> Vec<Job> {
    Job::both(["finkel", "blitz", "double-short"].map(|name| builtin(name, 2)).into())
}

/// A game in one of the precisions.
struct Job {
    ruleset: Ruleset,
    precision: Precision,
}

impl Job {
    fn both(games: Vec<Ruleset>) -> Vec<Self> {
        let both = [Precision::F64, Precision::F32];
        let of =
            |ruleset: Ruleset| both.map(|precision| Self { ruleset: ruleset.clone(), precision });
        games.into_iter().flat_map(of).collect()
    }

    /// Certified; larger games to a tolerance that takes few supersteps.
    fn settings(&self) -> Settings {
        let settings = Settings::new(self.precision);
        match Encoding::new(&self.ruleset).unwrap().undecided() {
            0..20_000 => settings,
            20_000..300_000 => Settings { tolerance: 1e-4, ..settings },
            _ => Settings { tolerance: 0.02, ..settings },
        }
    }

    /// The checksum of all that a solve stores.
    fn checksum(&self, memory: &Memory) -> u64 {
        let encoding = Encoding::new(&self.ruleset).unwrap();
        let mut stored = Xxh3::new();
        let mut store = |tier: Tier, statistics: TierStatistics, values: TierValues<'_>| {
            stored.update(&[tier.just_moved, tier.to_move]);
            stored.update(&serde_json::to_vec(&statistics).unwrap());
            stored.update(match values {
                TierValues::F32(values) => bytemuck::cast_slice(values),
                TierValues::F64(values) => bytemuck::cast_slice(values),
            });
            Ok(())
        };
        let cancelled = Cancelled::new(false);
        let surroundings = Surroundings { memory, ..Surroundings::in_memory(&cancelled) };
        solve(&encoding, &self.settings(), surroundings, &mut |_| {}, &mut store).unwrap();
        stored.digest()
    }

    /// The checksum of all that a team of three says and saves, in attempts of a few orders.
    fn checksum_of_team(&self) -> u64 {
        let encoding = Encoding::new(&self.ruleset).unwrap();
        let settings = Settings {
            shard_positions: Some(3000),
            corrected_from: CorrectedFrom::ALL,
            threads: 1,
            ..self.settings()
        };
        let owners = |_: Tier, shards: usize, attempt: u32| {
            (3, (0..shards).map(|shard| MemberIndex((shard + attempt as usize) % 3)).collect())
        };
        let rules = Rules {
            most_members: 3,
            owners: &owners,
            orders_of_attempt: 9,
            arrays: Arrays::InMemory,
        };
        let exchanged = Exchanged::default();
        team::solve(&encoding, &settings, &rules, &exchanged);
        exchanged.checksum.into_inner()
    }

    fn line(&self, team: &str, checksum: u64) -> String {
        let (name, pieces) = (self.ruleset.name(), self.ruleset.pieces());
        let precision = match self.precision {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        };
        format!("{name} {pieces} {precision}{team} {checksum:016x}")
    }
}

/// A line for each game, solved with arrays in some memory.
fn lines(jobs: Vec<Job>, memory: &Memory) -> Vec<String> {
    jobs.iter().map(|job| job.line("", job.checksum(memory))).collect()
}

/// A line for each game that a team solves.
fn lines_of_teams() -> Vec<String> {
    games_of_teams().iter().map(|job| job.line(" team", job.checksum_of_team())).collect()
}

/// All lines must be expected.
fn assert_expected(lines: &[String]) {
    let expected: Vec<&str> = EXPECTED.lines().collect();
    let wrong: Vec<_> = lines.iter().filter(|line| !expected.contains(&line.as_str())).collect();
    assert!(wrong.is_empty(), "other bytes than before: {wrong:#?}");
}

#[test]
fn every_track_is_solved_to_the_bytes_of_before() {
    assert_expected(&lines(small_games(), &Memory::anonymous()));
}

#[test]
fn larger_games_are_solved_to_the_bytes_of_before() {
    assert_expected(&lines(larger_games(), &Memory::anonymous()));
}

#[test]
fn the_largest_games_are_solved_to_the_bytes_of_before() {
    assert_expected(&lines(largest_games(), &Memory::anonymous()));
}

#[test]
fn games_whose_arrays_are_in_files_are_solved_to_the_bytes_of_before() {
    let dir = tempfile::tempdir().unwrap();
    let memory = Memory::in_files(dir.path(), 1, 1).unwrap();
    assert!(memory.is_limited());
    assert_expected(&lines(larger_games(), &memory));
}

#[test]
fn teams_say_and_save_the_bytes_of_before() {
    assert_expected(&lines_of_teams());
}

#[test]
#[ignore = "writes checksums.txt anew"]
fn write_the_checksums() {
    let memory = Memory::anonymous();
    let games = [small_games(), larger_games(), largest_games()];
    let mut lines = games.map(|games| lines(games, &memory)).concat();
    lines.extend(lines_of_teams());
    std::fs::write(FILE, lines.join("\n") + "\n").unwrap();
}
