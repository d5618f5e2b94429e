//! The executor of a step: its values, and the orders of its [controller](StepController) carried out on them.

use std::collections::HashMap;

use ziggurat_encoding::Tier;
use ziggurat_planning::{
    columns::Column,
    controller::StepController,
    correction,
    correction::Corrected,
    galerkin::GalerkinSystem,
    order::{Order, Outcome},
    proof::{Growth, Proof},
    settings::Precision,
    statistics::TierStatistics,
    waves::ShardIndex,
    weights::CycleSlot,
};

use crate::{
    certificate::{
        offsets::Offsets,
        problem::{Certified, Unproven},
    },
    coarse::sample::Sample,
    halo::arrays::{fill, fill_halo},
    memory::array::Array,
    shards::columns::Part,
    simd::value::Value,
    solver::{
        error::SolveError,
        inputs::{ResumeFrom, StepInputs},
        step_store::{Found, StepStore, StepStoreError},
        values::AsTierValues,
    },
    superstep::state::StepState,
    sweep::elimination::validity::CandidateLists,
};

/// Where the values of a step are.
enum Stage<'s, T: Value> {
    /// They are swept in `f32` although the result is not; with the tiers that are read.
    Warmup(StepState<'s, f32>, HashMap<Tier, Array<f32>>),
    /// They are swept.
    Sweeping(StepState<'s, T>),
    /// They are proven, with the candidates of their sweeps.
    Proving(Vec<Array<T>>, Offsets, CandidateLists),
    /// They are on their way from one stage to another.
    Moving,
}

/// The same of both states in which values are swept; in others, an order does not fit.
macro_rules! when_swept {
    ($stage:expr, $state:ident => $work:expr) => {
        match &mut $stage {
            Stage::Warmup($state, _) => $work,
            Stage::Sweeping($state) => $work,
            Stage::Proving(..) | Stage::Moving => return Err(SolveError::Order),
        }
    };
}

/// Reads parts of a step.
pub type Load<'a> = dyn Fn(Vec<Part<'_>>) -> Result<(), StepStoreError> + 'a;

/// The work on a step, or on the shards of a team's member: it carries out the orders of a controller.
pub struct Executor<'a, T: Value> {
    inputs: StepInputs<'a, T>,
    stage: Stage<'a, T>,
    /// Equations of sampled positions, once they are needed.
    sample: Option<Sample<'a>>,
    saved: Saved,
}

/// What is as it was written down last.
#[derive(Clone, Copy, Default)]
struct Saved {
    /// Whether the values are.
    values: bool,
    /// How many of the vectors of changes are, the first ones.
    vectors: usize,
}

impl Saved {
    /// What of it an order leaves as it is.
    fn after(self, order: &Order) -> Self {
        let values =
            self.values && matches!(order, Order::Measure | Order::Sample { .. } | Order::Prove(_));
        let vectors = match order {
            Order::Measure | Order::Sample { .. } | Order::Correct { .. } => self.vectors,
            Order::Sweep { slot, .. } => self.vectors.min(slot.vector()),
            Order::Extrapolate { .. } | Order::Widen | Order::Prove(_) => 0,
        };
        Self { values, vectors }
    }

    /// The columns that need not be written again.
    fn columns(self) -> Vec<Column> {
        let vectors = (0..).take(self.vectors).map(Column::Vector);
        self.values.then_some(Column::Values).into_iter().chain(vectors).collect()
    }
}

impl<'a, T: AsTierValues> Executor<'a, T> {
    /// Starts from one half everywhere.
    ///
    /// # Errors
    /// If there is no room for the values.
    pub fn start(inputs: StepInputs<'a, T>, precision: Precision) -> Result<Self, SolveError> {
        let stage = if precision == T::PRECISION {
            let mut values = inputs.room()?;
            fill(&mut values, T::default(), inputs.step, inputs.team);
            Stage::Sweeping(inputs.state(values)?)
        } else {
            let mut values = inputs.room()?;
            fill(&mut values, 0.0_f32, inputs.step, inputs.team);
            Stage::Warmup(inputs.warmup_state(values)?, inputs.warmup_finals()?)
        };
        Ok(Self { inputs, stage, sample: None, saved: Saved::default() })
    }

    /// Goes on from a checkpoint.
    ///
    /// # Errors
    /// If there is no room for the values, they cannot be read, or other members cannot be reached.
    pub fn resume(
        inputs: StepInputs<'a, T>,
        place: ResumeFrom,
        load: &Load<'_>,
    ) -> Result<Self, SolveError> {
        let StepInputs { step, memory, team, .. } = inputs;
        let stage = if place.precision != T::PRECISION {
            let state = inputs.warmup_state(inputs.room()?)?;
            Stage::Warmup(state, inputs.warmup_finals()?)
        } else if place.offsets {
            let offsets = Offsets::new(memory, step, team)?;
            Stage::Proving(inputs.room()?, offsets, CandidateLists::default())
        } else {
            Stage::Sweeping(inputs.state(inputs.room()?)?)
        };
        let saved = Saved { values: true, vectors: place.vectors };
        let mut work = Self { inputs, stage, sample: None, saved };
        load(work.parts(place.vectors, place.offsets))?;
        if let Some(team) = team {
            match &mut work.stage {
                Stage::Warmup(state, _) => state.fill_halo(place.vectors, team)?,
                Stage::Sweeping(state) => state.fill_halo(place.vectors, team)?,
                Stage::Proving(values, offsets, _) => {
                    fill_halo(values, team)?;
                    offsets.fill_halo(team)?;
                }
                Stage::Moving => unreachable!("stages are changed within an order"),
            }
        }
        Ok(work)
    }

