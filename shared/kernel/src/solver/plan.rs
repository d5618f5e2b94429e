//! The plan of solving a ruleset: its steps in their order, and the memory they take.

use std::ops::Range;

use ziggurat_encoding::Encoding;
use ziggurat_planning::{
    correction::Corrected,
    settings::{Precision, Settings},
    steps::{Step, batches, shards},
};

use crate::{
    certificate::offsets::Offsets,
    coarse::sample::Sample,
    memory::{budget::Arrays, process::LEAST_MAPPED_BYTES},
    shards::step::ShardedStep,
    superstep::state::StepState,
    sweep::{
        elimination::validity::CandidateLists, order::order_bytes, scratch::Scratch,
        successors::table::SuccessorTables,
    },
};

/// Steps that are solved at the same time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// Their places in [`Plan::steps`].
    pub steps: Range<usize>,
    /// The most bytes of arrays that are there with them, where these are in files.
    pub file_bytes: u64,
}

/// The steps and the memory of a solve.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The steps in the order they are solved.
    pub steps: Vec<Step>,
    /// The same by those that are solved at the same time.
    pub batches: Vec<Batch>,
    /// Undecided positions of the ruleset.
    pub positions: u64,
    /// The memory it takes.
    pub memory: SolveMemory,
}

/// The memory of a solve, in bytes, without what its process takes besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SolveMemory {
    /// The most that it holds at once.
    pub peak_bytes: u64,
    /// The same without successor tables, which save time.
    pub sparing_bytes: u64,
    /// How much of it cannot be in files: the threads' working memory, and the samples of steps.
    pub scratch_bytes: u64,
}

impl SolveMemory {
    /// The least that a process takes which holds so many bytes besides: with arrays in files, unless these take less than
    /// what is mapped of files.
    pub fn least_bytes(&self, base_bytes: u64) -> u64 {
        (self.scratch_bytes + LEAST_MAPPED_BYTES).min(self.sparing_bytes) + base_bytes
    }

    /// The same of a member of a team, whose share of the step that it is at takes so many bytes
    /// [by page](Arrays::ByPage).
    pub fn arrays_of_member(
        &self,
        allowed: Option<u64>,
        base_bytes: u64,
        share_bytes: u64,
    ) -> Option<Arrays> {
        let by_page = share_bytes + self.scratch_bytes + base_bytes;
        match self.arrays(allowed, base_bytes) {
            None | Some(Arrays::InFiles { .. })
                if allowed.is_some_and(|allowed| by_page <= allowed) =>
            {
                Some(Arrays::ByPage)
            }
            other => other,
        }
    }

    /// Where the arrays go of a process that may take so much memory (any, unless that is given) and holds so many bytes
    /// besides; nowhere if that is less than the least.
    pub fn arrays(&self, allowed: Option<u64>, base_bytes: u64) -> Option<Arrays> {
        match allowed {
            Some(allowed) if allowed < self.least_bytes(base_bytes) => None,
            Some(budget) if budget < self.sparing_bytes + base_bytes => {
                Some(Arrays::InFiles { budget })
            }
            Some(allowed) if allowed < self.peak_bytes + base_bytes => Some(Arrays::Sparing),
            _ => Some(Arrays::InMemory),
        }
    }
}

/// The plan of solving `encoding`'s ruleset with `settings`.
pub fn plan(encoding: &Encoding, settings: &Settings) -> Plan {
    let size = settings.precision.bytes() as u64;
    let threads = settings.thread_count();
    let (mut peak, mut sparing, mut ordering, mut sampling) = (0, 0, 0, 0);
    let (mut steps, mut planned) = (Vec::new(), Vec::new());
    let mut finals: Vec<(u8, u64)> = Vec::new();
    for batch in batches(encoding) {
        let first = steps.len();
        let this = batch[0].level();
        finals.retain(|&(at, _)| at + 1 >= this);
        let kept: u64 = finals.iter().map(|&(_, bytes)| bytes).sum();
        let (mut working, mut without_tables, mut in_files, mut samples) = (0, 0, 0, 0);
        for &tier in &batch {
            let positions = encoding.step_len(tier);
            let step = ShardedStep::new(encoding, tier, shards(encoding, settings, tier));
            // A step solved in `f32` first takes less, together with the final tiers in `f32`.
            let sweeping = match settings.precision {
                Precision::F32 => StepState::<f32>::bytes(&step, None, threads),
                Precision::F64 => StepState::<f64>::bytes(&step, None, threads),
            };
            let proving =
                positions * size + Offsets::bytes(&step, None) + CandidateLists::bytes(positions);
            let proving = if settings.certified { proving } else { 0 };
            working += (sweeping + SuccessorTables::bytes(&step, threads)).max(proving);
            let sparing = sweeping.max(proving);
            without_tables += sparing;
            in_files += sparing - CandidateLists::bytes(positions); // there are no lists then
            samples += match settings.corrected_from.when(encoding, tier) {
                Corrected::Never => 0,
                Corrected::AtFirst | Corrected::Always => Sample::bytes(encoding, tier, threads),
            };
            ordering = order_bytes(encoding, tier, step.parts_of_units()).max(ordering);
            steps.push(Step { tier, positions, shards: step.shards.len() });
            finals.push((this, positions * size));
        }
        peak = peak.max(kept + working);
        sparing = sparing.max(kept + without_tables);
        planned.push(Batch { steps: first..steps.len(), file_bytes: kept + in_files });
        sampling = samples.max(sampling);
    }
    let scratch_bytes = threads as u64 * ordering + sampling + scratch_bytes(encoding, settings);
    let [peak_bytes, sparing_bytes] = [peak, sparing].map(|bytes| bytes + scratch_bytes);
    let memory = SolveMemory { peak_bytes, sparing_bytes, scratch_bytes };
    Plan { steps, batches: planned, positions: encoding.undecided(), memory }
}

