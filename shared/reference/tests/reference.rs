//! The reference solver against published figures, and against the equations it solves.

mod common;

use common::{builtin, published};
use ziggurat_game::{Captures, Dice, Position, Ruleset, RulesetParts, Side};
use ziggurat_reference::{Reference, enumerate, solve, solve_to};

/// The published chance of the first player, a probability, and half a unit of its last digit.
fn published_chance(ruleset: &str, pieces: u64) -> (f64, f64) {
    let all = published("reference_values.json");
    let entry = all["first_player_win_percent"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["ruleset"] == ruleset && entry["pieces"] == pieces)
        .expect("a published chance");
    let digits = entry["digits"].as_i64().unwrap() as i32;
    (entry["value"].as_f64().unwrap() / 100.0, 0.5 * 10_f64.powi(-digits) / 100.0)
}

#[test]
fn the_first_player_of_finkel_with_3_pieces_has_the_published_chance() {
    let (expected, half_unit) = published_chance("finkel", 3);
    let chance = solve(&builtin("finkel", 3)).first_player_wins();
    assert!((chance - expected).abs() <= half_unit, "{chance} is not {expected}");
}

#[test]
fn the_first_player_of_masters_with_3_pieces_has_the_published_chance() {
    let (expected, half_unit) = published_chance("masters", 3);
    let chance = solve(&builtin("masters", 3)).first_player_wins();
    assert!((chance - expected).abs() <= half_unit, "{chance} is not {expected}");
}

/// The right hand side of the Bellman equation, by way of the public interface only.
fn right_hand_side(ruleset: &Ruleset, solved: &Reference, position: &Position) -> f64 {
    let pass = || 1.0 - solved.value(&position.swap()).unwrap();
    let rolls = ruleset.dice().rolls().iter();
    rolls
        .map(|roll| {
            let moves = ruleset.moves(position, roll.value).map(|mv| {
                let outcome = ruleset.apply(position, mv);
                match (outcome.won, outcome.rolls_again) {
                    (true, _) => 1.0,
                    (_, true) => solved.value(&outcome.position).unwrap(),
                    (_, false) => 1.0 - solved.value(&outcome.position.swap()).unwrap(),
                }
            });
            roll.chance() * moves.max_by(f64::total_cmp).unwrap_or_else(pass)
        })
        .sum()
}

#[test]
fn every_value_satisfies_its_equation_under_all_rule_flags() {
    for flags in 0..16 {
        let flag = |bit: u8| flags >> bit & 1 == 1;
        let ruleset = Ruleset::new(RulesetParts {
            safe_rosettes: flag(0),
            rosettes_grant_rolls: flag(1),
            captures_grant_rolls: flag(2),
            captures: if flag(3) { Captures::SameLap } else { Captures::Any },
            ..builtin("long-central-backtrack", 1).parts().clone()
        })
        .unwrap();
        let solved = solve(&ruleset);
        assert_eq!(solved.len(), enumerate(&ruleset).count());
        for (position, value) in solved.iter() {
            let wanted = right_hand_side(&ruleset, &solved, position);
            assert!((value - wanted).abs() < 1e-14, "{flags:04b}: {position:?} {value} {wanted}");
            assert!((0.0..=1.0).contains(&value));
        }
    }
}

/// Both players one roll of the right size away from the end, and nothing to meet: the chance
/// of the mover is p + (1 - p) (1 - V), which is 1 / (2 - p).
#[test]
fn a_race_of_two_last_rolls_has_its_closed_form() {
    for (dice, roll, chance) in [("binary4", 1, 4.0 / 16.0), ("d4", 1, 0.25), ("binary3", 1, 0.375)]
    {
        let dice = Dice::named(dice).unwrap();
        let ruleset =
            Ruleset::new(RulesetParts { dice, ..builtin("single-short", 1).parts().clone() })
                .unwrap();
        let last = Side::new([ruleset.path().len() + 1 - roll], 0);
        let value = solve(&ruleset).value(&Position { own: last, opponent: last }).unwrap();
        assert!((value - 1.0 / (2.0 - chance)).abs() < 1e-14, "{value}");
    }
}

#[test]
fn only_undecided_arrangements_have_a_value() {
    let solved = solve(&builtin("finkel", 1));
    let at = |own: Side, opponent: Side| solved.value(&Position { own, opponent });
    assert!(at(Side::new([4], 0), Side::new([4], 0)).is_some());
    assert_eq!(at(Side::new([5], 0), Side::new([5], 0)), None, "two pieces on one square");
    assert_eq!(at(Side::new([], 1), Side::new([5], 0)), None, "a decided position");
}

#[test]
fn a_solve_ends_even_if_no_residual_is_small_enough() {
    let solved = solve_to(&builtin("finkel", 1), -1.0);
    assert!(solved.residual() < 1e-14);
    assert!(
        (solved.first_player_wins() - solve(&builtin("finkel", 1)).first_player_wins()).abs()
            < 1e-14
    );
}
