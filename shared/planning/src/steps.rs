//! Steps: the two tiers (n, m) and (m, n), in the order in which they are solved, and their shards.

use ziggurat_encoding::{Encoding, Shard, Tier};

use crate::settings::Settings;

/// A job step: the tiers (n, m) and (m, n), solved together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The tier with the most pieces left for the player who just moved; with its swap it is
    /// the step.
    pub tier: Tier,
    /// Positions of both tiers.
    pub positions: u64,
    /// Shards the step is cut into.
    pub shards: usize,
}

/// The steps of a ruleset, by their first tiers, from the end of the game up.
pub fn steps(encoding: &Encoding) -> Vec<Tier> {
    encoding.tiers().into_iter().filter(|&tier| tier.first_of_step() == tier).collect()
}

/// The steps of a ruleset in the order they are solved, in batches that are solved at the same
/// time: steps of one level that together are no larger than the largest step.
pub fn batches(encoding: &Encoding) -> Vec<Vec<Tier>> {
    let steps = steps(encoding);
    let largest = steps.iter().map(|&tier| encoding.step_len(tier)).max().unwrap_or(0);
    let mut batches: Vec<Vec<Tier>> = Vec::new();
    let mut room = 0;
    for tier in steps {
        let positions = encoding.step_len(tier);
        match batches.last_mut() {
            Some(batch) if batch[0].level() == tier.level() && positions <= room => {
                batch.push(tier);
            }
            _ => {
                batches.push(vec![tier]);
                room = largest;
            }
        }
        room -= positions;
    }
    batches
}

/// By default a step has at most so many shards: dealing them out takes longer than more of them do good, and what a cluster
/// says of them has to fit a message.
pub const MOST_SHARDS: usize = 4096;

/// The shards of the step of a tier. Where shards of the default size would be too many, they are larger.
pub fn shards(encoding: &Encoding, settings: &Settings, tier: Tier) -> Vec<Shard> {
    if let Some(limit) = settings.shard_positions {
        return encoding.shards(tier, limit);
    }
    at_most(MOST_SHARDS, encoding.default_shard_positions(tier), |limit| {
        encoding.shards(tier, limit)
    })
}

/// The first of some lists that is not too long, each for twice the limit of the one before.
fn at_most<T>(most: usize, first: u64, list: impl Fn(u64) -> Vec<T>) -> Vec<T> {
    let mut limit = first;
    loop {
        let all = list(limit);
        if all.len() <= most {
            return all;
        }
        limit *= 2;
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_game::{Overrides, Ruleset};

    use super::*;

    #[test]
    fn shards_grow_until_a_step_has_few_enough() {
        let overrides = Overrides { pieces: Some(3), ..Overrides::default() };
        let ruleset = Ruleset::builtin("murray").unwrap().with(&overrides).unwrap();
        let (encoding, tier) = (Encoding::new(&ruleset).unwrap(), Tier::new(3, 3));
        let of = |limit| encoding.shards(tier, limit);
        let grown = |most| at_most(most, 1000, of);
        assert_eq!(grown(1 << 20), of(1000));
        let (halved, few) = (of(4000).len(), of(8000).len());
        assert!(few < halved);
        assert_eq!(grown(halved), of(4000));
        assert_eq!(grown(few), of(8000));
        assert_eq!(grown(1).len(), 1);
    }
}
