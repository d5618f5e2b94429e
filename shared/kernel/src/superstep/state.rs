//! The state of a step between two supersteps.

use ziggurat_planning::{
    columns::Column, galerkin::GalerkinSystem, waves::UnitIndex, weights::VECTORS,
};

use crate::{
    coarse::{regions::Regions, sample::Sample},
    delta::extrapolation::{NO_QUANTA, Piece, Quanta},
    halo::{
        arrays::{self, for_own_parts},
        partition::Partition,
        team::{Team, is_own},
    },
    memory::{
        array::Array,
        budget::{Memory, MemoryError},
        pool::Pool,
    },
    shards::{
        columns::{Data, Number, Part},
        ranges::{Orientation, PIECE, split_off},
        step::ShardedStep,
    },
    simd::{
        dispatch::Simd,
        value::{PADDING, Value},
    },
    superstep::unit::padded_lengths,
    sweep::{
        context::Context, elimination::validity::CandidateLists, successors::table::SuccessorTables,
    },
};

/// The state of a step between two supersteps.
pub struct StepState<'s, T: Value> {
    pub(super) step: &'s ShardedStep<'s>,
    /// The values of each orientation as of the last barrier.
    pub(super) published: Vec<Array<T>>,
    /// Room for the values of the units that are being swept: range after range, each padded.
    pub(super) live: Pool<Array<T>>,
    /// The changes of the last supersteps, and the displacement from the restart point, as bytes, by orientation.
    pub(super) vectors: [Vec<Array<i8>>; VECTORS],
    /// For each piece the quantum of each of them.
    pub(super) quanta: Vec<Quanta>,
    pub(super) simd: Simd,
    /// The moves that the sweeps of the units need to look at.
    pub candidate_lists: CandidateLists,
    /// The successors of the units' positions, where there is room to write them down.
    pub successors: SuccessorTables,
}

