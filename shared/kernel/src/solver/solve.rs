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
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::Position;
use ziggurat_planning::{
    columns::Column,
    controller::StepController,
    goal::Goal,
    order::{Order, Outcome},
    settings::{Precision, Settings},
    statistics::TierStatistics,
    steps::{batches, shards},
    weights::DIFFERENCES,
};

use crate::{
    halo::arrays::zeros,
    memory::{array::Array, budget::Memory},
    moves::tables::Tables,
    shards::{columns::Part, step::ShardedStep},
    simd::dispatch::Simd,
    solver::{
        cache::{SolvedTierCache, Tiers},
        error::{SolveError, thread_pool},
        executor::Executor,
        inputs::{Final, ResumeFrom, StepInputs},
        step_store::{Found, StepStore},
        values::{AsTierValues, TierValues},
    },
};

/// An event of a solve, for progress displays. Sent from the thread that called
/// [`solve`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    /// A step begins.
    StepStarted {
        /// Its place in [`Plan::steps`](crate::Plan::steps).
        step: usize,
    },
    /// A step that another process had begun goes on.
    StepResumed {
        /// Its place in [`Plan::steps`](crate::Plan::steps).
        step: usize,
        /// Supersteps made in it before.
        supersteps: u32,
    },
    /// A step was solved by another process.
    StepFound {
        /// Its place in [`Plan::steps`](crate::Plan::steps).
        step: usize,
        /// Supersteps it took.
        supersteps: u32,
    },
    /// A superstep of a step is done.
    Superstep {
        /// The step's place in [`Plan::steps`](crate::Plan::steps).
        step: usize,
        /// Supersteps made in this step so far.
        superstep: u32,
        /// Largest change of any value in it, as a probability.
        residual: f64,
        /// Positions swept so far, over all steps and supersteps.
        swept_positions: u64,
    },
    /// The values of a step are solved, and their proof begins, or an interval sweep of it is done.
    Certifying {
        /// Its place in [`Plan::steps`](crate::Plan::steps).
        step: usize,
        /// Interval sweeps made in this proof so far.
        sweep: u32,
        /// The largest distance of a bound from its value, as a probability.
        distance: f64,
    },
    /// A step is solved and frozen.
    StepFinished {
        /// Its place in [`Plan::steps`](crate::Plan::steps).
        step: usize,
    },
}

/// The result of a finished solve.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// The chance that the first player wins from the starting position.
    pub first_player_wins: f64,
    /// Statistics of every tier, in the order of [`Encoding::tiers`].
    pub tiers: Vec<(Tier, TierStatistics)>,
    /// Positions swept over all steps and supersteps.
    pub swept_positions: u64,
}

/// A sign that somebody asked a solve to stop.
pub type Cancelled = AtomicBool;

/// Receives the values of a solved tier.
pub type Store<'a> = dyn FnMut(
        Tier,
        TierStatistics,
        TierValues<'_>,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
    + Send
    + 'a;

/// Where a solve happens.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Becomes true when the solve is to stop.
    pub cancelled: &'a Cancelled,
    /// Where its arrays are.
    pub memory: &'a Memory,
    /// The vector instructions. They do not change the result.
    pub simd: Simd,
    /// Where it writes checkpoints and solutions, if anywhere.
    pub step_store: Option<&'a dyn StepStore>,
}

/// Arrays are in memory.
static IN_MEMORY: Memory = Memory::anonymous();

impl<'a> Surroundings<'a> {
    /// In memory, with nothing written down.
    pub fn in_memory(cancelled: &'a Cancelled) -> Self {
        Self { cancelled, memory: &IN_MEMORY, simd: Simd::best(), step_store: None }
    }
}

