//! The coarse correction of small games: its functions, its equations, and its savings.

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_planning::{
    correction::{CorrectedFrom, functions},
    settings::{Precision, Settings},
    statistics::TierStatistics,
    weights::CycleSlot,
};

use crate::{
    coarse::{regions::Regions, sample::Sample},
    fixtures::encoding,
    halo::arrays::zeros,
    memory::{array::Array, budget::Memory},
    moves::tables::Tables,
    shards::{ranges::Orientation, step::ShardedStep},
    simd::dispatch::Simd,
    solver::{
        plan::{Plan, plan},
        solve::{Cancelled, Surroundings, solve},
    },
    superstep::state::StepState,
    sweep::context::Context,
};

/// Multiples of so many functions that look random.
fn multiples(functions: usize) -> Vec<f64> {
    (0..functions).map(|i| 1e-7 * (i as f64 * 0.7).sin()).collect()
}

#[test]
fn what_is_added_to_a_value_is_what_the_functions_of_its_position_say() {
    for (game, tier) in [("double-short", Tier::new(2, 1)), ("short-backtrack", Tier::new(2, 2))] {
        let encoding = encoding(game, 2);
        let regions = Regions::new(&encoding, tier);
        let multiples = multiples(regions.functions());
        for (i, tier) in tier.both().enumerate() {
            let orientation = Orientation::at(i);
            let table = regions.table(orientation, &multiples);
            let mut values = vec![0.0; encoding.tier_len(tier) as usize];
            // In pieces that begin and end within rows.
            for (piece, values) in values.chunks_mut(1237).enumerate() {
                let places = piece * 1237..piece * 1237 + values.len();
                regions.add(orientation, places, values, &table, Simd::best());
            }
            for (offset, &value) in (0..).zip(&values) {
                let position = encoding.unrank(ziggurat_encoding::Index { tier, offset });
                let mut sum = 0.0;
                regions.for_each_function(orientation, regions.of(&position), |function, value| {
                    sum += multiples[function] * value
                });
                assert_eq!(value, f64::from(sum as f32), "{game} {position:?}");
            }
        }
    }
}

#[test]
fn samples_take_memory_that_cannot_be_in_files() {
    let encoding = encoding("finkel", 2);
    let plan = |corrected_from| {
        plan(&encoding, &Settings { corrected_from, threads: 1, ..Settings::new(Precision::F64) })
    };
    let (all, none) = (plan(CorrectedFrom::ALL), plan(CorrectedFrom::NOTHING));
    let largest = Sample::bytes(&encoding, Tier::new(2, 2), 1);
    assert!(all.memory.scratch_bytes >= none.memory.scratch_bytes + largest);
    let in_files = |plan: &Plan| plan.memory.sparing_bytes - plan.memory.scratch_bytes;
    assert_eq!(in_files(&all), in_files(&none));
}

#[test]
fn a_number_of_pieces_in_each_section_is_a_function() {
    let encoding = encoding("double-short", 2);
    let tier = Tier::new(2, 2);
    let regions = Regions::new(&encoding, tier);
    assert_eq!(regions.functions(), functions(&encoding, tier));
    let position = encoding.unrank(ziggurat_encoding::Index { tier, offset: 12_345 });
    let (own, opponent) = (position.opponent.board, position.own.board);
    let mut sum = [0.0; 2];
    // The functions behind the first, 1, are the numbers of pieces: seven of each player.
    regions.for_each_function(Orientation::FIRST, regions.of(&position), |function, value| {
        match function {
            0 => assert_eq!(value, 1.0),
            1..=7 => sum[0] += value,
            8..=14 => sum[1] += value,
            _ => {}
        }
    });
    let from_first_section = |board: u64| f64::from((board >> 5).count_ones());
    assert_eq!(sum, [own, opponent].map(from_first_section), "{position:?}");
}

/// The step of a tier that reads made-up values, iterated until nothing changes.
fn with_solved_step(
    game: &str,
    tier: Tier,
    work: impl FnOnce(&Encoding, &Context<'_, f64>, &mut StepState<'_, f64>),
) {
    let encoding = encoding(game, 2);
    let tables = Tables::new(&encoding);
    let memory = Memory::anonymous();
    let filled = |tier, value| memory.filled(value, encoding.tier_len(tier) as usize).unwrap();
    let finals: Vec<(Tier, Array<f64>)> =
        tier.reads().map(|tier| (tier, filled(tier, 0.2))).collect();
    let read = |wanted| &*finals.iter().find(|(tier, _)| *tier == wanted).unwrap().1;
    let context = Context::new(&encoding, &tables, tier, |tier| read(tier));
    let step = ShardedStep::new(&encoding, tier, encoding.shards(tier, 1 << 12));
    let values = zeros(&memory, &step, None).unwrap();
    let mut state = StepState::new(&memory, &step, values, Simd::best(), None).unwrap();
    let mut superstep = || state.superstep(&context, (CycleSlot::FIRST, -100), None).unwrap();
    while superstep() > 1e-15 {}
    work(&encoding, &context, &mut state);
}

