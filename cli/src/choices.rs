//! How many choices the player to move has, counted over all arrangements of pieces and rolls.
//!
//! Whether a move is legal depends on the mover's own pieces and on the opponent's pieces that
//! *block* a square (stand on a safe rosette, or on another lap where only the same lap may be
//! captured). Everything else the opponent has multiplies the count only. So it is enough to
//! visit every arrangement of the mover's pieces with every pattern of blocked squares; the
//! opponent's arrangements that look the same to the mover are the coefficients of a product of
//! polynomials, one factor `1 + visits x` for every square that is free to them, where the
//! exponent of `x` counts their pieces.

use rayon::prelude::*;
use ziggurat_encoding::Tier;
use ziggurat_game::{PathPosition, Position, Ruleset, Side};

/// Most pieces on the board, and most choices less one (one of them from hand).
const MOST: usize = Ruleset::MAX_PIECES as usize;

/// Numbers of arrangements by the number of the opponent's pieces on the board.
type Ways = [u128; MOST + 1];

/// `histogram[k]`: the number of (arrangement, roll) pairs with `k` legal choices.
type Histogram = [u128; MOST + 2];

/// The choices of every undecided tier.
pub struct Choices {
    /// The histograms by tier, in the order of pieces left, just moved first. Entry `k` is the
    /// number of (arrangement, roll) pairs with `k` legal moves.
    pub tiers: Vec<(Tier, Histogram)>,
    /// The number of decided arrangements, the one in which both players have scored all pieces
    /// included: they have no choices and no roll.
    pub decided: u128,
}

impl Choices {
    /// The published kind of histogram: all undecided arrangements with every roll, and every
    /// decided arrangement once under 0. Ends at the largest number of choices there is.
    pub fn histogram(&self) -> Vec<u128> {
        let mut total = vec![0; MOST + 2];
        for (_, histogram) in &self.tiers {
            for (sum, count) in total.iter_mut().zip(histogram) {
                *sum += count;
            }
        }
        total[0] += self.decided;
        let used = total.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        total.truncate(used);
        total
    }

    /// The mean number of choices over (arrangement, roll) pairs with at least one.
    pub fn mean_branching(&self) -> f64 {
        let (mut pairs, mut choices) = (0, 0);
        for (_, histogram) in &self.tiers {
            for (k, &count) in histogram.iter().enumerate().skip(1) {
                pairs += count;
                choices += k as u128 * count;
            }
        }
        choices as f64 / pairs.max(1) as f64
    }
}

/// A square of the mover's path, and what may stand there.
struct Place {
    /// The mover's path positions here.
    own: Vec<PathPosition>,
    /// How many of the opponent's path positions here block nothing.
    harmless: u128,
    /// The ways in which an opponent piece here blocks: one of its path positions that blocks so,
    /// and how many do.
    blocking: Vec<(PathPosition, u128)>,
}

/// The histograms with the mover's pieces on the board and their hand still open, by the number of
/// the mover's pieces on the board, whether there are some in hand, number of choices, and number
/// of the opponent's pieces on the board.
type Tally = Vec<[[Ways; MOST + 2]; 2]>;

/// Counts the choices of a ruleset.
pub fn count(ruleset: &Ruleset) -> Choices {
    let places = places(ruleset);
    let mut ways = [0; MOST + 1];
    ways[0] = 1;
    for at in opponent_private_visits(ruleset) {
        multiply(&mut ways, at);
    }
    let start = Partial { position: Position::start(), ways };
    // Enough beginnings to keep every core busy until the end.
    let depth = places.len().min(5);
    let mut beginnings = Vec::new();
    visit(ruleset, &places[..depth], start, &mut |partial| beginnings.push(partial.clone()));
    let tally = beginnings
        .into_par_iter()
        .fold(empty_tally, |mut tally, beginning| {
            visit(ruleset, &places[depth..], beginning, &mut |leaf| {
                record(ruleset, leaf, &mut tally)
            });
            tally
        })
        .reduce(empty_tally, merge);
    spread(ruleset, &tally)
}

/// Some of the squares are decided: the pieces there, and the opponent's arrangements so far.
#[derive(Clone)]
struct Partial {
    /// The mover's pieces, and one representative of the opponent's that block.
    position: Position,
    ways: Ways,
}

