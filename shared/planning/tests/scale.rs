//! How far a solve scales, by the model from the units and waves that there are.

use ziggurat_encoding::Encoding;
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_planning::{
    Precision, Settings,
    model::{SolveModel, Team},
};

const CORES: [usize; 4] = [4, 16, 64, 1024];

/// How many times as fast as one core so many are: supersteps, proofs.
const SPEED_UPS: [(&str, u8, [[f64; 2]; 4]); 5] = [
    ("blitz", 5, [[3.94, 3.94], [14.3, 14.4], [32.6, 34.2], [33.9, 35.7]]),
    ("masters", 7, [[3.98, 3.98], [15.3, 15.3], [47.2, 48.0], [64.0, 67.4]]),
    ("finkel", 7, [[3.95, 3.95], [14.6, 14.6], [37.6, 38.5], [42.3, 43.5]]),
    ("skiriuk", 7, [[4.0, 4.0], [16.0, 16.0], [63.6, 63.7], [695.0, 717.0]]),
    ("double-short", 5, [[4.0, 4.0], [16.0, 16.0], [60.9, 61.3], [191.6, 209.8]]),
];

fn model(name: &str, pieces: u8) -> SolveModel {
    let overrides = Overrides { pieces: Some(pieces), ..Overrides::default() };
    let ruleset = Ruleset::builtin(name).unwrap().with(&overrides).unwrap();
    let encoding = Encoding::new(&ruleset).unwrap();
    SolveModel::new(&encoding, &Settings::new(Precision::F64), 0)
}

#[test]
fn solves_scale_as_far_as_their_largest_units_let_them() {
    let mut wrong = Vec::new();
    for (name, pieces, expected) in SPEED_UPS {
        let model = model(name, pieces);
        let one = model.predict(&Team::alone(1));
        for (cores, expected) in CORES.into_iter().zip(expected) {
            let many = model.predict(&Team::alone(cores));
            let is = [one.supersteps / many.supersteps, one.proofs / many.proofs];
            let is_near = |(is, expected): (&f64, f64)| (is - expected).abs() <= 0.005 * expected;
            if !is.iter().zip(expected).all(is_near) {
                wrong.push(format!("{name} {pieces} on {cores} cores: {is:.2?}, not {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
