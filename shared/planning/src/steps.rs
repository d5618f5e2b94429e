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

/// The shards of the step of a tier.
pub fn shards(encoding: &Encoding, settings: &Settings, tier: Tier) -> Vec<Shard> {
    let default = || encoding.default_shard_positions(tier);
    encoding.shards(tier, settings.shard_positions.unwrap_or_else(default))
}