/// Calls `leaf` for everything that may stand on `places`, with at most the ruleset's pieces.
fn visit(ruleset: &Ruleset, places: &[Place], partial: Partial, leaf: &mut impl FnMut(&Partial)) {
    let Some((place, rest)) = places.split_first() else {
        return leaf(&partial);
    };
    if partial.position.own.on_board() < ruleset.pieces() {
        for &at in &place.own {
            let mut with_own = partial.clone();
            with_own.position.own.board |= 1 << at;
            visit(ruleset, rest, with_own, leaf);
        }
    }
    if partial.position.opponent.on_board() < ruleset.pieces() {
        for &(at, visits) in &place.blocking {
            let mut blocked = partial.clone();
            blocked.position.opponent.board |= 1 << at;
            // One more piece of the opponent: times `visits x`.
            blocked.ways.rotate_right(1);
            blocked.ways[0] = 0;
            blocked.ways.iter_mut().for_each(|ways| *ways *= visits);
            visit(ruleset, rest, blocked, leaf);
        }
    }
    let mut free = partial;
    multiply(&mut free.ways, place.harmless);
    visit(ruleset, rest, free, leaf);
}

/// Times `1 + visits x`, terms beyond the most pieces left out.
fn multiply(ways: &mut Ways, visits: u128) {
    for pieces in (1..ways.len()).rev() {
        ways[pieces] += visits * ways[pieces - 1];
    }
}

/// Counts the legal moves for every roll, with and without pieces in hand.
fn record(ruleset: &Ruleset, leaf: &Partial, tally: &mut Tally) {
    let on_board = leaf.position.own.on_board();
    for roll in ruleset.dice().rolls() {
        let (mut entering, mut others) = (0, 0);
        for mv in ruleset.moves(&leaf.position, roll.value) {
            if mv.from == 0 { entering += 1 } else { others += 1 }
        }
        for (in_hand, choices) in [(0, others), (1, others + entering)] {
            let sums = &mut tally[on_board as usize][in_hand][choices];
            for (sum, ways) in sums.iter_mut().zip(leaf.ways) {
                *sum += ways;
            }
        }
    }
}

/// Gives every tier its histogram: the mover's hand is what is left and not on the board, and
/// the opponent has at most what is left on the board.
fn spread(ruleset: &Ruleset, tally: &Tally) -> Choices {
    let pieces = ruleset.pieces();
    let mut tiers = Vec::new();
    for just_moved in 1..=pieces {
        for to_move in 1..=pieces {
            let mut histogram = [0; MOST + 2];
            for (on_board, by_hand) in tally.iter().enumerate().take(to_move as usize + 1) {
                let by_choices = &by_hand[usize::from(on_board < to_move as usize)];
                for (count, ways) in histogram.iter_mut().zip(by_choices) {
                    *count += ways[..=just_moved as usize].iter().sum::<u128>();
                }
            }
            tiers.push((Tier::new(just_moved, to_move), histogram));
        }
    }
    Choices { tiers, decided: decided(ruleset) }
}

/// Arrangements in which a player has scored all pieces: either player, whatever the other has
/// left, and both at once.
fn decided(ruleset: &Ruleset) -> u128 {
    let mut ways = [0; MOST + 1];
    ways[0] = 1;
    for place in places(ruleset) {
        multiply(&mut ways, place.own.len() as u128);
    }
    let one_side = |left: u8| ways[..=left as usize].iter().sum::<u128>();
    2 * (1..=ruleset.pieces()).map(one_side).sum::<u128>() + 1
}

/// The distinct squares of the mover's path.
fn places(ruleset: &Ruleset) -> Vec<Place> {
    let path = ruleset.path();
    path.positions()
        .filter(|&(at, _)| path.lap(at) == 1)
        .map(|(first, _)| {
            let own: Vec<_> =
                Side { board: ruleset.own_on_square_of(first), scored: 0 }.positions().collect();
            // What an opponent piece on `met` blocks: the mover's path positions here that may not
            // capture it.
            let blocks = |met: PathPosition| -> u64 {
                own.iter()
                    .filter(|&&to| ruleset.capturable_from(to) >> met & 1 == 0)
                    .fold(0, |mask, to| mask | 1 << to)
            };
            let (mut harmless, mut kinds) = (0, Vec::<(u64, PathPosition, u128)>::new());
            let opponents = Side { board: ruleset.opponent_on_square_of(first), scored: 0 };
            for met in opponents.positions() {
                match (blocks(met), kinds.iter_mut().find(|kind| kind.0 == blocks(met))) {
                    (0, _) => harmless += 1,
                    (_, Some(kind)) => kind.2 += 1,
                    (blocked, None) => kinds.push((blocked, met, 1)),
                }
            }
            let blocking = kinds.into_iter().map(|(_, met, visits)| (met, visits)).collect();
            Place { own, harmless, blocking }
        })
        .collect()
}

