//! Timing supersteps, for benchmarks.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_planning::{
    quanta::QUANTUM_EXPONENTS,
    settings::{Precision, Settings},
    steps::shards,
    weights::CycleSlot,
};

use crate::{
    halo::arrays::zeros,
    memory::{array::Array, budget::Memory},
    moves::tables::Tables,
    shards::step::ShardedStep,
    simd::{dispatch::Simd, value::Value},
    solver::error::{SolveError, thread_pool},
    superstep::state::StepState,
    sweep::context::Context,
};

/// Sweeps the step of a tier `supersteps` times, starting from one half and with one half for all
/// values of the tiers it reads, and returns how long each took. The values it computes mean nothing; a
/// superstep takes the same time for all values. For benchmarks.
///
/// # Errors
/// If the threads cannot be started.
pub fn time_supersteps(
    encoding: &Encoding,
    settings: &Settings,
    tier: Tier,
    supersteps: u32,
) -> Result<Vec<Duration>, SolveError> {
    match settings.precision {
        Precision::F32 => time_supersteps_in::<f32>(encoding, settings, tier, supersteps),
        Precision::F64 => time_supersteps_in::<f64>(encoding, settings, tier, supersteps),
    }
}

pub fn time_supersteps_in<T: Value>(
    encoding: &Encoding,
    settings: &Settings,
    tier: Tier,
    supersteps: u32,
) -> Result<Vec<Duration>, SolveError> {
    let pool = thread_pool(settings.threads)?;
    let tables = Tables::new(encoding);
    let first = tier.first_of_step();
    let finals: HashMap<Tier, Array<T>> = first
        .reads()
        .map(|tier| (tier, Array::filled(T::default(), encoding.tier_len(tier) as usize)))
        .collect();
    let context = Context::new(encoding, &tables, first, |tier| &finals[&tier]);
    let step = ShardedStep::new(encoding, first, shards(encoding, settings, first));
    let memory = Memory::anonymous();
    let halves = zeros(&memory, &step, None)?;
    let mut state = StepState::new(&memory, &step, halves, Simd::best(), None)?;
    pool.install(|| {
        CycleSlot::all()
            .cycle()
            .take(supersteps as usize)
            .map(|slot| {
                let start = Instant::now();
                state.superstep(&context, (slot, *QUANTUM_EXPONENTS.start()), None)?;
                Ok(start.elapsed())
            })
            .collect()
    })
}
