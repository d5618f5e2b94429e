//! Gathering: for each roll the best of what other blocks offer the mover.
//!
//! Legality is a question to the shared squares and the roll alone, so it is answered for all the
//! positions of a block at once, by masks over path positions. A move is then a maximum over rows:
//! of the block it leads to where the turn passes, of that block's other orientation, turned,
//! where the mover rolls again.

use ziggurat_game::{PathPosition, Ruleset};

use crate::{
    block::View,
    context::Context,
    rows::{self, StoredRows, Turned},
    rules::{BlockMove, End, Rows},
    slab::{Sources, bits},
    value::{Group, Value},
    vector::Instructions,
};

/// How many sources are taken together.
const TOGETHER: usize = 4;

/// The most moves of a roll: one for each piece.
const MOST_SOURCES: usize = Ruleset::MAX_PIECES as usize;

/// Fills `best` with the best of what other blocks offer the mover for each roll,
/// [`Value::NONE`] where they offer nothing.
#[inline(always)]
pub fn gather<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    sources: &Sources<'_, T>,
    view: &View<'_>,
    best: &mut [T::Group],
    turned: &mut [T::Group],
) {
    let own = view.occupancy.own;
    let private = if view.left.0 > 0 { context.tables.private_from } else { 0 };
    let (stride, rows, area) = (view.stride::<T>(), view.rows, view.area::<T>());
    let nothing = StoredRows { values: &[] as &[T], stride: 0 };
    let (mut plain, mut again) = ([nothing; MOST_SOURCES], [nothing; MOST_SOURCES]);
    let rolls = context.tables.rules.rolls.iter().enumerate();
    for ((index, roll), best) in rolls.zip(best.chunks_exact_mut(area)) {
        let open = !(view.occupancy.blocked >> roll.value) | roll.from_same_square;
        let (mut plains, mut agains, mut wins) = (0, 0, false);
        for from in bits(own & roll.from_whole & open) {
            match offer(instructions, context, sources, view, index, from).1 {
                Offer::Win => wins = true,
                Offer::Plain { rows: source, .. } => {
                    plain[plains] = source;
                    plains += 1;
                }
                Offer::Again { rows: source, .. } => {
                    again[agains] = source;
                    agains += 1;
                }
            }
        }
        if wins {
            best[..rows * stride].fill(T::Group::splat(T::ONE));
            continue;
        }
        let together = plains.min(TOGETHER);
        if together > 0 {
            rows::largest::<T, I>(best, rows, stride, &plain[..together]);
        }
        for &source in &plain[together..plains] {
            rows::raise::<T, I>(best, rows, stride, source);
        }
        let mut filled = plains > 0;
        for &source in &again[..agains] {
            let turned = if filled { Turned::Raise } else { Turned::Set };
            rows::turn::<T, I>(source, best, rows, view.columns, turned);
            filled = true;
        }
        if !filled {
            best[..rows * stride].fill(T::Group::splat(T::NONE));
        }
        for from in bits((own | private) & roll.from_partial & open) {
            let (mv, offer) = offer(instructions, context, sources, view, index, from);
            raise_partly::<T, I>(view, mv, offer, best, turned);
        }
    }
}

/// What a move leads to.
enum Offer<'a, T> {
    /// The turn passes: rows of the mover, who just moved, and how many.
    Plain { rows: StoredRows<'a, T>, count: usize },
    /// The mover rolls again: rows of the opponent, to be turned, each with as many values as the
    /// mover has rows.
    Again { rows: StoredRows<'a, T>, count: usize },
    /// The game is won.
    Win,
}

/// What a legal move offers.
#[inline(always)]
fn offer<'a, T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'a, T>,
    sources: &Sources<'a, T>,
    view: &View<'_>,
    roll: usize,
    from: PathPosition,
) -> (&'a BlockMove, Offer<'a, T>) {
    let tables = context.tables;
    let mv = tables.rules.rolls[roll].moved_from(from);
    let target = view.slab.target_of_move(roll, from);
    if target.wins {
        return (mv, Offer::Win);
    }
    let mut x = view.x;
    if let Some(inner) = mv.leaves.and_then(|left| Some((left.inner?, left.digit))) {
        x -= inner.0.weight * u16::from(inner.1);
    }
    let mut rolls_again = target.rolls_again;
    if let End::Shared(reached) = mv.end
        && let Some(inner) = reached.inner
    {
        let mut before = 0;
        if view.occupancy.captures >> mv.to & 1 == 1 {
            before = tables.inner_digit(x, inner.place);
            rolls_again |= tables.rules.captures_grant_rolls;
        }
        x = x + inner.weight * u16::from(reached.digit) - inner.weight * u16::from(before);
    }
    let (own, opponent) = target.budgets;
    if rolls_again {
        let swapped = tables.inner_swapped[x as usize] as usize;
        let block = tables.inner_blocks((opponent, own))[swapped];
        let count = block.columns as usize;
        let values = sources.at(target.again, block.offset);
        let rows = StoredRows { values, stride: count };
        rows.prefetch_before(instructions, view.columns);
        (mv, Offer::Again { rows, count })
    } else {
        let block = tables.inner_blocks(target.budgets)[x as usize];
        let values = sources.at(target.plain, block.offset);
        let rows = StoredRows { values, stride: block.columns as usize };
        rows.prefetch_before(instructions, view.rows);
        (mv, Offer::Plain { rows, count: block.rows as usize })
    }
}

/// Takes a move that only some rows have, or that leads to other rows.
#[inline(always)]
fn raise_partly<T: Value, I: Instructions>(
    view: &View<'_>,
    mv: &BlockMove,
    offer: Offer<'_, T>,
    best: &mut [T::Group],
    turned: &mut [T::Group],
) {
    let stride = view.stride::<T>();
    let left = view.left.0;
    match (&mv.rows, offer) {
        (Rows::Same, _) => unreachable!("moves of whole blocks are taken elsewhere"),
        (Rows::SameWithHand { counts }, Offer::Plain { rows, .. }) => {
            rows::raise::<T, I>(best, counts[left as usize], stride, rows);
        }
        (Rows::SameWithHand { counts }, Offer::Again { rows, .. }) => {
            let count = counts[left as usize];
            rows::turn::<T, I>(rows, best, count, view.columns, Turned::Raise);
        }
        (Rows::SameWithHand { counts }, Offer::Win) => {
            best[..counts[left as usize] * stride].fill(T::Group::splat(T::ONE));
        }
        (Rows::Mapped(map), Offer::Plain { rows, count }) => {
            rows::raise_mapped::<T, I>(best, stride, map.up_to(left), rows, count);
        }
        (Rows::Mapped(map), Offer::Again { rows, count }) => {
            rows::turn::<T, I>(rows, turned, count, view.columns, Turned::Set);
            rows::raise_turned::<T, I>(best, stride, map.up_to(left), turned, count);
        }
        (Rows::Mapped(map), Offer::Win) => {
            for &(p, _) in map.up_to(left) {
                best[p as usize * stride..][..stride].fill(T::Group::splat(T::ONE));
            }
        }
    }
}
