//! Comparing tables, and verifying them against the rules.

mod common;

use std::sync::Mutex;

use common::{reference, ruleset, write_made_up};
use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::Position;
use ziggurat_table::{
    AnyTable, Compression, Existing, TableError, TableWriter, Tell, TierStatistics, ValueType,
    diff,
    rgu::{self, RguTable},
    unheard, verify,
};

fn open(name: &str) -> AnyTable {
    AnyTable::open(&reference(name)).unwrap()
}

/// A `.zgt` table with the values of another, some of them changed.
fn changed(table: &AnyTable, value_type: ValueType, change: impl Fn(Tier, &mut [f64])) -> AnyTable {
    changed_with(table, value_type, None, change)
}

/// The same that claims a bound on the distance of its values from the true ones.
fn changed_with(
    table: &AnyTable,
    value_type: ValueType,
    certificate: Option<f64>,
    change: impl Fn(Tier, &mut [f64]),
) -> AnyTable {
    let statistics =
        TierStatistics { residual: Some(3e-15), certificate, ..TierStatistics::default() };
    changed_and_said(table, value_type, statistics, change).unwrap()
}

/// The same that says something else of itself.
fn changed_and_said(
    table: &AnyTable,
    value_type: ValueType,
    statistics: TierStatistics,
    change: impl Fn(Tier, &mut [f64]),
) -> Result<AnyTable, TableError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("changed.zgt");
    let (keep, zstd) = (Existing::Keep, Compression::Zstd);
    let mut writer = TableWriter::create(&path, keep, table.encoding(), value_type, zstd).unwrap();
    for tier in table.encoding().tiers() {
        let mut values = table.read_tier(tier).unwrap();
        change(tier, &mut values);
        writer.write_tier(tier, statistics, &values).unwrap();
    }
    writer.finish().unwrap();
    AnyTable::open(&path) // the open file outlives its directory
}

#[test]
fn a_published_table_is_within_half_a_quantum_of_the_exact_one() {
    let (published, exact) = (open("finkel2-published"), open("finkel2-f64"));
    let both_ways =
        [diff(&published, &exact, &unheard).unwrap(), diff(&exact, &published, &unheard).unwrap()];
    for diff in both_ways {
        assert_eq!(diff.total.compared, 12_869);
        assert!(diff.total.largest <= published.quantum() / 2.0 + 1e-7, "{diff:?}");
        assert!(diff.total.mean() > 0.0 && diff.total.mean() < diff.total.largest);
        let at = diff.at.unwrap();
        let distance = published.value(&at).unwrap() - exact.value(&at).unwrap();
        assert!((distance.abs() - diff.total.largest).abs() < 1e-15);
        let compared: u64 = diff.tiers.iter().map(|(_, tier)| tier.compared).sum();
        assert_eq!(compared, diff.total.compared);
    }
}

#[test]
fn a_single_changed_value_is_found_by_diff_and_by_verify() {
    let exact = open("masters2-f64");
    let (tier, offset) = (Tier::new(1, 2), 1234);
    let other = changed(&exact, ValueType::F64, |at, values| {
        if at == tier {
            values[offset as usize] += 1e-6;
        }
    });
    let position = exact.encoding().unrank(Index { tier, offset });
    let diff = diff(&exact, &other, &unheard).unwrap();
    assert_eq!(diff.at, Some(position));
    assert!((diff.total.largest - 1e-6).abs() < 1e-12);
    let verification = verify(&other, None, &unheard).unwrap();
    assert!(!verification.holds());
    assert_eq!(verification.at, Some(position));
    assert!(verification.largest_violation > 0.9e-6);
}

