//! Gathering: for each roll the best of what other slabs offer the mover.
//!
//! A move is a maximum over rows: of the slab it leads to where the turn passes, of that
//! slab's other orientation, turned, where the mover rolls again.

use crate::{
    moves::{lists::TurnedBlock, routes::Route},
    simd::{
        value::Value,
        vector::{Instructions, Operation},
    },
    sweep::{
        context::Context,
        rows::{self},
        slab::{Offers, Slab},
        sources::{Offered, Offering, Place},
        transpose,
    },
};

/// Sets the best of a slab in scratch memory to the best of what other slabs offer for each roll,
/// [`Value::NONE`] where they offer nothing.
pub struct Gather<'a, 'c, T: Value, S> {
    /// The rules.
    pub context: &'a Context<'c, T>,
    /// What is offered.
    pub sources: &'a S,
    /// The slab.
    pub slab: &'a Slab<'c>,
    /// The slab whose turn is next.
    pub next: Option<&'a Slab<'c>>,
    /// The slab in scratch memory.
    pub scratch: &'a mut [T::Group],
    /// Room for turned blocks.
    pub turned: &'a mut [T::Group],
}

impl<T: Value, S: Offering<T>> Operation for Gather<'_, '_, T, S> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { context, sources, slab, next, scratch, turned } = self;
        let routes = &context.tables.routes;
        let mut rooms = [const { Vec::new() }; 3];
        for (roll, offers) in slab.offers.iter().enumerate() {
            ask_again(instructions, context, sources, slab, roll);
            let [all, columns] = routes.whole(slab.budgets, roll);
            let Offers { complete, plain, again, .. } = offers;
            let source = |i: usize| {
                let (place, route) = complete[i];
                let list = route.plain.expect("a complete offer is of rows");
                (routes.list(list), sources.offered(place, false))
            };
            match complete.len() {
                0 => rows::fill(scratch, all, T::NONE),
                1 => rows::set::<T, I, _, 1>(instructions, scratch, [source(0)]),
                2 => rows::set::<T, I, _, 2>(instructions, scratch, [source(0), source(1)]),
                3 => rows::set::<T, I, _, 3>(
                    instructions,
                    scratch,
                    [source(0), source(1), source(2)],
                ),
                _ => rows::set::<T, I, _, 4>(
                    instructions,
                    scratch,
                    [source(0), source(1), source(2), source(3)],
                ),
            }
            for i in 4..complete.len() {
                let (list, source) = source(i);
                rows::raise::<T, I>(instructions, scratch, list, source);
            }
            rows::fill(scratch, columns, T::NONE);
            for (place, route) in plain {
                if let Some(list) = route.plain {
                    let source = sources.offered(*place, false);
                    rows::raise::<T, I>(instructions, scratch, routes.list(list), source);
                }
            }
            for (place, route) in complete.iter().chain(plain) {
                let source = sources.offered(*place, false);
                if let Some(list) = route.columns {
                    rows::raise::<T, I>(instructions, scratch, routes.list(list), source);
                }
                if let Some(list) = route.picked {
                    rows::raise_values::<T, false>(scratch, routes.values(list), source);
                }
            }
            match next {
                Some(next) if roll + 1 == slab.offers.len() => {
                    ask(instructions, context, sources, next, 0);
                }
                _ => ask(instructions, context, sources, slab, roll + 1),
            }
            for (place, route) in again {
                if let Some(list) = route.single {
                    let source = sources.offered(*place, true);
                    rows::raise_values::<T, true>(scratch, routes.values(list), source);
                }
            }
            for (i, (place, route)) in again.iter().enumerate() {
                let Some(list) = route.turned else { continue };
                let same = |(_, other): &&(Place, &Route)| other.turned == Some(list);
                if again[..i].iter().any(|other| same(&other)) {
                    continue; // taken together with the first of the same blocks
                }
                let mut others = again[i + 1..]
                    .iter()
                    .filter(same)
                    .map(|(place, _)| sources.offered(*place, true));
                let blocks = routes.blocks(list);
                let first = sources.offered(*place, true);
                let (scratch, turned) = (&mut *scratch, &mut *turned);
                let mut raise =
                    RaiseTurned { instructions, blocks, scratch, turned, rooms: &mut rooms };
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
        take_wins(context, slab, scratch);
    }
}

/// Sets the best of a slab to a win where a move wins.
#[inline(always)]
pub fn take_wins<T: Value>(context: &Context<'_, T>, slab: &Slab<'_>, scratch: &mut [T::Group]) {
    let routes = &context.tables.routes;
    for route in slab.offers.iter().flat_map(|offers| &offers.wins) {
        for list in [route.plain, route.columns].into_iter().flatten() {
            rows::fill(scratch, routes.list(list), T::WIN);
        }
        if let Some(list) = route.picked {
            rows::fill_values(scratch, routes.values(list), T::WIN);
        }
    }
}

