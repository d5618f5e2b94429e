//! The equation at a sample of positions, written down once for a step.

use std::ops::Range;

use rayon::prelude::*;
use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::Position;
use ziggurat_planning::{
    correction::Usage,
    galerkin::{GalerkinSystem, LARGEST_RESIDUAL},
};

use crate::{
    coarse::regions::Regions,
    shards::ranges::Orientation,
    simd::{
        dispatch::Simd,
        value::Value,
        vector::{Instructions, Operation},
    },
    sweep::{context::Context, sources::ValueReader},
};

/// One position in so many is sampled: primes, so that nothing about rows and columns recurs with them. The last one
/// is for steps of 2^37 positions and more, or 2^33 where fewer are sampled.
const STRIDES: [u64; 22] = [
    1, 2, 5, 13, 31, 61, 127, 251, 509, 1_021, 2_039, 4_093, 8_191, 16_381, 32_749, 65_521,
    131_071, 262_139, 524_287, 1_048_573, 2_097_143, 4_194_301,
];

/// While a position is looked at, the memory of the position so many further on is asked for.
const POSITIONS_AHEAD: usize = 4;

/// A value that the equation of a sampled position reads.
#[derive(Clone, Copy, Debug)]
struct Successor {
    /// Where the value is; a win is at [`WIN`].
    offset: u64,
    /// The features of both players, unless it is solved.
    features: [u32; 2],
    /// The array that has it: that of an orientation, or of the tier that scoring leads to from one.
    array: u8,
    /// Whether the player who moved rolls again.
    rolls_again: bool,
    /// Whether it is the last one for its roll.
    is_last: bool,
}

const WIN: u64 = u64::MAX;

/// The arrays of solved values come behind those of orientations.
const SOLVED: u8 = 2;

/// A sampled position.
#[derive(Clone, Copy, Debug)]
struct Sampled {
    orientation: Orientation,
    features: [u32; 2],
    offset: u64,
    /// Where its successors begin.
    successors: usize,
}

/// The equations of sampled positions.
#[derive(Debug)]
pub struct Sample<'a> {
    /// The regions that its basis functions count pieces in.
    pub regions: Regions<'a>,
    positions: Vec<Sampled>,
    /// Roll after roll.
    successors: Vec<Successor>,
    /// The chance of each roll.
    chances: Vec<f64>,
    /// The best moves when it was last asked.
    known: Option<Known>,
}

/// The best moves of the sampled positions, and the sums of their rows: later on, few other moves are best, and only
/// these are added up. Sums are exact, so they do not depend on this memory.
#[derive(Debug)]
struct Known {
    /// For each position and roll, the place of the best successor among those of the roll.
    best: Vec<u8>,
    matrix: GalerkinSystem,
}

/// In place of the best successor of a position that has not been looked at yet.
const UNKNOWN: u8 = u8::MAX;

/// One position in how many of the step of a tier is sampled.
fn stride(encoding: &Encoding, tier: Tier) -> u64 {
    let (positions, most) = (encoding.step_len(tier), Usage::of(encoding).most_positions);
    let fits = |stride: &u64| positions / stride <= most;
    STRIDES.into_iter().find(fits).unwrap_or(STRIDES[STRIDES.len() - 1])
}

impl<'a> Sample<'a> {
    /// Writes down the equations of the sampled positions in some ranges, each of an orientation. Which positions are
    /// sampled depends on the step alone.
    pub fn new<T: Value>(
        encoding: &'a Encoding,
        context: &Context<'_, T>,
        ranges: &[(Orientation, Range<usize>)],
    ) -> Self {
        let tier = context.tiers[0];
        let regions = Regions::new(encoding, tier);
        let stride = stride(encoding, tier);
        let of_range = |(orientation, range): &(Orientation, Range<usize>)| {
            let first = (range.start as u64).next_multiple_of(stride);
            let mut equations = Equations::default();
            for offset in (first..range.end as u64).step_by(stride as usize) {
                equations.write_down(context, &regions, *orientation, offset);
            }
            equations
        };
        let mut all = Equations::default();
        for more in ranges.par_iter().map(of_range).collect::<Vec<_>>() {
            let before = all.successors.len();
            let moved = |one: Sampled| Sampled { successors: one.successors + before, ..one };
            all.positions.extend(more.positions.into_iter().map(moved));
            all.successors.extend(more.successors);
        }
        let Equations { positions, successors } = all;
        let chances = encoding.ruleset().dice().rolls().iter().map(|roll| roll.chance()).collect();
        Self { regions, positions, successors, chances, known: None }
    }

