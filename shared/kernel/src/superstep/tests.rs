//! Supersteps of small games: what extrapolation saves, and what threads and candidates do not change.

use std::collections::HashMap;

use ziggurat_encoding::Tier;
use ziggurat_planning::{
    convergence::{Convergence, Next},
    settings::Precision,
    weights::{CycleSlot, DIFFERENCES, multiples},
};

use crate::{
    fixtures::{encoding, encoding_of},
    halo::arrays::{fill, zeros},
    memory::{array::Array, budget::Memory},
    moves::tables::Tables,
    shards::step::ShardedStep,
    simd::{dispatch::Simd, value::Value},
    superstep::state::StepState,
    sweep::{
        context::Context, elimination::validity::CandidateLists, successors::table::SuccessorTables,
    },
};

/// Every change is worth publishing.
const FINEST: i32 = -100;

/// The values of the step {1, 1} of skiriuk, whose supersteps converge slowly, and how many were made.
fn solve_skiriuk(
    iterate: impl Fn(&Context<'_, f64>, &mut StepState<'_, f64>) -> usize,
) -> (Vec<f64>, usize) {
    let encoding = encoding("skiriuk", 1);
    let tables = Tables::new(&encoding);
    let tier = Tier::new(1, 1);
    let context = Context::new(&encoding, &tables, tier, |_| unreachable!("a score wins"));
    let step = ShardedStep::new(&encoding, tier, encoding.shards(tier, 8));
    assert!(step.waves.len() > 2);
    let memory = Memory::anonymous();
    let mut halves = zeros(&memory, &step, None).unwrap();
    fill(&mut halves, 0.5, &step, None);
    let mut state = StepState::new(&memory, &step, halves, Simd::best(), None).unwrap();
    let supersteps = iterate(&context, &mut state);
    (state.into_values()[0].values().to_vec(), supersteps)
}

fn superstep_of(
    state: &mut StepState<'_, f64>,
    context: &Context<'_, f64>,
    slot: CycleSlot,
) -> f64 {
    state.superstep(context, (slot, FINEST), None).unwrap()
}

/// Makes supersteps until little changes, and returns how many.
fn iterate_plainly(context: &Context<'_, f64>, state: &mut StepState<'_, f64>) -> usize {
    let mut superstep = |_: &usize| superstep_of(state, context, CycleSlot::FIRST);
    (1..).find(|i| superstep(i) <= 1e-15).unwrap()
}

fn iterate(context: &Context<'_, f64>, state: &mut StepState<'_, f64>) -> usize {
    let mut convergence = Convergence::new(Precision::F64, 1e-13);
    for superstep in 0.. {
        let slot = CycleSlot::new(superstep % DIFFERENCES).unwrap();
        let residual = superstep_of(state, context, slot);
        match convergence.after(residual) {
            Next::Sweep => {}
            Next::Extrapolate => {
                let multiples = multiples(state.measure(None), false).expect("values change");
                state.extrapolate(&multiples, None);
            }
            Next::Done => return superstep + 1,
        }
    }
    unreachable!("it converges")
}

#[test]
fn extrapolation_needs_fewer_supersteps_for_the_same_values() {
    let (plain, plain_supersteps) = solve_skiriuk(iterate_plainly);
    let (ours, supersteps) = solve_skiriuk(iterate);
    let differences = plain.iter().zip(&ours).map(|(a, b)| (a - b).abs());
    assert!(differences.fold(0.0, f64::max) <= 2e-13);
    assert!(supersteps * 10 < plain_supersteps * 8);
}

