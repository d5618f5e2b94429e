//! Gathering: for each roll the best of what other blocks offer the mover.
//!
//! Legality is a question to the shared squares and the roll alone, so it is answered for all the
//! positions of a block at once, by masks over path positions. A move is then a maximum over rows:
//! of the block it leads to where the turn passes, of that block's other orientation, turned,
//! where the mover rolls again.

use ziggurat_game::PathPosition;

use crate::{
    block::View,
    context::{Context, Stored},
    rows::{self, StoredRows},
    rules::{End, OuterMove, RollMoves, Rows},
    simd::Instructions,
    value::{Group, Value},
};

/// How many sources are taken together.
const TOGETHER: usize = 4;

/// Fills `best` with the best of what other blocks offer the mover for each roll,
/// [`Value::NONE`] where they offer nothing.
#[inline(always)]
pub fn gather<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    stored: &impl Stored<T>,
    view: &View,
    best: &mut [T::Group],
    turned: &mut [T::Group],
) {
    let own = view.occupancy.own;
    let private = if view.left.0 > 0 { context.private_from } else { 0 };
    let (stride, rows, area) = (view.stride::<T>(), view.rows, view.area::<T>());
    for (roll, best) in context.rules.rolls.iter().zip(best.chunks_exact_mut(area)) {
        let open = !(view.occupancy.blocked >> roll.value) | roll.from_same_square;
        let mut plain = [StoredRows { values: &[] as &[T], stride: 0 }; TOGETHER];
        let (mut count, mut filled, mut wins) = (0, false, false);
        let mut later = 0u64;
        for from in bits(own & roll.from_whole & open) {
            match offer(context, stored, view, roll, from) {
                (_, Offer::Win) => wins = true,
                (_, Offer::Plain { rows: source, .. }) if count < TOGETHER => {
                    plain[count] = source;
                    count += 1;
                }
                _ => later |= 1 << from,
            }
        }
        if wins {
            best[..rows * stride].fill(T::Group::splat(T::ONE));
            continue;
        }
        if count > 0 {
            rows::largest::<T>(best, rows, stride, &plain[..count]);
            filled = true;
        }
        for from in bits(later) {
            match offer(context, stored, view, roll, from).1 {
                Offer::Plain { rows: source, .. } => {
                    rows::raise::<T>(best, rows, stride, source);
                }
                Offer::Again { rows: source, .. } => {
                    rows::turn::<T, I>(instructions, source, rows, view.columns, |p, g, group| {
                        let best = &mut best[p * stride + g];
                        *best = if filled { best.larger(group) } else { group };
                    });
                    filled = true;
                }
                Offer::Win => unreachable!("wins have been taken"),
            }
        }
        if !filled {
            best[..rows * stride].fill(T::Group::splat(T::NONE));
        }
        for from in bits((own | private) & roll.from_partial & open) {
            let (mv, offer) = offer(context, stored, view, roll, from);
            raise_partly(instructions, view, mv, offer, best, turned);
        }
    }
}

/// The set bits of a mask.
#[inline(always)]
fn bits(mut mask: u64) -> impl Iterator<Item = PathPosition> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as PathPosition;
        (mask != 0).then(|| {
            mask &= mask - 1;
            bit
        })
    })
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
fn offer<'a, T: Value>(
    context: &Context<'a, T>,
    stored: &'a impl Stored<T>,
    view: &View,
    roll: &'a RollMoves,
    from: PathPosition,
) -> (&'a OuterMove, Offer<'a, T>) {
    let mv = roll.outer[from as usize].as_ref().expect("the masks name moves there are");
    let (shared, private) = (context.encoding.shared(), context.encoding.private());
    let mut w = view.w;
    let mut own_left = view.left.0;
    if let Some((square, digit)) = mv.leaves {
        shared.change(&mut w, square, digit, 0);
        own_left += 1;
    }
    let mut captures = false;
    match mv.end {
        End::Private => {}
        End::Shared { square, digit } => {
            captures = view.occupancy.captures >> mv.to & 1 == 1;
            let before = if captures { shared.digit(&view.w, square) } else { 0 };
            shared.change(&mut w, square, before, digit);
            own_left -= 1;
        }
        End::Scored => {
            let Some((tier, values)) = context.after_scoring(view.orientation) else {
                return (mv, Offer::Win);
            };
            let values = &values[shared.offset(tier, &w) as usize..];
            let rows = StoredRows { values, stride: view.columns };
            return (mv, Offer::Plain { rows, count: private.count(own_left - 1) as usize });
        }
    }
    let count = private.count(own_left) as usize;
    if mv.rosette || captures && context.rules.captures_grant_rolls {
        let orientation = context.swapped(view.orientation);
        let offset = shared.offset(context.tiers[orientation], &shared.swap(&w));
        let values = stored.values(orientation, offset);
        (mv, Offer::Again { rows: StoredRows { values, stride: count }, count })
    } else {
        let offset = shared.offset(context.tiers[view.orientation], &w);
        let values = stored.values(view.orientation, offset);
        let stride = private.count(view.left.1 + u8::from(captures)) as usize;
        (mv, Offer::Plain { rows: StoredRows { values, stride }, count })
    }
}

/// Takes a move that only some rows have, or that leads to other rows.
#[inline(always)]
fn raise_partly<T: Value, I: Instructions>(
    instructions: I,
    view: &View,
    mv: &OuterMove,
    offer: Offer<'_, T>,
    best: &mut [T::Group],
    turned: &mut [T::Group],
) {
    let stride = view.stride::<T>();
    let left = view.left.0;
    match (&mv.rows, offer) {
        (Rows::Same, _) => unreachable!("moves of whole blocks are taken elsewhere"),
        (Rows::SameWithHand { counts }, Offer::Plain { rows, .. }) => {
            rows::raise::<T>(best, counts[left as usize], stride, rows);
        }
        (Rows::SameWithHand { counts }, Offer::Again { rows, .. }) => {
            let count = counts[left as usize];
            rows::turn::<T, I>(instructions, rows, count, view.columns, |p, g, group| {
                if p < count {
                    let best = &mut best[p * stride + g];
                    *best = best.larger(group);
                }
            });
        }
        (Rows::SameWithHand { counts }, Offer::Win) => {
            best[..counts[left as usize] * stride].fill(T::Group::splat(T::ONE));
        }
        (Rows::Mapped(map), Offer::Plain { rows, count }) => {
            rows::raise_mapped::<T>(best, stride, map.up_to(left), rows, count);
        }
        (Rows::Mapped(map), Offer::Again { rows, count }) => {
            rows::turn::<T, I>(instructions, rows, count, view.columns, |p, g, group| {
                turned[p * stride + g] = group;
            });
            for &(p, after) in map.up_to(left) {
                let turned = &turned[after as usize * stride..][..stride];
                for (best, turned) in best[p as usize * stride..][..stride].iter_mut().zip(turned) {
                    *best = best.larger(*turned);
                }
            }
        }
        (Rows::Mapped(map), Offer::Win) => {
            for &(p, _) in map.up_to(left) {
                best[p as usize * stride..][..stride].fill(T::Group::splat(T::ONE));
            }
        }
    }
}
