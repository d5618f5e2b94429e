//! The work on a step: its values, and doing to them what its [course](Course) orders.

use std::collections::HashMap;

use ziggurat_encoding::{Shard, Tier};
use ziggurat_planning::{
    columns::Column,
    controller::Course,
    correction,
    correction::Corrected,
    order::{Order, Outcome},
    settings::Precision,
    statistics::TierStatistics,
};

use crate::{
    certificate::{
        distances::Distances,
        problem::{Certified, Unproven},
    },
    coarse::sample::{Sample, sums},
    halo::arrays::{fill, fill_halo},
    memory::array::Array,
    shards::{columns::Part, ranges::parts_of, waves::Cut},
    simd::value::Value,
    solver::{
        error::SolveError,
        ground::{Ground, ResumeFrom},
        journal::{Found, Journal, JournalError},
        values::AsTierValues,
    },
    superstep::state::StepState,
    sweep::elimination::validity::Shortlists,
};

/// Where the values of a step are.
enum Stage<T: Value> {
    /// They are swept in `f32` although the result is not; with the tiers that are read.
    Rough(StepState<f32>, HashMap<Tier, Array<f32>>),
    /// They are swept.
    Fine(StepState<T>),
    /// They are proven, with the shortlists of their sweeps.
    Proof(Vec<Array<T>>, Distances, Shortlists),
    /// They are on their way from one stage to another.
    Between,
}

/// Reads parts of a step.
pub type Load<'a> = dyn Fn(Vec<Part<'_>>) -> Result<(), JournalError> + 'a;