/// Sweeps a step of a game, which reads made-up values, 40 times with something and `without` it, and compares all
/// values after each superstep. Before each of them, `look` is shown the state with it.
fn compare<T: Value>(
    (game, tier): (&str, Tier),
    simd: Simd,
    without: impl Fn(&mut StepState<'_, T>),
    mut look: impl FnMut(&StepState<'_, T>),
) {
    let encoding = encoding_of(game, tier);
    let tables = Tables::new(&encoding);
    let memory = Memory::anonymous();
    let made_up = |tier| {
        let len = encoding.tier_len(tier) as usize;
        let mut values = memory.filled(T::default(), len).unwrap();
        for (i, value) in values.iter_mut().enumerate() {
            *value = T::from_f64(0.4 * (i as f64 * 0.37).sin());
        }
        values
    };
    let finals: HashMap<Tier, Array<T>> = tier.reads().map(|t| (t, made_up(t))).collect();
    let context = Context::new(&encoding, &tables, tier, |tier| &finals[&tier]);
    let step = ShardedStep::new(&encoding, tier, encoding.shards(tier, 1 << 10));
    let state = || {
        let values = zeros(&memory, &step, None).unwrap();
        StepState::new(&memory, &step, values, simd, None).unwrap()
    };
    let states = &mut [state(), state()];
    without(&mut states[1]);
    for superstep in 0..40 {
        let slot = CycleSlot::new(superstep % DIFFERENCES).unwrap();
        look(&states[0]);
        for state in &mut *states {
            state.superstep(&context, (slot, FINEST), None).unwrap();
            if slot.next() == CycleSlot::FIRST
                && superstep < 30
                && let Some(multiples) = multiples(state.measure(None), superstep >= DIFFERENCES)
            {
                state.extrapolate(&multiples, None);
            }
        }
        for (with, without) in states[0].values().iter().zip(states[1].values()) {
            assert!(with.values() == without.values(), "{game} {tier}, superstep {superstep}");
        }
    }
}

/// Compares supersteps with candidates and without. Returns how many went through candidates that had something in
/// them in the end, and how many units the tail has.
fn compare_with_candidates<T: Value>(game: &str, tier: Tier) -> (usize, usize) {
    let (mut taken, mut words, mut tail) = (0, 0, 0);
    compare::<T>(
        (game, tier),
        Simd::best(),
        |state| state.candidate_lists = CandidateLists::new(0),
        |state| {
            taken += usize::from(state.candidate_lists.are_valid());
            (words, tail) = (state.candidate_lists.words(), state.step.tail);
        },
    );
    (if words > 0 { taken } else { 0 }, tail)
}

#[test]
fn candidates_change_no_bit() {
    let mut all = (0, 0);
    for (game, tier) in [
        ("blitz", Tier::new(3, 3)),
        ("blitz", Tier::new(3, 2)),
        ("finkel", Tier::new(4, 3)),
        ("masters", Tier::new(3, 2)),
        ("skiriuk", Tier::new(2, 2)),
        ("double-short", Tier::new(2, 1)),
    ] {
        let (taken, tail) = compare_with_candidates::<f64>(game, tier);
        compare_with_candidates::<f32>(game, tier);
        all = (all.0 + taken, all.1 + tail);
    }
    assert!(all.0 > 0 && all.1 > 0, "{all:?}");
    // Slabs without private squares have none.
    assert_eq!(compare_with_candidates::<f64>("murray", Tier::new(2, 1)).0, 0);
}

/// Compares supersteps along tables of successors and without. Returns how many units have a table, how many of these
/// have slabs that read their own values as they were before, and how many units the tail has.
fn compare_with_successors<T: Value>(game: &str, tier: Tier, simd: Simd) -> [usize; 3] {
    let mut seen = [0; 3];
    compare::<T>(
        (game, tier),
        simd,
        |state| state.successors = SuccessorTables::default(),
        |state| {
            let [all, keeping] = state.successors.count();
            seen = [all, keeping, state.step.tail];
        },
    );
    seen
}

#[test]
fn tables_of_successors_change_no_bit() {
    let mut seen = [0; 3];
    let mut compare = |game, tier, simd| {
        let in_f64 = compare_with_successors::<f64>(game, tier, simd);
        let in_f32 = compare_with_successors::<f32>(game, tier, simd);
        assert!(in_f64[0] > 0 && in_f64 == in_f32, "{game} {tier}: {in_f64:?} {in_f32:?}");
        seen.iter_mut().zip(in_f64).for_each(|(seen, of_game)| *seen += of_game);
    };
    for (game, tier) in [
        ("murray", Tier::new(2, 1)),
        ("twisted-short", Tier::new(2, 1)),
        ("twisted-short-long", Tier::new(1, 1)),
        ("twisted-long-short", Tier::new(1, 1)),
        ("twisted-long", Tier::new(1, 1)),
    ] {
        Simd::all().into_iter().for_each(|simd| compare(game, tier, simd));
    }
    compare("murray", Tier::new(2, 2), Simd::best());
    assert!(seen.iter().all(|&seen| seen > 0), "{seen:?}");
    // Slabs with private squares have none.
    assert_eq!(compare_with_successors::<f64>("finkel", Tier::new(2, 1), Simd::best())[0], 0);
}
