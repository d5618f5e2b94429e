//! A step: the tiers (n, m) and (m, n), solved together by supersteps.
//!
//! A superstep (in the sense of Valiant's bulk-synchronous parallel model, 1990) is a block Gauss-Seidel step of value
//! iteration (Bertsekas and Tsitsiklis 1989). It sweeps every shard in place, pieces furthest along first. The shards
//! are swept in *waves*, those furthest along the path first, and each wave ends with a barrier at which its shards
//! publish their changes: most moves lead forward, to a shard of an earlier wave, and so read values of this
//! superstep. A shard reads its own values as they are now and those of the other shards as they were published at the
//! last barrier, so the result does not depend on threads or timing. Its own values are in room of a thread's own;
//! once it is swept, nothing is left of them but their encoded changes.
//!
//! The first shards, whose pieces are nearly all next to the start or in hand, change by far more than others
//! from superstep to superstep. Of these the slabs that come last are swept twice.

use std::ops::Range;

use rayon::prelude::*;
use ziggurat_encoding::{Encoding, Shard};
use ziggurat_planning::{
    columns::Column,
    galerkin::GalerkinSystem,
    quanta::most,
    waves::{Wave, tail, waves},
    weights::{CycleSlot, Multiples, Products, VECTORS, add},
};

use crate::{
    coarse::{regions::Regions, sample::Sample},
    delta::{
        encoding::{PIECE, change},
        extrapolation::{NO_QUANTA, Piece, Quanta, extrapolate, quanta_after},
    },
    halo::{
        arrays::{fill_halo, for_own_parts},
        codec::{Content, PackedStrip},
        partition::{HaloStrip, slices},
        team::{Barrier, ExchangeError, Team},
    },
    memory::{
        array::Array,
        budget::{Memory, MemoryError, enforce_budget},
        pool::Pool,
    },
    shards::{
        columns::{Data, Number, Part},
        ranges::{Orientation, ShardRange, in_order, parts_of, split_off},
        waves::largest_first,
    },
    simd::{
        dispatch::Simd,
        value::{PADDING, Value},
    },
    superstep::shard::{Swept, Unswept, padded_lengths},
    sweep::{
        context::Context,
        elimination::validity::{CandidateLists, SweepMode},
        scratch::Scratch,
    },
};

/// The state of a step between two supersteps.
pub struct StepState<T: Value> {
    shards: Vec<Shard>,
    /// The values of each orientation as of the last barrier.
    published: Vec<Array<T>>,
    /// Room for the values of the shards that are being swept: range after range, each padded.
    live: Pool<Array<T>>,
    /// The changes of the last supersteps, and the displacement from the restart point, as bytes, in the order of the
    /// published values.
    vectors: [Array<i8>; VECTORS],
    /// For each piece the quantum of each of them.
    quanta: Vec<Quanta>,
    /// For each range of each shard, its first piece.
    first_pieces: Vec<[usize; 2]>,
    /// The order in which the shards are swept.
    waves: Vec<Wave>,
    /// How many shards, the first ones, are the tail.
    tail: usize,
    scratch: Pool<Scratch<T>>,
    simd: Simd,
    /// The moves that the sweeps of the shards need to look at.
    pub candidate_lists: CandidateLists,
}

