//! What a job consists of, as far as the machine needs to know.

use std::{cmp::Reverse, collections::BTreeMap};

use ziggurat_encoding::{Encoding, Shard, Tier};
use ziggurat_planning::{
    Goal, Settings, StepController,
    placement::{ShardWaves, positions_of, shards_by_wave},
    shards, steps, units, waves,
};

use super::record::StepSize;

/// A job, worked out from its ruleset. This may take seconds and is no work for the machine.
#[derive(Debug)]
pub struct JobPlan {
    encoding: Encoding,
    settings: Settings,
    /// What is to be reached for a step.
    pub(super) goal: fn(&Encoding, &Settings, Tier, f64) -> Goal,
    /// The steps in the order they are begun: level by level, the largest first, so that nobody is left with a large one
    /// while others have nothing to do.
    pub order: Vec<StepSize>,
    /// What they consist of.
    pub steps: BTreeMap<Tier, StepPlan>,
}

/// A step.
#[derive(Clone, PartialEq, Debug)]
pub struct StepPlan {
    /// The positions of each shard, by wave.
    pub shards: Vec<ShardWaves>,
    /// How many ranges the shards have together.
    pub ranges: u32,
}

impl JobPlan {
    /// Cuts a ruleset into steps, shards and their waves.
    #[cfg(test)]
    pub fn new(encoding: Encoding, settings: Settings) -> Self {
        Self::unless(encoding, settings, || false).expect("nobody cancels it")
    }

    /// Cuts a ruleset into steps, shards and waves, unless it is cancelled meanwhile: that is looked at for every step.
    pub fn unless(
        encoding: Encoding,
        settings: Settings,
        is_cancelled: impl Fn() -> bool,
    ) -> Option<Self> {
        let mut cut = BTreeMap::new();
        let mut order = Vec::new();
        for tier in steps(&encoding) {
            if is_cancelled() {
                return None;
            }
            let parts = StepPlan::new(&encoding, tier, &shards(&encoding, &settings, tier));
            let shards = parts.shards.len() as u32;
            order.push(StepSize { tier, positions: parts.positions(), shards });
            cut.insert(tier, parts);
        }
        order.sort_by_key(|step: &StepSize| (step.tier.level(), Reverse(step.positions)));
        Some(Self { encoding, settings, goal: Goal::new, order, steps: cut })
    }

    /// The course of a step that has not begun, if the steps it reads are proven to `read`.
    pub fn course(&self, tier: Tier, read: f64) -> StepController {
        StepController::new((self.goal)(&self.encoding, &self.settings, tier, read))
    }
}

impl StepPlan {
    fn new(encoding: &Encoding, tier: Tier, shards: &[Shard]) -> Self {
        let ranges = |shard: &Shard| 1 + u32::from(shard.ranges.1.is_some());
        let units = units(encoding, tier, shards);
        Self {
            shards: shards_by_wave(shards.len(), &units, &waves(encoding, &units)),
            ranges: shards.iter().map(ranges).sum(),
        }
    }

    /// Positions of the step.
    pub fn positions(&self) -> u64 {
        self.shards.iter().map(positions_of).sum()
    }
}