/// Solves every tier in dependency order and hands each to `store` once it is solved, which keeps the values it needs
/// (the slice is gone afterwards). Steps that the step store holds already are not computed again, nor handed on if
/// that [was done for good](StepStore::handed_on).
///
/// # Errors
/// If the threads cannot be started, there is no room, `store` or the step store fails, or `cancelled`
/// becomes true.
pub fn solve(
    encoding: &Encoding,
    settings: &Settings,
    surroundings: Surroundings<'_>,
    tell: &mut (dyn FnMut(Event) + Send),
    store: &mut Store<'_>,
) -> Result<Summary, SolveError> {
    let pool = thread_pool(settings.threads)?;
    pool.install(|| match settings.precision {
        Precision::F32 => Solver::<f32>::new(encoding, settings, surroundings, tell).run(store),
        Precision::F64 => Solver::<f64>::new(encoding, settings, surroundings, tell).run(store),
    })
}

impl AsTierValues for f32 {
    const PRECISION: Precision = Precision::F32;

    fn as_tier_values(values: &[Self]) -> TierValues<'_> {
        TierValues::F32(values)
    }

    fn tiers(cache: &mut SolvedTierCache) -> &mut Tiers<Self> {
        &mut cache.f32
    }
}

impl AsTierValues for f64 {
    const PRECISION: Precision = Precision::F64;

    fn as_tier_values(values: &[Self]) -> TierValues<'_> {
        TierValues::F64(values)
    }

    fn tiers(cache: &mut SolvedTierCache) -> &mut Tiers<Self> {
        &mut cache.f64
    }
}

/// A step to be solved.
#[derive(Clone, Copy)]
struct Unsolved {
    /// Its place in [`Plan::steps`](crate::Plan::steps).
    step: usize,
    tier: Tier,
}

struct Solver<'a, T> {
    encoding: &'a Encoding,
    settings: &'a Settings,
    surroundings: Surroundings<'a>,
    tell: Mutex<&'a mut (dyn FnMut(Event) + Send)>,
    tables: Tables,
    swept_positions: AtomicU64,
    /// The tiers that are still read.
    finals: HashMap<Tier, Final<T>>,
}

impl<'a, T: AsTierValues> Solver<'a, T> {
    fn new(
        encoding: &'a Encoding,
        settings: &'a Settings,
        surroundings: Surroundings<'a>,
        tell: &'a mut (dyn FnMut(Event) + Send),
    ) -> Self {
        Self {
            encoding,
            settings,
            surroundings,
            tell: Mutex::new(tell),
            tables: Tables::new(encoding),
            swept_positions: AtomicU64::new(0),
            finals: HashMap::new(),
        }
    }

    fn run(mut self, store: &mut Store<'_>) -> Result<Summary, SolveError> {
        let mut statistics = Vec::new();
        let mut first_value = 0.0;
        let mut steps = 0..;
        for batch in &batches(self.encoding) {
            let batch: Vec<Unsolved> =
                steps.by_ref().zip(batch).map(|(step, &tier)| Unsolved { step, tier }).collect();
            let mut unsolved = Vec::new();
            for step in batch.iter().copied() {
                if let Some(found) = self.found_solved(step.tier)? {
                    self.tell(Event::StepFound { step: step.step, supersteps: found.supersteps });
                    statistics.push((step.tier, found));
                } else {
                    unsolved.push(step);
                }
            }
            for solved in self.solve_steps(&unsolved)? {
                statistics.push((solved, self.finals[&solved].statistics));
            }
            for step in batch {
                first_value = self.hand_on(step.tier, store)?;
            }
        }
        let swept = |(tier, made): &(Tier, TierStatistics)| {
            u64::from(made.supersteps) * self.encoding.step_len(*tier)
        };
        let swept_positions = statistics.iter().map(swept).sum();
        // The last step has all pieces left, and its first position none on the board.
        debug_assert_eq!(self.encoding.rank(&Position::start()).offset, 0);
        let mut tiers: Vec<_> = statistics
            .into_iter()
            .flat_map(|(tier, made)| tier.both().map(move |tier| (tier, made)))
            .collect();
        tiers.sort_by_key(|(tier, _)| (tier.level(), tier.just_moved));
        tiers.dedup();
        Ok(Summary { first_player_wins: 0.5 - first_value, tiers, swept_positions })
    }

