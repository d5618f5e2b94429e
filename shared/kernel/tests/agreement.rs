//! The kernel against the reference solver, which shares no code with it, on every position.

mod common;

use common::{
    Flags, Solved, builtins, describe, endless::endless, has_laps, listed, own_made, settings,
    tracks,
};
use proptest::prelude::*;
use ziggurat_encoding::Encoding;
use ziggurat_game::{Captures, Dice, Position, Ruleset};
use ziggurat_kernel::{Precision, Settings};

/// Solves with both; every undecided position must have the same value.
fn assert_agreement(ruleset: &Ruleset, precision: Precision, tolerance: f64) {
    let reference = ziggurat_reference::solve(ruleset);
    // As many threads as there are cores; the largest games here take half a minute.
    let solved = Solved::new(ruleset, &Settings { threads: 0, ..settings(precision) });
    assert_eq!(reference.len() as u64, solved.encoding.undecided(), "{}", describe(ruleset));
    let differences =
        reference.iter().map(|(position, value)| (position, solved.value(position), value));
    let (position, ours, expected) = differences
        .max_by(|a, b| (a.1 - a.2).abs().total_cmp(&(b.1 - b.2).abs()))
        .expect("there is a first position");
    // Not `>`, which would be false of a NaN.
    assert!(
        (ours - expected).abs() <= tolerance,
        "{}: the chance at {} is {expected}, not {ours}",
        describe(ruleset),
        ruleset.format_position(position),
    );
}

/// The largest difference between a value and the right side of its equation, applied by hand to the
/// others.
fn largest_violation(solved: &Solved) -> f64 {
    let ruleset = solved.encoding.ruleset();
    let best = |position: &Position, roll: u8| {
        let moves = ruleset.moves(position, roll).map(|mv| {
            let outcome = ruleset.apply(position, mv);
            match (outcome.won, outcome.rolls_again) {
                (true, _) => 1.0,
                (_, true) => solved.value(&outcome.position),
                (_, false) => 1.0 - solved.value(&outcome.position.swap()),
            }
        });
        moves.reduce(f64::max).unwrap_or_else(|| 1.0 - solved.value(&position.swap()))
    };
    ziggurat_reference::enumerate(ruleset)
        .map(|position| {
            let rolls = ruleset.dice().rolls().iter();
            let sum: f64 = rolls.map(|roll| roll.chance() * best(&position, roll.value)).sum();
            (sum - solved.value(&position)).abs()
        })
        .fold(0.0, f64::max)
}

/// Every kind of dice: named ones, and others: without a zero; with rolls as long as most
/// paths of one lap; with a longest roll that fits hardly any path; and a coin.
fn all_dice() -> Vec<Dice> {
    let dice = [
        "binary4",
        "binary3",
        "binary3-zero-is-four",
        "d4",
        "d6-ur",
        "1:1/2,2:1/8,3:3/8",
        "1:1/2,5:1/6,14:1/3",
        "0:1/8,1:5/8,2:1/8,15:1/8",
        "0:1/2,1:1/2",
    ];
    dice.map(|dice| dice.parse().unwrap()).into()
}

/// A ruleset with all combinations of rule flags and dice.
fn all_rules(ruleset: &Ruleset, pieces: u8) -> impl Iterator<Item = Ruleset> {
    let laps = has_laps(ruleset);
    all_dice().into_iter().flat_map(move |dice| {
        Flags::all()
            .filter(move |flags| laps || flags.captures == Captures::Any)
            .map(move |flags| flags.on(ruleset, &dice, pieces))
    })
}

/// Paths that no built-in has, with one piece each.
fn own_made_rulesets() -> Vec<Ruleset> {
    vec![
        own_made("one-shared-square", &[(2, 4)], &[(2, 4)]),
        own_made("one-private-square", &[(1, 4)], &[]),
        own_made("two-squares", &[(1, 4), (2, 4)], &[(2, 4)]),
        own_made("no-private-squares", &[(2, 1), (2, 2), (2, 3), (2, 4), (2, 5)], &[(2, 4)]),
        own_made("no-shared-squares", &[(1, 4), (1, 3), (1, 2), (1, 1)], &[(1, 2)]),
        own_made("across-and-back", &[(1, 1), (2, 1), (3, 1), (3, 2), (2, 2), (1, 2)], &[(1, 1)]),
        // (1, 2) is on the path twice, (3, 2), its mirror image, once.
        own_made("lopsided-revisit", &[(1, 2), (2, 2), (1, 2), (2, 2), (3, 2)], &[(1, 2)]),
        own_made("one-lopsided-square", &[(1, 2), (1, 1), (1, 2), (2, 2), (3, 2)], &[(2, 2)]),
        own_made(
            "three-laps",
            &[(2, 3), (2, 4), (2, 3), (2, 4), (2, 3), (1, 3), (1, 2), (1, 3)],
            &[(2, 4), (1, 2)],
        ),
        own_made(
            "all-rosettes",
            &[(1, 3), (1, 4), (2, 4), (2, 3), (2, 4)],
            &[(1, 3), (1, 4), (2, 4), (2, 3)],
        ),
    ]
}

