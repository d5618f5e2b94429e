//! The ranking is perfect: it counts what the literature counts, and every index is a position.

mod common;

use common::tracks;
use proptest::prelude::*;
use ziggurat_encoding::{Encoding, Index, Tier};
use ziggurat_game::Position;

#[test]
fn all_tracks_have_the_published_numbers_of_positions() {
    for track in tracks() {
        assert_eq!(track.sizes.len(), 10);
        for &(pieces, published) in &track.sizes {
            let encoding = Encoding::new(&track.ruleset(pieces)).unwrap();
            let largest = encoding.tiers().into_iter().map(|tier| encoding.tier_len(tier)).max();
            let counted = [encoding.states(), encoding.undecided(), largest.unwrap()];
            assert_eq!(counted, published, "{} with {pieces} pieces", track.name);
        }
    }
}

#[test]
fn every_index_unranks_to_itself() {
    for track in tracks() {
        for pieces in 1..=3 {
            let encoding = Encoding::new(&track.ruleset(pieces)).unwrap();
            if encoding.undecided() >= 10_000_000 {
                continue;
            }
            for tier in encoding.tiers() {
                for offset in 0..encoding.tier_len(tier) {
                    assert_survives(&encoding, Index { tier, offset });
                }
            }
        }
    }
}

#[test]
fn different_indices_are_different_positions() {
    for track in tracks() {
        let encoding = Encoding::new(&track.ruleset(2)).unwrap();
        let mut positions: Vec<Position> = Vec::new();
        for tier in encoding.tiers() {
            let offsets = 0..encoding.tier_len(tier);
            positions.extend(offsets.map(|offset| encoding.unrank(Index { tier, offset })));
        }
        let count = positions.len();
        positions.sort();
        positions.dedup();
        assert_eq!(positions.len(), count, "{}", track.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_index_of_any_track_with_up_to_ten_pieces_unranks_to_itself(
        track in 0..17usize,
        pieces in 1u8..=10,
        own in any::<prop::sample::Index>(),
        opponent in any::<prop::sample::Index>(),
        at in any::<u64>(),
    ) {
        thread_local! {
            static ENCODINGS: Vec<Vec<Encoding>> = tracks()
                .iter()
                .map(|t| (1..=10).map(|n| Encoding::new(&t.ruleset(n)).unwrap()).collect())
                .collect();
        }
        ENCODINGS.with(|encodings| {
            let encoding = &encodings[track][pieces as usize - 1];
            let left = |index: prop::sample::Index| 1 + index.index(pieces as usize) as u8;
            let tier = Tier::new(left(own), left(opponent));
            assert_survives(encoding, Index { tier, offset: at % encoding.tier_len(tier) });
        });
    }
}

fn assert_survives(encoding: &Encoding, index: Index) {
    let position = encoding.unrank(index);
    assert_eq!(encoding.rank(&position), index, "{position:?}");
    let left = |scored: u8| encoding.ruleset().pieces() - scored;
    let tier = Tier::new(left(position.opponent.scored), left(position.own.scored));
    assert_eq!(tier, index.tier);
    for (side, tier) in [(position.own, tier.to_move), (position.opponent, tier.just_moved)] {
        assert!(side.on_board() <= tier, "{position:?} has too many pieces on the board");
    }
}
