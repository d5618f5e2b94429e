//! Readers: which units read a position in their sweeps, for a sample of the positions of a step.
//!
//! A unit reads a position if a move leads from one of its own there. So a position's readers follow from the rules
//! played backwards, and a sample of positions says how many a team exchanges, whoever owns which units, without a look
//! at every slab. Positions of a sample are a Kronecker sequence: multiples of the golden ratio, modulo 1, are spread
//! evenly, and have no period that blocks could share (Kuipers and Niederreiter 1974). Members of a team read whole rows
//! of slabs around these positions, so they exchange more (`docs/experiments/scale.md` says by how much).

use std::ops::Range;

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Position, Ruleset, Side};

use crate::waves::{Unit, UnitIndex};

/// The golden ratio less one, as a fraction of 2^64.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A position of a sample.
#[derive(Clone, PartialEq, Debug)]
pub struct Sampled {
    /// The unit it is in.
    pub unit: UnitIndex,
    /// How many positions it stands for.
    pub positions: f64,
    /// The other units that read it, ascending.
    pub readers: Vec<UnitIndex>,
}

/// A sample of so many positions of a step, with their readers.
pub fn sample(encoding: &Encoding, tier: Tier, units: &[Unit], count: u64) -> Vec<Sampled> {
    let places = Places::new(tier, units);
    let of_tier = |tier: Tier| {
        let len = encoding.tier_len(tier);
        let count = (u128::from(count) * u128::from(len) / u128::from(encoding.step_len(tier)))
            .clamp(1, u128::from(len)) as u64;
        (0..count).map(move |i| {
            let offset = ((u128::from(i.wrapping_mul(GOLDEN)) * u128::from(len)) >> 64) as u64;
            (tier, offset, len as f64 / count as f64)
        })
    };
    let sampled = |(tier, offset, positions)| {
        let unit = places.find(tier, offset);
        // The stored position is seen by the player to move.
        let position = encoding.unrank(ziggurat_encoding::Index { tier, offset });
        let mut readers = Vec::new();
        for_each_predecessor(encoding.ruleset(), &position, |before| {
            let index = encoding.rank(before);
            readers.push(places.find(index.tier, index.offset));
        });
        readers.sort_unstable();
        readers.dedup();
        readers.retain(|&reader| reader != unit);
        Sampled { unit, positions, readers }
    };
    tier.both().flat_map(of_tier).map(sampled).collect()
}

/// The ranges of the units of a step, in order.
struct Places {
    tier: Tier,
    /// For each orientation, ranges of indices with their units.
    ranges: [Vec<(Range<u64>, UnitIndex)>; 2],
}

impl Places {
    fn new(tier: Tier, units: &[Unit]) -> Self {
        let last = tier.both().count() - 1;
        let mut ranges = [Vec::new(), Vec::new()];
        for (i, unit) in units.iter().enumerate() {
            let (first, second) = &unit.part.ranges;
            ranges[0].push((first.clone(), UnitIndex(i)));
            if let Some(second) = second {
                ranges[last].push((second.clone(), UnitIndex(i)));
            }
        }
        ranges.iter_mut().for_each(|ranges| ranges.sort_unstable_by_key(|(range, _)| range.start));
        Self { tier, ranges }
    }

    /// The unit of a position.
    fn find(&self, tier: Tier, offset: u64) -> UnitIndex {
        let ranges = &self.ranges[usize::from(tier != self.tier)];
        let after = ranges.partition_point(|(range, _)| range.start <= offset);
        ranges[after - 1].1
    }
}