/// The multiples of functions that the sample of a state asks for.
fn found<'s>(
    state: &StepState<'s, f64>,
    context: &Context<'_, f64>,
    sample: &mut Option<Sample<'s>>,
) -> Vec<f64> {
    let system = state.galerkin_system(context, sample, -46, None);
    system.solve(-46).expect("the sample tells")
}

#[test]
fn a_correction_takes_away_what_functions_were_added_to_a_solution() {
    for (game, tier) in [("double-short", Tier::new(2, 1)), ("short-backtrack", Tier::new(1, 1))] {
        with_solved_step(game, tier, |encoding, context, state| {
            let mut sample = None;
            let none = found(state, context, &mut sample);
            let regions = Regions::new(encoding, tier);
            let solution: Vec<f64> = state.values()[0].values().to_vec();
            state.correct(&regions, &multiples(regions.functions()), None);
            let differences = |state: &StepState<'_, f64>| {
                let values = state.values()[0].values().iter().zip(&solution);
                values.map(|(value, solution)| (value - solution).abs()).fold(0.0, f64::max)
            };
            let before = differences(state);
            let back = found(state, context, &mut sample);
            state.correct(&regions, &back, None);
            let after = differences(state);
            assert!(before > 1e-7, "{game}: {before}");
            assert!(after < 1e-3 * before, "{game}: {after} of {before} is left");
            assert!(none.iter().all(|multiple| multiple.abs() < 1e-12), "{game}: {none:?}");
        });
    }
}

#[test]
fn sums_are_the_same_in_any_partition() {
    let tier = Tier::new(2, 1);
    with_solved_step("double-short", tier, |encoding, context, state| {
        let lengths = tier.both().map(|tier| encoding.tier_len(tier) as usize);
        let all = lengths.map(|len| 0..len).enumerate();
        let all: Vec<_> = all.map(|(i, range)| (Orientation::at(i), range)).collect();
        let half = |(orientation, all): &(Orientation, std::ops::Range<usize>)| {
            let middle = all.end / 3;
            [(*orientation, 0..middle), (*orientation, middle..all.end)]
        };
        let halves: Vec<_> = all.iter().flat_map(half).collect();
        let values: Vec<&[f64]> = state.values().iter().map(Array::values).collect();
        let system = |ranges: &[_]| {
            let mut sample = Sample::new(encoding, context, ranges);
            sample.system(context, &values, -60, Simd::best())
        };
        let whole = system(&all);
        let (first, rest) = halves.split_at(1);
        assert!(whole.parts()[0].iter().any(|&missing| missing != 0.0));
        assert!(system(first).and(&system(rest)).as_ref() == Some(&whole));
    });
}

#[test]
fn what_a_sample_knows_already_changes_no_sum() {
    let tier = Tier::new(2, 1);
    with_solved_step("double-short", tier, |encoding, context, state| {
        let ranges = tier.both().map(|tier| 0..encoding.tier_len(tier) as usize).enumerate();
        let ranges: Vec<_> = ranges.map(|(i, range)| (Orientation::at(i), range)).collect();
        let solution: Vec<&[f64]> = state.values().iter().map(Array::values).collect();
        let made_up = |values: &&[f64]| -> Vec<f64> {
            (0..values.len()).map(|i| 0.4 * (i as f64 * 0.37).sin()).collect()
        };
        let made_up: Vec<Vec<f64>> = solution.iter().map(made_up).collect();
        let made_up: Vec<&[f64]> = made_up.iter().map(|values| &values[..]).collect();
        let new = || Sample::new(encoding, context, &ranges);
        let mut used = new();
        let mut matrices = Vec::new();
        for values in [&solution, &made_up, &solution, &solution] {
            let system = used.system(context, values, -60, Simd::best());
            assert!(new().system(context, values, -60, Simd::best()) == system);
            matrices.push(system.parts()[1].to_vec());
        }
        assert!(matrices[0] != matrices[1], "other moves are best");
    });
}

#[test]
fn a_correction_before_the_first_superstep_saves_some_of_them() {
    for (game, pieces) in [("finkel", 5), ("blitz", 4)] {
        let encoding = encoding(game, pieces);
        let supersteps = |corrected_from| {
            let settings = Settings { corrected_from, ..Settings::new(Precision::F32) };
            let cancelled = Cancelled::new(false);
            let surroundings = Surroundings::in_memory(&cancelled);
            let solved =
                solve(&encoding, &settings, surroundings, &mut |_| {}, &mut |_, _, _| Ok(()));
            let of_tier = |(tier, statistics): (Tier, TierStatistics)| {
                u64::from(statistics.supersteps) * encoding.tier_len(tier)
            };
            solved.unwrap().tiers.into_iter().map(of_tier).sum::<u64>()
        };
        let (corrected, plain) =
            (supersteps(CorrectedFrom::DEFAULT), supersteps(CorrectedFrom::NOTHING));
        assert!(corrected < plain, "{game}: {corrected} and {plain}");
    }
}
