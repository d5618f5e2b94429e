//! The work on a step: its values, and doing to them what its [course](Course) says.

use std::collections::HashMap;

use ziggurat_encoding::{Encoding, Shard, Tier};

use crate::{
    SolveError,
    array::Array,
    certificate::{Certified, Distances, Proof, Unproven, waves},
    context::{Context, Tables},
    course::{Course, Order, Outcome},
    journal::{Column, Found, Journal, Part},
    memory::{Memory, MemoryError},
    simd::Simd,
    solve::{AsTierValues, Precision, TierStatistics},
    step::{StepState, both, halves, parts_of, read_by},
    value::Value,
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
    /// What is proven of the values.
    pub fn bound(&self) -> f64 {
        self.statistics.certificate.map_or(0.0, |certificate| certificate.bound)
    }
}

/// What the work on a step stands on.
#[derive(Clone, Copy)]
pub struct Ground<'a, T> {
    /// The ranking.
    pub encoding: &'a Encoding,
    /// Where arrays are.
    pub memory: &'a Memory,
    /// For sweeps of the result's type.
    pub tables: &'a Tables,
    /// For sweeps of the other one.
    pub other_tables: &'a Tables,
    /// The step's first tier.
    pub tier: Tier,
    /// The tiers that the step reads, and perhaps others.
    pub finals: &'a HashMap<Tier, Final<T>>,
    /// The vector instructions.
    pub simd: Simd,
}

impl<'a, T: AsTierValues> Ground<'a, T> {
    fn context(&self) -> Context<'_, T> {
        Context::new(self.encoding, self.tables, self.tier, |tier| &self.finals[&tier].values)
    }

    fn rough_context<'f>(&'f self, finals: &'f HashMap<Tier, Array<f32>>) -> Context<'f, f32> {
        let tables = match T::PRECISION {
            Precision::F32 => self.tables,
            Precision::F64 => self.other_tables,
        };
        Context::new(self.encoding, tables, self.tier, |tier| &finals[&tier])
    }

    fn tables_in_f64(&self) -> &'a Tables {
        match T::PRECISION {
            Precision::F32 => self.other_tables,
            Precision::F64 => self.tables,
        }
    }

    /// The tiers that the step reads, in `f32`.
    fn rough_finals(&self) -> Result<HashMap<Tier, Array<f32>>, MemoryError> {
        let convert = |tier| Ok((tier, self.finals[&tier].values.converted(self.memory)?));
        read_by(self.tier).map(convert).collect()
    }

    /// Room for the values of each orientation.
    pub fn room<U: Value>(&self) -> Result<Vec<Array<U>>, MemoryError> {
        let room = |tier| self.memory.filled(U::default(), self.encoding.tier_len(tier) as usize);
        both(self.tier).map(room).collect()
    }
}

/// Where the values of a step are.
enum Stage<T: Value> {
    /// They are swept in `f32` although the result is not; with the tiers that are read.
    Rough(StepState<f32>, HashMap<Tier, Array<f32>>),
    /// They are swept.
    Fine(StepState<T>),
    /// They are proven.
    Proof(Vec<Array<T>>, Distances),
    /// They are on their way from one stage to another.
    Between,
}

/// The work on a step.
pub struct Work<'a, T: Value> {
    ground: Ground<'a, T>,
    shards: Vec<Shard>,
    /// The shards in the order of interval sweeps.
    waves: Vec<Vec<Shard>>,
    course: Course,
    stage: Stage<T>,
    /// Whether the journal has the values as they are.
    values_are_saved: bool,
}

impl<'a, T: AsTierValues> Work<'a, T> {
    /// Starts from one half everywhere.
    ///
    /// # Errors
    /// If there is no room for the values.
    pub fn start(
        ground: Ground<'a, T>,
        shards: Vec<Shard>,
        course: Course,
    ) -> Result<Self, SolveError> {
        let memory = ground.memory;
        let stage = if course.precision() == T::PRECISION {
            let values = halves(memory, &ground.context())?;
            Stage::Fine(StepState::new(memory, values, shards.clone())?)
        } else {
            let finals = ground.rough_finals()?;
            let values = halves(memory, &ground.rough_context(&finals))?;
            Stage::Rough(StepState::new(memory, values, shards.clone())?, finals)
        };
        let waves = waves(ground.encoding, shards.clone());
        Ok(Self { ground, shards, waves, course, stage, values_are_saved: false })
    }

    /// Goes on where the journal is.
    ///
    /// # Errors
    /// If there is no room for the values, or they cannot be read.
    pub fn resume(
        ground: Ground<'a, T>,
        shards: Vec<Shard>,
        course: Course,
        journal: &dyn Journal,
    ) -> Result<Self, SolveError> {
        let memory = ground.memory;
        let waves = waves(ground.encoding, shards.clone());
        let stage = if course.precision() != T::PRECISION {
            let state = StepState::new(memory, ground.room()?, shards.clone())?;
            Stage::Rough(state, ground.rough_finals()?)
        } else if let Some(proof) = course.proof() {
            let distances = Distances::new(memory, ground.encoding, ground.tier, &waves, proof)?;
            Stage::Proof(ground.room()?, distances)
        } else {
            Stage::Fine(StepState::new(memory, ground.room()?, shards.clone())?)
        };
        let tier = ground.tier;
        let mut work = Self { ground, shards, waves, course, stage, values_are_saved: true };
        journal.load(tier, work.parts())?;
        Ok(work)
    }

    /// Whether the step is solved.
    pub fn is_done(&self) -> bool {
        self.course.order().is_none()
    }

