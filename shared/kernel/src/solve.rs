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
use ziggurat_encoding::{Encoding, Shard, Tier};
use ziggurat_game::Position;

use crate::{
    array::Array,
    certificate::{Certificate, Certified, UncertifiedStep},
    context::{Context, Tables},
    convergence::{Convergence, Next},
    scratch::Scratch,
    simd::Simd,
    step::{StepState, first_of_step, halves},
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

/// What decides the bytes of a result, beside the ruleset (and `threads` and `simd`, which do
/// not).
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The type values are computed in.
    pub precision: Precision,
    /// No value is to be further from the true one than this, a probability: proven if
    /// [`Settings::certified`], else estimated from how fast the changes of supersteps shrink.
    pub tolerance: f64,
    /// Whether the tolerance is proven, tier by tier.
    pub certified: bool,
    /// The most positions a shard may hold, unless a single block is larger; `None` for the
    /// default: 1/64 of the tier, at least 64 Ki, at most 4 Mi.
    pub shard_positions: Option<u64>,
    /// The number of threads; 0 for one per core.
    pub threads: usize,
    /// The vector instructions.
    pub simd: Simd,
}

impl Settings {
    /// A certified solve on all cores, in shards of the default size: to 1e-12 in `f64`, to 5e-6 in
    /// `f32`.
    pub fn new(precision: Precision) -> Self {
        let tolerance = match precision {
            Precision::F32 => 5e-6,
            Precision::F64 => 1e-12,
        };
        let (certified, shard_positions, threads) = (true, None, 0);
        Self { precision, tolerance, certified, shard_positions, threads, simd: Simd::best() }
    }
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
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct TierStatistics {
    /// Supersteps made.
    pub supersteps: u32,
    /// How many of them, the first ones, were made in `f32` although the result is `f64`.
    pub supersteps_in_f32: u32,
    /// The residual of the last one, as a probability.
    pub residual: f64,
    /// How far the values are from the solution, as a probability, guessed from how fast the
    /// residuals fell.
    pub error_estimate: f64,
    /// The proof of how far they are at the most, if one was asked for.
    pub certificate: Option<Certificate>,
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
    /// The values of a step are solved, and are to be proven.
    Certifying {
        /// Its place in [`Plan::steps`].
        step: usize,
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
    let (size, bytes): (_, fn(u64, usize) -> u64) = match settings.precision {
        Precision::F32 => (size_of::<f32>() as u64, StepState::<f32>::bytes),
        // What is solved in `f32` first takes less, together with the final tiers in `f32`.
        Precision::F64 => (size_of::<f64>() as u64, StepState::<f64>::bytes),
    };
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
            working += bytes(positions, shards);
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
    let pool = thread_pool(settings.threads)?;
    pool.install(|| match settings.precision {
        Precision::F32 => Solver::<f32>::new(encoding, settings, cancelled, tell).run(store),
        Precision::F64 => Solver::<f64>::new(encoding, settings, cancelled, tell).run(store),
    })
}

/// The values of a tier as [`TierValues`].
trait AsTierValues: Value {
    /// Whether the first supersteps, which need no more precision, are made in `f32`.
    const STARTS_IN_F32: bool;

    fn as_tier_values(values: &[Self]) -> TierValues<'_>;
}

impl AsTierValues for f32 {
    const STARTS_IN_F32: bool = false;

    fn as_tier_values(values: &[Self]) -> TierValues<'_> {
        TierValues::F32(values)
    }
}

impl AsTierValues for f64 {
    const STARTS_IN_F32: bool = true;

    fn as_tier_values(values: &[Self]) -> TierValues<'_> {
        TierValues::F64(values)
    }
}

/// How far the values of a step may be from the true ones.
struct Allowed {
    /// What is to be proven.
    bound: f64,
    /// The estimated error at which to try.
    error: f64,
}

/// The part of what a level may add to the bound that is left to the error of its values: the
/// smaller it is, the more supersteps, and the fewer interval sweeps.
const ERROR_OF_LEVEL: f64 = 0.25;

/// How much smaller the estimated error has to be if a proof failed.
const TRY_HARDER: f64 = 8.0;