    /// The most bytes that the sample of a step takes, with the sums of so many threads and the tables of functions.
    pub fn bytes(encoding: &Encoding, tier: Tier, threads: usize) -> u64 {
        let moves =
            encoding.ruleset().dice().rolls().len() * usize::from(encoding.ruleset().pieces());
        let position = size_of::<Sampled>() + moves * size_of::<Successor>();
        let positions = Usage::of(encoding).most_positions.min(encoding.step_len(tier)) + 1;
        let regions = Regions::new(encoding, tier);
        let functions = regions.functions();
        let system = (threads + 3) * (functions + 3) * functions * size_of::<f64>();
        let best = positions * encoding.ruleset().dice().rolls().len() as u64;
        // While the equations are put together, there are all of them and those of ranges.
        2 * positions * position as u64 + best + system as u64 + regions.bytes()
    }

    /// The Galerkin system of values, by orientation.
    pub fn system<T: Value>(
        &mut self,
        context: &Context<'_, T>,
        published: &[&[T]],
        quantum: i32,
        simd: Simd,
    ) -> GalerkinSystem {
        let last = Orientation::last(published.len());
        let arrays = &[
            published[0],
            published[last.index()],
            context.finals(Orientation::FIRST),
            context.finals(last),
        ];
        let (functions, rolls) = (self.regions.functions(), self.chances.len());
        let mut known = self.known.take().unwrap_or_else(|| Known {
            best: vec![UNKNOWN; self.positions.len() * rolls],
            matrix: GalerkinSystem::zero(functions),
        });
        let quantum = f64::from(quantum).exp2();
        let of_some = |(positions, best): (&[Sampled], &mut [u8])| {
            let mut system = GalerkinSystem::zero(functions);
            simd.run(AddUp { sample: self, positions, best, arrays, quantum, system: &mut system });
            system
        };
        let together = self.positions.len().div_ceil(rayon::current_num_threads()).max(1);
        let parts = self.positions.par_chunks(together);
        let parts: Vec<GalerkinSystem> =
            parts.zip(known.best.par_chunks_mut(together * rolls)).map(of_some).collect();
        let and = |all: GalerkinSystem, more: &GalerkinSystem| {
            all.and(more).expect("no sample has larger system")
        };
        let system = parts.iter().fold(known.matrix, and);
        known.matrix = system.without_rhs();
        self.known = Some(known);
        system
    }

    /// Prefetches the values that the equation of a position reads.
    #[inline(always)]
    fn ask<T: Value, I: Instructions>(
        &self,
        instructions: I,
        position: &Sampled,
        arrays: &[&[T]; 4],
    ) {
        let mut rolls = self.chances.len();
        for successor in &self.successors[position.successors..] {
            arrays[usize::from(successor.array)].ask(instructions, successor.offset as usize);
            rolls -= usize::from(successor.is_last);
            if rolls == 0 {
                break;
            }
        }
    }

    /// The residual of a position, and for each roll the place of the best successor.
    #[inline(never)]
    fn look_at<T: Value>(&self, position: &Sampled, arrays: &[&[T]; 4], best: &mut [u8]) -> f64 {
        let mut chance_of_mover = 0.0;
        let mut rest = self.successors[position.successors..].iter();
        for (&chance, best) in self.chances.iter().zip(best) {
            let mut largest = f64::NEG_INFINITY;
            *best = 0;
            for (place, successor) in (0..).zip(rest.by_ref()) {
                let value = successor.value(arrays);
                if value > largest {
                    (largest, *best) = (value, place);
                }
                if successor.is_last {
                    break;
                }
            }
            chance_of_mover += chance * largest;
        }
        let own = arrays[position.orientation.index()][position.offset as usize];
        -chance_of_mover - own.to_f64()
    }

    /// The row of the matrix at a position, by function, less that of the successors that were best before: `own` has
    /// the functions that are not 0 there.
    fn matrix_row(
        &self,
        position: &Sampled,
        own: &[(usize, f64)],
        [before, best]: [&[u8]; 2],
        row: &mut [f64],
    ) {
        row.fill(0.0);
        let mut add = |successor: &Successor, weight: f64| {
            if successor.array < SOLVED {
                // The gain of a mover is the loss of the player who just moved.
                let weight = if successor.rolls_again { -weight } else { weight };
                let orientation = Orientation::at(successor.array.into());
                let read = |function: usize, value: f64| row[function] += weight * value;
                self.regions.for_each_function(orientation, successor.features, read);
            }
        };
        let of_position = &self.successors[position.successors..];
        let by_roll = of_position.split_inclusive(|successor| successor.is_last);
        let changes = before.iter().zip(best).zip(&self.chances).zip(by_roll);
        for (((&before, &best), &chance), successors) in changes {
            if before != best {
                let chance = GalerkinSystem::whole(chance);
                add(&successors[usize::from(best)], chance);
                if before != UNKNOWN {
                    add(&successors[usize::from(before)], -chance);
                }
            }
        }
        if before.contains(&UNKNOWN) {
            let whole = GalerkinSystem::whole(1.0);
            own.iter().for_each(|&(function, value)| row[function] += whole * value);
        }
    }
}