/// Asks for the memory of what is offered for a roll, if there is such a roll, where the turn passes.
#[inline(always)]
pub fn ask<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    sources: &impl Offering<T>,
    slab: &Slab<'_>,
    roll: usize,
) {
    let Some(Offers { complete, plain, .. }) = slab.offers.get(roll) else { return };
    let routes = &context.tables.routes;
    for (place, route) in complete.iter().chain(plain) {
        let source = sources.offered(*place, false);
        for list in [route.plain, route.columns].into_iter().flatten() {
            match routes.dense(slab.budgets) {
                Some(_) => rows::ask_all(instructions, source, 0..routes.list(list).source_reach()),
                None => rows::ask(instructions, routes.list(list), source),
            }
        }
        if let Some(list) = route.picked {
            rows::ask_values(instructions, routes.values(list), source);
        }
    }
}

/// Asks for the memory of what is offered for a roll where the mover rolls again.
#[inline(always)]
fn ask_again<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    sources: &impl Offering<T>,
    slab: &Slab<'_>,
    roll: usize,
) {
    let routes = &context.tables.routes;
    for (place, route) in &slab.offers[roll].again {
        let source = sources.offered(*place, true);
        if let Some(list) = route.single {
            rows::ask_values(instructions, routes.values(list), source);
        }
        for block in route.turned.map_or(&[][..], |list| routes.blocks(list)) {
            ask_block(instructions, block, source);
        }
    }
}

/// Asks for the memory of a block to be turned.
#[inline(always)]
pub fn ask_block<T: Value, I: Instructions>(
    instructions: I,
    block: &TurnedBlock,
    source: impl Offered<T>,
) {
    let len = block.source_rows * block.block.columns;
    rows::ask_all(instructions, source, block.from..block.from + len);
}

/// Takes what blocks offer in which the mover rolls again.
struct RaiseTurned<'a, T: Value, I> {
    instructions: I,
    blocks: &'a [TurnedBlock],
    /// The slab in scratch memory.
    scratch: &'a mut [T::Group],
    /// Room for a turned block.
    turned: &'a mut [T::Group],
    /// Room for blocks of sources.
    rooms: &'a mut [Vec<T>; 3],
}

impl<T: Value, I: Instructions> RaiseTurned<'_, T, I> {
    /// Takes the least of the opponent's values in the sources, turned.
    #[inline(always)]
    fn least_of<const SOURCES: usize>(&mut self, sources: [impl Offered<T>; SOURCES]) {
        for block in self.blocks {
            let mut rooms = self.rooms.iter_mut();
            let sources = sources
                .each_ref()
                .map(|source| block_of(source, block, rooms.next().expect("there are three")));
            let (scratch, turned) = (&mut *self.scratch, &mut *self.turned);
            self.instructions.call(TakeTurned { block, is_first: false, sources, scratch, turned });
        }
    }
}

/// The values of a block to be turned; they may be made in `room`.
#[inline(always)]
pub fn block_of<'r, T: Value>(
    source: &'r impl Offered<T>,
    block: &TurnedBlock,
    room: &'r mut Vec<T>,
) -> &'r [T] {
    let (from, source_rows, columns) = (block.from, block.source_rows, block.block.columns);
    let reach = transpose::reach(source_rows, (source_rows, columns));
    source.from(from, source_rows * columns, reach, room)
}

/// Takes what a block offers in which the mover rolls again: the least of the opponent's values in
/// the sources, turned.
pub struct TakeTurned<'a, T: Value, const SOURCES: usize> {
    /// The block.
    pub block: &'a TurnedBlock,
    /// Whether it is the first that offers something, so that all rows are set.
    pub is_first: bool,
    /// What is read, from where the block begins.
    pub sources: [&'a [T]; SOURCES],
    /// The slab in scratch memory.
    pub scratch: &'a mut [T::Group],
    /// Room for a turned block.
    pub turned: &'a mut [T::Group],
}

impl<T: Value, const SOURCES: usize> Operation for TakeTurned<'_, T, SOURCES> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { block, is_first, sources, scratch, turned } = self;
        let TurnedBlock { to, block, source_rows, pairs, .. } = block;
        let best = &mut scratch[*to..];
        if is_first || !pairs.is_empty() {
            let (rows, to) = match pairs.is_empty() {
                true => (block.rows, &mut *best),
                false => (*source_rows, &mut *turned),
            };
            let size = (rows, block.columns);
            transpose::set::<T, I, SOURCES>(instructions, sources, *source_rows, to, size);
            transpose::raise_pairs::<T, I>(best, block.stride, pairs, turned);
        } else {
            let size = (block.rows, block.columns);
            transpose::raise::<T, I, SOURCES>(instructions, sources, *source_rows, best, size);
        }
    }
}
