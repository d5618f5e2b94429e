//! Interval sweeps of small games: passing over slabs and leaving out moves changes nothing, and nothing wrong is
//! proven.

use std::collections::HashMap;

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::Ruleset;
use ziggurat_planning::{
    proof::{FAR, GROWN, Proof, Verdict},
    settings::{Precision, Settings},
    weights::CycleSlot,
};

use crate::{
    certificate::{
        offsets::Offsets,
        problem::{Certified, Unproven},
    },
    fixtures::encoding_of,
    halo::arrays::zeros,
    memory::{array::Array, budget::Memory},
    moves::tables::Tables,
    shards::step::ShardedStep,
    simd::{dispatch::Simd, value::Value},
    solver::{
        error::thread_pool,
        solve::{Cancelled, Surroundings, solve},
        values::TierValues,
    },
    superstep::state::StepState,
    sweep::{context::Context, elimination::validity::CandidateLists},
};

/// A game, and all its tiers as near to their limits as supersteps get.
struct Game {
    encoding: Encoding,
    tables: Tables,
    tiers: HashMap<Tier, Vec<f64>>,
}

impl Game {
    /// A game with as many pieces as a tier has of one player.
    fn solved(name: &str, tier: Tier) -> Self {
        let encoding = encoding_of(name, tier);
        let tables = Tables::new(&encoding);
        let precise = Settings::new(Precision::F64);
        let settings = Settings { tolerance: 1e-15, certified: false, ..precise };
        let cancelled = Cancelled::new(false);
        let surroundings = Surroundings::in_memory(&cancelled);
        let mut tiers = HashMap::new();
        let mut keep = |tier, _, values: TierValues<'_>| {
            let TierValues::F64(values) = values else { unreachable!("f64 is asked for") };
            tiers.insert(tier, values.to_vec());
            Ok(())
        };
        solve(&encoding, &settings, surroundings, &mut |_| {}, &mut keep).unwrap();
        Self { encoding, tables, tiers }
    }

    /// The step of a tier, in shards of so many positions at the most.
    fn step(&self, tier: Tier, limit: u64) -> ShardedStep<'_> {
        ShardedStep::new(&self.encoding, tier, self.encoding.shards(tier, limit))
    }

    /// The proof of a step within 2e-13, which reads others within 1e-13.
    fn proof(tier: Tier) -> Proof {
        Proof::new(2e-13, if tier.reads().next().is_none() { 0.0 } else { 1e-13 }).unwrap()
    }

    /// What that proof is of.
    fn unproven<'a>(&'a self, step: &'a ShardedStep<'a>, proof: &Proof) -> Unproven<'a, f64> {
        let values: Vec<&[f64]> = step.tier.both().map(|tier| &self.tiers[&tier][..]).collect();
        let finals = |tier| Certified { values: &self.tiers[&tier][..], bound: 1e-13 };
        Unproven::new(step, &self.tables, &values, finals, proof)
    }
}

/// Offsets of a step at the start of a proof.
fn offsets(step: &ShardedStep<'_>, proof: &Proof) -> Offsets {
    let mut offsets = Offsets::new(&Memory::anonymous(), step, None).unwrap();
    offsets.reset(proof, step, None);
    offsets
}

fn all(offsets: &Offsets) -> Vec<u16> {
    offsets.all.iter().flatten().flat_map(|array| array.values().to_vec()).collect()
}

/// Sweeps the intervals of a step until none grows, passing over stable slabs; returns after how many sweeps.
fn sweep_until_stable(game: &str, tier: Tier) -> u32 {
    let solved = Game::solved(game, tier);
    let step = solved.step(tier, 1 << 7);
    assert!(step.waves.len() > 2, "{game} {tier}");
    let mut proof = Game::proof(tier);
    let mut problem = solved.unproven(&step, &proof);
    let mut offsets = offsets(&step, &proof);
    let sweep = |problem: &Unproven<'_, f64>, offsets: &mut Offsets| {
        problem.sweep(offsets, &CandidateLists::default(), Simd::best(), None).unwrap()
    };
    loop {
        problem.look_at(&proof);
        let growth = sweep(&problem, &mut offsets);
        let largest = all(&offsets).into_iter().map(|offset| offset & !GROWN).max();
        assert_eq!(largest, Some(growth.largest), "{game} {tier}");
        proof.after(growth);
        if !growth.grew {
            break;
        }
    }
    let stable = all(&offsets);
    assert!(stable.iter().all(|offset| offset & GROWN == 0));
    // Everything is stable now, so a sweep changes nothing.
    problem.look_at(&proof);
    assert!(!sweep(&problem, &mut offsets).grew && all(&offsets) == stable, "{game} {tier}");
    // Growth that is planted here and there reaches all that it must, however little else is swept.
    let len = stable.len() / 2;
    for (i, place) in (0..len).step_by(len / 16).enumerate() {
        let end = &mut offsets.all[i % 2];
        let orientation = usize::from(place >= end[0].values().len());
        let offset = place - orientation * end[0].values().len();
        let planted = &mut end[orientation][offset];
        *planted = (*planted + 3_000) | GROWN;
        problem.skips = true;
        while sweep(&problem, &mut offsets).grew {}
        problem.skips = false;
        assert!(!sweep(&problem, &mut offsets).grew, "{game} {tier}: {orientation} {offset}");
    }
    proof.sweeps()
}

