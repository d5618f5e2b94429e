//! Solves that are stopped whenever they have written something down go on to the same bits, hand on every tier once, and
//! have room for two checkpoints of a step in what a plan says of disk.

mod common;

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use common::{Solved, builtin, settings};
use ziggurat_encoding::Tier;
use ziggurat_kernel::{
    Cancelled, Column, CycleSlot, Found, Part, Precision, Settings, StepStore, StepStoreError,
    Surroundings, TierStatistics, TierValues, VECTORS, solve,
};

type Columns = BTreeMap<Column, BTreeMap<(u32, u8), Vec<u8>>>;

/// What is written down of a step.
#[derive(Default)]
struct Record {
    found: Option<Found>,
    columns: Columns,
}

/// A store in memory.
#[derive(Default)]
struct InMemory {
    records: Mutex<BTreeMap<Tier, Record>>,
    handed_on: Mutex<BTreeMap<Tier, Vec<f64>>>,
    /// How often it was asked whether something is due.
    asked: AtomicUsize,
    /// It is due whenever it was asked a multiple of this.
    due_every: usize,
    /// Saves until the process ends.
    saves_left: AtomicUsize,
    /// The most bytes, but for values, of two checkpoints of a step, per position of the smaller of them.
    most_besides_values: Mutex<f64>,
}

impl InMemory {
    fn records(&self) -> MutexGuard<'_, BTreeMap<Tier, Record>> {
        self.records.lock().unwrap()
    }
}

impl StepStore for InMemory {
    fn find(&self, step: Tier) -> Result<Found, StepStoreError> {
        let found = self.records().get(&step).and_then(|record| record.found.clone());
        Ok(found.unwrap_or(Found::Nothing))
    }

    fn load(&self, step: Tier, parts: Vec<Part<'_>>) -> Result<(), StepStoreError> {
        let records = self.records();
        for mut part in parts {
            let saved = &records[&step].columns[&part.column][&(part.shard, part.range)];
            part.data.bytes_mut().copy_from_slice(saved);
        }
        Ok(())
    }

    fn handed_on(&self, step: Tier) -> Result<Option<f64>, StepStoreError> {
        let handed_on = self.handed_on.lock().unwrap();
        let is_whole = step.both().all(|tier| handed_on.contains_key(&tier));
        Ok(is_whole.then(|| handed_on[&step][0]))
    }

    fn is_due(&self, _unwritten: Duration, _last: Duration) -> bool {
        (self.asked.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.due_every)
    }

    fn save(
        &self,
        step: Tier,
        found: &Found,
        parts: Vec<Part<'_>>,
        kept: &[Column],
    ) -> Result<(), StepStoreError> {
        let mut records = self.records();
        let record = records.entry(step).or_default();
        let vectors = |columns: &Columns| -> usize {
            let of = |column: &Column| !matches!(column, Column::Values | Column::Units);
            let all = columns.iter().filter(|(column, _)| of(column));
            all.flat_map(|(_, parts)| parts.values()).map(Vec::len).sum()
        };
        let before = vectors(&record.columns);
        let mut new = Columns::new();
        let mut positions = 0;
        for part in &parts {
            if part.column == Column::Vector(0) {
                positions += part.data.count();
            }
            let bytes = part.data.bytes().to_vec();
            new.entry(part.column).or_default().insert((part.shard, part.range), bytes);
        }
        positions = positions.max(
            record
                .columns
                .get(&Column::Vector(0))
                .map_or(0, |vector| vector.values().map(Vec::len).sum()),
        );
        if positions > 0 {
            let besides = (before + vectors(&new)) as f64 / positions as f64;
            let mut most = self.most_besides_values.lock().unwrap();
            *most = most.max(besides);
        }
        record.columns.retain(|column, _| kept.contains(column));
        record.columns.extend(new);
        record.found = Some(found.clone());
        match self.saves_left.fetch_sub(1, Ordering::Relaxed) {
            1 => Err(StepStoreError { is_damage: false, source: "killed".into() }),
            _ => Ok(()),
        }
    }

    fn forget(&self, step: Tier, error: &StepStoreError) -> Result<(), StepStoreError> {
        panic!("nothing of step {step} is damaged: {error}");
    }
}

fn assert_stops_do_not_matter(game: &str, job: &Settings, due_every: usize) {
    let expected = Solved::new(&builtin(game, 2), job);
    let step_store = InMemory { due_every, ..InMemory::default() };
    let mut runs = 0;
    let summary = loop {
        runs += 1;
        step_store.saves_left.store(1 + runs % 5, Ordering::Relaxed);
        let mut hand_on = |tier: Tier, _: TierStatistics, values: TierValues<'_>| {
            let values = match values {
                TierValues::F32(values) => values.iter().map(|&value| value.into()).collect(),
                TierValues::F64(values) => values.to_vec(),
            };
            let twice = step_store.handed_on.lock().unwrap().insert(tier, values);
            assert!(twice.is_none(), "tier {tier} is handed on once");
            Ok(())
        };
        let cancelled = Cancelled::new(false);
        let in_memory = Surroundings::in_memory(&cancelled);
        let surroundings = Surroundings { step_store: Some(&step_store), ..in_memory };
        match solve(&expected.encoding, job, surroundings, &mut |_| {}, &mut hand_on) {
            Ok(summary) => break summary,
            Err(error) => assert!(error.to_string().contains("killed"), "{error}"),
        }
    };
    assert!(runs > 5, "{runs} runs");
    assert_eq!(summary, expected.summary, "{game}");
    let tiers = step_store.handed_on.into_inner().unwrap();
    assert!(tiers == expected.tiers, "{game}: other values");
    // One is light, the other may have all vectors that are ever written down: and a proof has less.
    let most = step_store.most_besides_values.into_inner().unwrap();
    let promised = (VECTORS - 1 + CycleSlot::FIRST.vector()) as f64;
    assert!(most > 4.0 && most <= promised, "{game}: {most} bytes per position, not {promised}");
}

#[test]
fn a_solve_that_is_stopped_after_any_checkpoint_ends_in_the_same_bits() {
    for precision in [Precision::F64, Precision::F32] {
        for certified in [false, true] {
            let tolerance = if precision == Precision::F32 { 1e-5 } else { 1e-12 };
            let job = Settings { certified, tolerance, ..settings(precision) };
            for (game, due_every) in [("finkel", 1), ("finkel", 3), ("masters", 2), ("blitz", 1)] {
                assert_stops_do_not_matter(game, &job, due_every);
            }
        }
    }
}
