//! Shards partition a step, are closed under exchanging the players, and keep to their limit.

mod common;

use common::tracks;
use ziggurat_encoding::{Encoding, Index, SharedConfiguration, Tier};

#[test]
fn shards_partition_every_step() {
    for track in tracks() {
        let encoding = Encoding::new(&track.ruleset(3)).unwrap();
        for tier in encoding.tiers() {
            for limit in [1_000, 5_000, encoding.default_shard_positions(tier)] {
                let shards = encoding.shards(tier, limit);
                let of = |wanted: Tier| {
                    let mut ranges: Vec<_> = shards
                        .iter()
                        .flat_map(|shard| {
                            let (first, second) = shard.ranges.clone();
                            [(tier, Some(first)), (tier.swap(), second)]
                        })
                        .filter(|(at, _)| *at == wanted)
                        .filter_map(|(_, range)| range)
                        .collect();
                    ranges.sort_by_key(|range| range.start);
                    ranges
                };
                for wanted in [tier, tier.swap()] {
                    let mut next = 0;
                    for range in of(wanted) {
                        assert_eq!(range.start, next, "{} {tier} {limit}", track.name);
                        assert!(!range.is_empty());
                        next = range.end;
                    }
                    assert_eq!(next, encoding.tier_len(wanted));
                }
            }
        }
    }
}

#[test]
fn shards_are_closed_under_exchanging_the_players() {
    for track in tracks() {
        let encoding = Encoding::new(&track.ruleset(2)).unwrap();
        for tier in encoding.tiers() {
            let shards = encoding.shards(tier, 500);
            let shard_of = |index: Index| {
                shards.iter().position(|shard| {
                    let (first, second) = &shard.ranges;
                    index.tier == tier && first.contains(&index.offset)
                        || index.tier == tier.swap()
                            && second.as_ref().is_some_and(|s| s.contains(&index.offset))
                })
            };
            for offset in 0..encoding.tier_len(tier) {
                let index = Index { tier, offset };
                let swapped = encoding.rank(&encoding.unrank(index).swap());
                assert!(shard_of(index).is_some());
                assert_eq!(shard_of(index), shard_of(swapped), "{} {index:?}", track.name);
            }
        }
    }
}

#[test]
fn slabs_of_a_shard_are_visited_once_in_descending_order_and_fill_its_range() {
    for track in tracks() {
        let encoding = Encoding::new(&track.ruleset(3)).unwrap();
        let shared = encoding.shared();
        let fitting = |own| [0, 1, 2, 3].map(|opponent| fitting(&encoding, (own, opponent)));
        let fitting = [0, 1, 2, 3].map(fitting);
        for tier in [Tier::new(3, 3), Tier::new(3, 1), Tier::new(1, 2)] {
            for shard in encoding.shards(tier, 3_000) {
                let (mut end, mut count) = (shard.ranges.0.end, 0);
                shared.for_each_slab_descending(tier, &shard.prefix, &mut |w, budgets| {
                    let start = shared.offset(tier, w);
                    let fitting = &fitting[budgets.0 as usize][budgets.1 as usize];
                    assert_eq!(start + slab_len(&encoding, tier, *w, budgets, fitting), end);
                    assert_eq!(shared.locate(tier, start), (*w, 0));
                    assert_eq!(shared.swap(&shared.swap(w)), *w);
                    (end, count) = (start, count + 1);
                });
                assert_eq!(end, shard.ranges.0.start, "{} {tier}", track.name);
                assert_eq!(shared.slabs(tier, &shard.prefix), count, "{} {tier}", track.name);
            }
        }
    }
}

/// The configurations of the inner squares that fit the pieces which the outer squares leave.
fn fitting(encoding: &Encoding, (own, opponent): (u8, u8)) -> Vec<u16> {
    let pieces = (0..).zip(encoding.shared().inner_pieces());
    pieces.filter(|&(_, &(a, b))| a <= own && b <= opponent).map(|(x, _)| x).collect()
}

/// Adds up the blocks of a slab, and checks that each starts where the one before it ends.
fn slab_len(
    encoding: &Encoding,
    tier: Tier,
    mut w: SharedConfiguration,
    (own, opponent): (u8, u8),
    fitting: &[u16],
) -> u64 {
    let (shared, private) = (encoding.shared(), encoding.private());
    let slab = shared.offset(tier, &w);
    let mut len = 0;
    for &x in fitting {
        let (a, b) = shared.inner_pieces()[x as usize];
        w.0[shared.inner_chunk()] = x;
        assert_eq!(shared.inner_offsets((own, opponent))[x as usize], len);
        assert_eq!(shared.offset(tier, &w), slab + len);
        let swapped = shared.swap(&w).0[shared.inner_chunk()];
        assert_eq!(shared.inner_swapped(x), swapped);
        len += private.count(own - a) * private.count(opponent - b);
    }
    assert_eq!(shared.slab_len((own, opponent)), len);
    len
}

#[test]
fn the_default_limit_is_kept() {
    for track in tracks() {
        let encoding = Encoding::new(&track.ruleset(7)).unwrap();
        for tier in [Tier::new(7, 7), Tier::new(7, 6), Tier::new(3, 2)] {
            let limit = encoding.default_shard_positions(tier);
            assert!((64 << 10..=4 << 20).contains(&limit));
            for shard in encoding.shards(tier, limit) {
                let whole = shard.prefix.len() == encoding.shared().outer_squares();
                assert!(shard.len() <= limit || whole, "{} {tier}", track.name);
            }
        }
    }
}
