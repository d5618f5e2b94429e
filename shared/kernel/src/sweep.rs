//! The sweep of a slab: what other slabs offer, then its pairs of blocks, those with the pieces furthest along first.

use std::cmp::Reverse;

use ziggurat_encoding::{
    Encoding, Shard, SharedConfiguration, Tier,
    shared::{Advance, Budgets},
};

use crate::{
    array::Array,
    block::{self, SlabView, SweepBlocks, View},
    context::Context,
    gather::{Gather, ask},
    memory,
    rows::{self, Offered},
    scratch::Scratch,
    shortlist::{Reader, Take},
    slab::{Place, Placed, Slab, Sources, arrays},
    value::{Group, Value},
    vector::{Instructions, Operation},
};

/// Visits the slabs of a shard with their swaps, those with the pieces furthest along first, and whether the two are one.
pub fn for_each_pair_of_slabs<'t, T: Value>(
    context: &Context<'t, T>,
    shard: &Shard,
    placed: &impl Placed,
    mut visit: impl FnMut(&[Slab<'t>; 2], bool),
) {
    let shared = context.encoding.shared();
    let last = context.tiers.len() - 1;
    let one_range = last == 0 && shard.ranges.1.is_none();
    let mut slabs = [Slab::default(), Slab::default()];
    let mut visit = |w: &SharedConfiguration, budgets: Budgets| {
        let (own, opponent) = budgets;
        let swapped = shared.swap(w);
        if one_range && *w < swapped {
            return; // visited as the swap of its swap
        }
        memory::look();
        slabs[0].set(context, placed, w, (own, opponent), 0);
        slabs[1].set(context, placed, &swapped, (opponent, own), last);
        visit(&slabs, one_range && *w == swapped);
    };
    if !context.encoding.geometry().visits_squares_again() {
        return shared.for_each_slab_descending(context.tiers[0], &shard.prefix, &mut visit);
    }
    let count = shared.slabs(context.tiers[0], &shard.prefix);
    let mut advanced: Vec<Advanced> = Vec::with_capacity(count as usize);
    shared.for_each_slab_descending(context.tiers[0], &shard.prefix, &mut |w, budgets| {
        advanced.push((shared.advance(w), *w, budgets));
    });
    advanced.sort_unstable_by_key(|&(advance, ..)| Reverse(advance));
    advanced.iter().for_each(|(_, w, budgets)| visit(w, *budgets));
}

/// A slab, with empty inner squares, and how far its pieces are.
type Advanced = (Advance, SharedConfiguration, Budgets);

/// The most bytes it takes to visit the slabs of a shard in order, for any of these shards of the step of a tier.
pub fn order_bytes(encoding: &Encoding, tier: Tier, shards: &[Shard]) -> u64 {
    if !encoding.geometry().visits_squares_again() {
        return 0;
    }
    let count = |shard: &Shard| encoding.shared().slabs(tier, &shard.prefix);
    shards.iter().map(count).max().unwrap_or(0) * size_of::<Advanced>() as u64
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
    pub slabs: &'a [Slab<'c>; 2],
    /// Whether the two are one.
    pub is_own_swap: bool,
    /// Their shortlist, if there is one.
    pub shortlist: Option<&'a [u16]>,
}

