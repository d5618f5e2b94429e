//! The baseline of the benchmarks against the reference solver.

mod common;

use common::builtin;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Captures, Dice, Position, Ruleset, RulesetParts, Square};
use ziggurat_reference::{
    Reference,
    baseline::{Baseline, Design},
    solve,
};

const DESIGNS: [Design; 2] = [Design::Published, Design::Compact];

/// Solves every step of a ruleset with the baseline, reading lower tiers from the reference, and
/// returns the largest difference between the two.
fn largest_difference(
    ruleset: &Ruleset,
    reference: &Reference,
    design: Design,
    threads: usize,
) -> f64 {
    let encoding = Encoding::new(ruleset).unwrap();
    let mut compared = 0;
    let mut largest = 0.0_f64;
    let steps = encoding.tiers().into_iter().filter(|tier| tier.just_moved >= tier.to_move);
    for tier in steps {
        let lower = |position: &Position| reference.value(position).unwrap();
        let mut baseline = Baseline::new(&encoding, tier, design, lower, threads).unwrap();
        let sweeps = (0..10_000).take_while(|_| baseline.sweep(threads) > 1e-15).count();
        assert!(sweeps < 10_000, "tier {tier} of {} does not converge", ruleset.name());
        let is_in_step = |position: &Position| {
            let at = encoding.rank(position).tier;
            at == tier || at == tier.swap()
        };
        for (position, expected) in reference.iter().filter(|(position, _)| is_in_step(position)) {
            largest = largest.max((baseline.value(position).unwrap() - expected).abs());
            compared += 1;
        }
    }
    assert_eq!(compared, reference.len());
    largest
}

#[test]
fn the_baseline_agrees_with_the_reference_on_popular_rulesets() {
    for ruleset in [builtin("finkel", 2), builtin("masters", 2), builtin("finkel", 3)] {
        let reference = solve(&ruleset);
        for design in DESIGNS {
            for threads in [1, 2] {
                let difference = largest_difference(&ruleset, &reference, design, threads);
                assert!(difference < 1e-13, "{}, {design:?}: {difference:e}", ruleset.name());
            }
        }
    }
}

#[test]
fn the_baseline_agrees_with_the_reference_under_other_rules_and_dice() {
    let dice = ["binary4", "binary3", "binary3-zero-is-four", "d4", "d6-ur", "binary6"];
    for (number, dice) in dice.into_iter().enumerate() {
        // Of half of them lists, not flags, say which squares are safe and which grant rolls.
        let listed = |squares: [(u8, u8); 3]| {
            (number >= 3).then(|| squares.into_iter().map(Square::from).collect())
        };
        let ruleset = Ruleset::new(RulesetParts {
            dice: Dice::named(dice).unwrap(),
            safe_rosettes: number % 2 == 0,
            captures_grant_rolls: number % 2 == 1,
            rosettes_grant_rolls: number % 3 != 0,
            captures: if number % 3 < 2 { Captures::SameLap } else { Captures::Any },
            safe: listed([(2, 4), (2, 6), (2, 6)]),
            rolls_again: listed([(2, 2), (1, 1), (3, 1)]),
            ..builtin("long-central-backtrack", 2).parts().clone()
        })
        .unwrap();
        let reference = solve(&ruleset);
        for design in DESIGNS {
            let difference = largest_difference(&ruleset, &reference, design, 2);
            assert!(difference < 1e-13, "{dice}, {design:?}: {difference:e}");
        }
    }
}

#[test]
fn a_game_with_more_positions_than_a_table_can_refer_to_is_refused() {
    let ruleset = builtin("masters", 10); // 3.2 billion positions
    let encoding = Encoding::new(&ruleset).unwrap();
    let table = |design| Baseline::new(&encoding, Tier::new(1, 1), design, |_| 0.5, 1);
    let refusal = table(Design::Published).err().expect("refers to the whole game");
    assert_eq!(refusal.positions, encoding.undecided());
    assert_eq!(table(Design::Compact).unwrap().positions(), encoding.tier_len(Tier::new(1, 1)));
}
