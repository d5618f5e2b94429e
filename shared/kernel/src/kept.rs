//! What a worker still has of solved steps, for those that it works on next.
//!
//! The halo of a step that is solved has the values of its owners. So a member knows far more of the solution than
//! its own shards, and the steps that read it find most of what they need here, without asking anybody.
//! A solver that is alone keeps as much: the tiers of a level until those of the next are solved.

use std::collections::HashMap;

use ziggurat_encoding::Tier;

use crate::{array::Array, memory::Memory, reads::Places};

/// The values of solved tiers that are still at hand.
#[derive(Default, Debug)]
pub struct Kept {
    pub(crate) f32: Tiers<f32>,
    pub(crate) f64: Tiers<f64>,
}

/// By tier, both of a step.
pub type Tiers<T> = HashMap<Tier, KeptTier<T>>;

/// What is known of a solved tier.
#[derive(Debug)]
pub struct KeptTier<T> {
    /// The solution it is part of.
    pub solution: u32,
    /// The values, of which only some are known.
    pub values: Array<T>,
    /// Which.
    pub known: Places,
}

impl Kept {
    /// Gives up what the step of a tier does not read, and everything if arrays are in files, since these
    /// end with the memory they were made in.
    pub(crate) fn retain_for(&mut self, tier: Tier, memory: &Memory) {
        let is_read = |other: &Tier| other.level() + 1 >= tier.level();
        self.f32.retain(|tier, _| !memory.is_limited() && is_read(tier));
        self.f64.retain(|tier, _| !memory.is_limited() && is_read(tier));
    }
}
