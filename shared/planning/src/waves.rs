//! Units and waves: the parts of a step that are swept at the same time, and their order.
//!
//! A *unit* is swept in place by one thread: a node of the prefix tree below a shard. Shards are placed, stored and
//! checked; units are swept and published. The cut of units depends on the ruleset and the tier alone, as long as shards
//! are no smaller, so values do not depend on the size of shards.
//!
//! A Gauss-Seidel sweep converges fastest in the order of dependence, and its blocks can be updated at the same time
//! where none depends on another (the multicolouring of block Gauss-Seidel methods: Saad 2003). So sweeps take the
//! units in *waves*, those with the pieces furthest along first, so that most moves lead to a unit of an earlier
//! wave. How far the pieces of a unit are is the sum of the path positions of the pieces on the squares of its
//! prefix, counted from the first shared square of a path: every move between these that captures nothing makes it
//! larger, and a piece that comes to the first of them hardly any smaller.

use std::cmp::Reverse;

use ziggurat_encoding::{Encoding, Occupant, Place, Shard, Tier};

/// A shard's place among those of its step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ShardIndex(pub usize);

/// A unit's place among those of its step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnitIndex(pub usize);

/// A part of a shard that one thread sweeps in place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// The shard.
    pub shard: ShardIndex,
    /// The part of it: a node of the prefix tree, with its swap.
    pub part: Shard,
}

impl Unit {
    /// How many positions it has.
    pub fn positions(&self) -> u64 {
        self.part.len()
    }
}

/// Units that are swept at the same time, ascending.
pub type Wave = Vec<UnitIndex>;

/// The most waves of a sweep. More barriers gain little (docs/experiments/order.md).
const MOST_WAVES: u64 = 32;

/// The units a wave has on average, at the least, where there are more than [`FEW_WAVES`]: as many as a machine of 64
/// cores has something to do with.
const WAVE_UNITS: u64 = 80;

/// A step has so many waves, whatever its units are, as long as a wave has [`FEW_UNITS`] of them: fewer waves take more
/// sweeps.
const FEW_WAVES: u64 = 18;
const FEW_UNITS: u64 = 4;

/// One part in so many of a step's positions is in units that are swept twice.
const TAIL: u64 = 32;

/// The units of the shards of a step, shard by shard.
pub fn units(encoding: &Encoding, tier: Tier, shards: &[Shard]) -> Vec<Unit> {
    let limit = encoding.unit_positions(tier);
    let of_shard = |(shard, whole): (usize, &Shard)| {
        let parts = encoding.cut(tier, whole, limit).into_iter();
        parts.map(move |part| Unit { shard: ShardIndex(shard), part })
    };
    shards.iter().enumerate().flat_map(of_shard).collect()
}

/// How far the pieces on the squares of a prefix are past the first shared square of their paths: the sum, in path
/// positions.
pub fn progress(encoding: &Encoding, part: &Shard) -> u64 {
    let geometry = encoding.geometry();
    let is_shared = |place: &Place| matches!(place, Place::Shared { .. });
    let first = geometry.own_place.iter().position(is_shared).unwrap_or(0) as u64;
    let squares = geometry.shared.iter().zip(&part.prefix);
    let at = |occupant| match occupant {
        Occupant::Own(at) | Occupant::Opponent(at) => u64::from(at) - first,
    };
    squares.filter_map(|(square, &digit)| square.occupant(digit).map(at)).sum()
}

fn positions(units: &[Unit]) -> u64 {
    units.iter().map(Unit::positions).sum()
}

