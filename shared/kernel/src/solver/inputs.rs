//! The inputs of the work on a step.

use std::collections::HashMap;

use ziggurat_encoding::Tier;
use ziggurat_planning::{
    controller::StepController, settings::Precision, statistics::TierStatistics,
};

use crate::{
    halo::{arrays::zeros, partition::Partition, team::Team},
    memory::{
        array::Array,
        budget::{Memory, MemoryError},
    },
    moves::tables::Tables,
    shards::step::ShardedStep,
    simd::{dispatch::Simd, value::Value},
    solver::values::AsTierValues,
    superstep::state::StepState,
    sweep::context::Context,
};

/// A solved tier.
#[derive(Debug)]
pub struct Final<T> {
    /// Its values, padded.
    pub values: Array<T>,
    /// How they came about.
    pub statistics: TierStatistics,
}

impl<T> Final<T> {
    /// The proven bound of the values: 1, which is true of all, if there is none.
    pub fn bound(&self) -> f64 {
        self.statistics.certificate.map_or(1.0, |certificate| certificate.bound)
    }
}

/// The inputs of the work on a step.
#[derive(Clone, Copy)]
pub struct StepInputs<'a, T> {
    /// The step.
    pub step: &'a ShardedStep<'a>,
    /// Where arrays are.
    pub memory: &'a Memory,
    /// The tables of the ruleset.
    pub tables: &'a Tables,
    /// The tiers that the step reads, and perhaps others.
    pub finals: &'a HashMap<Tier, Final<T>>,
    /// The vector instructions.
    pub simd: Simd,
    /// The others who work on it, each with some of its shards.
    pub team: Option<&'a Team<'a>>,
}

impl<'a, T: AsTierValues> StepInputs<'a, T> {
    pub fn context(&self) -> Context<'_, T> {
        let finals = |tier| &*self.finals[&tier].values;
        Context::new(self.step.encoding, self.tables, self.step.tier, finals)
    }

    pub fn warmup_context<'f>(&'f self, finals: &'f HashMap<Tier, Array<f32>>) -> Context<'f, f32> {
        Context::new(self.step.encoding, self.tables, self.step.tier, |tier| &finals[&tier])
    }

    /// The tiers that the step reads, in `f32`.
    pub fn warmup_finals(&self) -> Result<HashMap<Tier, Array<f32>>, MemoryError> {
        let convert = |(i, tier): (usize, Tier)| {
            let tier = tier.swap().after_score()?; // else a win
            let places = self.partition().map(|partition| &partition.finals[i][..]);
            Some(self.finals[&tier].values.converted(self.memory, places).map(|it| (tier, it)))
        };
        self.step.tier.both().enumerate().filter_map(convert).collect()
    }

    /// The state of the step before the first superstep.
    pub fn state<U: Value>(&self, values: Vec<Array<U>>) -> Result<StepState<'a, U>, MemoryError> {
        StepState::new(self.memory, self.step, values, self.simd, self.partition())
    }

    /// The same in `f32` where the step is to go on in `f64`.
    pub fn warmup_state(&self, values: Vec<Array<f32>>) -> Result<StepState<'a, f32>, MemoryError> {
        let mut state = self.state(values)?;
        state.candidate_lists = state.candidate_lists.for_widening();
        Ok(state)
    }

    /// Room for the values of each orientation.
    pub fn room<U: Value>(&self) -> Result<Vec<Array<U>>, MemoryError> {
        zeros(self.memory, self.step, self.partition())
    }

    /// The parts of arrays that a team's member uses.
    pub fn partition(&self) -> Option<&'a Partition> {
        self.team.map(Team::partition)
    }
}

/// Where the work on a step goes on from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResumeFrom {
    /// The type of the values.
    pub precision: Precision,
    /// How many vectors of changes there are.
    pub vectors: usize,
    /// Whether there are offsets of a proof.
    pub offsets: bool,
}

impl ResumeFrom {
    /// Where a controller is.
    pub fn of(controller: &StepController) -> Self {
        let (precision, vectors) = (controller.precision(), controller.vectors());
        Self { precision, vectors, offsets: controller.offsets() }
    }
}
