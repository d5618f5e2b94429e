//! A team gives the bits of a solver that is alone, for any partition of the shards, and whenever it is
//! stopped and begun anew with others.

mod common;

use std::sync::atomic::Ordering;

use common::{
    builtin,
    team::{Exchanged, Rules, solve},
    tracks,
};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::Ruleset;
use ziggurat_kernel::{
    Arrays, Cancelled, Column, CorrectedFrom, MemberIndex, Precision, Settings, Surroundings,
    TierValues, shards,
};
use ziggurat_planning::model::units::StepUnits;

/// Numbers that look random.
fn scrambled(number: u64) -> u64 {
    let mixed = (number ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 32
}

/// Any owners for the shards.
fn any_owners(members: usize, seed: u64) -> impl Fn(Tier, usize, u32) -> (usize, Vec<MemberIndex>) {
    move |tier, shards, attempt| {
        let step = u64::from(tier.just_moved) * 100 + u64::from(tier.to_move);
        let seed = scrambled(seed + 1000 * step + u64::from(attempt));
        let owner = |shard| MemberIndex(scrambled(seed + shard as u64) as usize % members);
        (members, (0..shards).map(owner).collect())
    }
}

fn assert_same_bits(ruleset: &Ruleset, settings: &Settings, rules: &Rules<'_>) {
    let encoding = Encoding::new(ruleset).unwrap();
    let solved = solve(&encoding, settings, rules, &Exchanged::default());
    let cancelled = Cancelled::new(false);
    let surroundings = Surroundings::in_memory(&cancelled);
    let mut compare = |tier: Tier, statistics, values: TierValues<'_>| {
        let (step, orientation) = match solved.get(&(tier.just_moved, tier.to_move)) {
            Some(step) => (step, 0),
            None => (&solved[&(tier.to_move, tier.just_moved)], 1),
        };
        assert_eq!(step.statistics, statistics, "{} {tier}", ruleset.name());
        let first = if orientation == 0 { tier } else { tier.swap() };
        let last = first.both().count() - 1;
        let values: &[u8] = match values {
            TierValues::F32(values) => bytemuck::cast_slice(values),
            TierValues::F64(values) => bytemuck::cast_slice(values),
        };
        let size = if settings.precision == Precision::F32 { 4 } else { 8 };
        for (i, shard) in shards(&encoding, settings, first).iter().enumerate() {
            let (one, two) = &shard.ranges;
            let ranges = [(0, Some(one)), (last, two.as_ref())];
            for (range, (at, places)) in ranges.into_iter().enumerate() {
                if let Some(places) = places.filter(|_| at == orientation) {
                    let own = &step.values[&(Column::Values, i as u32, range as u8)];
                    let places = places.start as usize * size..places.end as usize * size;
                    assert!(*own == values[places], "{} {tier} {i}", ruleset.name());
                }
            }
        }
        Ok(())
    };
    ziggurat_kernel::solve(&encoding, settings, surroundings, &mut |_| {}, &mut compare).unwrap();
}

#[test]
fn any_team_gives_the_same_bits_on_every_track() {
    for (i, ruleset) in tracks(2).iter().enumerate() {
        let settings = Settings {
            shard_positions: Some(3000),
            tolerance: 1e-4,
            threads: 1,
            ..Settings::new(Precision::F64)
        };
        let most_members = 2 + i % 4;
        let owners = any_owners(most_members, i as u64);
        let rules = Rules {
            most_members,
            owners: &owners,
            orders_of_attempt: u32::MAX,
            arrays: Arrays::InMemory,
        };
        assert_same_bits(ruleset, &settings, &rules);
    }
}

#[test]
fn a_team_gives_the_same_bits_of_corrected_steps() {
    for (name, precision) in [
        ("double-short", Precision::F64),
        ("short-backtrack", Precision::F32),
        ("finkel", Precision::F64),
    ] {
        let settings = Settings {
            corrected_from: CorrectedFrom::ALL,
            shard_positions: Some(3000),
            threads: 1,
            ..Settings::new(precision)
        };
        for orders_of_attempt in [5, u32::MAX] {
            let most_members = 3;
            let owners = any_owners(most_members, u64::from(orders_of_attempt));
            let rules = Rules {
                most_members,
                owners: &owners,
                orders_of_attempt,
                arrays: Arrays::InMemory,
            };
            assert_same_bits(&builtin(name, 2), &settings, &rules);
        }
    }
}

#[test]
fn a_team_whose_members_have_little_memory_gives_the_same_bits() {
    for (name, precision) in [("masters", Precision::F64), ("skiriuk", Precision::F32)] {
        let settings = Settings {
            shard_positions: Some(30_000),
            tolerance: 1e-4,
            threads: 1,
            ..Settings::new(precision)
        };
        for (arrays, orders_of_attempt) in
            [(Arrays::InFiles { budget: 1 }, u32::MAX), (Arrays::ByPage, 9)]
        {
            let most_members = 3;
            let owners = any_owners(most_members, u64::from(orders_of_attempt));
            let rules = Rules { most_members, owners: &owners, orders_of_attempt, arrays };
            assert_same_bits(&builtin(name, 3), &settings, &rules);
        }
    }
}

#[test]
fn a_team_that_changes_all_the_time_gives_the_same_bits() {
    for (name, precision) in [("finkel", Precision::F64), ("blitz", Precision::F32)] {
        let settings =
            Settings { shard_positions: Some(4000), threads: 1, ..Settings::new(precision) };
        for orders_of_attempt in [3, 7] {
            let most_members = 3;
            let owners = any_owners(most_members, u64::from(orders_of_attempt));
            let rules = Rules {
                most_members,
                owners: &owners,
                orders_of_attempt,
                arrays: Arrays::InMemory,
            };
            assert_same_bits(&builtin(name, 3), &settings, &rules);
        }
    }
}

/// The model has the positions that moves lead to. Members read them in whole rows of slabs, so they read more, by a
/// share that docs/experiments/scale.md has.
#[test]
fn members_read_all_that_the_model_has_them_read() {
    let members = 3;
    let games =
        [("blitz", 3, 0.76), ("finkel", 3, 0.63), ("skiriuk", 2, 0.52), ("double-short", 2, 0.47)];
    for (name, pieces, share_of_rows) in games {
        let encoding = Encoding::new(&builtin(name, pieces)).unwrap();
        let settings = Settings {
            shard_positions: Some(3000),
            tolerance: 1e-4,
            threads: 1,
            ..Settings::new(Precision::F64)
        };
        let step = |tier| StepUnits::new(&encoding, &settings, tier, 20_000);
        let dealt = |tier, _, _| {
            let owners = step(tier).owners(members).into_iter();
            (members, owners.map(MemberIndex).collect())
        };
        let rules = Rules {
            most_members: members,
            owners: &dealt,
            orders_of_attempt: u32::MAX,
            arrays: Arrays::InMemory,
        };
        let exchanged = Exchanged::default();
        let solved = solve(&encoding, &settings, &rules, &exchanged);
        let of_step = |(&(n, m), solved): (&(u8, u8), &common::team::Solved)| {
            let step = step(Tier::new(n, m));
            let halo: f64 = step.halos(&step.owners(members), members).iter().sum();
            halo * f64::from(solved.statistics.supersteps)
        };
        let modelled: f64 = solved.iter().map(of_step).sum();
        let halo = exchanged.halo.load(Ordering::Relaxed) as f64;
        let share = modelled / halo;
        assert!(
            share < 1.0 && (share - share_of_rows).abs() < 0.03,
            "{name}: {modelled} of {halo}"
        );
    }
}
