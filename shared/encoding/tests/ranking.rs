//! The ranking is perfect: it counts what the literature counts, and every index is a position.

mod common;

use std::collections::BTreeSet;

use common::tracks;
use proptest::prelude::*;
use ziggurat_encoding::{Encoding, EncodingError, Index, Place, Tier};
use ziggurat_game::{Board, Overrides, Path, Position, Ruleset, RulesetParts, Square};

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

/// What was measured to be fastest of finkel, blitz and double-short (docs/experiments/sweeps.md); masters has what blitz
/// has. No index depends on it.
#[test]
fn inner_squares_have_as_many_configurations_as_suit_the_kernel() {
    for (name, pieces, configurations) in
        [("finkel", 7, 3), ("blitz", 5, 81), ("masters", 7, 81), ("double-short", 4, 5)]
    {
        let overrides = Overrides { pieces: Some(pieces), ..Overrides::default() };
        let ruleset = Ruleset::builtin(name).unwrap().with(&overrides).unwrap();
        let encoding = Encoding::new(&ruleset).unwrap();
        assert_eq!(encoding.shared().inner_pieces().len(), configurations, "{name}");
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
fn positions_in_any_order_are_those_of_their_offsets() {
    for track in tracks() {
        let encoding = Encoding::new(&track.ruleset(2)).unwrap();
        for tier in encoding.tiers() {
            let len = encoding.tier_len(tier);
            let to_and_fro = (0..len).chain((0..len).rev());
            let leaps = (0..len).map(|i| i * 7919 % len); // a prime
            let mut positions = encoding.unranking(tier);
            for offset in to_and_fro.chain(leaps) {
                assert_eq!(encoding.rank(&positions.position(offset)), Index { tier, offset });
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

/// A ruleset whose players never meet: everyone has a column of squares to himself.
fn columns(rows: u8, pieces: u8) -> Ruleset {
    let column: Vec<_> = (1..=rows).map(|row| Square::new(1, row)).collect();
    let squares = column.iter().flat_map(|square| [*square, square.mirror()]);
    let parts = RulesetParts {
        board: Board::explicit(squares.collect()),
        path: Path::new(column.clone()),
        rosettes: BTreeSet::new(),
        ..tracks()[0].ruleset(pieces).parts().clone()
    };
    Ruleset::new(parts).unwrap()
}

#[test]
fn few_pieces_on_many_private_squares_are_ranked() {
    for (pieces, undecided) in [(1, 24 * 24), (2, 301 * 301)] {
        let encoding = Encoding::new(&columns(23, pieces)).unwrap();
        assert_eq!(encoding.undecided(), undecided);
        for tier in encoding.tiers() {
            for offset in 0..encoding.tier_len(tier) {
                assert_survives(&encoding, Index { tier, offset });
            }
        }
    }
}

#[test]
fn many_pieces_on_many_private_squares_are_refused() {
    let refused = Encoding::new(&columns(40, 15)).map(drop);
    assert_eq!(refused, Err(EncodingError::TooManyPrivateSquares { squares: 40 }));
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

#[test]
fn a_move_from_one_shared_square_to_another_advances_unless_it_captures() {
    for track in tracks() {
        let ruleset = track.ruleset(2);
        let encoding = Encoding::new(&ruleset).unwrap();
        let shared = encoding.shared();
        let is_shared = |at| matches!(encoding.geometry().own_place[at], Place::Shared { .. });
        // As the mover sees it, who in what is ranked has just moved.
        let advance = |position: &Position| {
            let Index { tier, offset } = encoding.rank(&position.swap());
            shared.advance(&shared.locate(tier, offset).0)
        };
        let tier = Tier::new(2, 1);
        let mut moves = 0;
        for offset in (0..encoding.tier_len(tier)).step_by(7) {
            let position = encoding.unrank(Index { tier, offset });
            for roll in ruleset.dice().rolls() {
                for mv in ruleset.moves(&position, roll.value) {
                    let ends_on_board = mv.from > 0 && mv.to <= ruleset.path().len();
                    let outcome = ruleset.apply(&position, mv);
                    if ends_on_board
                        && is_shared(mv.from as usize)
                        && is_shared(mv.to as usize)
                        && outcome.captured.is_none()
                    {
                        assert!(advance(&outcome.position) > advance(&position), "{}", track.name);
                        moves += 1;
                    }
                }
            }
        }
        assert!(moves > 100, "{}", track.name);
    }
}
