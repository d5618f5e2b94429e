//! The cache of solved tiers: values that a worker still has, for the steps that it works on next.
//!
//! The halo of a step that is solved has the values of its owners. So a member knows far more of the solution than
//! its own shards, and the steps that read it find most of their inputs here, without asking anybody.
//! A solver that is alone keeps as much: the tiers of a level until those of the next are solved.

use std::collections::HashMap;

use ziggurat_encoding::Tier;

use crate::{
    halo::places::Places,
    memory::{array::Array, budget::Memory},
};

/// The values of solved tiers that are still at hand.
#[derive(Default, Debug)]
pub struct SolvedTierCache {
    pub(crate) f32: Tiers<f32>,
    pub(crate) f64: Tiers<f64>,
}

/// By tier, both of a step.
pub type Tiers<T> = HashMap<Tier, CachedTier<T>>;

/// The known values of a solved tier.
#[derive(Debug)]
pub struct CachedTier<T> {
    /// The solution it is part of.
    pub solution: u32,
    /// The values, of which only some are known.
    pub values: Array<T>,
    /// Which.
    pub known: Places,
}

impl SolvedTierCache {
    /// Gives up tiers that the step of a tier does not read, and everything if arrays are in files, since these
    /// end with the memory they were made in.
    pub(crate) fn retain_for(&mut self, tier: Tier, memory: &Memory) {
        self.f32.retain(|&cached, _| !memory.is_limited() && is_kept_for(tier, cached));
        self.f64.retain(|&cached, _| !memory.is_limited() && is_kept_for(tier, cached));
    }
}

/// Whether a cached tier is kept while the step of a tier is worked on.
pub fn is_kept_for(tier: Tier, cached: Tier) -> bool {
    // A step under way may have been kept where its solution was expected.
    let is_own = tier.both().any(|own| own == cached);
    cached.level() + 1 >= tier.level() && !is_own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_step_reads_is_kept_and_the_step_itself_is_not() {
        let tiers = [(3, 3), (3, 2), (2, 3), (2, 2), (3, 1), (1, 2)].map(|(n, m)| Tier::new(n, m));
        let retained = |memory: &Memory| {
            let none =
                || CachedTier { solution: 1, values: Array::filled(0.0, 0), known: Places::new() };
            let mut cache = SolvedTierCache::default();
            cache.f64.extend(tiers.map(|tier| (tier, none())));
            cache.retain_for(Tier::new(3, 2), memory);
            let mut left: Vec<Tier> = cache.f64.into_keys().collect();
            left.sort();
            left
        };
        let mut read = [Tier::new(3, 3), Tier::new(2, 2), Tier::new(3, 1)];
        read.sort();
        assert_eq!(retained(&Memory::anonymous()), read);
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(retained(&Memory::in_files(dir.path(), 1 << 30, 1).unwrap()), []);
    }
}