    /// Carries out an order.
    ///
    /// # Errors
    /// If there is no room for it, it does not fit where the step is, or other members cannot be reached.
    pub fn carry_out(&mut self, order: &Order) -> Result<Outcome, SolveError> {
        self.saved = self.saved.after(order);
        let team = self.inputs.team;
        match order {
            &Order::Sweep { slot, finest } => self.superstep(slot, finest).map(Outcome::Swept),
            Order::Measure => {
                Ok(Outcome::Measured(when_swept!(self.stage, state => state.measure(team))))
            }
            Order::Extrapolate { multiples } => {
                when_swept!(self.stage, state => state.extrapolate(multiples, team));
                Ok(Outcome::Done)
            }
            &Order::Sample { quantum } => self.sample(quantum).map(Outcome::Sampled),
            Order::Correct { multiples } => self.correct(multiples),
            Order::Widen => self.widen(),
            Order::Prove(proof) => self.prove(proof).map(Outcome::Proved),
        }
    }

    fn superstep(&mut self, slot: CycleSlot, finest: i32) -> Result<f64, SolveError> {
        let Self { inputs, stage, sample, .. } = self;
        if correction::Usage::of(inputs.step.encoding).when == Corrected::AtFirst {
            *sample = None; // it is not asked any more
        }
        if let Stage::Proving(values, _, candidate_lists) = stage {
            let (values, lists) = (std::mem::take(values), std::mem::take(candidate_lists));
            *stage = Stage::Moving; // gives back the memory of the proof
            let state = inputs.state(values)?.with_candidate_lists(lists);
            *stage = Stage::Sweeping(state);
        }
        Ok(match stage {
            Stage::Warmup(state, finals) => {
                state.superstep(&inputs.warmup_context(finals), (slot, finest), inputs.team)?
            }
            Stage::Sweeping(state) => {
                state.superstep(&inputs.context(), (slot, finest), inputs.team)?
            }
            Stage::Proving(..) | Stage::Moving => unreachable!("a proof was ended"),
        })
    }

    fn sample(&mut self, quantum: i32) -> Result<GalerkinSystem, SolveError> {
        let Self { inputs, stage, sample, .. } = self;
        let StepInputs { step, team, .. } = *inputs;
        if correction::functions(step.encoding, step.tier) == 0 {
            return Err(SolveError::Order);
        }
        Ok(match stage {
            Stage::Warmup(state, finals) => {
                let context = inputs.warmup_context(finals);
                state.galerkin_system(&context, sample, quantum, team)
            }
            Stage::Sweeping(state) => {
                state.galerkin_system(&inputs.context(), sample, quantum, team)
            }
            Stage::Proving(..) | Stage::Moving => return Err(SolveError::Order),
        })
    }

    fn correct(&mut self, multiples: &[f64]) -> Result<Outcome, SolveError> {
        let regions = &self.sample.as_ref().ok_or(SolveError::Order)?.regions;
        if multiples.len() != regions.functions() {
            return Err(SolveError::Order);
        }
        when_swept!(self.stage, state => state.correct(regions, multiples, self.inputs.team));
        Ok(Outcome::Done)
    }

    fn widen(&mut self) -> Result<Outcome, SolveError> {
        let Self { inputs, stage, .. } = self;
        let Stage::Warmup(mut state, _) = std::mem::replace(stage, Stage::Moving) else {
            return Err(SolveError::Order);
        };
        let mut candidate_lists = std::mem::take(&mut state.candidate_lists);
        let successors = std::mem::take(&mut state.successors);
        candidate_lists.widened();
        let narrow = state.into_values().into_iter().enumerate();
        let values = narrow.map(|(i, values)| {
            let places = inputs.partition().map(|partition| &partition.places[i][..]);
            values.converted(inputs.memory, places)
        });
        let state = inputs.state(values.collect::<Result<_, _>>()?)?;
        let state = state.with_candidate_lists(candidate_lists).with_successors(successors);
        *stage = Stage::Sweeping(state);
        Ok(Outcome::Done)
    }

