//! Every way of placing the pieces.
//!
//! An arrangement puts each piece in hand, on a path position, or among the scored ones, such
//! that no two pieces, of whichever player, stand on one square. Nothing else is excluded, so
//! some arrangements never occur in a game. One in which neither player has scored everything is
//! *undecided*, any other is decided.

use std::collections::BTreeMap;
use std::rc::Rc;

use ziggurat_game::{PathPosition, Position, Ruleset, Side, Square};

/// The undecided arrangements, seen from the player to move, each once.
pub fn enumerate(ruleset: &Ruleset) -> impl Iterator<Item = Position> + use<> {
    let pieces = ruleset.pieces();
    let sides: Rc<[Placed]> =
        placements(ruleset).into_iter().filter(|placed| placed.side.scored < pieces).collect();
    (0..sides.len()).flat_map(move |own| {
        let sides = Rc::clone(&sides);
        (0..sides.len()).filter_map(move |opponent| pair(&sides[own], &sides[opponent]))
    })
}

/// The arrangements in which a player has scored all pieces, seen from the player to move, each
/// once. Published counts include the one in which both have.
pub fn decided(ruleset: &Ruleset) -> impl Iterator<Item = Position> + use<> {
    let all_scored = Side { board: 0, scored: ruleset.pieces() };
    placements(ruleset).into_iter().flat_map(move |Placed { side, .. }| {
        let won = Position { own: all_scored, opponent: side };
        std::iter::once(won).chain((side != all_scored).then_some(won.swap()))
    })
}

/// How many pairs of an arrangement and a roll leave the player to move how many choices: the
/// key is the number of legal moves. Every decided arrangement counts once, under 0, as in the
/// published figures for the seven pieces of finkel.
pub fn choices(ruleset: &Ruleset) -> BTreeMap<usize, u64> {
    let mut histogram = BTreeMap::from([(0, decided(ruleset).count() as u64)]);
    for position in enumerate(ruleset) {
        for roll in ruleset.dice().rolls() {
            *histogram.entry(ruleset.moves(&position, roll.value).count()).or_default() += 1;
        }
    }
    histogram
}

/// The pieces of one player, with the squares they stand on as bits of a mask: as the player
/// sees the board, and as the other player does.
#[derive(Clone, Copy)]
struct Placed {
    side: Side,
    squares: u128,
    mirrored: u128,
}

/// Both players' pieces together, unless two of them stand on one square.
fn pair(own: &Placed, opponent: &Placed) -> Option<Position> {
    (own.squares & opponent.mirrored == 0)
        .then_some(Position { own: own.side, opponent: opponent.side })
}

/// Every way of placing the pieces of one player alone.
fn placements(ruleset: &Ruleset) -> Vec<Placed> {
    let squares = ruleset.path().squares();
    let mut all: Vec<Square> = squares.iter().flat_map(|&s| [s, s.mirror()]).collect();
    all.sort();
    all.dedup();
    let bit = |square: Square| -> u128 {
        1 << all.iter().position(|&s| s == square).expect("all squares of both paths are listed")
    };
    let mut found = vec![Placed { side: Side::default(), squares: 0, mirrored: 0 }];
    for (at, square) in ruleset.path().positions() {
        let with_a_piece_here: Vec<Placed> = found
            .iter()
            .filter(|placed| placed.side.on_board() < ruleset.pieces())
            .filter(|placed| placed.squares & bit(square) == 0)
            .map(|placed| placed.with(at, bit(square), bit(square.mirror())))
            .collect();
        found.extend(with_a_piece_here);
    }
    found
        .into_iter()
        .flat_map(|placed| {
            let most = ruleset.pieces() - placed.side.on_board();
            (0..=most).map(move |scored| Placed { side: Side { scored, ..placed.side }, ..placed })
        })
        .collect()
}

impl Placed {
    /// One piece more, on path position `at`.
    fn with(&self, at: PathPosition, square: u128, mirrored: u128) -> Self {
        Self {
            side: Side { board: self.side.board | 1 << at, ..self.side },
            squares: self.squares | square,
            mirrored: self.mirrored | mirrored,
        }
    }
}
