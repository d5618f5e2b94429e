//! Gathering: for each roll the best of the mover's successors in other slabs.
//!
//! A move is a maximum over rows: of the slab it leads to where the turn passes, of that
//! slab's other orientation, transposed, where the mover rolls again.

use crate::{
    moves::{lists::TransposedBlock, routes::Route},
    simd::{
        value::Value,
        vector::{Instructions, Operation},
    },
    sweep::{
        context::Context,
        rows::{self},
        slab::{Slab, Successors},
        sources::{Location, ValueReader, ValueSource},
        transpose,
    },
};

/// Sets the best of a slab in scratch memory to the best of its successors in other slabs for each roll,
/// [`Value::NONE`] where there are none.
pub struct Gather<'a, 'c, T: Value, S> {
    /// The rules.
    pub context: &'a Context<'c, T>,
    /// The values that are read.
    pub sources: &'a S,
    /// The slab.
    pub slab: &'a Slab<'c>,
    /// The slab whose turn is next.
    pub next: Option<&'a Slab<'c>>,
    /// The slab in scratch memory.
    pub scratch: &'a mut [T::Group],
    /// Room for transposed blocks.
    pub transposed: &'a mut [T::Group],
}

impl<T: Value, S: ValueSource<T>> Operation for Gather<'_, '_, T, S> {
    #[inline(always)]
    fn run<I: Instructions>(mut self, instructions: I) {
        let Self { context, sources, slab, next, .. } = self;
        let mut rooms = [const { Vec::new() }; 3];
        for roll in 0..slab.successors.len() {
            ask_again(instructions, context, sources, slab, roll);
            self.set_rows(instructions, roll);
            self.raise_passing(instructions, roll);
            match next {
                Some(next) if roll + 1 == slab.successors.len() => {
                    ask(instructions, context, sources, next, 0);
                }
                _ => ask(instructions, context, sources, slab, roll + 1),
            }
            self.raise_extra_roll(instructions, roll, &mut rooms);
        }
        take_wins(context, slab, self.scratch);
    }
}

impl<T: Value, S: ValueSource<T>> Gather<'_, '_, T, S> {
    /// Sets all rows to the best of the successors that have all of them.
    #[inline(always)]
    fn set_rows<I: Instructions>(&mut self, instructions: I, roll: usize) {
        let Self { context, sources, slab, .. } = *self;
        let (routes, scratch) = (&context.tables.routes, &mut *self.scratch);
        let [all, columns] = routes.whole(slab.budgets, roll);
        let all_rows = &slab.successors[roll].all_rows;
        let source = |i: usize| {
            let (location, route) = all_rows[i];
            let list = route.rows.expect("a successor of all rows is of rows");
            (routes.list(list), sources.values_at(location, false))
        };
        match all_rows.len() {
            0 => rows::fill(scratch, all, T::NONE),
            1 => rows::set::<T, I, _, 1>(instructions, scratch, [source(0)]),
            2 => rows::set::<T, I, _, 2>(instructions, scratch, [source(0), source(1)]),
            3 => {
                let sources = [source(0), source(1), source(2)];
                rows::set::<T, I, _, 3>(instructions, scratch, sources);
            }
            _ => {
                let sources = [source(0), source(1), source(2), source(3)];
                rows::set::<T, I, _, 4>(instructions, scratch, sources);
            }
        }
        for i in 4..all_rows.len() {
            let (list, source) = source(i);
            rows::raise::<T, I>(instructions, scratch, list, source);
        }
        rows::fill(scratch, columns, T::NONE);
    }