impl<'s, T: Value> StepState<'s, T> {
    /// The state before the first superstep, with the values of each orientation, of which a team's member uses its own
    /// parts.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn new(
        memory: &Memory,
        step: &'s ShardedStep<'s>,
        values: Vec<Array<T>>,
        simd: Simd,
        partition: Option<&Partition>,
    ) -> Result<Self, MemoryError> {
        let live = (0..live_at_once(step, rayon::current_num_threads()))
            .map(|_| memory.filled(T::default(), live_len(step)))
            .collect::<Result<Vec<_>, _>>()?;
        let vectors = (0..VECTORS).map(|_| arrays::zeros(memory, step, partition));
        let vectors = vectors.collect::<Result<Vec<_>, _>>()?.try_into();
        // Where memory is scarce there is none for candidates.
        let listed = if memory.is_limited() { 0 } else { step.units.len() };
        Ok(Self {
            step,
            published: values,
            live: Pool::of(live),
            vectors: vectors.unwrap_or_else(|_| unreachable!("there are as many")),
            quanta: vec![NO_QUANTA; step.pieces],
            candidate_lists: CandidateLists::new(listed),
            successors: SuccessorTables::new(memory, step),
            simd,
        })
    }

    /// The same with candidates of earlier sweeps; if these have none, it will write down its own.
    pub fn with_candidate_lists(mut self, candidate_lists: CandidateLists) -> Self {
        if !candidate_lists.is_empty() {
            self.candidate_lists = candidate_lists;
        }
        self
    }

    /// The same with tables of successors of before, which are those of values of any type.
    pub fn with_successors(mut self, successors: SuccessorTables) -> Self {
        self.successors = successors;
        self
    }

    /// The most bytes that the state of a step, or of a member's part in it, takes that so many threads work on, without
    /// successor tables.
    pub fn bytes(step: &ShardedStep<'_>, partition: Option<&Partition>, threads: usize) -> u64 {
        let live = (live_len(step) + PADDING) * live_at_once(step, threads) * size_of::<T>();
        let piece = size_of::<Quanta>() + size_of::<Piece<'_, T>>();
        let swept = partition.map_or(step.positions(), |part| part.own_positions(step));
        arrays::bytes::<T>(step, partition)
            + VECTORS as u64 * arrays::bytes::<i8>(step, partition)
            + (live + step.pieces * piece) as u64
            + CandidateLists::bytes(swept)
    }

    /// The values of some units, piece by piece, in the order of the published values, each with the place of the range
    /// of the shard that it is in.
    pub(super) fn pieces(
        &mut self,
        wanted: impl Fn(UnitIndex) -> bool,
    ) -> Vec<(u32, Piece<'_, T>)> {
        let Self { step, published, vectors, quanta, .. } = self;
        let mut vectors = vectors.each_mut().map(|arrays| step.split(arrays));
        let mut quanta = quanta.iter_mut();
        let mut pieces = Vec::with_capacity(step.pieces);
        let orders = step.ranges.iter().map(|&(_, order)| order);
        for (order, (range, published)) in orders.zip(step.split(published)) {
            let mut vectors = vectors.each_mut().map(|ranges| {
                let (_, changes) = ranges.next().expect("they have the ranges of the values");
                changes.chunks_mut(PIECE)
            });
            for (published, quanta) in published.chunks_mut(PIECE).zip(&mut quanta) {
                let vectors = vectors.each_mut().map(|all| all.next().expect("as many pieces"));
                if wanted(range.of) {
                    pieces.push((order, Piece { published, vectors, quanta }));
                }
            }
        }
        pieces
    }

    /// The Galerkin system of a sample of the own shards' positions; the sample is written down where there is none
    /// yet.
    pub fn galerkin_system(
        &self,
        context: &Context<'_, T>,
        sample: &mut Option<Sample<'s>>,
        quantum: i32,
        team: Option<&Team<'_>>,
    ) -> GalerkinSystem {
        let values: Vec<&[T]> = self.published.iter().map(Array::values).collect();
        let write_down = || {
            let ranges = self.step.ranges.iter().map(|(range, _)| range);
            let own = ranges.filter(|range| is_own(team, range.of));
            let ranges: Vec<_> = own.map(|own| (own.orientation, own.values.clone())).collect();
            Sample::new(self.step.encoding, context, &ranges)
        };
        sample.get_or_insert_with(write_down).system(context, &values, quantum, self.simd)
    }

    /// Adds multiples of functions to all values, and to the halo.
    pub fn correct(&mut self, regions: &Regions<'_>, multiples: &[f64], team: Option<&Team<'_>>) {
        let Self { step, published, candidate_lists, simd, .. } = self;
        let simd = *simd;
        let tables: Vec<Vec<f32>> = Orientation::all(published.len())
            .map(|orientation| regions.table(orientation, multiples))
            .collect();
        let largest = tables.iter().flatten().map(|by| by.abs()).fold(0.0, f32::max);
        candidate_lists.extrapolated(largest.into());
        for_own_parts(published, step, team, |orientation, places, values| {
            regions.add(orientation, places, values, &tables[orientation.index()], simd);
        });
    }

    /// The values of each orientation, as they are at the moment.
    #[cfg(test)]
    pub fn values(&self) -> &[Array<T>] {
        &self.published
    }

    /// The values of each orientation, once the step is solved.
    pub fn into_values(self) -> Vec<Array<T>> {
        self.published
    }
}

impl<T: Value + Number> StepState<'_, T> {
    /// All there is to remember between two supersteps, shard by shard: the values, and so many of the
    /// vectors.
    pub fn parts(&mut self, vectors: usize) -> Vec<Part<'_>> {
        let Self { step, published, vectors: all, quanta, .. } = self;
        let mut parts = step.parts(Column::Values, published);
        for (vector, arrays) in (0..).zip(all.iter_mut().take(vectors)) {
            parts.extend(step.parts(Column::Vector(vector), arrays));
        }
        if vectors > 0 {
            let mut quanta: &mut [Quanta] = quanta;
            parts.extend(step.shard_ranges().iter().map(|(range, pieces)| {
                let own = split_off(&mut quanta, *pieces);
                range.part(Column::Units, Data::F32(own.as_flattened_mut()))
            }));
        }
        parts
    }
}

/// Room for the values of the largest unit, padded.
pub(super) fn live_len(step: &ShardedStep<'_>) -> usize {
    step.parts_of_units().map(|part| padded_lengths(part).iter().sum()).max().unwrap_or(0)
}

/// How many units so many threads sweep at once, at the most.
fn live_at_once(step: &ShardedStep<'_>, threads: usize) -> usize {
    step.waves.iter().map(Vec::len).max().unwrap_or(0).min(threads)
}