/// Adds up the equations of some sampled positions.
struct AddUp<'a, 's, T> {
    sample: &'a Sample<'s>,
    positions: &'a [Sampled],
    /// For each of them and each roll the place of the best successor, as far as it is known; and as it is found.
    best: &'a mut [u8],
    /// As [`Successor::array`] counts them.
    arrays: &'a [&'a [T]; 4],
    quantum: f64,
    system: &'a mut GalerkinSystem,
}

impl<T: Value> Operation for AddUp<'_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { sample, positions, best, arrays, quantum, system } = self;
        let rolls = sample.chances.len();
        let (mut own, mut row) = (Vec::new(), vec![0.0; system.functions()]);
        let mut now = vec![UNKNOWN; rolls];
        for (i, (position, best)) in positions.iter().zip(best.chunks_exact_mut(rolls)).enumerate()
        {
            if let Some(ahead) = positions.get(i + POSITIONS_AHEAD) {
                sample.ask(instructions, ahead, arrays);
            }
            let quanta = sample.look_at(position, arrays, &mut now) / quantum;
            let quanta = quanta.clamp(-LARGEST_RESIDUAL, LARGEST_RESIDUAL).round();
            let Sampled { orientation, features, .. } = *position;
            own.clear();
            let add = |function, value| own.push((function, value));
            sample.regions.for_each_function(orientation, features, add);
            system.add_rhs(quanta, &own);
            if now != best {
                sample.matrix_row(position, &own, [best, &now], &mut row);
                system.add_matrix_row(&row, &own);
                best.copy_from_slice(&now);
            }
        }
    }
}

impl Successor {
    /// The value for the player who moved.
    #[inline(always)]
    fn value<T: Value>(&self, arrays: &[&[T]; 4]) -> f64 {
        if self.offset == WIN {
            return T::WIN.to_f64();
        }
        let stored = arrays[usize::from(self.array)][self.offset as usize].to_f64();
        if self.rolls_again { -stored } else { stored }
    }
}

/// Equations while they are written down.
#[derive(Default)]
struct Equations {
    positions: Vec<Sampled>,
    successors: Vec<Successor>,
}

impl Equations {
    /// Writes down the equation of a position.
    fn write_down<T: Value>(
        &mut self,
        context: &Context<'_, T>,
        regions: &Regions<'_>,
        orientation: Orientation,
        offset: u64,
    ) {
        let (encoding, tiers) = (context.encoding, &context.tiers);
        let ruleset = encoding.ruleset();
        let position = encoding.unrank(Index { tier: tiers[orientation.index()], offset });
        self.positions.push(Sampled {
            orientation,
            features: regions.of(&position),
            offset,
            successors: self.successors.len(),
        });
        let led_to = |next: Position, rolls_again| {
            let Index { tier, offset } = encoding.rank(&next);
            let (array, features) = match tiers.iter().position(|&own| own == tier) {
                Some(orientation) => (orientation as u8, regions.of(&next)),
                None => (
                    SOLVED + u8::from(context.after_scoring(Orientation::FIRST) != Some(tier)),
                    [0; 2],
                ),
            };
            Successor { offset, features, array, rolls_again, is_last: false }
        };
        let win = Successor {
            offset: WIN,
            features: [0; 2],
            array: SOLVED,
            rolls_again: false,
            is_last: false,
        };
        for roll in ruleset.dice().rolls() {
            let before = self.successors.len();
            for mv in ruleset.moves(&position, roll.value) {
                let outcome = ruleset.apply(&position, mv);
                self.successors.push(match outcome.won {
                    true => win,
                    false => led_to(outcome.next(), outcome.rolls_again),
                });
            }
            if self.successors.len() == before {
                self.successors.push(led_to(position.swap(), false)); // the turn passes
            }
            self.successors.last_mut().expect("there is one").is_last = true;
        }
    }
}