    /// Takes all other values of successors where the turn passes.
    #[inline(always)]
    fn raise_passing<I: Instructions>(&mut self, instructions: I, roll: usize) {
        let Self { context, sources, slab, .. } = *self;
        let (routes, scratch) = (&context.tables.routes, &mut *self.scratch);
        for (location, route) in &slab.successors[roll].some_rows {
            if let Some(list) = route.rows {
                let source = sources.values_at(*location, false);
                rows::raise::<T, I>(instructions, scratch, routes.list(list), source);
            }
        }
        for (location, route) in slab.successors[roll].passing() {
            let source = sources.values_at(*location, false);
            if let Some(list) = route.columns {
                rows::raise::<T, I>(instructions, scratch, routes.list(list), source);
            }
            if let Some(list) = route.picked {
                rows::raise_values::<T, false>(scratch, routes.values(list), source);
            }
        }
    }

    /// Takes the values of successors where the mover rolls again.
    #[inline(always)]
    fn raise_extra_roll<I: Instructions>(
        &mut self,
        instructions: I,
        roll: usize,
        rooms: &mut [Vec<T>; 3],
    ) {
        let Self { context, sources, slab, .. } = *self;
        let routes = &context.tables.routes;
        let extra_roll = &slab.successors[roll].extra_roll;
        for (location, route) in extra_roll {
            if let Some(list) = route.single {
                let source = sources.values_at(*location, true);
                rows::raise_values::<T, true>(self.scratch, routes.values(list), source);
            }
        }
        for (i, (location, route)) in extra_roll.iter().enumerate() {
            let Some(list) = route.transposed else { continue };
            let same = |(_, other): &&(Location, &Route)| other.transposed == Some(list);
            if extra_roll[..i].iter().any(|other| same(&other)) {
                continue; // taken together with the first of the same blocks
            }
            let others = extra_roll[i + 1..].iter().filter(same);
            let mut others = others.map(|(location, _)| sources.values_at(*location, true));
            let blocks = routes.blocks(list);
            let first = sources.values_at(*location, true);
            let (scratch, transposed) = (&mut *self.scratch, &mut *self.transposed);
            let mut raise = RaiseTransposed { instructions, blocks, scratch, transposed, rooms };
            match (others.next(), others.next()) {
                (None, _) => raise.least_of([first]),
                (Some(second), None) => raise.least_of([first, second]),
                (Some(second), Some(third)) => {
                    raise.least_of([first, second, third]);
                    others.for_each(|other| raise.least_of([other]));
                }
            }
        }
    }
}

/// Sets the best of a slab to a win where a move wins.
#[inline(always)]
pub fn take_wins<T: Value>(context: &Context<'_, T>, slab: &Slab<'_>, scratch: &mut [T::Group]) {
    let routes = &context.tables.routes;
    for route in slab.successors.iter().flat_map(|successors| &successors.wins) {
        for list in [route.rows, route.columns].into_iter().flatten() {
            rows::fill(scratch, routes.list(list), T::WIN);
        }
        if let Some(list) = route.picked {
            rows::fill_values(scratch, routes.values(list), T::WIN);
        }
    }
}

/// Prefetches the successors for a roll, if there is such a roll, where the turn passes.
#[inline(always)]
pub fn ask<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    sources: &impl ValueSource<T>,
    slab: &Slab<'_>,
    roll: usize,
) {
    let Some(Successors { all_rows, some_rows, .. }) = slab.successors.get(roll) else { return };
    let routes = &context.tables.routes;
    for (location, route) in all_rows.iter().chain(some_rows) {
        let source = sources.values_at(*location, false);
        for list in [route.rows, route.columns].into_iter().flatten() {
            match routes.dense(slab.budgets) {
                Some(_) => rows::ask_all(
                    instructions,
                    source,
                    0..routes.list(list).extent().source_reach(),
                ),
                None => rows::ask(instructions, routes.list(list).extent(), source),
            }
        }
        if let Some(list) = route.picked {
            rows::ask(instructions, routes.values(list).extent(), source);
        }
    }
}

