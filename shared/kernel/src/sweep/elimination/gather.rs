//! Shortlists: of all that is offered to a pair of slabs, what may still be best.
//!
//! Of some three moves for a roll one is best, and once values hardly change it is known which. A move that
//! was worse than the best by more than twice what any value has changed since, for every column of a row,
//! cannot be best now. So a sweep can write down which rows of the lists that it has just gone through come
//! within a *margin* of the best ([`Record`]); later sweeps go through these only ([`take`]) as long as values
//! have not drifted by half the margin ([`Shortlists`]). They leave out nothing that matters: values have
//! the same bits with them as without.
//!
//! A shortlist is made of 16-bit words, two bytes for a row and roll. For each slab come its runs, each a [`Head`] and the
//! numbers of rows of a run of a list, of single values or of blocks to be turned; then for each pair of blocks what
//! both take from other blocks of their slabs: how many rows and how many values, and their numbers.

use crate::{
    moves::{
        lists::{RowList, TurnedBlock, ValueList},
        routes::{Route, Routes},
    },
    simd::{
        value::Value,
        vector::{Instructions, Operation},
    },
    sweep::{
        context::Context,
        elimination::format::{Head, Kind, Reader},
        gather::{TakeTurned, ask_block, block_of, take_wins},
        rows,
        slab::Slab,
        sources::{Offering, Place},
    },
};

/// While a run is taken, the memory of the run so many further down the shortlist is asked for.
const RUNS_AHEAD: usize = 6;

/// Sets the best of a slab in scratch memory as [`Gather`](crate::sweep::gather::Gather) does, but for what cannot be best in
/// the end.
pub struct Take<'a, 'c, 'l, T: Value, S> {
    /// The rules.
    pub context: &'a Context<'c, T>,
    /// What is offered.
    pub sources: &'a S,
    /// The slab.
    pub slab: &'a Slab<'c>,
    /// The shortlist, at the runs of the slab.
    pub reader: &'a mut Reader<'l>,
    /// The slab in scratch memory.
    pub scratch: &'a mut [T::Group],
    /// Room for turned blocks.
    pub turned: &'a mut [T::Group],
}

impl<T: Value, S: Offering<T>> Operation for Take<'_, '_, '_, T, S> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { context, sources, slab, reader, scratch, turned } = self;
        let routes = &context.tables.routes;
        let mut room = Vec::new();
        let mut ahead = Reader { rest: reader.rest };
        for _ in 0..RUNS_AHEAD {
            ask_next(instructions, context, sources, slab, &mut ahead);
        }
        loop {
            let head = reader.head();
            if head.kind == Kind::End {
                break;
            }
            let which = reader.next(head.len);
            ask_next(instructions, context, sources, slab, &mut ahead);
            let source = offered(sources, slab, head);
            let rows = list(routes, slab, head).map(|list| (list, head.run));
            let values = values(routes, slab, head);
            match (head.kind, rows, values, source) {
                (Kind::FillRows | Kind::FillColumns, Some(rows), ..) => {
                    rows::fill_some::<T>(scratch, rows, which, T::NONE);
                }
                (Kind::SetRows | Kind::SetColumns, Some(rows), _, Some(source)) => {
                    rows::take_some::<T, I, false>(scratch, rows, which, source);
                }
                (Kind::RaiseRows | Kind::RaiseColumns, Some(rows), _, Some(source)) => {
                    rows::take_some::<T, I, true>(scratch, rows, which, source);
                }
                (Kind::Picked, _, Some(values), Some(source)) => {
                    rows::raise_some_values::<T, false>(scratch, values, which, source);
                }
                (Kind::Single, _, Some(values), Some(source)) => {
                    rows::raise_some_values::<T, true>(scratch, values, which, source);
                }
                (Kind::SetTurned | Kind::RaiseTurned, _, _, Some(source)) => {
                    let is_first = head.kind == Kind::SetTurned;
                    for block in blocks(routes, slab, head, which) {
                        let sources = [block_of(&source, block, &mut room)];
                        let (scratch, turned) = (&mut *scratch, &mut *turned);
                        instructions.call(TakeTurned { block, is_first, sources, scratch, turned });
                    }
                }
                (kind, ..) => unreachable!("a run of {kind:?} is of a list that there is"),
            }
        }
        take_wins(context, slab, scratch);
    }
}

