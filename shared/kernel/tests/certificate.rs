//! A certificate proves right values and refuses wrong ones.

mod common;

use std::collections::BTreeMap;

use common::{Solved, builtin, describe, listed, settings, tracks};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::Ruleset;
use ziggurat_kernel::{
    Cancelled, Certificate, Certified, Certifier, Event, Precision, Settings, Surroundings,
    USELESS_BOUND, solve,
};

/// Certifies every step in turn, each allowed `step` more than the tiers it reads; the first that
/// fails is the error.
fn certify(solved: &Solved, step: f64) -> Result<BTreeMap<Tier, Certificate>, Tier> {
    let certifier = Certifier::new(&solved.encoding, 2).unwrap();
    let mut certificates: BTreeMap<Tier, Certificate> = BTreeMap::new();
    for tier in solved.encoding.tiers() {
        if tier != tier.first_of_step() {
            continue;
        }
        let finals = |tier: Tier| Certified {
            values: &solved.tiers[&tier][..],
            bound: certificates[&tier].bound,
        };
        let read = tier.reads().map(|tier| finals(tier).bound);
        let bound = read.fold(0.0, f64::max) + step;
        let values = [&solved.tiers[&tier][..], &solved.tiers[&tier.swap()][..]];
        let certificate = certifier.certify(tier, &values, &finals, bound).ok_or(tier)?;
        assert!(certificate.bound <= bound, "tier {tier}");
        certificates.extend([tier, tier.swap()].map(|tier| (tier, certificate)));
    }
    Ok(certificates)
}

fn largest(certificates: &BTreeMap<Tier, Certificate>) -> f64 {
    certificates.values().map(|certificate| certificate.bound).fold(0.0, f64::max)
}

fn assert_certified(ruleset: &Ruleset, precision: Precision, step: f64) {
    let solved = Solved::new(ruleset, &settings(precision));
    let certificates = certify(&solved, step)
        .unwrap_or_else(|tier| panic!("{}, {precision:?}: tier {tier}", describe(ruleset)));
    let levels = f64::from(2 * ruleset.pieces() - 1);
    assert!(largest(&certificates) <= step * levels, "{}", describe(ruleset));
    assert_eq!(certificates.len(), solved.tiers.len());
}

#[test]
fn every_track_is_certified() {
    for ruleset in tracks(1) {
        assert_certified(&ruleset, Precision::F64, 1e-12);
        assert_certified(&ruleset, Precision::F32, 2e-6);
    }
    for name in ["finkel", "blitz", "masters", "aseb", "skiriuk"] {
        assert_certified(&builtin(name, 2), Precision::F64, 4e-13);
    }
}

#[test]
fn games_with_lists_of_squares_are_certified() {
    for name in ["finkel", "blitz", "skiriuk"] {
        let ruleset = listed(&builtin(name, 1), 1 << 8 | 1 << 10, 1 << 4 | 1 << 9);
        assert_certified(&ruleset, Precision::F64, 1e-12);
        assert_solved_within(&ruleset, &Settings::new(Precision::F64));
    }
}

/// Solves and proves in one go; everything is within the tolerance of a solve to the floor.
fn assert_solved_within(ruleset: &Ruleset, settings: &Settings) {
    let solved = Solved::new(ruleset, &Settings { threads: 2, ..settings.clone() });
    for (tier, made) in &solved.summary.tiers {
        let bound = made.certificate.expect("a certified solve").bound;
        assert!(bound <= settings.tolerance, "{}, tier {tier}: {bound}", describe(ruleset));
    }
    let better = Solved::new(ruleset, &common::settings(Precision::F64));
    for (value, better) in solved.values().zip(better.values()) {
        assert!((value - better).abs() <= 1.1 * settings.tolerance, "{}", describe(ruleset));
    }
}

#[test]
fn a_certified_solve_is_within_its_tolerance() {
    for ruleset in [builtin("finkel", 2), builtin("masters", 2), builtin("skiriuk", 1)] {
        for tolerance in [1e-3, 1e-9, 1e-12] {
            let settings = Settings { tolerance, ..Settings::new(Precision::F64) };
            assert_solved_within(&ruleset, &settings);
        }
        assert_solved_within(&ruleset, &Settings::new(Precision::F32));
    }
}

/// How many interval sweeps a solve makes of each step of its plan, those in vain among them.
fn interval_sweeps(ruleset: &Ruleset, settings: &Settings) -> BTreeMap<usize, u32> {
    let encoding = Encoding::new(ruleset).unwrap();
    let mut sweeps = BTreeMap::new();
    let mut count = |event: Event| {
        if let Event::Certifying { step, sweep: 1.., .. } = event {
            *sweeps.entry(step).or_insert(0) += 1;
        }
    };
    let cancelled = Cancelled::new(false);
    let surroundings = Surroundings::in_memory(&cancelled);
    solve(&encoding, settings, surroundings, &mut count, &mut |_, _, _| Ok(())).unwrap();
    sweeps
}

