//! Gathering: for each roll the best of what other blocks offer the mover.
//!
//! A move is a maximum over rows: of the block it leads to where the turn passes, of that
//! block's other orientation, turned, where the mover rolls again.

use ziggurat_game::PathPosition;

use crate::{
    block::View,
    candidates::{Candidates, Fetch, Offer},
    context::Context,
    rows::{self, Turned},
    rules::Rows,
    value::{Group, Value},
    vector::Instructions,
};

/// How many sources are taken together.
const TOGETHER: usize = 4;

/// Fills `best` with the best of what the candidates offer for each roll, [`Value::NONE`] where they
/// offer nothing.
#[inline(always)]
pub fn gather<T: Value, I: Instructions>(
    context: &Context<'_, T>,
    fetch: &mut impl Fetch<T>,
    candidates: &Candidates,
    view: &View<'_>,
    best: &mut [T::Group],
    turned: &mut [T::Group],
) {
    let (stride, rows, area) = (view.stride::<T>(), view.rows, view.area::<T>());
    let mut plain = candidates.plain.iter();
    let mut again = candidates.again.iter();
    let mut partial = candidates.partial.iter();
    let rolls = candidates.rolls.iter().enumerate();
    for ((index, of_roll), best) in rolls.zip(best.chunks_exact_mut(area)) {
        let plain = take(&mut plain, of_roll.plain);
        let again = take(&mut again, of_roll.again);
        let partial = take(&mut partial, of_roll.partial);
        if of_roll.wins {
            best[..rows * stride].fill(T::Group::splat(T::ONE));
            continue;
        }
        let (together, others) = plain.split_at(plain.len().min(TOGETHER));
        match together {
            [] => {}
            [a] => rows::largest::<T, I, 1>(best, rows, stride, fetch.plain([a], rows)),
            [a, b] => rows::largest::<T, I, 2>(best, rows, stride, fetch.plain([a, b], rows)),
            [a, b, c] => {
                rows::largest::<T, I, 3>(best, rows, stride, fetch.plain([a, b, c], rows));
            }
            [a, b, c, d, ..] => {
                rows::largest::<T, I, 4>(best, rows, stride, fetch.plain([a, b, c, d], rows));
            }
        }
        for candidate in others {
            let [source] = fetch.plain([candidate], rows);
            rows::raise::<T, I>(best, rows, stride, source);
        }
        let mut filled = !plain.is_empty();
        for candidate in again {
            let turned = if filled { Turned::Raise } else { Turned::Set };
            let source = fetch.again(candidate, view.columns);
            rows::turn::<T, I>(source, best, rows, view.columns, turned);
            filled = true;
        }
        if !filled {
            best[..rows * stride].fill(T::Group::splat(T::NONE));
        }
        for &(from, offer) in partial {
            raise_partly::<T, I>(context, fetch, view, (index, from), offer, best, turned);
        }
    }
}

/// The next elements of an iterator over a slice.
#[inline(always)]
fn take<'a, E>(rest: &mut std::slice::Iter<'a, E>, count: u8) -> &'a [E] {
    let (taken, others) = rest.as_slice().split_at(count as usize);
    *rest = others.iter();
    taken
}

/// Takes a move, by roll and start, that only some rows have, or that leads to other rows.
#[inline(always)]
fn raise_partly<T: Value, I: Instructions>(
    context: &Context<'_, T>,
    fetch: &mut impl Fetch<T>,
    view: &View<'_>,
    (roll, from): (usize, PathPosition),
    offer: Offer,
    best: &mut [T::Group],
    turned: &mut [T::Group],
) {
    let stride = view.stride::<T>();
    let left = view.left.0;
    match &context.tables.rules.rolls[roll].moved_from(from).rows {
        Rows::Same => unreachable!("moves of whole blocks are taken elsewhere"),
        Rows::SameWithHand { counts } => {
            let count = counts[left as usize];
            match offer {
                Offer::Plain(to) => {
                    let [to] = fetch.plain([&to], count);
                    rows::raise::<T, I>(best, count, stride, to);
                }
                Offer::Again(to) => {
                    let to = fetch.again(&to, view.columns);
                    rows::turn::<T, I>(to, best, count, view.columns, Turned::Raise);
                }
                Offer::Win => best[..count * stride].fill(T::Group::splat(T::ONE)),
            }
        }
        Rows::Mapped(map) => {
            let pairs = map.up_to(left);
            match offer {
                Offer::Plain(to) => {
                    let count = to.count();
                    let [to] = fetch.plain([&to], count);
                    rows::raise_mapped::<T, I>(best, stride, pairs, to, count);
                }
                Offer::Again(to) => {
                    let count = to.count();
                    let to = fetch.again(&to, view.columns);
                    rows::turn::<T, I>(to, turned, count, view.columns, Turned::Set);
                    rows::raise_turned::<T, I>(best, stride, pairs, turned, count);
                }
                Offer::Win => {
                    for &(p, _) in pairs {
                        best[p as usize * stride..][..stride].fill(T::Group::splat(T::ONE));
                    }
                }
            }
        }
    }
}
