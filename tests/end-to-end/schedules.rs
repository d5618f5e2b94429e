//! Schedules of faults: real processes are killed, held, sent away and started again, disks are away or lost, names are used
//! twice, readers of the checkpoint store vanish, programs of another version take over. In the end the table has the bytes of a
//! solve in one process.
//!
//! A seed gives a schedule, not the times at which processes answer.
//!
//! | variable | |
//! | --- | --- |
//! | `ZIGGURAT_SCHEDULES` | how many seeds run; twelve without it |
//! | `ZIGGURAT_SEED` | the first seed; alone, it is the only one |
//! | `ZIGGURAT_SCHEDULES_AT_ONCE` | how many run at a time; four without it |
//! | `ZIGGURAT_BEFORE` | a program of another version, which all processes begin with where a schedule has an upgrade |

mod schedule;
mod world;

use std::{
    collections::{BTreeMap, VecDeque},
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    thread,
    time::Instant,
};

use self::{
    schedule::Schedule,
    world::{GAME, World, logs},
};
use crate::support::succeed;

/// Seeds that run unless somebody wants others.
const SEEDS: u64 = 12;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

/// Runs a schedule. Says how it ended, if not well.
fn survives(seed: u64, expected: &[u8]) -> Result<String, String> {
    let schedule = Schedule::new(seed);
    let directory = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let mut world = World::begin(&schedule, directory.path());
        world.suffer();
        let suffered = started.elapsed().as_secs_f64();
        assert!(world.heal() == expected, "other bytes");
        let (twins, whole) = (world.refused_twins, started.elapsed().as_secs_f64());
        format!(
            "{} faults in {suffered:.1} s, {twins} twins, ended after {whole:.1} s",
            schedule.happenings.len()
        )
    }));
    ran.map_err(|why| {
        let text = why.downcast_ref::<String>().cloned();
        let why = text.or_else(|| why.downcast_ref::<&str>().map(|&text| text.to_owned()));
        let logs = logs(directory.path());
        let kept = directory.keep();
        format!(
            "seed {seed} (in {}): {}\n{schedule:#?}\n{logs}",
            kept.display(),
            why.unwrap_or_default()
        )
    })
}

#[test]
fn faults_at_any_moment_end_in_the_bytes_of_a_solve() {
    let directory = tempfile::tempdir().unwrap();
    succeed(directory.path(), &[&["solve"], &GAME[..], &["--out", "t.zgt"]].concat());
    let expected = fs::read(directory.path().join("t.zgt")).unwrap();
    let (first, count) = match (number("ZIGGURAT_SEED"), number("ZIGGURAT_SCHEDULES")) {
        (first, Some(count)) => (first.unwrap_or(1), count),
        (Some(only), None) => (only, 1),
        (None, None) => (1, SEEDS),
    };
    let seeds: Mutex<VecDeque<u64>> = Mutex::new((first..first + count).collect());
    let failures = Mutex::new(Vec::new());
    let at_once = number("ZIGGURAT_SCHEDULES_AT_ONCE").unwrap_or(4).min(count);
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let Some(seed) = seeds.lock().unwrap().pop_front() else { return };
                    match survives(seed, &expected) {
                        Ok(how) => println!("seed {seed}: {how}"),
                        Err(why) => {
                            println!("{why}");
                            failures.lock().unwrap().push(seed);
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {count} seeds failed: {failures:?}", failures.len());
}

#[test]
fn a_seed_gives_one_schedule_and_all_seeds_give_all_faults() {
    let mut counts = BTreeMap::new();
    for seed in 0..1000 {
        let schedule = Schedule::new(seed);
        assert_eq!(schedule, Schedule::new(seed));
        for (_, fault) in &schedule.happenings {
            let name = format!("{fault:?}");
            let name = name.split('(').next().unwrap().to_owned();
            *counts.entry(name).or_insert(0) += 1;
        }
    }
    assert_eq!(counts.len(), 18);
    assert!(counts.values().all(|&count| count >= 50), "{counts:?}");
}
