//! Certificates of tables: proofs of values that are stored already.

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_planning::{
    proof::{Certificate, Proof, Verdict},
    settings::{Precision, Settings},
};

use crate::{
    certificate::{
        offsets::Offsets,
        problem::{Certified, Unproven},
    },
    memory::budget::Memory,
    moves::tables::Tables,
    shards::step::ShardedStep,
    simd::dispatch::Simd,
    solver::{
        error::{SolveError, thread_pool},
        plan::plan,
    },
    sweep::elimination::validity::CandidateLists,
};

/// Proves certificates of stored values.
pub struct Certifier<'a> {
    encoding: &'a Encoding,
    tables: Tables,
    pool: rayon::ThreadPool,
}

impl<'a> Certifier<'a> {
    /// For the tables of an encoding's ruleset, with so many threads (0: one per core).
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn new(encoding: &'a Encoding, threads: usize) -> Result<Self, SolveError> {
        let tables = Tables::new(encoding);
        Ok(Self { encoding, tables, pool: thread_pool(threads)? })
    }

    /// The most bytes that it takes to prove all tiers in the order of their levels on so many threads (0: one per
    /// core), with the values of each step and of those that it may read.
    pub fn peak_memory_bytes(encoding: &Encoding, threads: usize) -> u64 {
        const VALUE_BYTES: u64 = size_of::<f64>() as u64;
        let (mut kept, mut peak): (Vec<(u8, u64)>, u64) = (Vec::new(), 0);
        for tier in encoding.tiers().into_iter().filter(|&tier| tier.first_of_step() == tier) {
            kept.retain(|(level, _)| level + 1 >= tier.level());
            kept.push((tier.level(), VALUE_BYTES * encoding.step_len(tier)));
            let shards = encoding.shards(tier, encoding.default_shard_positions(tier));
            let values: u64 = kept.iter().map(|(_, bytes)| bytes).sum();
            let step = ShardedStep::new(encoding, tier, shards);
            peak = peak.max(values + Offsets::bytes(&step, None));
        }
        let settings = Settings { threads, ..Settings::new(Precision::F64) };
        peak + plan(encoding, &settings).memory.scratch_bytes
    }

    /// Proves that the values of the step of a tier are within `bound` of the true ones; `None` if that cannot be
    /// proven. `values` are those of `tier`, and of its swap if that is another tier; `finals` gives the tiers that
    /// the step reads. (It is not generic, so that interval sweeps are not compiled once more wherever it is called.)
    ///
    /// # Panics
    /// If there are fewer values than the tiers have positions.
    pub fn certify<'v>(
        &self,
        tier: Tier,
        values: &[&'v [f64]],
        finals: &dyn Fn(Tier) -> Certified<'v, f64>,
        bound: f64,
    ) -> Option<Certificate> {
        let limit = self.encoding.default_shard_positions(tier);
        let step = ShardedStep::new(self.encoding, tier, self.encoding.shards(tier, limit));
        let read = tier.reads().map(|tier| finals(tier).bound).fold(0.0, f64::max);
        let finals = |tier| finals(tier); // for no longer than needed here
        let mut proof = Proof::new(bound, read)?;
        let mut problem = Unproven::new(&step, &self.tables, values, finals, &proof);
        self.pool.install(|| {
            let memory = Memory::anonymous();
            let mut offsets = Offsets::new(&memory, &step, None)
                .expect("memory that is not in files is there or ends the process");
            loop {
                if proof.sweeps() == 0 {
                    offsets.reset(&proof, &step, None);
                }
                problem.look_at(&proof);
                let growth =
                    problem.sweep(&mut offsets, &CandidateLists::default(), Simd::best(), None);
                match proof.after(growth.expect("nobody else is asked")) {
                    Verdict::Sweep => {}
                    Verdict::Proven(certificate) => return Some(certificate),
                    Verdict::Refused => return None,
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_game::Ruleset;

    use super::*;

    #[test]
    fn memory_is_announced_for_every_step_what_it_reads_and_its_proof() {
        for game in ["finkel", "masters", "blitz"] {
            let encoding = Encoding::new(&Ruleset::builtin(game).unwrap()).unwrap();
            let announced = Certifier::peak_memory_bytes(&encoding, 1);
            for tier in encoding.tiers().into_iter().filter(|&tier| tier.first_of_step() == tier) {
                let read: u64 = tier.reads().map(|tier| encoding.tier_len(tier)).sum();
                let shards = encoding.shards(tier, encoding.default_shard_positions(tier));
                let values = 8 * (encoding.step_len(tier) + read);
                let step = ShardedStep::new(&encoding, tier, shards);
                let needed = values + Offsets::bytes(&step, None);
                assert!(announced >= needed, "{game} {tier}: {announced}, not {needed}");
            }
        }
    }
}