/// Asks for the memory of the next run that has not been asked for, if it is of the slab.
#[inline(always)]
fn ask_next<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    sources: &impl Offering<T>,
    slab: &Slab<'_>,
    ahead: &mut Reader<'_>,
) {
    let head = Reader { rest: ahead.rest }.head();
    if head.kind != Kind::End {
        ahead.head();
        let which = ahead.next(head.len);
        ask::<T, I>(instructions, &context.tables.routes, sources, slab, (head, which));
    }
}

/// Asks for the memory of what a run takes.
#[inline(always)]
fn ask<T: Value, I: Instructions>(
    instructions: I,
    routes: &Routes,
    sources: &impl Offering<T>,
    slab: &Slab<'_>,
    (head, which): (Head, &[u16]),
) {
    let Some(source) = offered(sources, slab, head) else { return };
    match head.kind {
        Kind::SetTurned | Kind::RaiseTurned => {
            for block in blocks(routes, slab, head, which) {
                ask_block(instructions, block, source);
            }
        }
        Kind::Picked | Kind::Single => {
            let Some(values) = values(routes, slab, head) else { return };
            rows::ask_some(instructions, (0, values.values()), which, source);
        }
        _ => {
            let Some(list) = list(routes, slab, head) else { return };
            rows::ask_some(instructions, list.run(head.run), which, source);
        }
    }
}

/// The offer that a run is of, if it is of one.
#[inline(always)]
pub fn offer<'s, 't>(slab: &'s Slab<'t>, head: Head) -> Option<&'s (Place, &'t Route)> {
    let offers = &slab.offers[head.roll];
    Some(match head.kind {
        Kind::End | Kind::FillRows | Kind::FillColumns => return None,
        Kind::Single | Kind::SetTurned | Kind::RaiseTurned => &offers.again[head.offer],
        _ => match head.offer.checked_sub(offers.complete.len()) {
            None => &offers.complete[head.offer],
            Some(plain) => &offers.plain[plain],
        },
    })
}

/// What a run reads, if it reads anything.
#[inline(always)]
fn offered<'s, T: Value, S: Offering<T>>(
    sources: &'s S,
    slab: &Slab<'_>,
    head: Head,
) -> Option<S::Values<'s>> {
    let rolls_again = matches!(head.kind, Kind::Single | Kind::SetTurned | Kind::RaiseTurned);
    offer(slab, head).map(|&(place, _)| sources.offered(place, rolls_again))
}

/// The list that the rows of a run are of.
#[inline(always)]
fn list<'t>(routes: &'t Routes, slab: &Slab<'t>, head: Head) -> Option<&'t RowList> {
    let [rows, columns] = routes.whole(slab.budgets, head.roll);
    let route = offer(slab, head).map(|&(_, route)| route);
    match head.kind {
        Kind::FillRows => Some(rows),
        Kind::FillColumns => Some(columns),
        Kind::SetRows | Kind::RaiseRows => route?.plain.map(|list| routes.list(list)),
        Kind::SetColumns | Kind::RaiseColumns => route?.columns.map(|list| routes.list(list)),
        _ => None,
    }
}

/// The list that the single values of a run are of.
#[inline(always)]
fn values<'t>(routes: &'t Routes, slab: &Slab<'t>, head: Head) -> Option<&'t ValueList> {
    let &(_, route) = offer(slab, head)?;
    match head.kind {
        Kind::Picked => route.picked.map(|list| routes.values(list)),
        Kind::Single => route.single.map(|list| routes.values(list)),
        _ => None,
    }
}

/// The blocks of a run.
#[inline(always)]
fn blocks<'t>(
    routes: &'t Routes,
    slab: &Slab<'t>,
    head: Head,
    which: &[u16],
) -> impl Iterator<Item = &'t TurnedBlock> {
    let turned = offer(slab, head).and_then(|(_, route)| route.turned);
    let blocks = turned.map_or(&[][..], |list| routes.blocks(list));
    which.iter().map(|&number| &blocks[number as usize])
}
