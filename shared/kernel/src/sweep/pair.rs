//! The sweep of a slab: its successors in other slabs, then its pairs of blocks, those with the pieces furthest along
//! first.

use ziggurat_encoding::shared::Budgets;

use crate::{
    memory::array::Array,
    simd::{
        value::{Group, Value},
        vector::{Instructions, Operation},
    },
    sweep::{
        block::{self, SweepBlocks},
        context::Context,
        elimination::{format::Reader, gather::GatherCandidates},
        gather::{Gather, ask},
        rows::{self},
        scratch::Scratch,
        slab::Slab,
        sources::{Location, ValueReader, arrays, value_arrays},
        view::{groups_of, views},
    },
};

/// A pair of slabs to sweep, or a slab that is its own swap.
pub struct SweepSlab<'a, 'l, 'c, T: Value> {
    /// The working memory.
    pub scratch: &'a mut Scratch<T>,
    /// The inputs of the sweep besides the step's own values.
    pub context: &'a Context<'c, T>,
    /// The values of each orientation as of the last barrier.
    pub published: &'a [Array<T>],
    /// The values of the shard, range by range.
    pub live: &'a mut [&'l mut [T]; 2],
    /// The slab and its swap.
    pub slabs: &'a [Slab<'c>; 2],
    /// Whether the two are one.
    pub is_own_swap: bool,
    /// Their candidates, if there are any.
    pub candidate_list: Option<&'a [u16]>,
}

impl<T: Value> Operation for SweepSlab<'_, '_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { scratch, context, published, live, slabs, is_own_swap, candidate_list } = self;
        let routes = &context.tables.routes;
        let Scratch { slabs: scratch, transposed } = scratch;
        let mut candidate_list = candidate_list.map(Reader::new);
        let groups = routes.layout(slabs[0].budgets).groups;
        let starts = [0, if is_own_swap { 0 } else { groups }];
        let different = || slabs.iter().zip(starts).take(if is_own_swap { 1 } else { 2 });
        let sources = value_arrays(context, published, live);
        if candidate_list.is_none() {
            ask(instructions, context, &sources, &slabs[0], 0);
        }
        for (slab, start) in different() {
            let own = sources.at(slab.own);
            load::<T, I>(instructions, context, own, slab.budgets, &mut scratch[start..]);
        }
        let pairs = || views(context, slabs, starts);
        if routes.rolls_again_within {
            for (view, swapped) in pairs() {
                block::value_from_stored::<T, I>(scratch, &view, &swapped);
                block::value_from_stored::<T, I>(scratch, &swapped, &view);
            }
        }
        for (slab, start) in different() {
            let next = (start == 0 && !is_own_swap).then_some(&slabs[1]);
            let scratch = &mut scratch[start..][..groups_of(context, slab)];
            let sources = &sources;
            if let Some(reader) = &mut candidate_list {
                instructions.call(GatherCandidates {
                    context,
                    sources,
                    slab,
                    reader,
                    scratch,
                    transposed,
                });
            } else {
                instructions.call(Gather { context, sources, slab, next, scratch, transposed });
            }
        }
        let (shift, scratch_of_both) = (T::default(), &mut *scratch);
        instructions.call(SweepBlocks::<T, false> {
            context,
            scratch: scratch_of_both,
            slabs,
            starts,
            shift,
            candidate_list,
        });
        for (slab, start) in different() {
            let Location { array, start: stored } = slab.own;
            for block in &routes.layout(slab.budgets).blocks {
                let values = &mut live[array - arrays::LIVE][stored + block.start..];
                let own = &scratch[start + block.own()..];
                rows::store::<T, I>(own, block.stride, block.lines(), values);
            }
        }
    }
}

/// Reads a slab's own values into scratch memory.
#[inline(always)]
pub fn load<T: Value, I: Instructions>(
    instructions: I,
    context: &Context<'_, T>,
    own: impl ValueReader<T>,
    budgets: Budgets,
    scratch: &mut [T::Group],
) {
    let routes = &context.tables.routes;
    for block in &routes.layout(budgets).blocks {
        scratch[block.at..][..block.stride].fill(T::Group::splat(T::NONE));
    }
    rows::set::<T, I, _, 1>(instructions, scratch, [(routes.own(budgets), own)]);
}