impl<T: Value> StepState<T> {
    /// The state before the first superstep, with the values of each orientation.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn new(
        memory: &Memory,
        encoding: &Encoding,
        values: Vec<Array<T>>,
        shards: Vec<Shard>,
        simd: Simd,
    ) -> Result<Self, MemoryError> {
        let waves = waves(encoding, &shards);
        let live = (0..live_at_once(&waves, rayon::current_num_threads()))
            .map(|_| memory.filled(T::default(), live_len(&shards)))
            .collect::<Result<Vec<_>, _>>()?;
        let positions = values.iter().map(|values| values.values().len()).sum();
        let vectors = (0..VECTORS).map(|_| memory.filled(0, positions));
        let vectors = vectors.collect::<Result<Vec<_>, _>>()?.try_into();
        let (mut first_pieces, mut pieces) = (vec![[0; 2]; shards.len()], 0);
        for ShardRange { shard, range, values, .. } in
            in_order(&shards, Orientation::last(values.len()))
        {
            first_pieces[shard][range] = pieces;
            pieces += values.len().div_ceil(PIECE);
        }
        Ok(Self {
            published: values,
            live: Pool::of(live),
            vectors: vectors.unwrap_or_else(|_| unreachable!("there are as many")),
            quanta: vec![NO_QUANTA; pieces],
            first_pieces,
            waves,
            tail: tail(&shards),
            // Where memory is scarce there is none for them.
            candidate_lists: CandidateLists::new(if memory.is_limited() {
                0
            } else {
                shards.len()
            }),
            shards,
            scratch: Pool::default(),
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

    /// The most bytes a state takes that so many threads work on.
    pub fn bytes(encoding: &Encoding, shards: &[Shard], threads: usize) -> u64 {
        let positions: u64 = shards.iter().map(Shard::len).sum();
        let live = (live_len(shards) + PADDING) * live_at_once(&waves(encoding, shards), threads);
        let values = (positions + live as u64 + 2 * PADDING as u64) * size_of::<T>() as u64;
        let vector = positions + PADDING as u64;
        let piece = size_of::<Quanta>() + size_of::<Piece<'_, T>>();
        let pieces = positions / PIECE as u64 + 2 * shards.len() as u64;
        let candidate_lists = CandidateLists::bytes(shards);
        values + VECTORS as u64 * vector + pieces * piece as u64 + candidate_lists
    }

    /// Sweeps every shard once, or those of a team's member, wave by wave, publishes the changes in quanta no finer
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
        let mut residual = 0.0;
        let lists = self.candidate_lists.next();
        for wave in self.waves.clone() {
            residual = self.sweep(&wave, context, (slot, finest), lists, team)?.max(residual);
        }
        let changed =
            self.quanta.iter().map(|quanta| most(quanta[slot.vector()])).fold(residual, f64::max);
        self.candidate_lists.swept(changed);
        Ok(residual)
    }

    /// Sweeps the shards of a wave and publishes their changes. Returns the largest difference.
    fn sweep(
        &mut self,
        wave: &[usize],
        context: &Context<'_, T>,
        (slot, finest): (CycleSlot, i32),
        lists: SweepMode,
        team: Option<&Team<'_>>,
    ) -> Result<f64, ExchangeError> {
        let Self { shards, published, live, vectors, quanta, first_pieces, .. } = self;
        let Self { tail, scratch, simd, candidate_lists, .. } = self;
        let (scratch, simd, vector) = (&*scratch, *simd, slot.vector());
        let own = |shard: &usize| team.is_none_or(|team| team.owns(*shard));
        let own_of_wave: Vec<usize> = wave.iter().copied().filter(own).collect();
        let unswept = |&place: &usize| Unswept {
            place,
            shard: &shards[place],
            is_tail: place < *tail,
            candidate_list: candidate_lists.of(place),
            changes: Default::default(),
        };
        let mut parts: Vec<Unswept<'_>> = own_of_wave.iter().map(unswept).collect();
        let mut rest = &mut *vectors[vector];
        for ShardRange { shard, range, values, .. } in
            in_order(shards, Orientation::last(published.len()))
        {
            let changes = split_off(&mut rest, values.len());
            if let Ok(i) = own_of_wave.binary_search(&shard) {
                parts[i].changes[range] = changes;
            }
        }
        let room = || Array::filled(T::default(), live_len(shards));
        let sweep = |shard: Unswept<'_>| {
            let sweep = |scratch: &mut _, live: &mut Array<T>| {
                shard.sweep(context, published, (scratch, live), (lists, finest), simd)
            };
            scratch.with(
                || Scratch::new(context.encoding),
                |scratch| live.with(room, |live| sweep(scratch, live)),
            )
        };
        let swept: Vec<(usize, Swept)> =
            largest_first(parts, |part| part.shard.len()).map(sweep).collect();
        let mut residual = 0.0_f64;
        for (shard, swept) in swept {
            for (&first, pieces) in first_pieces[shard].iter().zip(swept) {
                for (quanta, encoded) in quanta[first..].iter_mut().zip(pieces) {
                    quanta[vector] = encoded.quantum;
                    residual = residual.max(encoded.residual);
                }
            }
        }
        let wanted = |shard: usize| own_of_wave.binary_search(&shard).is_ok();
        let pieces = pieces(shards, published, vectors, quanta, wanted);
        pieces.into_par_iter().for_each(|(_, Piece { published, vectors, quanta })| {
            enforce_budget();
            change(published, vectors[vector], quanta[vector], simd);
        });
        if let Some(team) = team {
            let barrier = team.barrier(|shard| wave.binary_search(&shard).is_ok());
            self.exchange(&barrier, vector, |packed, values, changes| {
                packed.change_values(values, changes, simd);
            })?;
        }
        Ok(residual)
    }

    /// Sends others a vector of the own shards, and applies theirs to the halo with
    /// `apply`.
    fn exchange<P: Fn(usize) -> bool + Sync>(
        &mut self,
        barrier: &Barrier<'_, P>,
        vector: usize,
        apply: impl Fn(&PackedStrip<'_>, &mut [T], &mut [i8]) + Sync,
    ) -> Result<(), ExchangeError> {
        let first_pieces = &self.first_pieces;
        let piece = |strip: &HaloStrip| piece_of(first_pieces, strip);
        let (changes, quanta) = (&self.vectors[vector], &self.quanta);
        let len = self.published[0].values().len();
        barrier.send(|strip, packed| {
            packed.push_changes(&changes[changes_of(strip, len)], quanta[piece(strip)][vector]);
        })?;
        let Self { published, vectors, quanta, .. } = self;
        barrier.receive(Content::Changes, 1, |strips, packed| {
            for (strip, packed) in strips.iter().zip(packed) {
                quanta[piece(strip)][vector] = packed.quantum();
            }
            let values = slices(published.iter_mut().map(|all| &mut **all).collect(), strips);
            let (first, second) = vectors[vector].split_at_mut(len);
            let changes = slices(vec![first, second], strips);
            let places = values.into_par_iter().zip(changes);
            packed.par_iter().zip(places).for_each(|(packed, (values, changes))| {
                apply(packed, values, changes);
            });
        })
    }

    /// Receives the halo, of which this one has nothing but 0: the values, and so
    /// many of the vectors.
    ///
    /// # Errors
    /// If they cannot be reached.
    pub fn fill_halo(&mut self, vectors: usize, team: &Team<'_>) -> Result<(), ExchangeError> {
        fill_halo(&mut self.published, team)?;
        for vector in 0..vectors {
            let read = |packed: &PackedStrip<'_>, _: &mut [T], changes: &mut [i8]| {
                packed.read_changes(changes);
            };
            self.exchange(&team.barrier(|_| true), vector, read)?;
        }
        Ok(())
    }

    /// The inner products of the differences of the points that an extrapolation looks at, by range
    /// of a shard.
    pub fn measure(&mut self, team: Option<&Team<'_>>) -> Vec<(u32, Products)> {
        let own = |shard| team.is_none_or(|team| team.owns(shard));
        let Self { shards, published, vectors, quanta, simd, .. } = self;
        let pieces = pieces(shards, published, vectors, quanta, own);
        let of_piece = |(order, piece): &(u32, Piece<'_, T>)| (*order, piece.products(*simd));
        let mut ranges: Vec<(u32, Products)> = Vec::new();
        for (order, products) in pieces.par_iter().map(of_piece).collect::<Vec<_>>() {
            match ranges.last_mut() {
                Some((last, total)) if *last == order => add(total, &products),
                _ => ranges.push((order, products)),
            }
        }
        ranges
    }

    /// Adds multiples of the vectors to the values, and to the halo as its owners do to theirs.
    pub fn extrapolate(&mut self, multiples: &Multiples, team: Option<&Team<'_>>) {
        let own = |shard| team.is_none_or(|team| team.owns(shard));
        let Self { shards, published, vectors, quanta, first_pieces, simd, .. } = self;
        let changed = |quanta: &Quanta| {
            quanta.iter().zip(multiples).map(|(&quantum, by)| most(quantum) * by.abs()).sum()
        };
        self.candidate_lists.extrapolated(quanta.iter().map(changed).fold(0.0, f64::max));
        let simd = *simd;
        let pieces = pieces(shards, published, vectors, quanta, own);
        pieces.into_par_iter().for_each(|(_, Piece { published, vectors, quanta })| {
            enforce_budget();
            let after = quanta_after(quanta, multiples);
            extrapolate(published, vectors, [quanta, &after], multiples, simd);
        });
        let len = published[0].values().len();
        for strips in team.iter().flat_map(|team| team.halo()) {
            let values = slices(published.iter_mut().map(|all| &mut **all).collect(), &strips);
            let mut of_strips = vectors.each_mut().map(|all| {
                let (first, second) = all.split_at_mut(len);
                slices(vec![first, second], &strips).into_iter()
            });
            let vectors: Vec<[&mut [i8]; VECTORS]> = strips
                .iter()
                .map(|_| of_strips.each_mut().map(|all| all.next().expect("one for each strip")))
                .collect();
            let strips = strips.into_par_iter().zip(values).zip(vectors);
            strips.for_each(|((strip, values), vectors)| {
                let quanta = &quanta[piece_of(first_pieces, strip)];
                let after = quanta_after(quanta, multiples);
                extrapolate(values, vectors, [quanta, &after], multiples, simd);
            });
        }
        quanta.iter_mut().for_each(|quanta| *quanta = quanta_after(quanta, multiples));
    }

    /// The Galerkin system of a sample of the own shards' positions; the sample is written down where there is none
    /// yet.
    pub fn galerkin_system<'e>(
        &self,
        encoding: &'e Encoding,
        context: &Context<'_, T>,
        sample: &mut Option<Sample<'e>>,
        quantum: i32,
        team: Option<&Team<'_>>,
    ) -> GalerkinSystem {
        let values: Vec<&[T]> = self.published.iter().map(Array::values).collect();
        let write_down = || {
            let own = |part: &ShardRange| team.is_none_or(|team| team.owns(part.shard));
            let ranges =
                in_order(&self.shards, Orientation::last(values.len())).into_iter().filter(own);
            let ranges: Vec<_> = ranges.map(|part| (part.orientation, part.values)).collect();
            Sample::new(encoding, context, &ranges)
        };
        sample.get_or_insert_with(write_down).system(context, &values, quantum, self.simd)
    }

    /// Adds multiples of functions to all values, and to the halo.
    pub fn correct(&mut self, regions: &Regions<'_>, multiples: &[f64], team: Option<&Team<'_>>) {
        let Self { shards, published, candidate_lists, simd, .. } = self;
        let simd = *simd;
        let tables: Vec<Vec<f32>> = Orientation::all(published.len())
            .map(|orientation| regions.table(orientation, multiples))
            .collect();
        let largest = tables.iter().flatten().map(|by| by.abs()).fold(0.0, f32::max);
        candidate_lists.extrapolated(largest.into());
        for_own_parts(published, shards, team, |orientation, places, values| {
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

impl<T: Value + Number> StepState<T> {
    /// All there is to remember between two supersteps, shard by shard: the values, and so many of the
    /// vectors.
    pub fn parts(&mut self, vectors: usize) -> Vec<Part<'_>> {
        let Self { shards, published, vectors: all, quanta, .. } = self;
        let last = Orientation::last(published.len());
        let mut parts = parts_of(Column::Values, published, shards);
        let mut all = all.each_mut().map(|all| &mut **all);
        let mut quanta: &mut [Quanta] = quanta;
        for ShardRange { shard, range, values: own, .. } in in_order(shards, last) {
            let mut add = |column, data| {
                parts.push(Part { column, shard: shard as u32, range: range as u8, data });
            };
            for (i, all) in all.iter_mut().enumerate() {
                let bytes = split_off(all, own.len());
                if i < vectors {
                    add(Column::Vector(i as u8), Data::I8(bytes));
                }
            }
            let quanta = split_off(&mut quanta, own.len().div_ceil(PIECE));
            if vectors > 0 {
                add(Column::Units, Data::F32(quanta.as_flattened_mut()));
            }
        }
        parts
    }
}

/// The piece that a strip is part of, if the ranges of shards begin with these pieces.
fn piece_of(first_pieces: &[[usize; 2]], strip: &HaloStrip) -> usize {
    first_pieces[strip.shard][strip.range] + strip.start / PIECE
}

/// Where a vector has the changes of a strip; the first orientation has `len` values.
fn changes_of(strip: &HaloStrip, len: usize) -> Range<usize> {
    let first = strip.orientation.index() * len;
    first + strip.values.start..first + strip.values.end
}

/// The values of some shards, piece by piece, in the order of the published values, each with the place of its range
/// among those of all shards.
pub fn pieces<'a, T: Value>(
    shards: &[Shard],
    published: &'a mut [Array<T>],
    vectors: &'a mut [Array<i8>; VECTORS],
    quanta: &'a mut [Quanta],
    wanted: impl Fn(usize) -> bool,
) -> Vec<(u32, Piece<'a, T>)> {
    let mut rest = published.iter_mut().map(|all| &mut **all).collect::<Vec<_>>();
    let mut vectors = vectors.each_mut().map(|all| &mut **all);
    let mut quanta = quanta.iter_mut();
    let mut pieces = Vec::new();
    for (order, part) in in_order(shards, Orientation::last(rest.len())).into_iter().enumerate() {
        let order = order as u32;
        for start in (0..part.values.len()).step_by(PIECE) {
            let len = PIECE.min(part.values.len() - start);
            let piece = Piece {
                published: split_off(&mut rest[part.orientation.index()], len),
                vectors: vectors.each_mut().map(|all| split_off(all, len)),
                quanta: quanta.next().expect("the shards fit"),
            };
            if wanted(part.shard) {
                pieces.push((order, piece));
            }
        }
    }
    pieces
}

/// Room for the values of the largest shard, padded.
fn live_len(shards: &[Shard]) -> usize {
    shards.iter().map(|shard| padded_lengths(shard).iter().sum()).max().unwrap_or(0)
}

/// How many shards so many threads sweep at once, at the most.
fn live_at_once(waves: &[Wave], threads: usize) -> usize {
    waves.iter().map(Vec::len).max().unwrap_or(0).min(threads)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use ziggurat_encoding::Tier;
    use ziggurat_game::{Overrides, Ruleset};

    use super::*;
    use crate::moves::tables::Tables;
    use ziggurat_planning::{
        convergence::{Convergence, Next},
        settings::Precision,
        weights::{DIFFERENCES, multiples},
    };

    /// Every change is worth publishing.
    const FINEST: i32 = -100;

    /// The step {1, 1} of skiriuk, whose supersteps converge slowly.
    fn solve_skiriuk(iterate: impl Fn(&Context<'_, f64>, &mut StepState<f64>) + Sync) -> Vec<f64> {
        let overrides = Overrides { pieces: Some(1), ..Overrides::default() };
        let ruleset = Ruleset::builtin("skiriuk").unwrap().with(&overrides).unwrap();
        let encoding = Encoding::new(&ruleset).unwrap();
        let tables = Tables::new(&encoding);
        let tier = Tier::new(1, 1);
        let context = Context::new(&encoding, &tables, tier, |_| unreachable!("a score wins"));
        let shards = encoding.shards(tier, 8);
        assert!(waves(&encoding, &shards).len() > 2);
        let memory = Memory::anonymous();
        let halves = memory.filled(0.5, encoding.tier_len(tier) as usize).unwrap();
        let state = StepState::new(&memory, &encoding, vec![halves], shards, Simd::best());
        let mut state = state.unwrap();
        iterate(&context, &mut state);
        state.into_values()[0].values().to_vec()
    }

    fn superstep_of(
        state: &mut StepState<f64>,
        context: &Context<'_, f64>,
        slot: CycleSlot,
    ) -> f64 {
        state.superstep(context, (slot, FINEST), None).unwrap()
    }

    /// Makes supersteps until little changes, and returns how many.
    fn iterate_plainly(context: &Context<'_, f64>, state: &mut StepState<f64>) -> usize {
        let mut superstep = |_: &usize| superstep_of(state, context, CycleSlot::FIRST);
        (1..).find(|i| superstep(i) <= 1e-15).unwrap()
    }

    fn iterate(context: &Context<'_, f64>, state: &mut StepState<f64>) -> usize {
        let mut convergence = Convergence::new(Precision::F64, 1e-13);
        for superstep in 0.. {
            let slot = CycleSlot::new(superstep % DIFFERENCES).unwrap();
            let residual = superstep_of(state, context, slot);
            match convergence.after(residual) {
                Next::Sweep => {}
                Next::Extrapolate => {
                    let multiples = multiples(state.measure(None), false).expect("values change");
                    state.extrapolate(&multiples, None);
                }
                Next::Done => return superstep + 1,
            }
        }
        unreachable!("it converges")
    }

    #[test]
    fn extrapolation_needs_fewer_supersteps_for_the_same_values() {
        let supersteps = std::sync::atomic::AtomicUsize::new(0);
        let count = |made| supersteps.store(made, std::sync::atomic::Ordering::Relaxed);
        let plain = solve_skiriuk(|context, state| count(iterate_plainly(context, state)));
        let plain_supersteps = supersteps.load(std::sync::atomic::Ordering::Relaxed);
        let ours = solve_skiriuk(|context, state| count(iterate(context, state)));
        let differences = plain.iter().zip(&ours).map(|(a, b)| (a - b).abs());
        assert!(differences.fold(0.0, f64::max) <= 2e-13);
        assert!(supersteps.into_inner() * 10 < plain_supersteps * 8);
    }

    #[test]
    fn threads_do_not_matter_to_an_extrapolated_step() {
        let bits = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let values = pool.install(|| {
                solve_skiriuk(|context, state| {
                    iterate(context, state);
                })
            });
            values.into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        let one = bits(1);
        assert!([2, 3, 7].into_iter().all(|threads| bits(threads) == one));
    }

    /// Sweeps a step of a game, which reads made-up values, 40 times with candidates and without, and compares
    /// all values after each superstep. Returns how many supersteps went through candidates that had something in them
    /// in the end, and how many shards the tail has.
    fn compare_with_candidates<T: Value>(game: &str, tier: Tier) -> (usize, usize) {
        let pieces = Some(tier.just_moved.max(tier.to_move));
        let overrides = Overrides { pieces, ..Overrides::default() };
        let ruleset = Ruleset::builtin(game).unwrap().with(&overrides).unwrap();
        let encoding = Encoding::new(&ruleset).unwrap();
        let tables = Tables::new(&encoding);
        let memory = Memory::anonymous();
        let made_up = |tier| {
            let len = encoding.tier_len(tier) as usize;
            let mut values = memory.filled(T::default(), len).unwrap();
            for (i, value) in values.iter_mut().enumerate() {
                *value = T::from_f64(0.4 * (i as f64 * 0.37).sin());
            }
            values
        };
        let finals: HashMap<Tier, Array<T>> = tier.reads().map(|t| (t, made_up(t))).collect();
        let context = Context::new(&encoding, &tables, tier, |tier| &finals[&tier]);
        let shards = encoding.shards(tier, 1 << 10);
        let state = || {
            let half = |tier| memory.filled(T::default(), encoding.tier_len(tier) as usize);
            let values = tier.both().map(|tier| half(tier).unwrap()).collect();
            StepState::new(&memory, &encoding, values, shards.clone(), Simd::best()).unwrap()
        };
        let (mut with, mut without) = (state(), state());
        without.candidate_lists = CandidateLists::new(0);
        let mut taken = 0;
        for superstep in 0..40 {
            let slot = CycleSlot::new(superstep % DIFFERENCES).unwrap();
            taken += usize::from(with.candidate_lists.are_valid());
            for state in [&mut with, &mut without] {
                state.superstep(&context, (slot, FINEST), None).unwrap();
                if slot.next() == CycleSlot::FIRST
                    && superstep < 30
                    && let Some(multiples) =
                        multiples(state.measure(None), superstep >= DIFFERENCES)
                {
                    state.extrapolate(&multiples, None);
                }
            }
            for (with, without) in with.published.iter().zip(&without.published) {
                assert!(with.values() == without.values(), "{game} {tier}, superstep {superstep}");
            }
        }
        let is_any = with.candidate_lists.words() > 0;
        (if is_any { taken } else { 0 }, with.tail)
    }

    #[test]
    fn candidates_change_no_bit() {
        let mut all = (0, 0);
        for (game, tier) in [
            ("blitz", Tier::new(3, 3)),
            ("blitz", Tier::new(3, 2)),
            ("finkel", Tier::new(4, 3)),
            ("masters", Tier::new(3, 2)),
            ("skiriuk", Tier::new(2, 2)),
            ("double-short", Tier::new(2, 1)),
        ] {
            let (taken, tail) = compare_with_candidates::<f64>(game, tier);
            compare_with_candidates::<f32>(game, tier);
            all = (all.0 + taken, all.1 + tail);
        }
        assert!(all.0 > 0 && all.1 > 0, "{all:?}");
        // Slabs without private squares have none.
        assert_eq!(compare_with_candidates::<f64>("murray", Tier::new(2, 1)).0, 0);
    }
}