    /// Interval sweeps of the proof under way, if there is one.
    pub fn interval_sweeps(&self) -> Option<u32> {
        self.course.proof().map(Proof::sweeps)
    }

    /// What can be said so far.
    pub fn statistics(&self) -> &TierStatistics {
        self.course.statistics()
    }

    /// Does what is to be done next.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn advance(&mut self) -> Result<(), MemoryError> {
        let Some(order) = self.course.order() else { return Ok(()) };
        let outcome = self.carry_out(&order)?;
        self.course.take(outcome);
        Ok(())
    }

    fn carry_out(&mut self, order: &Order) -> Result<Outcome, MemoryError> {
        let Self { ground, shards, waves, stage, values_are_saved, .. } = self;
        let Ground { encoding, memory, tier, simd, .. } = *ground;
        *values_are_saved &= matches!(order, Order::Measure | Order::Prove(_));
        Ok(match order {
            &Order::Sweep { row, grid } => {
                if let Stage::Proof(values, _) = stage {
                    let values = std::mem::take(values);
                    *stage = Stage::Between; // gives back the memory of the proof
                    *stage = Stage::Fine(StepState::new(memory, values, shards.clone())?);
                }
                Outcome::Swept(match stage {
                    Stage::Rough(state, finals) => {
                        state.superstep(&ground.rough_context(finals), row, grid, simd)
                    }
                    Stage::Fine(state) => state.superstep(&ground.context(), row, grid, simd),
                    Stage::Proof(..) | Stage::Between => unreachable!("a proof was ended"),
                })
            }
            Order::Measure => Outcome::Measured(match stage {
                Stage::Rough(state, _) => state.measure(),
                Stage::Fine(state) => state.measure(),
                Stage::Proof(..) | Stage::Between => unreachable!("sweeps were made"),
            }),
            Order::Extrapolate { multiples, grid } => {
                match stage {
                    Stage::Rough(state, _) => state.extrapolate(multiples, *grid),
                    Stage::Fine(state) => state.extrapolate(multiples, *grid),
                    Stage::Proof(..) | Stage::Between => unreachable!("sweeps were made"),
                }
                Outcome::Done
            }
            Order::Widen => {
                let Stage::Rough(state, _) = std::mem::replace(stage, Stage::Between) else {
                    unreachable!("sweeps in f32 were made");
                };
                let rough = state.into_values().into_iter();
                let values = rough.map(|values| values.converted(memory));
                let values = values.collect::<Result<_, _>>()?;
                *stage = Stage::Fine(StepState::new(memory, values, shards.clone())?);
                Outcome::Done
            }
            Order::Prove(proof) => {
                *stage = match std::mem::replace(stage, Stage::Between) {
                    Stage::Fine(state) => {
                        let values = state.into_values(); // gives back the memory of sweeps
                        let distances = Distances::new(memory, encoding, tier, waves, proof)?;
                        Stage::Proof(values, distances)
                    }
                    other => other,
                };
                let Stage::Proof(values, distances) = stage else {
                    unreachable!("sweeps are over");
                };
                let values: Vec<&[T]> = values.iter().map(Array::values).collect();
                let finals = |tier| {
                    let read = &ground.finals[&tier];
                    Certified { values: read.values.values(), bound: read.bound() }
                };
                let tables = ground.tables_in_f64();
                let step = Unproven::new(encoding, tables, tier, waves, &values, finals, proof);
                Outcome::Proved(step.sweep(distances, simd))
            }
        })
    }

    /// Whether the step is at a place where [`Work::save`] can write it down.
    pub fn can_be_saved(&self) -> bool {
        self.course.can_be_saved()
    }

    /// Writes the step down.
    ///
    /// # Errors
    /// If the journal cannot.
    pub fn save(&mut self, journal: &dyn Journal) -> Result<(), SolveError> {
        let (tier, kept) = (self.ground.tier, self.kept());
        let found = Found::Begun(Box::new(self.course.clone()));
        let mut parts = self.parts();
        parts.retain(|part| !kept.contains(&part.column));
        journal.save(tier, &found, parts, kept)?;
        self.values_are_saved = true;
        Ok(())
    }

    /// What need not be saved again.
    fn kept(&self) -> &'static [Column] {
        if self.values_are_saved { &[Column::Values] } else { &[] }
    }

    /// All that is to be remembered.
    fn parts(&mut self) -> Vec<Part<'_>> {
        let Self { shards, course, stage, .. } = self;
        match stage {
            Stage::Rough(state, _) => state.parts(course.row()),
            Stage::Fine(state) => state.parts(course.row()),
            Stage::Proof(values, distances) => {
                let mut parts = parts_of(Column::Values, values, shards, T::data);
                if course.distances() {
                    parts.extend(distances.parts(shards));
                }
                parts
            }
            Stage::Between => unreachable!("stages are changed within a task"),
        }
    }

    /// Writes the solution down, and returns the values of each orientation.
    ///
    /// # Errors
    /// If the journal cannot.
    pub fn finish(
        self,
        journal: Option<&dyn Journal>,
    ) -> Result<(Vec<Array<T>>, TierStatistics), SolveError> {
        let (statistics, kept) = (*self.statistics(), self.kept());
        let mut values = match self.stage {
            Stage::Fine(state) => state.into_values(),
            Stage::Proof(values, _) => values,
            Stage::Rough(..) | Stage::Between => unreachable!("the step is solved"),
        };
        if let Some(journal) = journal {
            let mut parts = parts_of(Column::Values, &mut values, &self.shards, T::data);
            parts.retain(|part| !kept.contains(&part.column));
            journal.save(self.ground.tier, &Found::Solved(statistics), parts, kept)?;
        }
        Ok((values, statistics))
    }
}