    /// Hands the tiers of a solved step to `store`, unless that was done for good, and returns the first value.
    fn hand_on(&mut self, step: Tier, store: &mut Store<'_>) -> Result<f64, SolveError> {
        if let Some(step_store) = self.surroundings.step_store {
            if let Some(first_value) = step_store.handed_on(step)? {
                return Ok(first_value);
            }
            if self.surroundings.cancelled.load(Ordering::Relaxed) {
                return Err(SolveError::Cancelled);
            }
            self.provide(step)?;
            // Of many steps found solved, no more are in memory than of others.
            self.finals.retain(|tier, _| tier.level() + 1 >= step.level());
        }
        for tier in step.both() {
            let Final { values, statistics } = &self.finals[&tier];
            store(tier, *statistics, T::as_tier_values(values.values()))
                .map_err(|source| SolveError::Store { tier, source })?;
        }
        Ok(self.finals[&step].values[0].to_f64())
    }

    /// The statistics of a step that is solved according to the step store.
    fn found_solved(&self, tier: Tier) -> Result<Option<TierStatistics>, SolveError> {
        let Some(step_store) = self.surroundings.step_store else { return Ok(None) };
        Ok(match step_store.find(tier)? {
            Found::Solved(statistics) => Some(statistics),
            Found::Begun(_) | Found::Nothing => None,
        })
    }

    /// Solves steps of one level at the same time, and returns them.
    fn solve_steps(&mut self, steps: &[Unsolved]) -> Result<Vec<Tier>, SolveError> {
        let Some(Unsolved { tier, .. }) = steps.first() else { return Ok(Vec::new()) };
        let level = tier.level();
        for tier in steps.iter().flat_map(|step| step.tier.reads()) {
            self.provide(tier.first_of_step())?;
        }
        // A level reads the one below it, and may take several batches to be solved.
        self.finals.retain(|tier, _| tier.level() + 1 >= level);
        let solved: Vec<(Tier, Vec<Array<T>>, TierStatistics)> = steps
            .par_iter()
            .map(|step| self.solve_step(*step).map(|(values, made)| (step.tier, values, made)))
            .collect::<Result<_, _>>()?;
        Ok(solved.into_iter().map(|(tier, values, made)| self.keep(tier, values, made)).collect())
    }

    fn keep(&mut self, step: Tier, values: Vec<Array<T>>, statistics: TierStatistics) -> Tier {
        for (tier, values) in step.both().zip(values) {
            self.finals.insert(tier, Final { values, statistics });
        }
        step
    }

    /// Makes sure that the values of a solved step are at hand: reads them, or if they are damaged,
    /// solves the step again.
    fn provide(&mut self, step: Tier) -> Result<(), SolveError> {
        if self.finals.contains_key(&step) {
            return Ok(());
        }
        let step_store =
            self.surroundings.step_store.expect("without a step_store, finals are in memory");
        if let Found::Solved(statistics) = step_store.find(step)? {
            let sharded = self.sharded(step);
            let mut values = zeros(self.surroundings.memory, &sharded, None)?;
            match step_store.load(step, sharded.parts(Column::Values, &mut values)) {
                Ok(()) => {
                    self.keep(step, values, statistics);
                    return Ok(());
                }
                Err(error) if error.is_damage => step_store.forget(step, &error)?,
                Err(error) => return Err(error.into()),
            }
        }
        let all = batches(self.encoding).concat();
        let place = all.iter().position(|&tier| tier == step).expect("a step is in the plan");
        self.solve_steps(&[Unsolved { step: place, tier: step }]).map(drop)
    }