/// The waves of a sweep in order, with about as many positions each.
pub fn waves(encoding: &Encoding, units: &[Unit]) -> Vec<Wave> {
    let few = (units.len() as u64 / FEW_UNITS).clamp(1, FEW_WAVES);
    let count = (units.len() as u64 / WAVE_UNITS).clamp(few, MOST_WAVES);
    let total = positions(units);
    let mut order: Vec<UnitIndex> = (0..units.len()).rev().map(UnitIndex).collect();
    order.sort_by_cached_key(|unit| Reverse(progress(encoding, &units[unit.0].part)));
    let mut order = order.into_iter();
    let mut swept = 0;
    let mut wave = |end: u64| {
        let mut wave = Wave::new();
        while swept < end {
            let unit = order.next().expect("the units have all positions");
            swept += units[unit.0].positions();
            wave.push(unit);
        }
        wave.sort_unstable();
        wave
    };
    let waves = (1..=count).map(|i| wave((total * i).div_ceil(count)));
    waves.filter(|wave| !wave.is_empty()).collect()
}

/// How many units, the first ones, are the *tail* of a step: no piece of theirs is far along, and their values change
/// most from superstep to superstep.
pub fn tail(units: &[Unit]) -> usize {
    let total = positions(units);
    let mut before = 0;
    let in_tail = |unit: &&Unit| {
        let middle = before + unit.positions() / 2;
        before += unit.positions();
        middle * TAIL < total
    };
    units.iter().take_while(in_tail).count()
}

#[cfg(test)]
mod tests {
    use std::iter::zip;

    use ziggurat_game::Ruleset;

    use super::*;

    fn of(ruleset: &str, tier: Tier, limit: u64) -> (Encoding, Vec<Shard>, Vec<Unit>) {
        let encoding = Encoding::new(&Ruleset::builtin(ruleset).unwrap()).unwrap();
        let shards = encoding.shards(tier, limit);
        let units = units(&encoding, tier, &shards);
        (encoding, shards, units)
    }

    #[test]
    fn about_a_thirty_second_of_the_positions_is_the_tail() {
        let (_, _, units) = of("blitz", Tier::new(5, 4), 1 << 16);
        let share = positions(&units[..tail(&units)]) as f64 / positions(&units) as f64;
        assert!((share - 1.0 / 32.0).abs() < 0.01, "{share}");
        assert_eq!(tail(&units[..1]), 0, "a unit alone is no tail");
    }

    #[test]
    fn units_are_the_same_in_shards_of_any_size_above_theirs() {
        for (ruleset, tier) in [("finkel", Tier::new(4, 3)), ("skiriuk", Tier::new(2, 2))] {
            let (_, shards, all) = of(ruleset, tier, 1 << 14);
            let mut first = 0;
            for (i, shard) in shards.iter().enumerate() {
                let own = all[first..].iter().take_while(|unit| unit.shard == ShardIndex(i));
                assert_eq!(own.clone().map(Unit::positions).sum::<u64>(), shard.len());
                first += own.count();
            }
            assert!(first == all.len() && all.len() > 2 * shards.len());
            let (_, _, others) = of(ruleset, tier, 1 << 16);
            assert!(zip(&all, &others).all(|(one, other)| one.part == other.part));
            assert_eq!(all.len(), others.len());
        }
    }

    #[test]
    fn waves_have_all_units_those_furthest_along_first() {
        for ruleset in ["finkel", "skiriuk"] {
            for limit in [10, 1000, 100_000, u64::MAX] {
                let (encoding, _, units) = of(ruleset, Tier::new(3, 2), limit);
                let of_unit = |unit: &UnitIndex| progress(&encoding, &units[unit.0].part);
                let waves = waves(&encoding, &units);
                let mut all = waves.concat();
                all.sort_unstable();
                assert!(all.into_iter().eq((0..units.len()).map(UnitIndex)), "{waves:?}");
                let least = waves.iter().map(|wave| wave.iter().map(of_unit).min());
                let most = waves.iter().map(|wave| wave.iter().map(of_unit).max());
                assert!(least.zip(most.skip(1)).all(|(before, after)| before >= after));
                assert!(waves.len() as u64 <= MOST_WAVES);
            }
        }
    }
}