/// The working memory of all threads.
fn scratch_bytes(encoding: &Encoding, settings: &Settings) -> u64 {
    settings.thread_count() as u64
        * match settings.precision {
            Precision::F32 => Scratch::<f32>::bytes(encoding),
            Precision::F64 => Scratch::<f64>::bytes(encoding),
        }
}

#[cfg(test)]
mod tests {
    use ziggurat_game::{Overrides, Ruleset};

    use super::*;

    #[test]
    fn successor_tables_are_left_out_where_memory_is_short() {
        let murray = Ruleset::builtin("murray").unwrap();
        let murray = murray.with(&Overrides { pieces: Some(3), ..Overrides::default() }).unwrap();
        let settings = Settings { threads: 1, ..Settings::new(Precision::F64) };
        let plan = plan(&Encoding::new(&murray).unwrap(), &settings);
        let SolveMemory { peak_bytes, sparing_bytes, .. } = plan.memory;
        assert!(sparing_bytes < 50 * plan.positions && peak_bytes > 2 * sparing_bytes, "{plan:?}");
    }

    #[test]
    fn tables_are_left_out_before_arrays_are_in_files() {
        let [peak_bytes, sparing_bytes, scratch_bytes] = [9 << 30, 3 << 30, 1 << 30];
        let memory = SolveMemory { peak_bytes, sparing_bytes, scratch_bytes };
        let (arrays, least) = (|allowed| memory.arrays(allowed, 7), memory.least_bytes(7));
        assert_eq!([None, Some(peak_bytes + 7)].map(arrays), [Some(Arrays::InMemory); 2]);
        let sparing = [peak_bytes + 6, sparing_bytes + 7].map(|allowed| arrays(Some(allowed)));
        assert_eq!(sparing, [Some(Arrays::Sparing); 2]);
        for budget in [sparing_bytes + 6, least] {
            assert_eq!(arrays(Some(budget)), Some(Arrays::InFiles { budget }));
        }
        assert_eq!(arrays(Some(least - 1)), None);
    }

    #[test]
    fn the_least_memory_has_arrays_in_files_unless_that_takes_more() {
        let memory =
            |sparing_bytes| SolveMemory { peak_bytes: 1 << 40, sparing_bytes, scratch_bytes: 7 };
        assert_eq!(memory(1 << 30).least_bytes(5), 7 + LEAST_MAPPED_BYTES + 5);
        assert_eq!(memory(1 << 20).least_bytes(5), (1 << 20) + 5);
    }

    #[test]
    fn a_plan_has_room_for_every_step_what_it_reads_and_its_proof() {
        for game in ["finkel", "masters", "blitz"] {
            let encoding = Encoding::new(&Ruleset::builtin(game).unwrap()).unwrap();
            let job =
                |certified| Settings { certified, threads: 2, ..Settings::new(Precision::F64) };
            for settings in [job(false), job(true)] {
                let plan = plan(&encoding, &settings);
                for Step { tier, positions, .. } in plan.steps {
                    let shards = shards(&encoding, &settings, tier);
                    let step = ShardedStep::new(&encoding, tier, shards);
                    let read: u64 = tier.reads().map(|tier| 8 * encoding.tier_len(tier)).sum();
                    let sweeping = StepState::<f64>::bytes(&step, None, 2);
                    let proof = Offsets::bytes(&step, None) + CandidateLists::bytes(positions);
                    let proving = if settings.certified { 8 * positions + proof } else { 0 };
                    let needed = read + sweeping.max(proving) + plan.memory.scratch_bytes;
                    assert!(plan.memory.sparing_bytes >= needed, "{game} {tier}: {needed}");
                }
            }
        }
    }
}
