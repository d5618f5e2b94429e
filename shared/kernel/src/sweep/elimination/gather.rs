//! Candidates: of all moves from a pair of slabs, those that may still be best.
//!
//! Of some three moves for a roll one is best, and once values hardly change it is known which. A move that was worse
//! than the best by more than twice the change of any value since, for every column of a row, cannot be best now (the
//! test of MacQueen 1967, with the drift of values in place of his bounds). So a sweep can write down which rows of
//! the lists that it has just gone through come within a *margin* of the best ([`RecordCandidates`]); later sweeps go
//! through these candidates only ([`GatherCandidates`]) as long as values have not drifted by half the margin
//! ([`CandidateLists`]). They leave out nothing that matters: values have the same bits with them as without.
//!
//! A list of candidates is made of 16-bit words, two bytes for a row and roll. For each slab come its runs, each a
//! [`Head`] and the numbers of rows of a run of a list, of single values or of blocks to be transposed; then for each
//! pair of blocks the moves of both from other blocks of their slabs: how many rows and how many values, and their
//! numbers.

use crate::{
    moves::{
        lists::{RowList, TransposedBlock, ValueList},
        routes::{Route, Routes},
    },
    simd::{
        value::Value,
        vector::{Instructions, Operation},
    },
    sweep::{
        context::Context,
        elimination::format::{Head, Kind, Reader},
        gather::{TakeTransposed, ask_block, block_of, take_wins},
        rows,
        slab::Slab,
        sources::{Location, ValueSource},
    },
};

/// While a run is taken, the memory of the run so many further down the candidates is asked for.
const RUNS_AHEAD: usize = 6;

/// Sets the best of a slab in scratch memory as [`Gather`](crate::sweep::gather::Gather) does, but without moves that
/// cannot be best in the end.
pub struct GatherCandidates<'a, 'c, 'l, T: Value, S> {
    /// The rules.
    pub context: &'a Context<'c, T>,
    /// The values that are read.
    pub sources: &'a S,
    /// The slab.
    pub slab: &'a Slab<'c>,
    /// The candidates, at the runs of the slab.
    pub reader: &'a mut Reader<'l>,
    /// The slab in scratch memory.
    pub scratch: &'a mut [T::Group],
    /// Room for transposed blocks.
    pub transposed: &'a mut [T::Group],
}

impl<T: Value, S: ValueSource<T>> Operation for GatherCandidates<'_, '_, '_, T, S> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { context, sources, slab, reader, scratch, transposed } = self;
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
                (Kind::SetTransposed | Kind::RaiseTransposed, _, _, Some(source)) => {
                    let is_first = head.kind == Kind::SetTransposed;
                    for block in blocks(routes, slab, head, which) {
                        let sources = [block_of(&source, block, &mut room)];
                        let (scratch, transposed) = (&mut *scratch, &mut *transposed);
                        instructions.call(TakeTransposed {
                            block,
                            is_first,
                            sources,
                            scratch,
                            transposed,
                        });
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
    sources: &impl ValueSource<T>,
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

/// Prefetches the source of a run.
#[inline(always)]
fn ask<T: Value, I: Instructions>(
    instructions: I,
    routes: &Routes,
    sources: &impl ValueSource<T>,
    slab: &Slab<'_>,
    (head, which): (Head, &[u16]),
) {
    let Some(source) = offered(sources, slab, head) else { return };
    match head.kind {
        Kind::SetTransposed | Kind::RaiseTransposed => {
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
pub fn successor<'s, 't>(slab: &'s Slab<'t>, head: Head) -> Option<&'s (Location, &'t Route)> {
    let successors = &slab.successors[head.roll];
    Some(match head.kind {
        Kind::End | Kind::FillRows | Kind::FillColumns => return None,
        Kind::Single | Kind::SetTransposed | Kind::RaiseTransposed => {
            &successors.extra_roll[head.successor]
        }
        _ => match head.successor.checked_sub(successors.all_rows.len()) {
            None => &successors.all_rows[head.successor],
            Some(some_rows) => &successors.some_rows[some_rows],
        },
    })
}

/// The source of a run, if it reads anything.
#[inline(always)]
fn offered<'s, T: Value, S: ValueSource<T>>(
    sources: &'s S,
    slab: &Slab<'_>,
    head: Head,
) -> Option<S::Values<'s>> {
    let rolls_again =
        matches!(head.kind, Kind::Single | Kind::SetTransposed | Kind::RaiseTransposed);
    successor(slab, head).map(|&(location, _)| sources.values_at(location, rolls_again))
}

/// The list that the rows of a run are of.
#[inline(always)]
fn list<'t>(routes: &'t Routes, slab: &Slab<'t>, head: Head) -> Option<&'t RowList> {
    let [rows, columns] = routes.whole(slab.budgets, head.roll);
    let route = successor(slab, head).map(|&(_, route)| route);
    match head.kind {
        Kind::FillRows => Some(rows),
        Kind::FillColumns => Some(columns),
        Kind::SetRows | Kind::RaiseRows => route?.rows.map(|list| routes.list(list)),
        Kind::SetColumns | Kind::RaiseColumns => route?.columns.map(|list| routes.list(list)),
        _ => None,
    }
}

/// The list that the single values of a run are of.
#[inline(always)]
fn values<'t>(routes: &'t Routes, slab: &Slab<'t>, head: Head) -> Option<&'t ValueList> {
    let &(_, route) = successor(slab, head)?;
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
) -> impl Iterator<Item = &'t TransposedBlock> {
    let transposed = successor(slab, head).and_then(|(_, route)| route.transposed);
    let blocks = transposed.map_or(&[][..], |list| routes.blocks(list));
    which.iter().map(|&number| &blocks[number as usize])
}
