//! Exact values against published figures, games solved by hand, the reference solver, and the
//! equations they must satisfy.

use std::collections::HashMap;

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};
use serde_json::Value;
use ziggurat_exact::{Exact, ExactError, decimal::percent, solve, solve_from};
use ziggurat_game::{Captures, Overrides, Path, Position, Ruleset, RulesetParts, Square};

/// A built-in ruleset with `pieces` pieces and other changes.
fn builtin(name: &str, pieces: u8, changes: Overrides) -> Ruleset {
    let overrides = Overrides { pieces: Some(pieces), ..changes };
    Ruleset::builtin(name).expect("a built-in").with(&overrides).expect("any number of pieces")
}

/// A ruleset on a small board.
fn small(board: &str, path: &str, dice: &str, pieces: u8) -> Ruleset {
    let text = format!(
        "name = \"small\"\nboard = {board}\npath = {path}\ndice = {dice}\npieces = {pieces}\n\
         safe_rosettes = true\nrosettes_grant_rolls = true\ncaptures_grant_rolls = false\n"
    );
    Ruleset::from_toml(&text, "small.toml").unwrap_or_else(|error| panic!("{error}"))
}

const COIN: &str = "{ 0 = \"1/2\", 1 = \"1/2\" }";

fn fraction(numerator: u64, denominator: u64) -> BigRational {
    BigRational::new(numerator.into(), denominator.into())
}

/// Every value is what the best move for every roll makes of the others, exactly; the policy
/// attains it; and the reference solver agrees to within 1e-13. Written with nothing but the rules
/// of the game and whole numbers: values and probabilities over common denominators.
fn assert_solved(ruleset: &Ruleset, exact: &Exact) {
    let reference = ziggurat_reference::solve(ruleset);
    let name = ruleset.name();
    let fractions: Vec<(Position, BigRational)> = exact.iter().map(|(p, v)| (*p, v)).collect();
    let whole = fractions.iter().fold(BigInt::one(), |lcm, (_, value)| lcm.lcm(value.denom()));
    let over_whole = |value: &BigRational| value.numer() * (&whole / value.denom());
    let values: HashMap<Position, BigInt> =
        fractions.iter().map(|(position, value)| (*position, over_whole(value))).collect();
    assert_eq!(values.len(), ziggurat_reference::enumerate(ruleset).count());

    let rolls = ruleset.dice().rolls();
    let total = rolls.iter().fold(1, |lcm: u64, roll| lcm.lcm(roll.probability.denom()));
    let next = |position: &Position, passes: bool| match passes {
        true => &whole - &values[position],
        false => values[position].clone(),
    };
    for (position, value) in &fractions {
        let mut sum = BigInt::zero();
        for roll in rolls {
            let chance_after = |mv| {
                let outcome = ruleset.apply(position, mv);
                match outcome.won {
                    true => whole.clone(),
                    false => next(&outcome.next(), !outcome.rolls_again),
                }
            };
            let best = ruleset.moves(position, roll.value).map(chance_after).max();
            let best = best.unwrap_or_else(|| next(&position.swap(), true));
            match exact.policy(position, roll.value) {
                Some(chosen) => assert_eq!(chance_after(chosen), best, "{name} {position:?}"),
                None => assert_eq!(ruleset.moves(position, roll.value).count(), 0),
            }
            sum += roll.probability.numer() * (total / roll.probability.denom()) * best;
        }
        assert_eq!(&values[position] * total, sum, "{name} {position:?}");
        let (float, wanted) = (value.to_f64().unwrap(), reference.value(position).unwrap());
        assert!((float - wanted).abs() < 1e-13, "{name} {position:?}: {float} {wanted}");
    }
}

#[test]
fn finkel_with_one_piece_has_the_published_227_digits() {
    let path = "../../tests/data/reference_values.json";
    let published: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(published["finkel_one_piece_exact"]["note"].as_str().unwrap().contains("227"));

    let exact = solve(&builtin("finkel", 1, Overrides::default())).unwrap();
    let chance = exact.first_player_wins();
    let (numerator, denominator) = (chance.numer().to_string(), chance.denom().to_string());
    assert_eq!((numerator.len(), denominator.len()), (227, 227));
    assert_eq!(percent(&chance, 10), "53.0049839525");
    assert_eq!(exact.len(), 217);
}

#[test]
fn every_track_with_one_piece_satisfies_its_equations_exactly() {
    for track in Path::names() {
        let ruleset = builtin(track, 1, Overrides::default());
        assert_solved(&ruleset, &solve(&ruleset).unwrap());
    }
}

#[test]
fn every_kind_of_dice_and_rule_satisfies_its_equations_exactly() {
    let dice = ["binary3", "binary3-zero-is-four", "d4", "d6-ur", "0:1/6,1:0.3,2:3/7,5:11/105"];
    for (i, dice) in (0..).zip(dice) {
        let flag = |bit: u8| Some(i >> bit & 1 == 1);
        let changes = Overrides {
            dice: Some(dice.parse().unwrap()),
            safe_rosettes: flag(0),
            rosettes_grant_rolls: flag(1),
            captures_grant_rolls: flag(2),
            captures: Some(if i % 2 == 0 { Captures::Any } else { Captures::SameLap }),
            ..Overrides::default()
        };
        for track in ["single-long", "short-central-backtrack"] {
            let ruleset = builtin(track, 1, changes.clone());
            assert_solved(&ruleset, &solve(&ruleset).unwrap());
            let squares = |squares: [(u8, u8); 3]| Some(squares.map(Square::from).into());
            let listed = Ruleset::new(RulesetParts {
                safe: squares([(2, 4), (2, 6), (2, 6)]),
                rolls_again: squares([(2, 2), (1, 1), (3, 1)]),
                ..ruleset.parts().clone()
            });
            let listed = listed.unwrap();
            assert_solved(&listed, &solve(&listed).unwrap());
        }
    }
}