    fn sharded(&self, tier: Tier) -> ShardedStep<'a> {
        ShardedStep::new(self.encoding, tier, shards(self.encoding, self.settings, tier))
    }

    /// The inputs of the work on a step.
    fn inputs<'s>(&'s self, step: &'s ShardedStep<'s>) -> StepInputs<'s, T> {
        let Self { tables, finals, .. } = self;
        let Surroundings { memory, simd, .. } = self.surroundings;
        StepInputs { step, memory, tables, finals, simd, team: None }
    }

    /// The values of both orientations of a step.
    fn solve_step(
        &self,
        Unsolved { step, tier }: Unsolved,
    ) -> Result<(Vec<Array<T>>, TierStatistics), SolveError> {
        let Surroundings { cancelled, step_store, .. } = self.surroundings;
        let positions = self.encoding.step_len(tier);
        let sharded = self.sharded(tier);
        let (mut controller, mut work) = self.begin(step, &sharded)?;
        let (mut saved, mut superstep) = (Instant::now(), Duration::ZERO);
        let mut saved_light = controller.is_light();
        while let Some(order) = controller.order() {
            let started = Instant::now();
            let outcome = work.carry_out(&order)?;
            if matches!(order, Order::Sweep { .. } | Order::Prove(_)) {
                superstep = started.elapsed();
            }
            let swept = match (&order, &outcome) {
                (Order::Prove(proof), Outcome::Proved(growth)) => {
                    Some((proof.sweeps() + 1, proof.distance(growth.largest)))
                }
                _ => None,
            };
            controller.apply(outcome);
            if matches!(order, Order::Sweep { .. }) {
                let TierStatistics { supersteps: superstep, residual, .. } =
                    *controller.statistics();
                let before = self.swept_positions.fetch_add(positions, Ordering::Relaxed);
                let swept_positions = before + positions;
                self.tell(Event::Superstep { step, superstep, residual, swept_positions });
            }
            let begun = controller.proof().filter(|proof| proof.sweeps() == 0);
            let begins = begun.map(|proof| (0, proof.distance(proof.start())));
            if let Some((sweep, distance)) = swept.or(begins) {
                self.tell(Event::Certifying { step, sweep, distance });
            }
            let stops = cancelled.load(Ordering::Relaxed);
            if let Some(step_store) = step_store.filter(|_| controller.can_be_saved()) {
                // Two checkpoints are there for a moment, so one of them is a light one: where another would be due before
                // the next light one, a light one is written down now, and after another in any case.
                let is_light = controller.is_light();
                let next = superstep * if is_light { DIFFERENCES as u32 } else { 1 };
                if stops || is_light && !saved_light || step_store.is_due(saved.elapsed(), next) {
                    work.save(&controller, step_store)?;
                    (saved, saved_light) = (Instant::now(), is_light);
                }
            }
            if stops && controller.can_be_saved() {
                return Err(SolveError::Cancelled);
            }
        }
        let statistics = *controller.statistics();
        let values = work.finish(statistics, step_store)?;
        self.tell(Event::StepFinished { step });
        Ok((values, statistics))
    }

    /// Goes on where the step store says that the step is, or starts.
    fn begin<'s>(
        &'s self,
        step: usize,
        sharded: &'s ShardedStep<'s>,
    ) -> Result<(StepController, Executor<'s, T>), SolveError> {
        let (inputs, tier) = (self.inputs(sharded), sharded.tier);
        if let Some(step_store) = self.surroundings.step_store
            && let Found::Begun(controller) = step_store.find(tier)?
        {
            let supersteps = controller.statistics().supersteps;
            let load = |parts: Vec<Part<'_>>| step_store.load(tier, parts);
            match Executor::resume(inputs, ResumeFrom::of(&controller), &load) {
                Ok(work) => {
                    self.tell(Event::StepResumed { step, supersteps });
                    return Ok((*controller, work));
                }
                Err(SolveError::StepStore(error)) if error.is_damage => {
                    step_store.forget(tier, &error)?
                }
                Err(error) => return Err(error),
            }
        }
        self.tell(Event::StepStarted { step });
        let read = tier.reads().map(|tier| self.finals[&tier].bound()).fold(0.0, f64::max);
        let controller = StepController::new(Goal::new(self.encoding, self.settings, tier, read));
        let work = Executor::start(inputs, controller.precision())?;
        Ok((controller, work))
    }

    fn tell(&self, event: Event) {
        // A display that panicked must not stop the solve.
        (self.tell.lock().unwrap_or_else(PoisonError::into_inner))(event);
    }
}