#[test]
fn a_proof_that_rounding_foils_is_soon_given_up() {
    for ruleset in [builtin("finkel", 3), builtin("masters", 2)] {
        let settings = Settings { tolerance: 1e-6, threads: 2, ..Settings::new(Precision::F32) };
        for (step, sweeps) in interval_sweeps(&ruleset, &settings) {
            assert!(sweeps < 32, "{}, step {step}: {sweeps} interval sweeps", describe(&ruleset));
        }
    }
}

#[test]
fn a_tolerance_beyond_rounding_ends_with_the_bound_that_can_be_proven() {
    for (pieces, tolerance) in [(1, 1e-15), (2, 1e-30)] {
        let settings = Settings { tolerance, threads: 2, ..Settings::new(Precision::F64) };
        let solved = Solved::new(&builtin("finkel", pieces), &settings);
        for (_, statistics) in &solved.summary.tiers {
            let bound = statistics.certificate.unwrap().bound;
            assert!(bound > 1e-15 && bound < 1e-13, "{tolerance}: {bound}");
        }
    }
}

#[test]
fn nothing_is_proven_of_a_game_that_need_not_end() {
    let text = r#"
        board = ["ooo"]
        path = [[3, 1], [2, 1], [1, 1]]
        dice = { 1 = "1" }
        pieces = 1
        safe_rosettes = true
        rosettes_grant_rolls = false
        captures_grant_rolls = false
        captures = "same-lap"
    "#;
    let endless = Ruleset::from_toml(text, "endless.toml").unwrap();
    let solved = Solved::new(&endless, &Settings::new(Precision::F64));
    for (tier, statistics) in &solved.summary.tiers {
        assert_eq!(statistics.certificate, None, "tier {tier}");
    }
    assert!(certify(&solved, USELESS_BOUND).is_err());
}

#[test]
fn an_error_of_twice_the_bound_in_one_value_is_refused() {
    for name in ["finkel", "blitz"] {
        let ruleset = builtin(name, 2);
        let mut solved = Solved::new(&ruleset, &settings(Precision::F64));
        let proven = certify(&solved, 1e-12).unwrap();
        for (tier, certificate) in proven {
            let len = solved.tiers[&tier].len();
            for at in [len / 3, len - 1] {
                for error in [2.0, -2.0] {
                    let values = solved.tiers.get_mut(&tier).unwrap();
                    let right = values[at];
                    values[at] += error * certificate.bound;
                    let refused = certify(&solved, 1e-12)
                        .expect_err(&format!("{name}, tier {tier}, index {at}, {error} bounds"));
                    assert!(refused == tier || refused == tier.swap(), "{refused}");
                    solved.tiers.get_mut(&tier).unwrap()[at] = right;
                }
            }
        }
    }
}

#[test]
fn what_is_not_known_of_the_tiers_that_are_read_adds_to_what_is_wrong() {
    let solved = Solved::new(&builtin("finkel", 2), &settings(Precision::F64));
    let certifier = Certifier::new(&solved.encoding, 1).unwrap();
    let (tier, bound) = (Tier::new(2, 2), 1e-9);
    let is_proven = |error: f64, read: f64| {
        let mut values = solved.tiers[&tier].clone();
        let middle = values.len() / 2;
        values[middle] += error * bound;
        let finals = |tier| Certified { values: &solved.tiers[&tier], bound: read * bound };
        certifier.certify(tier, &[&values], &finals, bound).is_some()
    };
    assert!(is_proven(0.6, 0.0) && is_proven(0.0, 0.6) && is_proven(0.1, 0.6));
    for error in [0.6, -0.6] {
        assert!(!is_proven(error, 0.6), "{error}");
    }
}

#[test]
fn a_bound_that_no_rounding_allows_is_refused_however_small_it_is() {
    let mut solved = Solved::new(&builtin("finkel", 1), &settings(Precision::F64));
    for bound in [1e-17, 1e-300, 1e-310, 1e-322, 5e-324] {
        assert!(certify(&solved, bound).is_err(), "{bound:e} of what is right");
    }
    solved.tiers.values_mut().for_each(|values| values.fill(0.25));
    for bound in [0.1, 1e-12, 1e-310, 5e-324] {
        assert!(certify(&solved, bound).is_err(), "{bound:e} of what is wrong");
    }
}

#[test]
fn what_is_no_number_is_refused_wherever_it_is() {
    let mut solved = Solved::new(&builtin("finkel", 2), &settings(Precision::F64));
    for tier in solved.encoding.tiers() {
        for at in 0..solved.tiers[&tier].len() / 40 {
            let values = solved.tiers.get_mut(&tier).unwrap();
            let right = std::mem::replace(&mut values[at * 40], f64::NAN);
            let refused = certify(&solved, 1e-6).expect_err(&format!("tier {tier}, index {at}"));
            assert!(refused == tier || refused == tier.swap(), "{refused}");
            solved.tiers.get_mut(&tier).unwrap()[at * 40] = right;
        }
    }
}

#[test]
fn values_that_satisfy_the_equation_roughly_are_refused() {
    let ruleset = builtin("finkel", 2);
    let solved = Solved::new(&ruleset, &Settings { tolerance: 1e-9, ..settings(Precision::F64) });
    assert!(certify(&solved, 1e-13).is_err());
    assert!(largest(&certify(&solved, 1e-7).unwrap()) < 1e-6);
}