#[test]
fn games_with_choices_satisfy_their_equations_exactly() {
    let path = "[[1, 2], [1, 1], [2, 1], [2, 2], [2, 3]]";
    let board = "[\"*o*\", \"ooo\", \".*.\"]";
    for pieces in 2..=3 {
        let ruleset = small(board, path, "\"d4\"", pieces);
        let exact = solve(&ruleset).unwrap();
        assert_solved(&ruleset, &exact);
        assert!(exact.proof().choices > 0);
    }
}

#[test]
fn any_guess_leads_to_the_same_values() {
    let path = "[[1, 2], [1, 1], [2, 1], [2, 2], [2, 3]]";
    let ruleset = small("[\"*o*\", \"ooo\", \".*.\"]", path, "\"d4\"", 2);
    let good = solve(&ruleset).unwrap();
    let bad = solve_from(&ruleset, |position| {
        good.value(position).map_or(0.5, |value| 1.0 - value.to_f64().unwrap())
    })
    .unwrap();
    assert_eq!(good.proof().improved, 0);
    assert!(bad.proof().improved > 0);
    assert!(good.iter().eq(bad.iter()));
    assert_solved(&ruleset, &bad);
}

/// One piece on a path of one square of its own, and a coin. With a piece on the square, a throw
/// wins; V is the chance with (own, opponent's) piece in hand `-` or on the square `1`:
///
/// ```text
/// V(1,1) = 1/2 + 1/2 (1 - V(1,1))                 = 2/3
/// V(1,-) = 1/2 + 1/2 (1 - V(-,1))                 = 8/9
/// V(-,1) = 1/2 (1 - V(1,1)) + 1/2 (1 - V(1,-))    = 2/9
/// V(-,-) = 1/2 (1 - V(-,1)) + 1/2 (1 - V(-,-))    = 16/27
/// ```
#[test]
fn a_race_over_one_square_is_as_calculated_by_hand() {
    let ruleset = small("[\"ooo\"]", "[[1, 1]]", COIN, 1);
    let exact = solve(&ruleset).unwrap();
    let wanted = [("1/1", (2, 3)), ("1/-", (8, 9)), ("-/1", (2, 9)), ("-/-", (16, 27))];
    for (position, (numerator, denominator)) in wanted {
        let position = ruleset.parse_position(position).unwrap();
        assert_eq!(exact.value(&position), Some(fraction(numerator, denominator)));
    }
    assert_eq!(exact.len(), 4);
}

/// The same with one square for both players, where a piece is captured:
///
/// ```text
/// V(1,-) = 1/2 + 1/2 (1 - V(-,1))                 = 4/5
/// V(-,1) = 1/2 (1 - V(-,1)) + 1/2 (1 - V(1,-))    = 2/5
/// V(-,-) = 1/2 (1 - V(-,1)) + 1/2 (1 - V(-,-))    = 8/15
/// ```
#[test]
fn a_fight_for_one_square_is_as_calculated_by_hand() {
    let ruleset = small("[\".o.\"]", "[[2, 1]]", COIN, 1);
    let exact = solve(&ruleset).unwrap();
    for (position, (numerator, denominator)) in [("1/-", (4, 5)), ("-/1", (2, 5)), ("-/-", (8, 15))]
    {
        let position = ruleset.parse_position(position).unwrap();
        assert_eq!(exact.value(&position), Some(fraction(numerator, denominator)));
    }
    assert_eq!(exact.first_player_wins(), fraction(8, 15));
}

#[test]
fn decided_positions_and_rolls_there_are_not_have_no_answer() {
    let ruleset = builtin("finkel", 1, Overrides::default());
    let exact = solve(&ruleset).unwrap();
    let won = ruleset.parse_position("-+1/-").unwrap();
    assert_eq!(exact.value(&won), None);
    assert_eq!(exact.policy(&Position::start(), 0), None);
    assert_eq!(exact.policy(&Position::start(), 9), None);
    assert_eq!(exact.policy(&Position::start(), 4).map(|mv| (mv.from, mv.to)), Some((0, 4)));
}

#[test]
fn too_many_positions_are_refused_with_what_would_work() {
    let error = solve(&builtin("finkel", 7, Overrides::default())).unwrap_err();
    let ExactError::TooManyPositions { pieces_that_fit, .. } = error else { panic!("{error}") };
    assert_eq!(pieces_that_fit, Some(2));
    let text = error.to_string();
    assert!(
        text.contains("finkel with 7 pieces") && text.contains("use at most 2 pieces"),
        "{text}"
    );
}

/// Two pieces on safe rosettes that block each other, and dice that only ever show 0 or 1.
#[test]
fn a_game_that_need_not_end_is_refused() {
    let ruleset = small("[\".*.\", \".*.\"]", "[[2, 1], [2, 2], [2, 1]]", COIN, 1);
    let error = solve(&ruleset).unwrap_err();
    assert!(matches!(error, ExactError::Endless { safe_squares: true, .. }), "{error}");
    assert!(error.to_string().ends_with("use other dice, or squares that are not safe"), "{error}");
}
