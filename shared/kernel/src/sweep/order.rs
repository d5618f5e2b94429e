//! The order in which the slabs of a unit are swept: those with the pieces furthest along first.

use std::cmp::Reverse;

use ziggurat_encoding::{
    Encoding, Shard, SharedConfiguration, Tier,
    shared::{Advance, Budgets},
};

use crate::{
    memory::budget,
    shards::ranges::Orientation,
    simd::value::Value,
    sweep::{context::Context, slab::Slab, sources::Locator},
};

/// A slab and its swap.
pub type SlabPair<'t> = [Slab<'t>; 2];

/// Visits the slabs of a unit with their swaps, those with the pieces furthest along first, and whether the two are
/// one. They are worked out in `slabs`, whose lists keep their room from unit to unit.
pub fn for_each_pair_of_slabs<'t, T: Value>(
    context: &Context<'t, T>,
    part: &Shard,
    locator: &impl Locator,
    slabs: &mut SlabPair<'t>,
    mut visit: impl FnMut(&SlabPair<'t>, bool),
) {
    let shared = context.encoding.shared();
    let last = context.last();
    let one_range = last == Orientation::FIRST && part.ranges.1.is_none();
    let mut visit = |w: &SharedConfiguration, budgets: Budgets| {
        let (own, opponent) = budgets;
        let swapped = shared.swap(w);
        if one_range && *w < swapped {
            return; // visited as the swap of its swap
        }
        budget::enforce_budget();
        slabs[0].set(context, locator, w, (own, opponent), Orientation::FIRST);
        slabs[1].set(context, locator, &swapped, (opponent, own), last);
        visit(slabs, one_range && *w == swapped);
    };
    if !context.encoding.geometry().visits_squares_again() {
        return shared.for_each_slab_descending(context.tiers[0], &part.prefix, &mut visit);
    }
    let count = shared.slabs(context.tiers[0], &part.prefix);
    let mut advanced: Vec<Advanced> = Vec::with_capacity(count as usize);
    shared.for_each_slab_descending(context.tiers[0], &part.prefix, &mut |w, budgets| {
        advanced.push((shared.advance(w), *w, budgets));
    });
    advanced.sort_unstable_by_key(|&(advance, ..)| Reverse(advance));
    advanced.iter().for_each(|(_, w, budgets)| visit(w, *budgets));
}

/// A slab, with empty inner squares, and how far its pieces are.
pub type Advanced = (Advance, SharedConfiguration, Budgets);

/// The most bytes it takes to visit the slabs of a unit in order, for any of these of the step of a tier.
pub fn order_bytes<'a>(
    encoding: &Encoding,
    tier: Tier,
    units: impl Iterator<Item = &'a Shard>,
) -> u64 {
    if !encoding.geometry().visits_squares_again() {
        return 0;
    }
    let count = |part: &Shard| encoding.shared().slabs(tier, &part.prefix);
    units.map(count).max().unwrap_or(0) * size_of::<Advanced>() as u64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{fixtures::encoding, halo::reads::Everywhere, moves::tables::Tables};

    #[test]
    fn slabs_are_visited_once_those_with_the_pieces_furthest_along_first() {
        let encoding = encoding("skiriuk", 2);
        let (tables, shared) = (Tables::new(&encoding), encoding.shared());
        for tier in [Tier::new(2, 1), Tier::new(2, 2)] {
            let context = Context::<f64>::new(&encoding, &tables, tier, |_| &[]);
            let shards = encoding.shards(tier, 2_000);
            assert!(shards.len() > 1);
            let (mut visited, mut most) = (BTreeSet::new(), 0);
            for shard in &shards {
                let (mut before, mut own) = (Advance::MAX, 0);
                let mut slabs = SlabPair::default();
                for_each_pair_of_slabs(
                    &context,
                    shard,
                    &Everywhere,
                    &mut slabs,
                    |slabs, is_own_swap| {
                        let [first, second] = slabs.each_ref().map(|slab| slab.own);
                        let (w, _) = shared.locate(tier, first.start as u64);
                        let advance = shared.advance(&w);
                        assert!(advance < before);
                        (before, own) = (advance, own + 1);
                        assert_eq!(
                            is_own_swap,
                            context.tiers.len() == 1 && first.start == second.start
                        );
                        assert!(visited.insert((first.array, first.start)));
                        assert!(is_own_swap || visited.insert((second.array, second.start)));
                    },
                );
                let slabs = shared.slabs(tier, &shard.prefix);
                assert!(own <= slabs);
                most = most.max(slabs);
            }
            let slabs: u64 = context.tiers.iter().map(|&tier| shared.slabs(tier, &[])).sum();
            assert_eq!(visited.len() as u64, slabs);
            let bytes = order_bytes(&encoding, tier, shards.iter());
            assert_eq!(bytes, most * size_of::<Advanced>() as u64);
        }
    }
}
