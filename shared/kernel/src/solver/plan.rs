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
    /// The most memory the solver will hold at once, in bytes.
    pub peak_memory_bytes: u64,
    /// How much of it cannot be in files: the threads' working memory, and the samples of steps.
    pub scratch_bytes: u64,
}

/// The plan of solving `encoding`'s ruleset with `settings`.
pub fn plan(encoding: &Encoding, settings: &Settings) -> Plan {
    let size = settings.precision.bytes() as u64;
    let threads = settings.thread_count();
    let (mut peak, mut ordering, mut sampling) = (0, 0, 0);
    let (mut steps, mut planned) = (Vec::new(), Vec::new());
    let mut finals: Vec<(u8, u64)> = Vec::new();
    for batch in batches(encoding) {
        let first = steps.len();
        let this = batch[0].level();
        finals.retain(|&(at, _)| at + 1 >= this);
        let kept: u64 = finals.iter().map(|&(_, bytes)| bytes).sum();
        let (mut working, mut in_files, mut samples) = (0, 0, 0);
        for &tier in &batch {
            let positions = encoding.step_len(tier);
            let step = ShardedStep::new(encoding, tier, shards(encoding, settings, tier));
            // A step solved in `f32` first takes less, together with the final tiers in `f32`.
            let sweeping = match settings.precision {
                Precision::F32 => StepState::<f32>::bytes(&step, threads),
                Precision::F64 => StepState::<f64>::bytes(&step, threads),
            };
            let proving =
                positions * size + Offsets::bytes(&step) + CandidateLists::bytes(positions);
            let proving = if settings.certified { proving } else { 0 };
            working += sweeping.max(proving);
            // There are no lists then.
            let successors = SuccessorTables::bytes(&step, threads);
            in_files += (sweeping - successors).max(proving) - CandidateLists::bytes(positions);
            samples += match settings.corrected_from.when(encoding, tier) {
                Corrected::Never => 0,
                Corrected::AtFirst | Corrected::Always => Sample::bytes(encoding, tier, threads),
            };
            ordering = order_bytes(encoding, tier, step.parts_of_units()).max(ordering);
            steps.push(Step { tier, positions, shards: step.shards.len() });
            finals.push((this, positions * size));
        }
        peak = peak.max(kept + working);
        planned.push(Batch { steps: first..steps.len(), file_bytes: kept + in_files });
        sampling = samples.max(sampling);
    }
    let scratch_bytes = threads as u64 * ordering + sampling + scratch_bytes(encoding, settings);
    let peak_memory_bytes = peak + scratch_bytes;
    let (positions, batches) = (encoding.undecided(), planned);
    Plan { steps, batches, positions, peak_memory_bytes, scratch_bytes }
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
    use ziggurat_game::Ruleset;

    use super::*;

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
                    let sweeping = StepState::<f64>::bytes(&step, 2);
                    let proof = Offsets::bytes(&step) + CandidateLists::bytes(positions);
                    let proving = if settings.certified { 8 * positions + proof } else { 0 };
                    let needed = read + sweeping.max(proving) + plan.scratch_bytes;
                    assert!(plan.peak_memory_bytes >= needed, "{game} {tier}: {needed}");
                }
            }
        }
    }
}