#[test]
fn what_rounding_may_take_away_widens_every_interval() {
    let tier = Tier::new(2, 1);
    let solved = Game::solved("finkel", tier);
    let (step, proof) = (solved.step(tier, 1 << 9), Game::proof(tier));
    let swept = |units_more: f64| {
        let mut problem = solved.unproven(&step, &proof);
        problem.margin += units_more * proof.unit();
        let mut offsets = offsets(&step, &proof);
        problem.sweep(&mut offsets, &CandidateLists::default(), Simd::best(), None).unwrap();
        offsets
    };
    let (narrow, wide) = (swept(0.0), swept(64.0));
    for (narrow, wide) in narrow.all.iter().flatten().zip(wide.all.iter().flatten()) {
        let both = narrow.values().iter().zip(wide.values());
        let mut both = both.map(|(narrow, wide)| (narrow & !GROWN, wide & !GROWN));
        assert!(both.all(|(narrow, wide)| narrow + 60 <= wide));
    }
}

/// Proves a step of a game, which reads the true values, with the candidates of its supersteps and without, and
/// compares all offsets after each interval sweep.
fn compare_with_candidates<T: Value>(game: &str, tier: Tier, residual: f64, bound: f64) {
    let Game { encoding, tables, tiers } = Game::solved(game, tier);
    let memory = Memory::anonymous();
    let array = |values: &[f64]| {
        let mut array = memory.filled(T::default(), values.len()).unwrap();
        array.iter_mut().zip(values).for_each(|(to, &value)| *to = T::from_f64(value));
        array
    };
    let read: HashMap<Tier, Array<T>> =
        tiers.into_iter().map(|(tier, values)| (tier, array(&values))).collect();
    let context = Context::new(&encoding, &tables, tier, |tier| &read[&tier]);
    let step = ShardedStep::new(&encoding, tier, encoding.shards(tier, 1 << 9));
    let simd = Simd::best();
    let halves = zeros(&memory, &step, None).unwrap();
    let mut state = StepState::new(&memory, &step, halves, simd, None).unwrap();
    while state.superstep(&context, (CycleSlot::FIRST, -100), None).unwrap() > residual {}
    let candidate_lists = std::mem::take(&mut state.candidate_lists);
    assert!(candidate_lists.words() > 0, "{game} {tier}");

    let values = state.into_values();
    let values: Vec<&[T]> = values.iter().map(|values| values.values()).collect();
    let finals = |tier| Certified { values: read[&tier].values(), bound: bound / 2.0 };
    let is_first = tier.reads().next().is_none();
    let proof = || Proof::new(bound, if is_first { 0.0 } else { bound / 2.0 }).unwrap();
    assert!(
        candidate_lists.are_valid_for_intervals(f64::from(FAR) * proof().unit()),
        "{game} {tier}"
    );
    let mut proof = proof();
    let (mut with, mut without) = (offsets(&step, &proof), offsets(&step, &proof));
    let mut problem = Unproven::new(&step, &tables, &values, finals, &proof);
    loop {
        problem.look_at(&proof);
        let growth = problem.sweep(&mut with, &candidate_lists, simd, None).unwrap();
        let same = problem.sweep(&mut without, &CandidateLists::default(), simd, None).unwrap();
        assert!(growth == same && all(&with) == all(&without), "{game} {tier}");
        match proof.after(growth) {
            Verdict::Sweep => {}
            Verdict::Proven(_) => break,
            Verdict::Refused => panic!("{game} {tier} is not proven"),
        }
    }
}

#[test]
fn candidates_change_no_offset() {
    for (game, tier) in [
        ("blitz", Tier::new(3, 2)),
        ("finkel", Tier::new(3, 3)),
        ("masters", Tier::new(2, 2)),
        ("double-short", Tier::new(2, 1)),
    ] {
        compare_with_candidates::<f64>(game, tier, 1e-12, 1e-9);
        compare_with_candidates::<f32>(game, tier, 1e-6, 2e-5);
    }
}

/// Proves a step of a game on one thread and on many, and compares all offsets after each interval sweep. Shards have at
/// most so many positions.
fn compare_threads(game: &str, tier: Tier, limit: u64) {
    let solved = Game::solved(game, tier);
    let step = solved.step(tier, limit);
    let mut proof = Game::proof(tier);
    let mut problem = solved.unproven(&step, &proof);
    let mut on_threads =
        [1, 64].map(|threads| (thread_pool(threads).unwrap(), offsets(&step, &proof)));
    loop {
        problem.look_at(&proof);
        let none = CandidateLists::default();
        let [alone, together] = on_threads.each_mut().map(|(pool, offsets)| {
            pool.install(|| problem.sweep(offsets, &none, Simd::best(), None)).unwrap()
        });
        let [(_, alone_distances), (_, offsets)] = &on_threads;
        assert!(alone == together && all(alone_distances) == all(offsets), "{game} {tier}");
        proof.after(alone);
        if !alone.grew {
            break;
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_offsets() {
    for game in Ruleset::builtin_names() {
        compare_threads(game, Tier::new(1, 1), 1);
    }
    for (game, pieces) in [("finkel", 3), ("blitz", 2), ("skiriuk", 2), ("double-short", 2)] {
        for other in [pieces, pieces - 1] {
            compare_threads(game, Tier::new(pieces, other), 1 << 9);
        }
    }
}

#[test]
fn stable_slabs_would_not_grow() {
    let mut sweeps = 0;
    for (game, tier) in [
        ("blitz", Tier::new(2, 2)),
        ("finkel", Tier::new(3, 2)),
        ("masters", Tier::new(3, 1)),
        ("skiriuk", Tier::new(2, 1)),
        ("murray", Tier::new(1, 1)),
        ("double-short", Tier::new(2, 1)),
    ] {
        sweeps += sweep_until_stable(game, tier);
    }
    assert!(sweeps > 12, "only {sweeps}: hardly anything could be passed over");
}
