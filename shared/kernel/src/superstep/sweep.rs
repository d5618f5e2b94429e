//! A superstep: all units of a step swept once, wave by wave.
//!
//! A superstep (in the sense of Valiant's bulk-synchronous parallel model, 1990) is a block Gauss-Seidel step of value
//! iteration (Bertsekas and Tsitsiklis 1989). It sweeps every unit in place, pieces furthest along first. The units
//! are swept in *waves*, those furthest along the path first, and each wave ends with a barrier at which its units
//! publish their changes: most moves lead forward, to a unit of an earlier wave, and so read values of this
//! superstep. A unit reads its own values as they are now and those of the other units as they were published at the
//! last barrier, so the result does not depend on threads or timing. Its own values are in room of a thread's own;
//! once it is swept, nothing is left of them but their encoded changes.
//!
//! The first units, whose pieces are nearly all next to the start or in hand, change by far more than others
//! from superstep to superstep. The slabs of these, most often a pair, are swept twice.

use rayon::prelude::*;
use ziggurat_planning::{quanta::most, waves::UnitIndex, weights::CycleSlot};

use crate::{
    delta::encoding::change,
    halo::{
        arrays::fill_halo,
        codec::{Content, PackedStrip},
        partition::{HaloStrip, slices},
        team::{ExchangeError, Team, WaveExchange},
        waves::{SweepByWaves, sweep_by_waves},
    },
    memory::{array::Array, budget::enforce_budget, pool::Pool},
    shards::{ranges::PIECE, waves::largest_first},
    simd::value::Value,
    superstep::{
        state::{StepState, live_len},
        unit::{Swept, Unswept},
    },
    sweep::{context::Context, elimination::validity::SweepMode, scratch::Room},
};

impl<T: Value> StepState<'_, T> {
    /// Sweeps every unit once, or those of a team's member, wave by wave, publishes the changes in quanta no finer
    /// than 2 to the power of `finest`, and keeps them in a slot of the cycle. Returns the residual: the largest
    /// difference between an old and a new value.
    ///
    /// # Errors
    /// If other members cannot be reached.
    pub fn superstep(
        &mut self,
        context: &Context<'_, T>,
        (slot, finest): (CycleSlot, i32),
        team: Option<&Team<'_>>,
    ) -> Result<f64, ExchangeError> {
        let (vector, lists, waves) = (slot.vector(), self.candidate_lists.next(), &self.step.waves);
        let (rooms, residual) = (Pool::default(), 0.0);
        let mut superstep =
            Superstep { state: &mut *self, context, rooms, vector, finest, lists, residual };
        sweep_by_waves(&mut superstep, waves, team)?;
        let residual = superstep.residual;
        let quanta = self.quanta.iter().map(|quanta| most(quanta[vector]));
        let changed = quanta.fold(residual, f64::max);
        self.candidate_lists.swept(changed);
        Ok(residual)
    }

    /// Keeps a vector of strips that others have sent, and applies it to their values.
    fn take_over(
        &mut self,
        vector: usize,
        (strips, packed): (&[&HaloStrip], &[PackedStrip<'_>]),
        apply: impl Fn(&PackedStrip<'_>, &mut [T], &mut [i8]) + Sync,
    ) {
        let Self { step, published, vectors, quanta, .. } = self;
        for (strip, packed) in strips.iter().zip(packed) {
            quanta[step.piece(strip.unit, strip.range, strip.start)][vector] = packed.quantum();
        }
        let changes = slices(&mut vectors[vector], strips);
        let places = slices(published, strips).into_par_iter().zip(changes);
        packed.par_iter().zip(places).for_each(|(packed, (values, changes))| {
            apply(packed, values, changes);
        });
    }

    /// Receives the halo, of which this one has nothing but 0: the values, and so
    /// many of the vectors.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub fn fill_halo(&mut self, vectors: usize, team: &Team<'_>) -> Result<(), ExchangeError> {
        fill_halo(&mut self.published, team)?;
        for vector in 0..vectors {
            team.exchange(
                (Content::Changes, 1),
                self,
                |Self { step, vectors, quanta, .. }, strip, packed| {
                    let piece = step.piece(strip.unit, strip.range, strip.start);
                    packed.push_changes(strip.of(&vectors[vector]), quanta[piece][vector]);
                },
                |state, strips, packed| {
                    state.take_over(vector, (strips, packed), |packed, _, changes| {
                        packed.read_changes(changes);
                    });
                },
            )?;
        }
        Ok(())
    }
}

/// A superstep under way.
struct Superstep<'a, 's, 'c, T: Value> {
    state: &'a mut StepState<'s, T>,
    context: &'a Context<'c, T>,
    rooms: Pool<Room<'c, T>>,
    /// Where the changes are kept, and the finest quantum that they are published in.
    vector: usize,
    finest: i32,
    lists: SweepMode,
    /// The largest difference so far.
    residual: f64,
}

