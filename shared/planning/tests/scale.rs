//! How far a solve scales, by the model from the shards and waves that there are. Later units change these figures.

use ziggurat_encoding::Encoding;
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_planning::{
    Precision, Settings,
    model::{SolveModel, Team, makespan::makespan},
};

const CORES: [usize; 4] = [4, 16, 64, 1024];

/// How many times as fast as one core so many are: supersteps, proofs, and proofs whose shards are not swept as two
/// chains.
const SPEED_UPS: [(&str, u8, [[f64; 3]; 4]); 5] = [
    ("blitz", 5, [[3.7, 3.3, 2.4], [8.5, 5.1, 2.7], [8.6, 5.1, 2.7], [8.6, 5.1, 2.7]]),
    ("masters", 7, [[3.7, 3.3, 2.5], [9.7, 5.2, 2.8], [9.8, 5.2, 2.8], [9.8, 5.2, 2.8]]),
    ("finkel", 7, [[3.7, 3.6, 3.0], [9.0, 7.5, 4.0], [9.2, 7.9, 4.0], [9.2, 7.9, 4.0]]),
    ("skiriuk", 7, [[3.9, 3.8, 3.5], [12.5, 10.9, 7.0], [19.9, 14.9, 7.5], [20.0, 14.9, 7.5]]),
    ("double-short", 5, [[3.9, 3.8, 3.5], [12.0, 10.7, 7.1], [18.8, 15.7, 7.9], [18.9, 15.8, 7.9]]),
];

fn model(name: &str, pieces: u8) -> SolveModel {
    let overrides = Overrides { pieces: Some(pieces), ..Overrides::default() };
    let ruleset = Ruleset::builtin(name).unwrap().with(&overrides).unwrap();
    let encoding = Encoding::new(&ruleset).unwrap();
    SolveModel::new(&encoding, &Settings::new(Precision::F64), 0)
}

/// Positions that the busiest core sweeps in the interval waves of all steps, a shard at a time.
fn whole_shards(model: &SolveModel, cores: usize) -> f64 {
    let waves = model.steps.iter().flat_map(|step| {
        let positions = |wave: &[ziggurat_planning::ShardIndex]| {
            wave.iter().map(|shard| step.shards[shard.0] as f64).collect()
        };
        step.interval_waves.iter().map(move |wave| makespan(positions(wave), cores))
    });
    waves.sum()
}

#[test]
fn solves_scale_as_far_as_their_largest_shards_let_them() {
    let mut wrong = Vec::new();
    for (name, pieces, expected) in SPEED_UPS {
        let model = model(name, pieces);
        let one = model.predict(&Team::alone(1));
        for (cores, expected) in CORES.into_iter().zip(expected) {
            let many = model.predict(&Team::alone(cores));
            let is = [
                one.supersteps / many.supersteps,
                one.proofs / many.proofs,
                whole_shards(&model, 1) / whole_shards(&model, cores),
            ];
            let is_near = |(is, expected): (&f64, f64)| (is - expected).abs() <= 0.06;
            if !is.iter().zip(expected).all(is_near) {
                wrong.push(format!("{name} {pieces} on {cores} cores: {is:.2?}, not {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
