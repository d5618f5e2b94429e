//! Counts of arrangements and of the choices in them, against published figures.

mod common;

use std::collections::{BTreeMap, HashSet};

use common::{builtin, published};
use serde_json::Value;
use ziggurat_game::Position;
use ziggurat_reference::{choices, decided, enumerate};

/// Counting takes a few nanoseconds per position; this keeps it to seconds.
const MOST_POSITIONS: u64 = 2_000_000;

#[test]
fn every_track_has_the_published_number_of_positions() {
    let Value::Object(tracks) = published("rulesets.json") else { panic!("not an object") };
    let mut compared = 0;
    for (name, track) in tracks {
        for pieces in 1..=3_u8 {
            let counts = &track["pieces"][pieces.to_string()];
            let undecided = counts["non_terminal"].as_u64().unwrap();
            let states = counts["states"].as_u64().unwrap();
            if pieces == 3 && undecided >= MOST_POSITIONS {
                continue;
            }
            let ruleset = builtin(&name, pieces);
            assert_eq!(enumerate(&ruleset).count() as u64, undecided, "{name}, {pieces} pieces");
            let all = undecided + decided(&ruleset).count() as u64;
            assert_eq!(all, states, "{name}, {pieces} pieces, won ones included");
            compared += 1;
        }
    }
    assert!(compared >= 2 * 17, "only {compared} rulesets compared");
}

#[test]
fn no_arrangement_occurs_twice() {
    for track in ["single-short", "double-long", "long-twisted-backtrack"] {
        let ruleset = builtin(track, 2);
        let distinct: HashSet<Position> = enumerate(&ruleset).collect();
        assert_eq!(distinct.len(), enumerate(&ruleset).count(), "{track}");
    }
}

#[test]
fn arrangements_are_closed_under_moves_and_passes() {
    for track in ["single-short", "short-central-backtrack", "twisted-long"] {
        let ruleset = builtin(track, 2);
        let undecided: HashSet<Position> = enumerate(&ruleset).collect();
        let decided: HashSet<Position> = decided(&ruleset).collect();
        for position in &undecided {
            assert!(undecided.contains(&position.swap()));
            for roll in ruleset.dice().rolls() {
                for mv in ruleset.moves(position, roll.value) {
                    let outcome = ruleset.apply(position, mv);
                    let expected = if outcome.won { &decided } else { &undecided };
                    assert!(expected.contains(&outcome.next()), "{position:?} {mv:?}");
                }
            }
        }
    }
}

/// One piece each: a choice is there or not, so the roll and the two pieces decide it by hand.
#[test]
fn one_piece_has_one_choice_unless_blocked() {
    let ruleset = builtin("finkel", 1);
    let (mut none, mut one) = (0, 0);
    for own in 0..=14_u8 {
        for opponent in 0..=14_u8 {
            let shared = 5..=12;
            if own == opponent && shared.contains(&own) {
                continue;
            }
            none += 1; // roll 0
            for roll in 1..=4 {
                let to = own + roll;
                let blocked = to > 15 || to == 8 && opponent == 8;
                *if blocked { &mut none } else { &mut one } += 1;
            }
        }
    }
    let won = 2 * 15 + 1; // a player's piece scored, the other's in hand, on 14 squares, or too
    assert_eq!(choices(&ruleset), BTreeMap::from([(0, none + won), (1, one)]));
}

#[test]
fn choices_add_up_to_rolls_times_positions_and_won_positions() {
    for pieces in 1..=3 {
        let ruleset = builtin("finkel", pieces);
        let histogram = choices(&ruleset);
        let undecided = enumerate(&ruleset).count() as u64;
        assert_eq!(
            histogram.values().sum::<u64>(),
            5 * undecided + decided(&ruleset).count() as u64
        );
        assert!(histogram.keys().all(|&choices| choices <= usize::from(pieces)));
    }
}

/// The whole of finkel, one arrangement after the other: half a minute.
#[test]
#[ignore = "takes half a minute"]
fn choices_of_finkel_are_the_published_ones() {
    let published = &published("reference_values.json")["finkel_choices_histogram"]["choices"];
    let published: BTreeMap<usize, u64> = published
        .as_object()
        .unwrap()
        .iter()
        .map(|(choices, count)| (choices.parse().unwrap(), count.as_u64().unwrap()))
        .collect();
    assert_eq!(choices(&builtin("finkel", 7)), published);
}
