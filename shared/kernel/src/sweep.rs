//! The sweep of a slab: what other slabs offer, then its pairs of blocks, in descending order.

use crate::{
    array::Array,
    block::{self, View},
    context::Context,
    gather::{ask, gather},
    rows,
    scratch::Scratch,
    simd::Operation,
    slab::{Place, Slab, Sources, arrays},
    value::{Group, Value},
    vector::Instructions,
};

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
    pub slabs: &'a [Slab<'c>; 2],
    /// Whether the two are one.
    pub is_own_swap: bool,
}

impl<T: Value> Operation for SweepSlab<'_, '_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { scratch, context, published, live, slabs, is_own_swap } = self;
        let routes = &context.tables.routes;
        let Scratch { slabs: scratch, turned } = scratch;
        let groups = routes.layout(slabs[0].budgets).groups;
        let starts = [0, if is_own_swap { 0 } else { groups }];
        let different = || slabs.iter().zip(starts).take(if is_own_swap { 1 } else { 2 });
        let views = |&x: &u16| {
            let swapped = context.tables.inner_swapped[x as usize];
            let view = View::new(context, slabs[0].budgets, x, starts[0]);
            (view, View::new(context, slabs[1].budgets, swapped, starts[1]))
        };
        let pairs = || routes.layout(slabs[0].budgets).fitting.iter().map(views);
        let sources = sources(context, published, live);
        ask(instructions, context, &sources, &slabs[0], 0);
        for (slab, start) in different() {
            let scratch = &mut scratch[start..][..groups_of(context, slab)];
            for block in routes.layout(slab.budgets).blocks() {
                scratch[block.at..][..block.stride].fill(T::Group::splat(T::NONE));
            }
            rows::set::<T, I, 1>(scratch, [(routes.own(slab.budgets), sources.at(slab.own))]);
        }
        if routes.rolls_again_within {
            for (view, swapped) in pairs() {
                block::value_from_stored::<T, I>(scratch, &view, &swapped);
                block::value_from_stored::<T, I>(scratch, &swapped, &view);
            }
        }
        for (slab, start) in different() {
            let next = (start == 0 && !is_own_swap).then_some(&slabs[1]);
            let scratch = &mut scratch[start..][..groups_of(context, slab)];
            gather::<T, I>(instructions, context, &sources, slab, next, scratch, turned);
        }
        for (view, swapped) in pairs() {
            if is_own_swap && view.x < swapped.x {
                continue; // comes later, as the swap of its swap
            }
            let swapped = (!is_own_swap || view.x != swapped.x).then_some(&swapped);
            block::sweep::<T, I>(context, scratch, &view, swapped);
        }
        for (slab, start) in different() {
            let Place { array, start: stored } = slab.own;
            for block in routes.layout(slab.budgets).blocks() {
                let values = &mut live[array - arrays::LIVE][stored + block.start..];
                let own = &scratch[start + block.own()..];
                rows::store::<T, I>(own, block.stride, (block.rows, block.columns), values);
            }
        }
    }
}

#[inline(always)]
fn groups_of<T: Value>(context: &Context<'_, T>, slab: &Slab<'_>) -> usize {
    context.tables.routes.layout(slab.budgets).groups
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
