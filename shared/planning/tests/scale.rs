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
    ("blitz", 5, [[3.94, 3.94], [13.9, 14.3], [27.2, 30.0], [27.4, 30.3]]),
    ("masters", 7, [[3.98, 3.98], [15.3, 15.3], [44.3, 46.8], [54.8, 60.9]]),
    ("finkel", 7, [[3.95, 3.95], [14.4, 14.5], [31.9, 33.6], [33.1, 34.9]]),
    ("skiriuk", 7, [[4.0, 4.0], [16.0, 16.0], [63.6, 63.7], [637.4, 711.0]]),
    ("double-short", 5, [[4.0, 4.0], [16.0, 16.0], [57.9, 60.4], [125.2, 162.5]]),
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