/// For every square on the opponent's path only, how often it is visited. By symmetry, as many
/// as for the mover.
fn opponent_private_visits(ruleset: &Ruleset) -> impl Iterator<Item = u128> + '_ {
    let path = ruleset.path();
    path.positions()
        .filter(|&(at, _)| path.lap(at) == 1 && ruleset.opponent_on_square_of(at) == 0)
        .map(|(at, _)| u128::from(ruleset.own_on_square_of(at).count_ones()))
}

fn empty_tally() -> Tally {
    vec![[[[0; MOST + 1]; MOST + 2]; 2]; MOST + 1]
}

fn merge(mut one: Tally, other: Tally) -> Tally {
    let sums = one.as_flattened_mut().as_flattened_mut().as_flattened_mut();
    let counts = other.as_flattened().as_flattened().as_flattened();
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
    one
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use ziggurat_encoding::{Encoding, Index};
    use ziggurat_game::{Captures, Overrides};

    use super::*;

    fn ruleset(name: &str, pieces: u8, overrides: Overrides) -> Ruleset {
        let overrides = Overrides { pieces: Some(pieces), ..overrides };
        Ruleset::builtin(name).unwrap().with(&overrides).unwrap()
    }

    /// The definition: every position unranked, every roll tried.
    fn one_by_one(ruleset: &Ruleset) -> Vec<(Tier, Histogram)> {
        let encoding = Encoding::new(ruleset).unwrap();
        let count = |tier| {
            let mut histogram = [0; MOST + 2];
            for offset in 0..encoding.tier_len(tier) {
                let position = encoding.unrank(Index { tier, offset });
                for roll in ruleset.dice().rolls() {
                    histogram[ruleset.moves(&position, roll.value).count()] += 1;
                }
            }
            (tier, histogram)
        };
        let mut tiers: Vec<_> = encoding.tiers().into_iter().map(count).collect();
        tiers.sort();
        tiers
    }

    #[test]
    fn finkel_has_the_published_choices() {
        let path = "../tests/data/reference_values.json";
        let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let published = file["finkel_choices_histogram"]["choices"].as_object().unwrap();
        let counted = count(&ruleset("finkel", 7, Overrides::default())).histogram();
        assert_eq!(counted.len(), published.len());
        for (choices, pairs) in published {
            let choices: usize = choices.parse().unwrap();
            assert_eq!(counted[choices], u128::from(pairs.as_u64().unwrap()), "{choices} choices");
        }
    }

    #[test]
    fn counting_classes_agrees_with_counting_positions() {
        for (name, pieces) in [("finkel", 2), ("blitz", 2), ("skiriuk", 2), ("murray", 1)] {
            let ruleset = ruleset(name, pieces, Overrides::default());
            assert_eq!(count(&ruleset).tiers, one_by_one(&ruleset), "{name}");
        }
    }

    #[test]
    fn pieces_on_another_lap_block_where_only_the_same_lap_may_be_captured() {
        let same_lap = Overrides { captures: Some(Captures::SameLap), ..Overrides::default() };
        let ruleset = ruleset("double-short", 1, same_lap);
        assert_eq!(count(&ruleset).tiers, one_by_one(&ruleset));
    }

    #[test]
    fn every_position_meets_every_roll_once() {
        for name in Ruleset::builtin_names() {
            let ruleset = ruleset(name, 3, Overrides::default());
            let encoding = Encoding::new(&ruleset).unwrap();
            let rolls = ruleset.dice().rolls().len() as u128;
            for (tier, histogram) in count(&ruleset).tiers {
                let pairs: u128 = histogram.iter().sum();
                assert_eq!(pairs, u128::from(encoding.tier_len(tier)) * rolls, "{name} {tier}");
            }
        }
    }

    #[test]
    fn decided_arrangements_complete_the_positions() {
        let ruleset = ruleset("finkel", 7, Overrides::default());
        let encoding = Encoding::new(&ruleset).unwrap();
        assert_eq!(count(&ruleset).decided, u128::from(encoding.states() - encoding.undecided()));
    }
}