struct Solver<'a, T> {
    encoding: &'a Encoding,
    settings: &'a Settings,
    cancelled: &'a Cancelled,
    tell: Mutex<&'a mut (dyn FnMut(Event) + Send)>,
    tables: Tables,
    /// For the first supersteps.
    tables_in_f32: Option<Tables>,
    /// For proofs, if they are not [`Solver::tables`].
    tables_in_f64: Option<Tables>,
    positions_swept: AtomicU64,
    /// The final values, padded, of the tiers that are still read, and what is proven of them.
    finals: HashMap<Tier, (Array<T>, f64)>,
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
            tables_in_f32: T::STARTS_IN_F32.then(|| Tables::new::<f32>(encoding)),
            tables_in_f64: (!T::STARTS_IN_F32 && settings.certified)
                .then(|| Tables::new::<f64>(encoding)),
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
                    let bound = stats.certificate.map_or(0.0, |certificate| certificate.bound);
                    self.finals.insert(tier, (values, bound));
                }
            }
        }
        let start = self.encoding.rank(&Position::start());
        statistics.sort_by_key(|(tier, _)| (tier.just_moved + tier.to_move, tier.just_moved));
        Ok(Summary {
            first_player_wins: 1.0 - self.finals[&start.tier].0[start.offset as usize].to_f64(),
            tiers: statistics,
            positions_swept: self.positions_swept.into_inner(),
        })
    }

    /// The values of both orientations of a step.
    fn solve_step(
        &self,
        step: usize,
        tier: Tier,
    ) -> Result<(Vec<Array<T>>, TierStatistics), SolveError> {
        let limit = shard_limit(self.encoding, self.settings, tier);
        let shards = self.encoding.shards(tier, limit);
        self.tell(Event::StepStarted { step });
        let mut statistics = TierStatistics::default();
        let rough = self
            .tables_in_f32
            .as_ref()
            .map(|tables| self.solve_roughly(step, tier, tables, shards.clone(), &mut statistics))
            .transpose()?;
        let context = Context::new(self.encoding, &self.tables, tier, |tier| &self.finals[&tier].0);
        let mut values: Vec<Array<T>> = match rough {
            None => halves(&context),
            Some(rough) => rough.into_iter().map(|values| values.converted()).collect(),
        };
        let allowed = self.allowed(tier);
        let mut bound = allowed.bound;
        let mut target = allowed.error;
        loop {
            let mut state = StepState::starting_from(values, shards.clone());
            let convergence = Convergence::new::<T>(target);
            let error = self.iterate(step, &context, &mut state, convergence, &mut statistics)?;
            values = state.into_values();
            if !self.settings.certified {
                break;
            }
            self.tell(Event::Certifying { step });
            statistics.certificate = self.certify(tier, &shards, &values, bound);
            if statistics.certificate.is_some() || bound >= 1.0 {
                break;
            }
            if error <= target && target > T::EPSILON {
                target /= TRY_HARDER;
            } else {
                // Rounding allows no less: prove what can be proven.
                bound *= 2.0;
            }
        }
        self.tell(Event::StepFinished { step });
        Ok((values, statistics))
    }

    /// What the values of the step of a tier may be off. Every level gets as much of the
    /// tolerance beyond the levels below it.
    fn allowed(&self, tier: Tier) -> Allowed {
        let Settings { tolerance, certified, .. } = *self.settings;
        if !certified {
            return Allowed { bound: 1.0, error: tolerance };
        }
        let levels = 2 * self.encoding.ruleset().pieces() - 1;
        let level = tier.just_moved + tier.to_move - 1;
        let each = tolerance / f64::from(levels);
        let read = [tier, tier.swap()].map(|tier| Tier::new(tier.just_moved - 1, tier.to_move));
        let read = read.iter().filter_map(|tier| self.finals.get(tier)).map(|(_, bound)| *bound);
        let bound = (f64::from(level) * each).max(read.fold(0.0, f64::max) + each / 2.0);
        Allowed { bound, error: each * ERROR_OF_LEVEL }
    }

    /// Tries to prove that the values of the step of a tier are within `bound` of the true ones.
    fn certify(
        &self,
        tier: Tier,
        shards: &[Shard],
        values: &[Array<T>],
        bound: f64,
    ) -> Option<Certificate> {
        let step = UncertifiedStep {
            encoding: self.encoding,
            tables: self.tables_in_f64.as_ref().unwrap_or(&self.tables),
            tier,
            shards: shards.to_vec(),
        };
        let values: Vec<&[T]> = values.iter().map(Array::values).collect();
        let finals = |tier: Tier| {
            let (values, bound) = &self.finals[&tier];
            Certified { values: values.values(), bound: *bound }
        };
        step.certify(&values, finals, bound, self.settings.simd)
    }

    /// Values of a step that are about as good as `f32` makes them.
    fn solve_roughly(
        &self,
        step: usize,
        tier: Tier,
        tables: &Tables,
        shards: Vec<Shard>,
        statistics: &mut TierStatistics,
    ) -> Result<Vec<Array<f32>>, SolveError> {
        let read = [tier, tier.swap()].map(|tier| Tier::new(tier.just_moved - 1, tier.to_move));
        let finals: HashMap<Tier, Array<f32>> = read
            .into_iter()
            .filter(|tier| tier.just_moved > 0)
            .map(|tier| (tier, self.finals[&tier].0.converted()))
            .collect();
        let context = Context::new(self.encoding, tables, tier, |tier| &finals[&tier]);
        let mut state = StepState::new(&context, shards);
        self.iterate(
            step,
            &context,
            &mut state,
            Convergence::rough(self.allowed(tier).error),
            statistics,
        )?;
        statistics.supersteps_in_f32 = statistics.supersteps;
        Ok(state.into_values())
    }

    /// Makes supersteps until there is nothing more to gain, and returns the estimated error.
    fn iterate<U: Value>(
        &self,
        step: usize,
        context: &Context<'_, U>,
        state: &mut StepState<U>,
        mut convergence: Convergence,
        statistics: &mut TierStatistics,
    ) -> Result<f64, SolveError> {
        let positions = self.encoding.step_len(context.tiers[0]);
        loop {
            if self.cancelled.load(Ordering::Relaxed) {
                return Err(SolveError::Cancelled);
            }
            let residual = state.superstep(context, self.settings.simd);
            let next = convergence.after(residual);
            statistics.supersteps += 1;
            statistics.residual = residual;
            statistics.error_estimate = convergence.error;
            let before = self.positions_swept.fetch_add(positions, Ordering::Relaxed);
            self.tell(Event::Superstep {
                step,
                superstep: statistics.supersteps,
                residual,
                positions_swept: before + positions,
            });
            match next {
                Next::Sweep => {}
                Next::Extrapolate => state.extrapolate(),
                Next::Done => return Ok(convergence.error),
            }
        }
    }

    fn tell(&self, event: Event) {
        // A display that panicked must not stop the solve.
        (self.tell.lock().unwrap_or_else(PoisonError::into_inner))(event);
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
    let pool = thread_pool(settings.threads)?;
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
                state.superstep(&context, settings.simd);
                start.elapsed()
            })
            .collect()
    }))
}

/// A pool of so many threads, one per core for 0.
pub fn thread_pool(threads: usize) -> Result<rayon::ThreadPool, SolveError> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(SolveError::Threads)
}