/// Prefetches the successors for a roll where the mover rolls again.
#[inline(always)]
fn ask_again<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    sources: &impl ValueSource<T>,
    slab: &Slab<'_>,
    roll: usize,
) {
    let routes = &context.tables.routes;
    for (location, route) in &slab.successors[roll].extra_roll {
        let source = sources.values_at(*location, true);
        if let Some(list) = route.single {
            rows::ask(instructions, routes.values(list).extent(), source);
        }
        for block in route.transposed.map_or(&[][..], |list| routes.blocks(list)) {
            ask_block(instructions, block, source);
        }
    }
}

/// Asks for the memory of a block to be transposed.
#[inline(always)]
pub fn ask_block<T: Value, I: Instructions>(
    instructions: I,
    block: &TransposedBlock,
    source: impl ValueReader<T>,
) {
    let len = block.source_rows * block.block.columns;
    rows::ask_all(instructions, source, block.from..block.from + len);
}

/// Takes the values of blocks in which the mover rolls again.
struct RaiseTransposed<'a, T: Value, I> {
    instructions: I,
    blocks: &'a [TransposedBlock],
    /// The slab in scratch memory.
    scratch: &'a mut [T::Group],
    /// Room for a transposed block.
    transposed: &'a mut [T::Group],
    /// Room for blocks of sources.
    rooms: &'a mut [Vec<T>; 3],
}

impl<T: Value, I: Instructions> RaiseTransposed<'_, T, I> {
    /// Takes the least of the opponent's values in the sources, transposed.
    #[inline(always)]
    fn least_of<const SOURCES: usize>(&mut self, sources: [impl ValueReader<T>; SOURCES]) {
        for block in self.blocks {
            let mut rooms = self.rooms.iter_mut();
            let sources = sources
                .each_ref()
                .map(|source| block_of(source, block, rooms.next().expect("there are three")));
            let (scratch, transposed) = (&mut *self.scratch, &mut *self.transposed);
            self.instructions.call(TakeTransposed {
                block,
                is_first: false,
                sources,
                scratch,
                transposed,
            });
        }
    }
}

/// The values of a block to be transposed; they may be made in `room`.
#[inline(always)]
pub fn block_of<'r, T: Value>(
    source: &'r impl ValueReader<T>,
    block: &TransposedBlock,
    room: &'r mut Vec<T>,
) -> &'r [T] {
    let (from, source_rows, columns) = (block.from, block.source_rows, block.block.columns);
    let reach = transpose::reach(source_rows, (source_rows, columns));
    source.from(from, source_rows * columns, reach, room)
}

/// Takes the values of a block in which the mover rolls again: the least of the opponent's values in
/// the sources, transposed.
pub struct TakeTransposed<'a, T: Value, const SOURCES: usize> {
    /// The block.
    pub block: &'a TransposedBlock,
    /// Whether it is the first that offers something, so that all rows are set.
    pub is_first: bool,
    /// The values that are read, from where the block begins.
    pub sources: [&'a [T]; SOURCES],
    /// The slab in scratch memory.
    pub scratch: &'a mut [T::Group],
    /// Room for a transposed block.
    pub transposed: &'a mut [T::Group],
}

impl<T: Value, const SOURCES: usize> Operation for TakeTransposed<'_, T, SOURCES> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { block, is_first, sources, scratch, transposed } = self;
        let TransposedBlock { to, block, source_rows, pairs, .. } = block;
        let best = &mut scratch[*to..];
        if is_first || !pairs.is_empty() {
            let (rows, to) = match pairs.is_empty() {
                true => (block.rows, &mut *best),
                false => (*source_rows, &mut *transposed),
            };
            let size = (rows, block.columns);
            transpose::set::<T, I, SOURCES>(instructions, sources, *source_rows, to, size);
            transpose::raise_pairs::<T, I>(best, block.stride, pairs, transposed);
        } else {
            let size = (block.rows, block.columns);
            transpose::raise::<T, I, SOURCES>(instructions, sources, *source_rows, best, size);
        }
    }
}