#[test]
fn every_built_in_with_1_and_2_pieces() {
    for ruleset in builtins(1).iter().chain(&builtins(2)) {
        assert_agreement(ruleset, Precision::F64, 1e-12);
    }
}

#[test]
fn every_built_in_with_3_pieces_below_two_million_positions() {
    let mut solved = 0;
    for ruleset in builtins(3) {
        if Encoding::new(&ruleset).unwrap().undecided() < 2_000_000 {
            assert_agreement(&ruleset, Precision::F64, 1e-12);
            solved += 1;
        }
    }
    assert_eq!(solved, 7);
}

#[test]
fn every_track_with_1_piece_under_all_dice_and_every_flag() {
    // Steps of three take every combination of flags with every dice on one track or another.
    for (track, first) in tracks(1).iter().zip(0..) {
        for ruleset in all_rules(track, 1).skip(first % 3).step_by(3) {
            if endless(&ruleset).is_empty() {
                assert_agreement(&ruleset, Precision::F64, 1e-12);
            }
        }
    }
}

#[test]
fn small_tracks_with_2_pieces_under_a_sample_of_dice_and_flags() {
    let tracks = tracks(2).into_iter().filter(|track| {
        // Others take too long.
        Encoding::new(track).unwrap().undecided() < 70_000
    });
    for (track, first) in tracks.zip(0..) {
        // Without the coin, the last of the dice: play would not end with certainty.
        let rules = all_rules(&track, 2).filter(|rules| rules.dice() != all_dice().last().unwrap());
        for ruleset in rules.skip(5 * first).step_by(29) {
            assert_agreement(&ruleset, Precision::F64, 1e-12);
        }
    }
}

#[test]
fn own_made_paths_under_all_dice_and_flags() {
    for path in own_made_rulesets() {
        for (pieces, every) in [(1, 1), (2, 1), (3, 5), (4, 11)] {
            for ruleset in all_rules(&path, pieces).step_by(every) {
                if endless(&ruleset).is_empty() {
                    assert_agreement(&ruleset, Precision::F64, 1e-12);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 96,
        ..ProptestConfig::default()
    })]

    /// Squares that are safe and grant no roll, the reverse, on one lap or another, and any number of binary dice.
    #[test]
    fn rulesets_with_lists_of_squares(
        path in any::<proptest::sample::Index>(),
        (safe, rolls_again) in any::<(u64, u64)>(),
        dice in 2..=7_u8,
        flags in 0..16_usize,
        pieces in 1..=2_u8,
    ) {
        let paths: Vec<_> = own_made_rulesets().into_iter().chain(tracks(1)).collect();
        let path = path.get(&paths);
        let pieces = if path.path().len() < 10 { pieces } else { 1 };
        let dice = Dice::named(&format!("binary{dice}")).unwrap();
        let flags = Flags::all().nth(flags).unwrap();
        let ruleset = listed(&flags.on(path, &dice, pieces), safe, rolls_again);
        if endless(&ruleset).is_empty() {
            assert_agreement(&ruleset, Precision::F64, 1e-12);
        }
    }
}

#[test]
fn two_laps_with_only_the_middle_rosette_safe_and_plain_squares_that_grant_rolls() {
    // The middle rosette of the standard board is the eighth square of these paths, (2,6) the tenth.
    for (track, flags) in tracks(2).iter().zip(Flags::all().chain(Flags::all())) {
        let ruleset = listed(&flags.on(track, track.dice(), 2), 1 << 8, 1 << 4 | 1 << 10);
        if Encoding::new(&ruleset).unwrap().undecided() < 70_000 {
            assert_agreement(&ruleset, Precision::F64, 1e-12);
        }
    }
}

/// There the equations have more than one solution, or are solved very slowly.
#[test]
fn where_play_need_not_end_the_values_satisfy_the_equations() {
    let mut games = 0;
    for path in own_made_rulesets() {
        for ruleset in all_rules(&path, 2).step_by(3) {
            if !endless(&ruleset).is_empty() {
                let solved = Solved::new(&ruleset, &settings(Precision::F64));
                let violation = largest_violation(&solved);
                assert!(violation <= 1e-13, "{}: {violation}", describe(&ruleset));
                games += 1;
            }
        }
    }
    assert!(games > 0);
}

#[test]
fn single_precision_to_five_digits() {
    let small = |ruleset: &Ruleset| Encoding::new(ruleset).unwrap().undecided() < 30_000;
    for ruleset in builtins(1).into_iter().chain(builtins(2).into_iter().filter(small)) {
        assert_agreement(&ruleset, Precision::F32, 1e-5);
    }
}