    fn prove(&mut self, proof: &Proof) -> Result<Growth, SolveError> {
        let Self { inputs, stage, .. } = self;
        let StepInputs { step, memory, tables, simd, team, .. } = *inputs;
        *stage = match std::mem::replace(stage, Stage::Moving) {
            // Offsets of a later sweep than the first that nobody has computed would be 0, and prove anything.
            Stage::Sweeping(_) if proof.sweeps() > 0 => return Err(SolveError::Order),
            Stage::Sweeping(mut state) => {
                let candidate_lists = std::mem::take(&mut state.candidate_lists);
                let values = state.into_values(); // gives back the memory of sweeps
                let offsets = Offsets::new(memory, step, team)?;
                Stage::Proving(values, offsets, candidate_lists)
            }
            other => other,
        };
        let Stage::Proving(values, offsets, candidate_lists) = stage else {
            return Err(SolveError::Order);
        };
        if proof.sweeps() == 0 {
            offsets.reset(proof, step, team);
        }
        let values: Vec<&[T]> = values.iter().map(Array::values).collect();
        let finals = |tier| {
            let read = &inputs.finals[&tier];
            Certified { values: read.values.values(), bound: read.bound() }
        };
        let problem = Unproven::new(step, tables, &values, finals, proof);
        Ok(problem.sweep(offsets, candidate_lists, simd, team)?)
    }

    /// Writes the step down.
    ///
    /// # Errors
    /// If the step store cannot.
    pub fn save(
        &mut self,
        controller: &StepController,
        step_store: &dyn StepStore,
    ) -> Result<(), SolveError> {
        let (tier, vectors) = (self.inputs.step.tier, controller.vectors());
        let Saved { values, vectors: before } = self.saved;
        let kept = Saved { values, vectors: before.min(vectors) }.columns();
        let found = Found::Begun(Box::new(controller.clone()));
        let mut parts = self.parts(vectors, controller.offsets());
        parts.retain(|part| !kept.contains(&part.column));
        step_store.save(tier, &found, parts, &kept)?;
        self.saved = Saved { values: true, vectors };
        Ok(())
    }

    /// All that is to be remembered of the own shards: values, so many vectors of changes, and offsets if
    /// wanted.
    pub fn parts(&mut self, vectors: usize, offsets: bool) -> Vec<Part<'_>> {
        let Self { inputs, stage, .. } = self;
        let mut parts = match stage {
            Stage::Warmup(state, _) => state.parts(vectors),
            Stage::Sweeping(state) => state.parts(vectors),
            Stage::Proving(values, all, _) => {
                let mut parts = inputs.step.parts(Column::Values, values);
                if offsets {
                    parts.extend(all.parts(inputs.step));
                }
                parts
            }
            Stage::Moving => unreachable!("stages are changed within an order"),
        };
        if let Some(team) = inputs.team {
            let partition = team.partition();
            parts.retain(|part| partition.owns(ShardIndex(part.shard as usize)));
        }
        parts
    }

    /// Writes the solution down, and returns the values of each orientation.
    ///
    /// # Errors
    /// If the step store cannot.
    pub fn finish(
        self,
        statistics: TierStatistics,
        step_store: Option<&dyn StepStore>,
    ) -> Result<Vec<Array<T>>, SolveError> {
        let kept = Saved { vectors: 0, ..self.saved }.columns();
        let step = self.inputs.step;
        let mut values = self.into_values().expect("the step is solved");
        if let Some(step_store) = step_store {
            let mut parts = step.parts(Column::Values, &mut values);
            parts.retain(|part| !kept.contains(&part.column));
            step_store.save(step.tier, &Found::Solved(statistics), parts, &kept)?;
        }
        Ok(values)
    }

    /// The values of each orientation, unless they are swept in `f32` although the result is not.
    pub fn into_values(self) -> Option<Vec<Array<T>>> {
        match self.stage {
            Stage::Sweeping(state) => Some(state.into_values()),
            Stage::Proving(values, ..) => Some(values),
            Stage::Warmup(..) | Stage::Moving => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::encoding, memory::budget::Memory, moves::tables::Tables,
        shards::step::ShardedStep, simd::dispatch::Simd,
    };
    use ziggurat_planning::{settings::Settings, steps::shards};

    #[test]
    fn a_proof_does_not_go_on_from_offsets_that_nobody_has_computed() {
        let encoding = encoding("finkel", 1);
        let (memory, tables) = (Memory::anonymous(), Tables::new(&encoding));
        let (tier, finals) = (Tier::new(1, 1), HashMap::new());
        let shards = shards(&encoding, &Settings::new(Precision::F64), tier);
        let inputs = StepInputs {
            step: &ShardedStep::new(&encoding, tier, shards),
            memory: &memory,
            tables: &tables,
            finals: &finals,
            simd: Simd::best(),
            team: None,
        };
        let carried_out = |sweeps| {
            let mut work = Executor::<f64>::start(inputs, Precision::F64).unwrap();
            let begun = Proof::new(1e-12, 0.0).unwrap();
            let proof = Proof::from_parts(1e-12, begun.unit(), begun.start(), sweeps).unwrap();
            work.carry_out(&Order::Prove(proof))
        };
        assert!(matches!(carried_out(0), Ok(Outcome::Proved(_))));
        assert!(matches!(carried_out(1), Err(SolveError::Order)));
    }
}
