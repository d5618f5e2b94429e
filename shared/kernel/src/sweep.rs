//! The sweep of a slab: its pairs of blocks, in descending order.

use ziggurat_encoding::Shard;

use crate::{
    array::Array,
    block::{self, Pair, View},
    context::Context,
    rows,
    scratch::Scratch,
    simd::Operation,
    slab::{Place, Placed, Slab, Sources, arrays},
    value::Value,
    vector::Instructions,
};

/// Visits the slabs of a shard with their swaps in descending order, and whether the two are one.
pub fn for_each_pair_of_slabs<T: Value>(
    context: &Context<'_, T>,
    shard: &Shard,
    placed: &impl Placed,
    mut visit: impl FnMut(&[Slab; 2], bool),
) {
    let shared = context.encoding.shared();
    let last = context.tiers.len() - 1;
    let one_range = last == 0 && shard.ranges.1.is_none();
    let mut slabs = [Slab::default(), Slab::default()];
    shared.for_each_slab_descending(context.tiers[0], &shard.prefix, &mut |w, budgets| {
        let (own, opponent) = budgets;
        let swapped = shared.swap(w);
        if one_range && *w < swapped {
            return; // comes later, as the swap of its swap
        }
        slabs[0].set(context, placed, w, (own, opponent), 0);
        slabs[1].set(context, placed, &swapped, (opponent, own), last);
        visit(&slabs, one_range && *w == swapped);
    });
}

/// A pair of slabs to sweep, or a slab that is its own swap.
pub struct SweepSlab<'a, 'l, 'c, T: Value> {
    /// The working memory.
    pub scratch: &'a mut Scratch<T>,
    /// What is read besides the step's own values.
    pub context: &'a Context<'c, T>,
    /// The values of each orientation as of the last barrier.
    pub published: &'a [Array<T>],
    /// The values of the shard, range by range.
    pub live: &'a mut [&'l mut [T]; 2],
    /// The slab and its swap.
    pub slabs: &'a [Slab; 2],
    /// Whether the two are one.
    pub is_own_swap: bool,
}

impl<T: Value> Operation for SweepSlab<'_, '_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { scratch, context, published, live, slabs, is_own_swap } = self;
        let pair = |x: usize| pair_of(context, slabs, is_own_swap, x as u16);
        let mut waiting: Option<Pair<'_>> = None;
        let mut candidates = std::mem::take(&mut scratch.candidates);
        for next in (0..context.tables.inner_swapped.len()).rev().filter_map(pair) {
            let sources = sources(context, published, live);
            let [current, ahead] = &mut candidates;
            ahead[0].find(instructions, context, &&sources, &next.views[0]);
            if !next.is_own_swap {
                ahead[1].find(instructions, context, &&sources, &next.views[1]);
            }
            if let Some(pair) = waiting.replace(next) {
                block::sweep::<T, I>(context, &sources, current, scratch, &pair);
                store::<T, I>(live, scratch, &pair);
            }
            candidates.swap(0, 1);
        }
        if let Some(pair) = waiting {
            let sources = sources(context, published, live);
            block::sweep::<T, I>(context, &sources, &candidates[0], scratch, &pair);
            store::<T, I>(live, scratch, &pair);
        }
        scratch.candidates = candidates;
    }
}

/// The pair of an inner value; `None` if it does not fit the slab or comes later, as the swap of
/// its swap.
#[inline(always)]
pub fn pair_of<'a, T: Value>(
    context: &Context<'_, T>,
    slabs: &'a [Slab; 2],
    is_own_swap: bool,
    x: u16,
) -> Option<Pair<'a>> {
    let (own, opponent) = slabs[0].budgets;
    let (a, b) = context.encoding.shared().inner_pieces()[x as usize];
    let swapped = context.tables.inner_swapped[x as usize];
    if a > own || b > opponent || is_own_swap && x < swapped {
        return None;
    }
    let views = [View::new(context, &slabs[0], x), View::new(context, &slabs[1], swapped)];
    Some(Pair { views, is_own_swap: is_own_swap && x == swapped })
}

#[inline(always)]
fn sources<'a, T: Value>(
    context: &Context<'a, T>,
    published: &'a [Array<T>],
    live: &'a [&mut [T]; 2],
) -> Sources<'a, T> {
    let last = published.len() - 1;
    let [first, second] = live;
    let finals = [context.finals(0), context.finals(1)];
    Sources { arrays: [&published[0], &published[last], first, second, finals[0], finals[1]] }
}

/// Writes the blocks of a pair to where they are stored.
#[inline(always)]
fn store<T: Value, I: Instructions>(
    live: &mut [&mut [T]; 2],
    scratch: &Scratch<T>,
    pair: &Pair<'_>,
) {
    for (view, from) in pair.views.iter().zip(&scratch.own).take(pair.blocks()) {
        let Place { array, start } = view.slab.own;
        let values = &mut live[array - arrays::LIVE][start + view.offset..];
        rows::store::<T, I>(from, view.rows, view.columns, values);
    }
}
