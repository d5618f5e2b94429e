//! Figures of small games against those of an independent oracle.

mod common;

use common::{oracle, ruleset, solved};
use ziggurat_advice::Policy;
use ziggurat_analysis::{Analyst, Bounded};
use ziggurat_table::unheard;

/// What the oracle's figures and ours may differ by, as a share; it wrote as many digits.
const SHARE: f64 = 1e-9;

fn assert_near(ours: &Bounded, theirs: f64, what: &str) {
    assert!((ours.value / theirs - 1.0).abs() < SHARE, "{what}: {ours:?}, not {theirs}");
    assert!(ours.error() < SHARE * theirs, "{what}: {ours:?}");
}

#[test]
fn lengths_chances_and_ties_are_those_of_the_oracle() {
    for figures in oracle() {
        let what = format!("{} {}", figures.track, figures.pieces);
        let (_directory, advisor) = solved(&ruleset(&figures.track, figures.pieces));
        assert_eq!(advisor.table().encoding().undecided() as f64, figures.get("undecided", 0));
        let analyst = Analyst::new(&advisor);
        let perfect = analyst.perfect(&unheard).unwrap();
        assert_eq!(perfect.ties as f64, figures.get("ties", 0), "{what}");
        for (games, rolls, deviation) in [
            (&perfect.shortest, figures.get("rolls", 0), figures.get("sd", 0)),
            (&perfect.longest, figures.get("longer", 0), figures.get("sd", 1)),
        ] {
            assert_near(&games.rolls.mean, rolls, &what);
            assert_near(&games.rolls.deviation, deviation, &what);
        }
        let points = |ours: &Bounded, theirs: f64| {
            assert!((100.0 * ours.value - theirs).abs() < 1e-9, "{what}: {ours:?}, not {theirs}");
            assert!(100.0 * ours.error() < 1e-9, "{what}: {ours:?}");
        };
        let first = figures.get("first", 0);
        points(&perfect.shortest.chance, first);
        let [optimal_first, random_first] =
            analyst.games([&Policy::Perfect, &Policy::Random], &unheard).unwrap();
        points(&optimal_first.chance, figures.get("optimal_first_vs_random", 0));
        points(&random_first.chance, figures.get("random_first_vs_optimal", 0));
    }
}
