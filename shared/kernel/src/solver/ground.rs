//! What the work on a step stands on.

use std::collections::HashMap;

use ziggurat_encoding::{Encoding, Shard, Tier};
use ziggurat_planning::{controller::Course, settings::Precision, statistics::TierStatistics};

use crate::{
    halo::team::Team,
    memory::{
        array::Array,
        budget::{Memory, MemoryError},
    },
    moves::tables::Tables,
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
    /// What is proven of the values: 1, which is true of all, if nothing is.
    pub fn bound(&self) -> f64 {
        self.statistics.certificate.map_or(1.0, |certificate| certificate.bound)
    }
}

/// What the work on a step stands on.
#[derive(Clone, Copy)]
pub struct Ground<'a, T> {
    /// The ranking.
    pub encoding: &'a Encoding,
    /// Where arrays are.
    pub memory: &'a Memory,
    /// The tables of the ruleset.
    pub tables: &'a Tables,
    /// The step's first tier.
    pub tier: Tier,
    /// The tiers that the step reads, and perhaps others.
    pub finals: &'a HashMap<Tier, Final<T>>,
    /// The vector instructions.
    pub simd: Simd,
    /// The others who work on it, each with some of its shards.
    pub team: Option<&'a Team<'a>>,
}

impl<'a, T: AsTierValues> Ground<'a, T> {
    pub fn context(&self) -> Context<'_, T> {
        Context::new(self.encoding, self.tables, self.tier, |tier| &self.finals[&tier].values)
    }

    pub fn rough_context<'f>(&'f self, finals: &'f HashMap<Tier, Array<f32>>) -> Context<'f, f32> {
        Context::new(self.encoding, self.tables, self.tier, |tier| &finals[&tier])
    }

    /// The tiers that the step reads, in `f32`.
    pub fn rough_finals(&self) -> Result<HashMap<Tier, Array<f32>>, MemoryError> {
        let convert = |tier| Ok((tier, self.finals[&tier].values.converted(self.memory)?));
        self.tier.reads().map(convert).collect()
    }

    /// The state of the step before the first superstep.
    pub fn state<U: Value>(
        &self,
        values: Vec<Array<U>>,
        shards: &[Shard],
    ) -> Result<StepState<U>, MemoryError> {
        StepState::new(self.memory, self.encoding, values, shards.to_vec(), self.simd)
    }

    /// The same in `f32` where the step is to go on in `f64`.
    pub fn rough_state(
        &self,
        values: Vec<Array<f32>>,
        shards: &[Shard],
    ) -> Result<StepState<f32>, MemoryError> {
        let mut state = self.state(values, shards)?;
        state.shortlists = state.shortlists.for_widening();
        Ok(state)
    }

    /// Room for the values of each orientation.
    pub fn room<U: Value>(&self) -> Result<Vec<Array<U>>, MemoryError> {
        let room = |tier| self.memory.filled(U::default(), self.encoding.tier_len(tier) as usize);
        self.tier.both().map(room).collect()
    }
}

/// Where the work on a step goes on from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResumeFrom {
    /// The type of the values.
    pub precision: Precision,
    /// How many vectors of changes there are.
    pub vectors: usize,
    /// Whether there are distances of a proof.
    pub distances: bool,
}

impl ResumeFrom {
    /// Where a course is.
    pub fn of(course: &Course) -> Self {
        let (precision, vectors) = (course.precision(), course.vectors());
        Self { precision, vectors, distances: course.distances() }
    }
}