/// Visits the positions, seen by their player to move, from which a move that scores nothing leads to this one.
fn for_each_predecessor(ruleset: &Ruleset, position: &Position, mut visit: impl FnMut(&Position)) {
    // Whoever is to move has moved before, and rolls again, or the other player has.
    for (after, rolls_again) in [(*position, true), (position.swap(), false)] {
        for to in after.own.positions() {
            for roll in ruleset.dice().rolls().iter().map(|roll| roll.value) {
                if roll == 0 || roll > to {
                    continue;
                }
                let from = to - roll;
                let own = without(&after.own, to, from);
                let back = Position { own, opponent: after.opponent };
                let met = ruleset.opponent_on_square_of(to);
                let can_be_captured = after.opponent.in_hand(ruleset.pieces()) > 0;
                let captured = if can_be_captured { met } else { 0 };
                let captures = (0..u64::BITS).map(|at| 1 << at).filter(|one| captured & one != 0);
                for more in std::iter::once(0).chain(captures) {
                    let mut before = back;
                    before.opponent.board |= more;
                    let leads_here = || {
                        let mut moves = ruleset.moves(&before, roll);
                        let Some(mv) = moves.find(|mv| mv.from == from) else { return false };
                        let outcome = ruleset.apply(&before, mv);
                        (outcome.position, outcome.rolls_again) == (after, rolls_again)
                    };
                    if ruleset.check_position(&before).is_ok() && leads_here() {
                        visit(&before);
                    }
                }
            }
        }
    }
}

/// A side with a piece on `from`, or in hand if that is 0, in place of that on `to`.
fn without(side: &Side, to: u8, from: u8) -> Side {
    let others = side.board & !(1 << to);
    // A piece that is on `from` already stays alone there, and the move leads elsewhere.
    Side { board: if from == 0 { others } else { others | 1 << from }, scored: side.scored }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ziggurat_encoding::Index;
    use ziggurat_game::{Overrides, Ruleset};

    use super::*;
    use crate::waves::units;

    /// The predecessors of all positions of a step are all moves within it, backwards.
    #[test]
    fn predecessors_are_the_moves_of_the_rules_backwards() {
        for (name, tier) in [
            ("blitz", Tier::new(2, 1)),
            ("finkel", Tier::new(2, 2)),
            ("masters", Tier::new(2, 2)),
            ("skiriuk", Tier::new(2, 1)),
            ("murray", Tier::new(1, 1)),
        ] {
            let two = Overrides { pieces: Some(2), ..Overrides::default() };
            let ruleset = Ruleset::builtin(name).unwrap().with(&two).unwrap();
            let encoding = Encoding::new(&ruleset).unwrap();
            let (mut forward, mut backward) = (BTreeSet::new(), BTreeSet::new());
            for tier in tier.both() {
                for offset in 0..encoding.tier_len(tier) {
                    let position = encoding.unrank(Index { tier, offset });
                    for roll in ruleset.dice().rolls() {
                        for mv in ruleset.moves(&position, roll.value) {
                            let next = ruleset.apply(&position, mv).next();
                            if mv.to <= ruleset.path().len() {
                                forward.insert((position, next));
                            }
                        }
                    }
                    for_each_predecessor(&ruleset, &position, |before| {
                        backward.insert((*before, position));
                    });
                }
            }
            assert!(forward.len() > 1000, "{name}");
            assert!(forward == backward, "{name}: {} and {}", forward.len(), backward.len());
        }
    }

    #[test]
    fn a_sample_stands_for_all_positions_of_each_unit() {
        let encoding = Encoding::new(&Ruleset::builtin("blitz").unwrap()).unwrap();
        let tier = Tier::new(3, 2);
        let units = units(&encoding, tier, &encoding.shards(tier, 10_000));
        let sample = sample(&encoding, tier, &units, 100_000);
        let sum = |unit: usize| -> f64 {
            let of_unit = sample.iter().filter(|one| one.unit.0 == unit);
            of_unit.map(|one| one.positions).sum()
        };
        for (i, unit) in units.iter().enumerate().filter(|(_, unit)| unit.positions() > 500) {
            let (is, stood_for) = (unit.positions() as f64, sum(i));
            assert!((stood_for / is - 1.0).abs() < 0.05, "unit {i} has {is}, not {stood_for}");
        }
        let all: f64 = (0..units.len()).map(sum).sum();
        assert!((all - encoding.step_len(tier) as f64).abs() < 1.0);
    }
}