impl<T: Value> SweepByWaves for Superstep<'_, '_, '_, T> {
    /// The changes of each unit.
    type Swept = Vec<(UnitIndex, Swept)>;

    fn sweep(
        &mut self,
        own: &[UnitIndex],
        exchange: Option<&WaveExchange<'_>>,
    ) -> Result<Self::Swept, ExchangeError> {
        let Self { context, vector, finest, lists, .. } = *self;
        let StepState { step, published, live, vectors, simd, candidate_lists, successors, .. } =
            &mut *self.state;
        let (published, simd, rooms, successors) = (&*published, *simd, &self.rooms, &*successors);
        let unswept = |&place: &UnitIndex| Unswept {
            place,
            part: step.unit(place),
            is_tail: place.0 < step.tail,
            candidate_list: candidate_lists.of(place),
            successors,
            changes: Default::default(),
        };
        let mut parts: Vec<Unswept<'_>> = own.iter().map(unswept).collect();
        for (range, changes) in step.split_some(own, &mut vectors[vector]) {
            let unit = own.binary_search(&range.of).expect("a range of one of the units");
            parts[unit].changes[range.range] = changes;
        }
        let new_live = || Array::filled(T::default(), live_len(step));
        let new_room = || Room::new(context.encoding);
        let sweep = |mut unit: Unswept<'_>| {
            let mut sweep = |room: &mut _, live: &mut Array<T>| {
                unit.sweep(context, published, (room, live), (lists, finest), simd)
            };
            let swept = rooms.with(new_room, |room| live.with(new_live, |live| sweep(room, live)));
            if let Some(exchange) = exchange {
                exchange.swept(
                    unit.place,
                    |&HaloStrip { range, start, ref values, .. }, packed| {
                        let changes = &unit.changes[range][start..start + values.len()];
                        packed.push_changes(changes, swept[range][start / PIECE].quantum);
                    },
                )?;
            }
            Ok((unit.place, swept))
        };
        largest_first(parts, |unit| unit.part.len()).map(sweep).collect()
    }

    fn publish(
        &mut self,
        own: &[UnitIndex],
        swept: Self::Swept,
        exchange: Option<&WaveExchange<'_>>,
    ) -> Result<(), ExchangeError> {
        let Self { ref mut state, ref mut residual, vector, .. } = *self;
        for (unit, swept) in swept {
            for (range, pieces) in swept.into_iter().enumerate() {
                let first = state.step.piece(unit, range, 0);
                for (quanta, encoded) in state.quanta[first..].iter_mut().zip(pieces) {
                    quanta[vector] = encoded.quantum;
                    *residual = residual.max(encoded.residual);
                }
            }
        }
        let StepState { step, published, vectors, quanta, simd, .. } = &mut **state;
        let (step, quanta, simd) = (*step, &*quanta, *simd);
        let published = step.split_some(own, published).into_par_iter();
        let changes = step.split_some(own, &mut vectors[vector]);
        published.zip(changes).for_each(|((range, published), (_, changes))| {
            enforce_budget();
            let quanta = &quanta[step.piece(range.of, range.range, 0)..];
            let pieces = published.chunks_mut(PIECE).zip(changes.chunks(PIECE)).zip(quanta);
            pieces.for_each(|((published, changes), quanta)| {
                change(published, changes, quanta[vector], simd);
            });
        });
        let Some(exchange) = exchange else { return Ok(()) };
        exchange.receive((Content::Changes, 1), |strips, packed| {
            state.take_over(vector, (strips, packed), |packed, values, changes| {
                packed.change_values(values, changes, simd);
            });
        })
    }
}
