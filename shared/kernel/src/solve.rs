//! Solving a ruleset tier by tier.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rayon::prelude::*;
use thiserror::Error;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::Position;

use crate::{
    array::Array,
    context::{Context, Tables},
    scratch::Scratch,
    simd::Simd,
    step::{StepState, first_of_step},
    value::Value,
};

/// The floating-point type values are computed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 64 bits.
    #[default]
    F64,
}

/// What decides the bytes of a result, beside the ruleset (and `threads`, which does not).
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The type values are computed in.
    pub precision: Precision,
    /// Supersteps end when the residual is at most this, as a probability.
    pub tolerance: f64,
    /// The most positions a shard may hold, unless a single block is larger; `None` for the
    /// default: 1/64 of the tier, at least 64 Ki, at most 4 Mi.
    pub shard_positions: Option<u64>,
    /// The number of threads; 0 for one per core.
    pub threads: usize,
}

/// A job step: the tiers (n, m) and (m, n), solved together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The tier with the most pieces left for the player who just moved; with its swap it is
    /// the step.
    pub tier: Tier,
    /// Positions of both tiers.
    pub positions: u64,
    /// Shards the step is cut into.
    pub shards: usize,
}

/// What a solve will do and need.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The steps in the order they are solved.
    pub steps: Vec<Step>,
    /// Undecided positions of the ruleset.
    pub positions: u64,
    /// The most memory the solver will hold at once, in bytes.
    pub peak_memory_bytes: u64,
}

/// How the solution of a tier came about. A pure function of the job.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TierStatistics {
    /// Supersteps made.
    pub supersteps: u32,
    /// The residual of the last one, as a probability.
    pub residual: f64,
}

/// The values of a solved tier: the chance of the player who just moved, in index order.
#[derive(Clone, Copy, Debug)]
pub enum TierValues<'a> {
    /// 32-bit values.
    F32(&'a [f32]),
    /// 64-bit values.
    F64(&'a [f64]),
}

/// What happens during a solve, for progress displays. Told from the thread that called
/// [`solve`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    /// A step begins.
    StepStarted {
        /// Its place in [`Plan::steps`].
        step: usize,
    },
    /// A superstep of a step is done.
    Superstep {
        /// The step's place in [`Plan::steps`].
        step: usize,
        /// Supersteps made in this step so far.
        superstep: u32,
        /// Largest change of any value in it, as a probability.
        residual: f64,
        /// Positions swept so far, over all steps and supersteps.
        positions_swept: u64,
    },
    /// A step is solved and frozen.
    StepFinished {
        /// Its place in [`Plan::steps`].
        step: usize,
    },
}

/// What a finished solve has to say.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// The chance that the first player wins from the starting position.
    pub first_player_wins: f64,
    /// Statistics of every tier, in the order of [`Encoding::tiers`].
    pub tiers: Vec<(Tier, TierStatistics)>,
    /// Positions swept over all steps and supersteps.
    pub positions_swept: u64,
}

/// A sign that somebody asked a solve to stop.
pub type Cancelled = AtomicBool;

