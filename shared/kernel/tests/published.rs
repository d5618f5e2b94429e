//! The solver against published figures, and the promises of a plan against its solve.

mod common;

use std::collections::BTreeSet;

use common::{Solved, builtin, builtins, settings};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_kernel::{
    Cancelled, Event, Precision, Settings, SolveError, Surroundings, plan, solve,
};

/// The published chance of the first player in percent, and its digits, see
/// `tests/data/README.md`.
fn published_percent(ruleset: &str, pieces: u64) -> (f64, usize) {
    let text = std::fs::read_to_string("../../tests/data/reference_values.json")
        .expect("tests/data is part of the project");
    let all: serde_json::Value = serde_json::from_str(&text).expect("published data is JSON");
    let list = all["first_player_win_percent"].as_array().expect("a list of chances");
    let entry = list
        .iter()
        .find(|entry| entry["ruleset"] == ruleset && entry["pieces"] == pieces)
        .expect("a published chance");
    (entry["value"].as_f64().unwrap(), entry["digits"].as_u64().unwrap() as usize)
}

/// Solves, and compares all digits that are published.
fn assert_published(name: &str, pieces: u8) {
    let (expected, digits) = published_percent(name, pieces.into());
    let job = Settings { threads: 0, ..settings(Precision::F64) };
    let percent = Solved::new(&builtin(name, pieces), &job).summary.first_player_wins * 100.0;
    assert_eq!(format!("{percent:.digits$}"), format!("{expected:.digits$}"));
}

#[test]
fn the_first_player_of_finkel_with_3_pieces_has_the_published_chance() {
    assert_published("finkel", 3);
}

#[test]
fn the_first_player_of_finkel_with_4_pieces_has_the_published_chance() {
    assert_published("finkel", 4);
}

#[test]
fn the_first_player_of_masters_with_3_pieces_has_the_published_chance() {
    assert_published("masters", 3);
}

#[test]
#[ignore = "takes a minute or two"]
fn the_first_player_of_masters_with_4_pieces_has_the_published_chance() {
    assert_published("masters", 4);
}

#[test]
fn the_steps_of_a_plan_cover_every_undecided_position_once_and_in_order() {
    for pieces in 1..=7 {
        for ruleset in builtins(pieces) {
            let encoding = Encoding::new(&ruleset).unwrap();
            let plan = plan(&encoding, &settings(Precision::F64));
            let mut solved = BTreeSet::new();
            for step in &plan.steps {
                let Tier { just_moved: n, to_move: m } = step.tier;
                for read in [Tier::new(n - 1, m), Tier::new(n, m - 1)] {
                    let decided = read.just_moved == 0 || read.to_move == 0;
                    assert!(decided || solved.contains(&read), "{} reads {read}", step.tier);
                }
                let of_step = BTreeSet::from([step.tier, step.tier.swap()]);
                let positions: u64 = of_step.iter().map(|&tier| encoding.tier_len(tier)).sum();
                assert_eq!(step.positions, positions, "{} of {}", step.tier, ruleset.name());
                for tier in of_step {
                    assert!(solved.insert(tier), "{tier} of {} comes twice", ruleset.name());
                }
            }
            assert_eq!(solved, encoding.tiers().into_iter().collect());
            assert_eq!(plan.positions, encoding.undecided());
            assert_eq!(plan.steps.iter().map(|step| step.positions).sum::<u64>(), plan.positions);
        }
    }
}

#[test]
fn a_plan_has_room_for_the_values_of_the_largest_step() {
    for ruleset in builtins(7) {
        let encoding = Encoding::new(&ruleset).unwrap();
        for (precision, bytes) in [(Precision::F32, 4), (Precision::F64, 8)] {
            let plan = plan(&encoding, &settings(precision));
            let largest = plan.steps.iter().map(|step| step.positions).max().unwrap();
            assert!(plan.memory.sparing_bytes >= bytes * largest, "{}", ruleset.name());
        }
    }
}

#[test]
fn events_tell_what_a_solve_does() {
    let encoding = Encoding::new(&builtin("finkel", 2)).unwrap();
    let job = settings(Precision::F64);
    let mut events = Vec::new();
    let store = &mut |_: Tier, _: _, _: ziggurat_kernel::TierValues<'_>| Ok(());
    let never = Cancelled::new(false);
    let summary = solve(
        &encoding,
        &job,
        Surroundings::in_memory(&never),
        &mut |event| events.push(event),
        store,
    )
    .unwrap();
    let steps = plan(&encoding, &job).steps.len();
    for at in 0..steps {
        let count = |wanted: &dyn Fn(&Event) -> bool| events.iter().filter(|e| wanted(e)).count();
        assert_eq!(count(&|e| *e == Event::StepStarted { step: at }), 1);
        assert_eq!(count(&|e| *e == Event::StepFinished { step: at }), 1);
    }
    let swept = events.iter().rev().find_map(|event| match event {
        Event::Superstep { swept_positions, .. } => Some(*swept_positions),
        _ => None,
    });
    assert_eq!(swept, Some(summary.swept_positions));
    assert!(summary.tiers.iter().all(|(_, statistics)| statistics.residual <= job.tolerance));
}

#[test]
fn a_cancelled_solve_says_so() {
    let encoding = Encoding::new(&builtin("finkel", 2)).unwrap();
    let store = &mut |_: Tier, _: _, _: ziggurat_kernel::TierValues<'_>| Ok(());
    let job = settings(Precision::F64);
    let result =
        solve(&encoding, &job, Surroundings::in_memory(&Cancelled::new(true)), &mut |_| {}, store);
    assert!(matches!(result, Err(SolveError::Cancelled)));
}