#[test]
fn the_largest_difference_is_found_wherever_it_is() {
    let encoding = Encoding::new(&ruleset("finkel", 4)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let tier = Tier::new(4, 4);
    let index = Index { tier, offset: encoding.tier_len(tier) - 1 };
    assert!(index.offset > ziggurat_table::BATCH_POSITIONS, "it takes several batches");
    let table = |name: &str, change: f64| {
        let path = directory.path().join(name);
        let (keep, percent16) = (Existing::Keep, ValueType::Percent16);
        let zstd = Compression::Zstd;
        let mut writer = TableWriter::create(&path, keep, &encoding, percent16, zstd).unwrap();
        for tier in encoding.tiers() {
            let mut values = vec![0.0; encoding.tier_len(tier) as usize];
            if tier == index.tier {
                values[7] = change / 2.0;
                values[index.offset as usize] = change;
            }
            writer.write_tier(tier, TierStatistics::default(), &values).unwrap();
        }
        writer.finish().unwrap();
        AnyTable::open(&path).unwrap()
    };
    let diff = diff(&table("one.zgt", 0.0), &table("other.zgt", 0.25), &unheard).unwrap();
    assert_eq!(diff.at, Some(encoding.unrank(index)));
    assert_eq!(diff.total.compared - diff.total.equal, 2);
}

#[test]
fn tables_of_different_games_are_not_compared() {
    let refusal = |left: &str, right: &str| {
        diff(&open(left), &open(right), &unheard).map(|_| ()).unwrap_err().to_string()
    };
    assert!(refusal("finkel1-f64", "finkel2-f64").contains("differ in pieces: 1 against 2"));
    assert!(
        refusal("finkel2-f64", "masters2-f64").contains("path: single-short against single-long")
    );
    assert!(refusal("masters2-f64", "blitz2-f64").contains("differ in dice"));
}

#[test]
fn every_reference_file_verifies() {
    for name in [
        "finkel1-f64",
        "finkel2-f64",
        "finkel2-published",
        "masters2-f64",
        "blitz2-f64",
        "aseb2-f64",
    ] {
        let table = open(name);
        let verification = verify(&table, None, &unheard).unwrap();
        assert!(verification.holds(), "{name}: {verification:?}");
        assert_eq!(verification.checked, table.encoding().undecided());
        assert!(verification.won.checked > 0 && verification.symmetric.checked > 0);
    }
}

#[test]
fn every_value_type_of_a_good_table_verifies() {
    let exact = open("blitz2-f64");
    for value_type in ValueType::ALL {
        let table = changed(&exact, value_type, |_, _| {});
        let verification = verify(&table, None, &unheard).unwrap();
        assert!(verification.holds(), "{value_type}: {verification:?}");
        assert!(verification.tolerance < 6.0 * value_type.quantum().max(1e-14));
    }
}

#[test]
fn violations_of_twice_what_is_claimed_are_explained_and_no_larger_ones() {
    let exact = open("masters2-f64");
    for (claimed, error, holds) in [
        (None, 1e-9, false),
        (Some(1e-9), 0.99e-9, true),
        (Some(1e-9), 3e-9, false),
        (Some(0.5), 1e-9, false),
    ] {
        let table = changed_with(&exact, ValueType::F64, claimed, |_, values| {
            for (offset, value) in values.iter_mut().enumerate() {
                let error = if offset % 2 == 0 { error } else { -error };
                *value = (*value + error).clamp(-0.5, 0.5);
            }
        });
        let verification = verify(&table, None, &unheard).unwrap();
        assert_eq!(verification.holds(), holds, "{claimed:?}, {error}: {verification:?}");
    }
}

#[test]
fn a_large_residual_excuses_nothing_that_is_claimed_to_be_proven() {
    let exact = open("masters2-f64");
    for value_type in ValueType::ALL {
        let certificate = Some(value_type.quantum().max(1e-12));
        let statistics =
            TierStatistics { residual: Some(1.0), certificate, ..TierStatistics::default() };
        let table = changed_and_said(&exact, value_type, statistics, |_, values| {
            values.iter_mut().step_by(7).for_each(|value| *value = -*value);
        });
        let verification = verify(&table.unwrap(), None, &unheard).unwrap();
        assert!(!verification.holds(), "{value_type}: {verification:?}");
    }
}

#[test]
fn a_claim_that_nobody_can_prove_is_damage() {
    let exact = open("finkel1-f64");
    for claim in [0.0, -1.0] {
        let statistics = TierStatistics { certificate: Some(claim), ..TierStatistics::default() };
        let opened = changed_and_said(&exact, ValueType::F64, statistics, |_, _| {});
        let Err(refused) = opened else { panic!("{claim} is taken for a claim") };
        assert!(refused.to_string().contains("which nobody can prove"), "{refused}");
    }
}

#[test]
fn made_up_values_do_not_verify() {
    let encoding = Encoding::new(&ruleset("murray", 2)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("made-up.zgt");
    write_made_up(&path, &encoding, ValueType::Percent16, Compression::Zstd).unwrap();
    let verification = verify(&AnyTable::open(&path).unwrap(), None, &unheard).unwrap();
    assert!(verification.beyond_tolerance > verification.checked / 2);
    assert!(verification.symmetric.beyond_tolerance > 0);
}

#[test]
fn a_sample_is_as_large_as_asked_and_agrees_with_looking_at_everything() {
    let table = open("masters2-f64");
    let all = verify(&table, None, &unheard).unwrap();
    for sample in [1, 2, 100, 20_314, u64::MAX] {
        let verification = verify(&table, Some(sample), &unheard).unwrap();
        assert_eq!(verification.checked, sample.min(20_314));
        assert!(verification.holds());
        assert!(verification.largest_violation <= all.largest_violation);
        assert_eq!(verification, verify(&table, Some(sample), &unheard).unwrap());
    }
}

#[test]
fn a_won_position_that_is_not_certain_is_found() {
    let table = RguTable::open(&reference("finkel1-f64")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("uncertain.rgu");
    let value = |position: &Position| {
        let won = position.own.scored == 1 && position.opponent.board == 0;
        if won { Ok(0.75) } else { table.value(position) }
    };
    rgu::write(&path, Existing::Keep, table.keys(), ValueType::F64, value).unwrap();
    let verification = verify(&AnyTable::open(&path).unwrap(), None, &unheard).unwrap();
    assert_eq!(verification.beyond_tolerance, 0);
    assert_eq!(verification.won.beyond_tolerance, 1);
    assert_eq!(verification.won.largest_violation, 0.25);
}

#[test]
fn long_operations_tell_a_rising_share_that_ends_at_all() {
    let table = open("masters2-f64");
    let directory = tempfile::tempdir().unwrap();
    let out = |name: &str| directory.path().join(name);
    let (keep, f64) = (Existing::Keep, ValueType::F64);
    let told = |operation: &dyn Fn(&Tell<'_>) -> Result<(), TableError>| {
        let shares = Mutex::new(Vec::new());
        operation(&|share| shares.lock().unwrap().push(share)).unwrap();
        let mut shares = shares.into_inner().unwrap();
        shares.sort_by(f64::total_cmp); // threads tell in any order
        assert!(shares.len() > 1 && shares[0] > 0.0, "{shares:?}");
        assert_eq!(shares.last(), Some(&1.0));
    };
    told(&|tell| table.export_zgt(&out("a.zgt"), keep, f64, Compression::Zstd, tell));
    told(&|tell| table.export_rgu(&out("a.rgu"), keep, f64, tell));
    told(&|tell| table.export_parquet(&out("a.parquet"), keep, f64, tell));
    let zgt = AnyTable::open(&out("a.zgt")).unwrap();
    for table in [&table, &zgt] {
        told(&|tell| table.verify_file(tell));
        told(&|tell| verify(table, None, tell).map(drop));
        told(&|tell| verify(table, Some(1000), tell).map(drop));
    }
    told(&|tell| diff(&table, &zgt, tell).map(drop));
}