/// Why a solve ended early.
#[derive(Debug, Error)]
pub enum SolveError {
    /// Somebody asked for it.
    #[error("the solve was cancelled")]
    Cancelled,
    /// The threads could not be started.
    #[error("could not start the threads of the solver; ask for fewer")]
    Threads(#[source] rayon::ThreadPoolBuildError),
    /// The receiver of a tier's values failed.
    #[error("could not store tier {tier}")]
    Store {
        /// The tier.
        tier: Tier,
        /// What the receiver said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The steps of a ruleset in the order they are solved, in batches that are solved at the same
/// time: steps of one level (n + m) that together are no larger than the largest step.
fn batches(encoding: &Encoding) -> Vec<Vec<Tier>> {
    let steps: Vec<Tier> =
        encoding.tiers().into_iter().filter(|&tier| first_of_step(tier) == tier).collect();
    let level = |tier: &Tier| tier.just_moved + tier.to_move;
    let largest = steps.iter().map(|&tier| encoding.step_len(tier)).max().unwrap_or(0);
    let mut batches: Vec<Vec<Tier>> = Vec::new();
    let mut room = 0;
    for tier in steps {
        let positions = encoding.step_len(tier);
        match batches.last_mut() {
            Some(batch) if level(&batch[0]) == level(&tier) && positions <= room => {
                batch.push(tier);
            }
            _ => {
                batches.push(vec![tier]);
                room = largest;
            }
        }
        room -= positions;
    }
    batches
}

fn shard_limit(encoding: &Encoding, settings: &Settings, tier: Tier) -> u64 {
    settings.shard_positions.unwrap_or_else(|| encoding.default_shard_positions(tier))
}

/// What solving `encoding`'s ruleset with `settings` will do and need.
pub fn plan(encoding: &Encoding, settings: &Settings) -> Plan {
    let size = match settings.precision {
        Precision::F32 => size_of::<f32>(),
        Precision::F64 => size_of::<f64>(),
    } as u64;
    let threads = match settings.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let scratch = threads as u64
        * match settings.precision {
            Precision::F32 => Scratch::<f32>::bytes(encoding),
            Precision::F64 => Scratch::<f64>::bytes(encoding),
        };
    let level = |tier: Tier| tier.just_moved + tier.to_move;
    let mut peak = 0;
    let mut steps = Vec::new();
    let mut finals: Vec<(u8, u64)> = Vec::new();
    for batch in batches(encoding) {
        let this = level(batch[0]);
        finals.retain(|&(at, _)| at + 1 >= this);
        let kept: u64 = finals.iter().map(|&(_, bytes)| bytes).sum();
        let mut working = 0;
        for &tier in &batch {
            let positions = encoding.step_len(tier);
            let shards = encoding.shards(tier, shard_limit(encoding, settings, tier)).len();
            steps.push(Step { tier, positions, shards });
            working += StepState::<f64>::bytes(positions, shards) / 8 * size;
            finals.push((this, positions * size));
        }
        peak = peak.max(kept + working + scratch);
    }
    Plan { steps, positions: encoding.undecided(), peak_memory_bytes: peak }
}

/// Receives the values of a solved tier.
pub type Store<'a> = dyn FnMut(
        Tier,
        TierStatistics,
        TierValues<'_>,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
    + Send
    + 'a;

/// Solves every tier in dependency order and hands each, once solved, to `store`, which keeps
/// what it needs (the slice is gone afterwards).
///
/// # Errors
/// If the threads cannot be started, `store` fails, or `cancelled` becomes true.
pub fn solve(
    encoding: &Encoding,
    settings: &Settings,
    cancelled: &Cancelled,
    tell: &mut (dyn FnMut(Event) + Send),
    store: &mut Store<'_>,
) -> Result<Summary, SolveError> {
    let pool = thread_pool(settings)?;
    pool.install(|| match settings.precision {
        Precision::F32 => Solver::<f32>::new(encoding, settings, cancelled, tell).run(store),
        Precision::F64 => Solver::<f64>::new(encoding, settings, cancelled, tell).run(store),
    })
}

/// The values of a tier as [`TierValues`].
trait AsTierValues: Value {
    fn as_tier_values(values: &[Self]) -> TierValues<'_>;
}

impl AsTierValues for f32 {
    fn as_tier_values(values: &[Self]) -> TierValues<'_> {
        TierValues::F32(values)
    }
}

impl AsTierValues for f64 {
    fn as_tier_values(values: &[Self]) -> TierValues<'_> {
        TierValues::F64(values)
    }
}

struct Solver<'a, T> {
    encoding: &'a Encoding,
    settings: &'a Settings,
    cancelled: &'a Cancelled,
    tell: Mutex<&'a mut (dyn FnMut(Event) + Send)>,
    tables: Tables,
    simd: Simd,
    positions_swept: AtomicU64,
    /// The final values, padded, of the tiers that are still read.
    finals: HashMap<Tier, Array<T>>,
}

impl<'a, T: AsTierValues> Solver<'a, T> {
    fn new(
        encoding: &'a Encoding,
        settings: &'a Settings,
        cancelled: &'a Cancelled,
        tell: &'a mut (dyn FnMut(Event) + Send),
    ) -> Self {
        Self {
            encoding,
            settings,
            cancelled,
            tell: Mutex::new(tell),
            tables: Tables::new::<T>(encoding),
            simd: Simd::best(),
            positions_swept: AtomicU64::new(0),
            finals: HashMap::new(),
        }
    }

    fn run(mut self, store: &mut Store<'_>) -> Result<Summary, SolveError> {
        let mut statistics = Vec::new();
        let mut first_step = 0;
        for batch in batches(self.encoding) {
            // A level reads the one below it, and may take several batches to be solved.
            let level = batch[0].just_moved + batch[0].to_move;
            self.finals.retain(|tier, _| tier.just_moved + tier.to_move + 1 >= level);
            let solved: Vec<(Vec<Array<T>>, TierStatistics)> = batch
                .par_iter()
                .enumerate()
                .map(|(i, &tier)| self.solve_step(first_step + i, tier))
                .collect::<Result<_, _>>()?;
            first_step += batch.len();
            for (tier, (orientations, stats)) in batch.iter().zip(solved) {
                for (tier, values) in [*tier, tier.swap()].into_iter().zip(orientations) {
                    store(tier, stats, T::as_tier_values(values.values()))
                        .map_err(|source| SolveError::Store { tier, source })?;
                    statistics.push((tier, stats));
                    self.finals.insert(tier, values);
                }
            }
        }
        let start = self.encoding.rank(&Position::start());
        statistics.sort_by_key(|(tier, _)| (tier.just_moved + tier.to_move, tier.just_moved));
        Ok(Summary {
            first_player_wins: 1.0 - self.finals[&start.tier][start.offset as usize].to_f64(),
            tiers: statistics,
            positions_swept: self.positions_swept.into_inner(),
        })
    }

