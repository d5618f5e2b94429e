//! Gathering: for each roll the best of what other slabs offer the mover.
//!
//! A move is a maximum over rows: of the slab it leads to where the turn passes, of that
//! slab's other orientation, turned, where the mover rolls again.

use crate::{
    context::Context,
    lists::TurnedBlock,
    routes::Route,
    rows,
    slab::{Offers, Place, Slab, Sources},
    turn,
    value::Value,
    vector::{Instructions, Operation},
};

/// Sets the best of a slab in scratch memory to the best of what other slabs offer for each roll,
/// [`Value::NONE`] where they offer nothing.
pub struct Gather<'a, 'c, T: Value> {
    /// The rules.
    pub context: &'a Context<'c, T>,
    /// What is offered.
    pub sources: &'a Sources<'a, T>,
    /// The slab.
    pub slab: &'a Slab<'c>,
    /// The slab whose turn is next.
    pub next: Option<&'a Slab<'c>>,
    /// The slab in scratch memory.
    pub scratch: &'a mut [T::Group],
    /// Room for turned blocks.
    pub turned: &'a mut [T::Group],
}

impl<T: Value> Operation for Gather<'_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { context, sources, slab, next, scratch, turned } = self;
        let routes = &context.tables.routes;
        for (roll, offers) in slab.offers.iter().enumerate() {
            ask_again(instructions, context, sources, slab, roll);
            let [all, columns] = routes.whole(slab.budgets, roll);
            let Offers { complete, plain, again, .. } = offers;
            let source = |i: usize| {
                let (place, route) = complete[i];
                let list = route.plain.expect("a complete offer is of rows");
                (routes.list(list), sources.at(place))
            };
            match complete.len() {
                0 => rows::fill(scratch, all, T::NONE),
                1 => rows::set::<T, I, 1>(instructions, scratch, [source(0)]),
                2 => rows::set::<T, I, 2>(instructions, scratch, [source(0), source(1)]),
                3 => rows::set::<T, I, 3>(instructions, scratch, [source(0), source(1), source(2)]),
                _ => rows::set::<T, I, 4>(
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
                    rows::raise::<T, I>(
                        instructions,
                        scratch,
                        routes.list(list),
                        sources.at(*place),
                    );
                }
            }
            for (place, route) in complete.iter().chain(plain) {
                if let Some(list) = route.columns {
                    rows::raise::<T, I>(
                        instructions,
                        scratch,
                        routes.list(list),
                        sources.at(*place),
                    );
                }
                if let Some(list) = route.picked {
                    let list = routes.values(list);
                    rows::raise_values::<T, false>(scratch, list, sources.at(*place));
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
                    let list = routes.values(list);
                    rows::raise_values::<T, true>(scratch, list, sources.at(*place));
                }
            }
            for (i, (place, route)) in again.iter().enumerate() {
                let Some(list) = route.turned else { continue };
                let same = |(_, other): &&(Place, &Route)| other.turned == Some(list);
                if again[..i].iter().any(|other| same(&other)) {
                    continue; // taken together with the first of the same blocks
                }
                let mut others =
                    again[i + 1..].iter().filter(same).map(|(place, _)| sources.at(*place));
                let blocks = routes.blocks(list);
                let first = sources.at(*place);
                match (others.next(), others.next()) {
                    (None, _) => {
                        raise_turned::<T, I, 1>(instructions, blocks, [first], scratch, turned)
                    }
                    (Some(second), None) => {
                        raise_turned::<T, I, 2>(
                            instructions,
                            blocks,
                            [first, second],
                            scratch,
                            turned,
                        );
                    }
                    (Some(second), Some(third)) => {
                        raise_turned::<T, I, 3>(
                            instructions,
                            blocks,
                            [first, second, third],
                            scratch,
                            turned,
                        );
                        for other in others {
                            raise_turned::<T, I, 1>(instructions, blocks, [other], scratch, turned);
                        }
                    }
                }
            }
        }
        take_wins(context, slab, scratch);
    }
}

/// Sets the best of a slab to 1 where a move wins.
#[inline(always)]
pub fn take_wins<T: Value>(context: &Context<'_, T>, slab: &Slab<'_>, scratch: &mut [T::Group]) {
    let routes = &context.tables.routes;
    for route in slab.offers.iter().flat_map(|offers| &offers.wins) {
        for list in [route.plain, route.columns].into_iter().flatten() {
            rows::fill(scratch, routes.list(list), T::ONE);
        }
        if let Some(list) = route.picked {
            rows::fill_values(scratch, routes.values(list), T::ONE);
        }
    }
}

/// Asks for the memory of what is offered for a roll, if there is such a roll, where the turn passes.
#[inline(always)]
pub fn ask<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    sources: &Sources<'_, T>,
    slab: &Slab<'_>,
    roll: usize,
) {
    let Some(Offers { complete, plain, .. }) = slab.offers.get(roll) else { return };
    let routes = &context.tables.routes;
    for (place, route) in complete.iter().chain(plain) {
        let source = sources.at(*place);
        for list in [route.plain, route.columns].into_iter().flatten() {
            match routes.dense(slab.budgets) {
                Some(_) => rows::ask_all(instructions, source, routes.list(list).source_reach()),
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
    sources: &Sources<'_, T>,
    slab: &Slab<'_>,
    roll: usize,
) {
    let routes = &context.tables.routes;
    for (place, route) in &slab.offers[roll].again {
        let source = sources.at(*place);
        if let Some(list) = route.single {
            rows::ask_values(instructions, routes.values(list), source);
        }
        for block in route.turned.map_or(&[][..], |list| routes.blocks(list)) {
            if block.block.stride <= rows::LONG_ROW {
                let len = block.source_rows * block.block.columns;
                rows::ask_all(instructions, &source[block.from..], len);
            }
        }
    }
}

/// Takes what blocks offer in which the mover rolls again: the least of the opponent's chances in
/// the sources, turned.
#[inline(always)]
fn raise_turned<T: Value, I: Instructions, const SOURCES: usize>(
    instructions: I,
    blocks: &[TurnedBlock],
    sources: [&[T]; SOURCES],
    scratch: &mut [T::Group],
    turned: &mut [T::Group],
) {
    for block in blocks {
        let (scratch, turned) = (&mut *scratch, &mut *turned);
        instructions.call(TakeTurned { block, is_first: false, sources, scratch, turned });
    }
}

/// Takes what a block offers in which the mover rolls again: the least of the opponent's chances in
/// the sources, turned.
pub struct TakeTurned<'a, T: Value, const SOURCES: usize> {
    /// The block.
    pub block: &'a TurnedBlock,
    /// Whether it is the first that offers something, so that all rows are set.
    pub is_first: bool,
    /// The slabs that are read.
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
        let TurnedBlock { to, block, from, source_rows, pairs } = block;
        let sources = sources.map(|source| &source[*from..]);
        let best = &mut scratch[*to..];
        if is_first || !pairs.is_empty() {
            let (rows, to) = match pairs.is_empty() {
                true => (block.rows, &mut *best),
                false => (*source_rows, &mut *turned),
            };
            let size = (rows, block.columns);
            turn::set::<T, I, SOURCES>(instructions, sources, *source_rows, to, size);
            turn::raise_pairs::<T, I>(best, block.stride, pairs, turned);
        } else {
            let size = (block.rows, block.columns);
            turn::raise::<T, I, SOURCES>(instructions, sources, *source_rows, best, size);
        }
    }
}
