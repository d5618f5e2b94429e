//! Waves: shards that are swept at the same time, and their order.
//!
//! A Gauss-Seidel sweep converges fastest in the order of dependence, and its blocks can be updated at the same time
//! where none depends on another (the multicolouring of block Gauss-Seidel methods: Saad 2003). So sweeps take the
//! shards in *waves*, those with the pieces furthest along first, so that most moves lead to a shard of an earlier
//! wave. How far the pieces of a shard are is the sum of the path positions of the pieces on the squares of its
//! prefix: every move from one of these to another that captures nothing makes it larger.

use std::{cmp::Reverse, collections::BTreeMap};

use ziggurat_encoding::{Encoding, Occupant, Shard};

/// A shard's place among those of its step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ShardIndex(pub usize);

/// Shards that are swept at the same time, ascending.
pub type Wave = Vec<ShardIndex>;

/// The most waves of a superstep. More barriers gain little and leave less to do at a time.
const MOST_WAVES: u64 = 8;

/// The same where players come by a square twice: more waves save far more supersteps there, as measured
/// (docs/experiments/order.md).
const MOST_WAVES_OF_LAPS: u64 = 16;

/// The shards a wave of a superstep has on average, at the least.
const WAVE_SHARDS: u64 = 4;

/// One part in so many of a step's positions is in shards of which a part is swept twice.
const TAIL: u64 = 16;

/// The sum of the path positions of the pieces on the squares of a shard's prefix.
pub fn progress(encoding: &Encoding, shard: &Shard) -> u64 {
    let squares = encoding.geometry().shared.iter().zip(&shard.prefix);
    let at = |occupant| match occupant {
        Occupant::Own(at) | Occupant::Opponent(at) => u64::from(at),
    };
    squares.filter_map(|(square, &digit)| square.occupant(digit).map(at)).sum()
}

/// The shards in the order of their sweeps.
fn in_order(encoding: &Encoding, shards: &[Shard]) -> Vec<ShardIndex> {
    let mut order: Vec<ShardIndex> = (0..shards.len()).rev().map(ShardIndex).collect();
    order.sort_by_cached_key(|shard| Reverse(progress(encoding, &shards[shard.0])));
    order
}

fn positions(shards: &[Shard]) -> u64 {
    shards.iter().map(Shard::len).sum()
}

/// The most waves of a superstep of a ruleset.
fn most_waves(encoding: &Encoding) -> u64 {
    match encoding.geometry().visits_squares_again() {
        true => MOST_WAVES_OF_LAPS,
        false => MOST_WAVES,
    }
}

/// The waves of a superstep in order, with about as many positions each.
pub fn waves(encoding: &Encoding, shards: &[Shard]) -> Vec<Wave> {
    let count = (shards.len() as u64 / WAVE_SHARDS).clamp(1, most_waves(encoding));
    let total = positions(shards);
    let mut order = in_order(encoding, shards).into_iter();
    let mut swept = 0;
    let mut wave = |end: u64| {
        let mut wave = Wave::new();
        while swept < end {
            let shard = order.next().expect("the shards have all positions");
            swept += shards[shard.0].len();
            wave.push(shard);
        }
        wave.sort_unstable();
        wave
    };
    (1..=count).map(|i| wave((total * i).div_ceil(count))).collect()
}

/// The waves of an interval sweep in order. A move forward that leaves a shard leads to an earlier wave.
pub fn interval_waves(encoding: &Encoding, shards: &[Shard]) -> Vec<Wave> {
    let mut waves: BTreeMap<Reverse<u64>, Wave> = BTreeMap::new();
    for (i, shard) in shards.iter().enumerate() {
        waves.entry(Reverse(progress(encoding, shard))).or_default().push(ShardIndex(i));
    }
    waves.into_values().collect()
}

/// How many shards, the first ones, are the *tail* of a step: no piece of theirs is far along, and their values change
/// most from superstep to superstep.
pub fn tail(shards: &[Shard]) -> usize {
    let total = positions(shards);
    let mut before = 0;
    let in_tail = |shard: &&Shard| {
        let middle = before + shard.len() / 2;
        before += shard.len();
        middle * TAIL < total
    };
    shards.iter().take_while(in_tail).count()
}

#[cfg(test)]
mod tests {
    use ziggurat_encoding::Tier;
    use ziggurat_game::Ruleset;

    use super::*;

    fn shards(ruleset: &str, tier: Tier, limit: u64) -> (Encoding, Vec<Shard>) {
        let encoding = Encoding::new(&Ruleset::builtin(ruleset).unwrap()).unwrap();
        let shards = encoding.shards(tier, limit);
        (encoding, shards)
    }

    #[test]
    fn about_a_sixteenth_of_the_positions_is_the_tail() {
        let (_, shards) = shards("blitz", Tier::new(5, 4), 1 << 16);
        let share = positions(&shards[..tail(&shards)]) as f64 / positions(&shards) as f64;
        assert!((share - 1.0 / 16.0).abs() < 0.02, "{share}");
        assert_eq!(tail(&shards[..1]), 0, "a shard alone is no tail");
    }

    #[test]
    fn waves_have_all_shards_those_furthest_along_first() {
        for ruleset in ["finkel", "skiriuk"] {
            for limit in [10, 1000, 100_000, u64::MAX] {
                let (encoding, shards) = shards(ruleset, Tier::new(3, 2), limit);
                let of_shard = |shard: &ShardIndex| progress(&encoding, &shards[shard.0]);
                for waves in [waves(&encoding, &shards), interval_waves(&encoding, &shards)] {
                    let mut all = waves.concat();
                    all.sort_unstable();
                    assert!(all.into_iter().eq((0..shards.len()).map(ShardIndex)), "{waves:?}");
                    let least = waves.iter().map(|wave| wave.iter().map(of_shard).min());
                    let most = waves.iter().map(|wave| wave.iter().map(of_shard).max());
                    assert!(least.zip(most.skip(1)).all(|(before, after)| before >= after));
                }
                let least_shards = (most_waves(&encoding) * WAVE_SHARDS) as usize;
                let count = waves(&encoding, &shards).len() as u64;
                assert!(count <= most_waves(&encoding));
                assert_eq!(count == most_waves(&encoding), shards.len() >= least_shards);
            }
        }
    }
}