    fn solve_step(
        &self,
        step: usize,
        tier: Tier,
    ) -> Result<(Vec<Array<T>>, TierStatistics), SolveError> {
        let context = Context::new(self.encoding, &self.tables, tier, |tier| &self.finals[&tier]);
        let limit = shard_limit(self.encoding, self.settings, tier);
        let mut state = StepState::new(&context, self.encoding.shards(tier, limit));
        let positions = self.encoding.step_len(tier);
        self.tell(Event::StepStarted { step });
        let mut convergence = Convergence::new::<T>(self.settings.tolerance);
        loop {
            if self.cancelled.load(Ordering::Relaxed) {
                return Err(SolveError::Cancelled);
            }
            let residual = state.superstep(&context, self.simd);
            let done = convergence.is_done_after(residual);
            let before = self.positions_swept.fetch_add(positions, Ordering::Relaxed);
            let superstep = convergence.supersteps;
            let positions_swept = before + positions;
            self.tell(Event::Superstep { step, superstep, residual, positions_swept });
            if done {
                break;
            }
        }
        self.tell(Event::StepFinished { step });
        let statistics =
            TierStatistics { supersteps: convergence.supersteps, residual: convergence.last };
        Ok((state.into_values(), statistics))
    }

    fn tell(&self, event: Event) {
        // A display that panicked must not stop the solve.
        (self.tell.lock().unwrap_or_else(PoisonError::into_inner))(event);
    }
}

/// Decides when a step is solved: when the residual is at most the tolerance, or when it is close
/// to the precision of the values and has stopped falling.
struct Convergence {
    tolerance: f64,
    floor: f64,
    supersteps: u32,
    last: f64,
    best: f64,
    since_best: u32,
}

impl Convergence {
    /// A residual below this many units of precision may be the last that rounding allows.
    const FLOOR_EPSILONS: f64 = 64.0;
    /// How many supersteps without a new smallest residual mean that it has stopped falling.
    const PATIENCE: u32 = 8;

    fn new<T: Value>(tolerance: f64) -> Self {
        let floor = Self::FLOOR_EPSILONS * T::EPSILON;
        Self { tolerance, floor, supersteps: 0, last: 1.0, best: f64::INFINITY, since_best: 0 }
    }

    fn is_done_after(&mut self, residual: f64) -> bool {
        self.supersteps += 1;
        self.last = residual;
        if residual < self.best {
            (self.best, self.since_best) = (residual, 0);
        } else {
            self.since_best += 1;
        }
        residual <= self.tolerance || residual <= self.floor && self.since_best >= Self::PATIENCE
    }
}

/// Sweeps the step of a tier `supersteps` times, starting from one half and with one half for all
/// values of the tiers it reads, and returns how long each took. What it computes means nothing; a
/// superstep takes the same time whatever the values are. For benchmarks.
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

fn time_supersteps_in<T: Value>(
    encoding: &Encoding,
    settings: &Settings,
    tier: Tier,
    supersteps: u32,
) -> Result<Vec<Duration>, SolveError> {
    let pool = thread_pool(settings)?;
    let tables = Tables::new::<T>(encoding);
    let halves = |tier: Tier| {
        let len = if tier.just_moved > 0 { encoding.tier_len(tier) as usize } else { 0 };
        Array::filled(T::from_f64(0.5), len)
    };
    let first = first_of_step(tier);
    let finals: HashMap<Tier, Array<T>> = [first, first.swap()]
        .into_iter()
        .map(|tier| Tier::new(tier.just_moved - 1, tier.to_move))
        .map(|tier| (tier, halves(tier)))
        .collect();
    let context = Context::new(encoding, &tables, first, |tier| &finals[&tier]);
    let shards = encoding.shards(first, shard_limit(encoding, settings, first));
    let mut state = StepState::new(&context, shards);
    Ok(pool.install(|| {
        (0..supersteps)
            .map(|_| {
                let start = Instant::now();
                state.superstep(&context, Simd::best());
                start.elapsed()
            })
            .collect()
    }))
}

fn thread_pool(settings: &Settings) -> Result<rayon::ThreadPool, SolveError> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads)
        .build()
        .map_err(SolveError::Threads)
}