/// The work on a step, or on the shards of a team's member: it carries out the orders of a course.
pub struct Work<'a, T: Value> {
    ground: Ground<'a, T>,
    cut: Cut,
    stage: Stage<T>,
    /// Equations of sampled positions, once they are needed.
    sample: Option<Sample<'a>>,
    /// Whether the values are those that were written down last.
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
        precision: Precision,
    ) -> Result<Self, SolveError> {
        let stage = if precision == T::PRECISION {
            let mut values = ground.room()?;
            fill(&mut values, T::default(), &shards, ground.team);
            Stage::Fine(ground.state(values, &shards)?)
        } else {
            let mut values = ground.room()?;
            fill(&mut values, 0.0_f32, &shards, ground.team);
            Stage::Rough(ground.rough_state(values, &shards)?, ground.rough_finals()?)
        };
        let cut = Cut::new(ground.encoding, shards);
        Ok(Self { ground, cut, stage, sample: None, values_are_saved: false })
    }

    /// Goes on from what was written down.
    ///
    /// # Errors
    /// If there is no room for the values, they cannot be read, or other members cannot be reached.
    pub fn resume(
        ground: Ground<'a, T>,
        shards: Vec<Shard>,
        place: ResumeFrom,
        load: &Load<'_>,
    ) -> Result<Self, SolveError> {
        let Ground { memory, team, .. } = ground;
        let cut = Cut::new(ground.encoding, shards);
        let stage = if place.precision != T::PRECISION {
            let state = ground.rough_state(ground.room()?, &cut.shards)?;
            Stage::Rough(state, ground.rough_finals()?)
        } else if place.distances {
            let distances = Distances::new(memory, ground.encoding, ground.tier, &cut, team)?;
            Stage::Proof(ground.room()?, distances, Shortlists::default())
        } else {
            Stage::Fine(ground.state(ground.room()?, &cut.shards)?)
        };
        let mut work = Self { ground, cut, stage, sample: None, values_are_saved: true };
        load(work.parts(place.vectors, place.distances))?;
        if let Some(team) = team {
            match &mut work.stage {
                Stage::Rough(state, _) => state.fill_halo(place.vectors, team)?,
                Stage::Fine(state) => state.fill_halo(place.vectors, team)?,
                Stage::Proof(values, distances, _) => {
                    fill_halo(values, team)?;
                    distances.fill_halo(team)?;
                }
                Stage::Between => unreachable!("stages are changed within an order"),
            }
        }
        Ok(work)
    }

    /// Carries out an order.
    ///
    /// # Errors
    /// If there is no room for it, or other members cannot be reached.
    pub fn carry_out(&mut self, order: &Order) -> Result<Outcome, SolveError> {
        let Self { ground, cut, stage, sample, values_are_saved } = self;
        let Ground { encoding, memory, tier, simd, team, .. } = *ground;
        let new_state = |values| ground.state(values, &cut.shards);
        *values_are_saved &= matches!(order, Order::Measure | Order::Sample(_) | Order::Prove(_));
        Ok(match order {
            &Order::Sweep { row, finest } => {
                if correction::Usage::of(encoding).when == Corrected::AtFirst {
                    *sample = None; // it is not asked any more
                }
                if let Stage::Proof(values, _, shortlists) = stage {
                    let (values, shortlists) = (std::mem::take(values), std::mem::take(shortlists));
                    *stage = Stage::Between; // gives back the memory of the proof
                    *stage = Stage::Fine(new_state(values)?.with_shortlists(shortlists));
                }
                Outcome::Swept(match stage {
                    Stage::Rough(state, finals) => {
                        state.superstep(&ground.rough_context(finals), (row, finest), team)?
                    }
                    Stage::Fine(state) => {
                        state.superstep(&ground.context(), (row, finest), team)?
                    }
                    Stage::Proof(..) | Stage::Between => unreachable!("a proof was ended"),
                })
            }
            Order::Measure => Outcome::Measured(match stage {
                Stage::Rough(state, _) => state.measure(team),
                Stage::Fine(state) => state.measure(team),
                Stage::Proof(..) | Stage::Between => return Err(SolveError::Order),
            }),
            Order::Extrapolate { multiples } => {
                match stage {
                    Stage::Rough(state, _) => state.extrapolate(multiples, team),
                    Stage::Fine(state) => state.extrapolate(multiples, team),
                    Stage::Proof(..) | Stage::Between => return Err(SolveError::Order),
                }
                Outcome::Done
            }
            Order::Sample(_) if correction::functions(encoding, tier) == 0 => {
                return Err(SolveError::Order);
            }
            &Order::Sample(asked) => Outcome::Sampled(match stage {
                Stage::Rough(state, finals) => {
                    state.sums(encoding, &ground.rough_context(finals), sample, asked, team)
                }
                Stage::Fine(state) => state.sums(encoding, &ground.context(), sample, asked, team),
                Stage::Proof(values, ..) => {
                    let values: Vec<&[T]> = values.iter().map(Array::values).collect();
                    let (context, shards) = (ground.context(), &cut.shards);
                    sums(encoding, &context, shards, &values, (sample, asked), simd, team)
                }
                Stage::Between => return Err(SolveError::Order),
            }),
            Order::Correct { multiples } => {
                let sections = &sample.as_ref().ok_or(SolveError::Order)?.sections;
                if multiples.len() != sections.functions() {
                    return Err(SolveError::Order);
                }
                match stage {
                    Stage::Rough(state, _) => state.correct(sections, multiples, team),
                    Stage::Fine(state) => state.correct(sections, multiples, team),
                    Stage::Proof(..) | Stage::Between => return Err(SolveError::Order),
                }
                Outcome::Done
            }
            Order::Widen => {
                let Stage::Rough(mut state, _) = std::mem::replace(stage, Stage::Between) else {
                    return Err(SolveError::Order);
                };
                let mut shortlists = std::mem::take(&mut state.shortlists);
                shortlists.widened();
                let rough = state.into_values().into_iter();
                let values = rough.map(|values| values.converted(memory));
                let values = values.collect::<Result<_, _>>()?;
                *stage = Stage::Fine(new_state(values)?.with_shortlists(shortlists));
                Outcome::Done
            }
            Order::Prove(proof) => {
                let functions = || correction::functions(encoding, tier);
                if !proof.turns().is_empty() && proof.turns().len() != functions() {
                    return Err(SolveError::Order);
                }
                *stage = match std::mem::replace(stage, Stage::Between) {
                    // Distances of a later sweep than the first that nobody has computed would be 0, and prove anything.
                    Stage::Fine(_) if proof.sweeps() > 0 => return Err(SolveError::Order),
                    Stage::Fine(mut state) => {
                        let shortlists = std::mem::take(&mut state.shortlists);
                        let values = state.into_values(); // gives back the memory of sweeps
                        let distances = Distances::new(memory, encoding, tier, cut, team)?;
                        Stage::Proof(values, distances, shortlists)
                    }
                    other => other,
                };
                let Stage::Proof(values, distances, shortlists) = stage else {
                    return Err(SolveError::Order);
                };
                if proof.sweeps() == 0 {
                    distances.reset(proof, encoding, tier, &cut.shards, team);
                }
                let values: Vec<&[T]> = values.iter().map(Array::values).collect();
                let finals = |tier| {
                    let read = &ground.finals[&tier];
                    Certified { values: read.values.values(), bound: read.bound() }
                };
                let step =
                    Unproven::new(encoding, ground.tables, tier, cut, &values, finals, proof);
                Outcome::Proved(step.sweep(distances, shortlists, simd, team)?)
            }
        })
    }

    /// Writes the step down.
    ///
    /// # Errors
    /// If the journal cannot.
    pub fn save(&mut self, course: &Course, journal: &dyn Journal) -> Result<(), SolveError> {
        let (tier, kept) = (self.ground.tier, self.kept());
        let found = Found::Begun(Box::new(course.clone()));
        let mut parts = self.parts(course.vectors(), course.distances());
        parts.retain(|part| !kept.contains(&part.column));
        journal.save(tier, &found, parts, kept)?;
        self.values_are_saved = true;
        Ok(())
    }

    /// What need not be saved again.
    fn kept(&self) -> &'static [Column] {
        if self.values_are_saved { &[Column::Values] } else { &[] }
    }

    /// All that is to be remembered of the own shards: values, so many vectors of changes, and distances if
    /// wanted.
    pub fn parts(&mut self, vectors: usize, distances: bool) -> Vec<Part<'_>> {
        let Self { ground, cut, stage, .. } = self;
        let mut parts = match stage {
            Stage::Rough(state, _) => state.parts(vectors),
            Stage::Fine(state) => state.parts(vectors),
            Stage::Proof(values, all, _) => {
                let mut parts = parts_of(Column::Values, values, &cut.shards);
                if distances {
                    parts.extend(all.parts(&cut.shards));
                }
                parts
            }
            Stage::Between => unreachable!("stages are changed within an order"),
        };
        if let Some(team) = ground.team {
            parts.retain(|part| team.owns(part.shard as usize));
        }
        parts
    }

    /// Writes the solution down, and returns the values of each orientation.
    ///
    /// # Errors
    /// If the journal cannot.
    pub fn finish(
        self,
        statistics: TierStatistics,
        journal: Option<&dyn Journal>,
    ) -> Result<Vec<Array<T>>, SolveError> {
        let kept = self.kept();
        let (tier, shards) = (self.ground.tier, self.cut.shards.clone());
        let mut values = self.into_values().expect("the step is solved");
        if let Some(journal) = journal {
            let mut parts = parts_of(Column::Values, &mut values, &shards);
            parts.retain(|part| !kept.contains(&part.column));
            journal.save(tier, &Found::Solved(statistics), parts, kept)?;
        }
        Ok(values)
    }

    /// The values of each orientation, unless they are swept in `f32` although the result is not.
    pub fn into_values(self) -> Option<Vec<Array<T>>> {
        match self.stage {
            Stage::Fine(state) => Some(state.into_values()),
            Stage::Proof(values, ..) => Some(values),
            Stage::Rough(..) | Stage::Between => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_encoding::Encoding;
    use ziggurat_game::{Overrides, Ruleset};

    use super::*;
    use crate::{memory::budget::Memory, moves::tables::Tables, simd::dispatch::Simd};
    use ziggurat_planning::{proof::Proof, settings::Settings, steps::shards};

    #[test]
    fn a_proof_does_not_go_on_from_distances_that_nobody_has_computed() {
        let one_piece = Overrides { pieces: Some(1), ..Overrides::default() };
        let ruleset = Ruleset::builtin("finkel").unwrap().with(&one_piece).unwrap();
        let encoding = Encoding::new(&ruleset).unwrap();
        let (memory, tables) = (Memory::anonymous(), Tables::new(&encoding));
        let (tier, finals) = (Tier::new(1, 1), HashMap::new());
        let ground = Ground {
            encoding: &encoding,
            memory: &memory,
            tables: &tables,
            tier,
            finals: &finals,
            simd: Simd::best(),
            team: None,
        };
        let settings = Settings::new(Precision::F64);
        let carried_out = |sweeps| {
            let shards = shards(&encoding, &settings, tier);
            let mut work = Work::<f64>::start(ground, shards, Precision::F64).unwrap();
            let begun = Proof::new(1e-12, 0.0).unwrap();
            let ends = [begun.least(), begun.start()];
            let proof = Proof::from_parts(1e-12, begun.unit(), ends, sweeps, Vec::new()).unwrap();
            work.carry_out(&Order::Prove(proof))
        };
        assert!(matches!(carried_out(0), Ok(Outcome::Proved(_))));
        assert!(matches!(carried_out(1), Err(SolveError::Order)));
    }
}