impl<T: Value> Operation for SweepSlab<'_, '_, '_, T> {
    #[inline(always)]
    fn run<I: Instructions>(self, instructions: I) {
        let Self { scratch, context, published, live, slabs, is_own_swap, shortlist } = self;
        let routes = &context.tables.routes;
        let Scratch { slabs: scratch, turned } = scratch;
        let mut shortlist = shortlist.map(Reader::new);
        let groups = routes.layout(slabs[0].budgets).groups;
        let starts = [0, if is_own_swap { 0 } else { groups }];
        let different = || slabs.iter().zip(starts).take(if is_own_swap { 1 } else { 2 });
        let sources = sources(context, published, live);
        if shortlist.is_none() {
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
            if let Some(reader) = &mut shortlist {
                instructions.call(Take { context, sources, slab, reader, scratch, turned });
            } else {
                instructions.call(Gather { context, sources, slab, next, scratch, turned });
            }
        }
        let (shift, scratch_of_both) = (T::default(), &mut *scratch);
        instructions.call(SweepBlocks::<T, false> {
            context,
            scratch: scratch_of_both,
            slabs,
            starts,
            shift,
            shortlist,
        });
        for (slab, start) in different() {
            let Place { array, start: stored } = slab.own;
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
    own: impl Offered<T>,
    budgets: Budgets,
    scratch: &mut [T::Group],
) {
    let routes = &context.tables.routes;
    for block in &routes.layout(budgets).blocks {
        scratch[block.at..][..block.stride].fill(T::Group::splat(T::NONE));
    }
    rows::set::<T, I, _, 1>(instructions, scratch, [(routes.own(budgets), own)]);
}

/// The pairs of blocks of two slabs, which start at places of scratch memory, those with the pieces furthest along
/// first.
#[inline(always)]
pub fn views<'t, T: Value>(
    context: &Context<'t, T>,
    slabs: &[Slab<'_>; 2],
    starts: [usize; 2],
) -> impl Iterator<Item = (View<'t>, View<'t>)> {
    let inner_swapped = &context.tables.inner_swapped;
    let [first, second] = slabs;
    let fitting = &context.tables.routes.layout(first.budgets).fitting;
    let first = SlabView::new(context, first.budgets, starts[0]);
    let second = SlabView::new(context, second.budgets, starts[1]);
    fitting.iter().map(move |&x| (first.block(x), second.block(inner_swapped[x as usize])))
}

/// The groups of scratch memory that a slab takes.
#[inline(always)]
pub fn groups_of<T: Value>(context: &Context<'_, T>, slab: &Slab<'_>) -> usize {
    context.tables.routes.layout(slab.budgets).groups
}

/// What a sweep of a shard reads.
#[inline(always)]
pub fn sources<'a, T: Value>(
    context: &Context<'a, T>,
    published: &'a [Array<T>],
    live: &'a [&mut [T]; 2],
) -> Sources<'a, T> {
    let last = published.len() - 1;
    let [first, second] = live;
    let finals = [context.finals(0), context.finals(1)];
    Sources { arrays: [&published[0], &published[last], first, second, finals[0], finals[1]] }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ziggurat_game::{Overrides, Ruleset};

    use super::*;
    use crate::{context::Tables, reads::Everywhere};

    #[test]
    fn slabs_are_visited_once_those_with_the_pieces_furthest_along_first() {
        let overrides = Overrides { pieces: Some(2), ..Overrides::default() };
        let ruleset = Ruleset::builtin("skiriuk").unwrap().with(&overrides).unwrap();
        let encoding = Encoding::new(&ruleset).unwrap();
        let (tables, shared) = (Tables::new(&encoding), encoding.shared());
        for tier in [Tier::new(2, 1), Tier::new(2, 2)] {
            let context = Context::<f64>::new(&encoding, &tables, tier, |_| &[]);
            let last = context.tiers.len() - 1;
            let shards = encoding.shards(tier, 2_000);
            assert!(shards.len() > 1);
            let (mut visited, mut most) = (BTreeSet::new(), 0);
            for shard in &shards {
                let (mut before, mut own) = (Advance::MAX, 0);
                for_each_pair_of_slabs(&context, shard, &Everywhere, |slabs, is_own_swap| {
                    let [first, second] = slabs.each_ref().map(|slab| slab.own);
                    let (w, _) = shared.locate(tier, first.start as u64);
                    let advance = shared.advance(&w);
                    assert!(advance < before);
                    (before, own) = (advance, own + 1);
                    assert_eq!(is_own_swap, last == 0 && first.start == second.start);
                    assert!(visited.insert((first.array, first.start)));
                    assert!(is_own_swap || visited.insert((second.array, second.start)));
                });
                let slabs = shared.slabs(tier, &shard.prefix);
                assert!(own <= slabs);
                most = most.max(slabs);
            }
            let slabs: u64 = context.tiers.iter().map(|&tier| shared.slabs(tier, &[])).sum();
            assert_eq!(visited.len() as u64, slabs);
            let bytes = order_bytes(&encoding, tier, &shards);
            assert_eq!(bytes, most * size_of::<Advanced>() as u64);
        }
    }
}
