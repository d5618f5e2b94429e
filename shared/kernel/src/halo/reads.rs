//! Reads: the values that the sweeps of a shard read besides the shard itself.

use ziggurat_encoding::Shard;

use crate::{
    halo::places::{Places, tidy},
    shards::ranges::Orientation,
    sweep::{
        context::Context,
        order::{SlabPair, for_each_pair_of_slabs},
        slab::Slab,
        sources::{Location, Locator, arrays},
    },
};

/// The places that sweeps read.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// Of the step, by orientation.
    pub step: [Places; 2],
    /// Of the tiers that scoring leads to, by orientation.
    pub finals: [Places; 2],
}

/// Places closer to each other than this are taken together.
const GAP: usize = 64;

/// So many places are kept before they are put in order.
const MOST_UNORDERED: usize = 1 << 16;

/// Every value is where its index says.
pub struct Everywhere;

impl Locator for Everywhere {
    fn locate(&self, orientation: Orientation, offset: u64) -> Location {
        Location { array: arrays::PUBLISHED + orientation.index(), start: offset as usize }
    }
}

impl Reads {
    /// The places that the sweeps of a shard read, its own values among them; whole rows, so that there may be places
    /// behind the end of a tier.
    pub fn of(context: &Context<'_, f64>, shard: &Shard) -> Self {
        let (mut reads, mut slabs) = (Self::default(), SlabPair::default());
        for_each_pair_of_slabs(context, shard, &Everywhere, &mut slabs, |slabs, _| {
            for slab in slabs {
                reads.add_reads(context, slab);
            }
        });
        reads.tidy();
        reads
    }

    /// Adds the reads of another shard.
    pub fn add(&mut self, more: Self) {
        self.step.iter_mut().zip(more.step).for_each(|(all, more)| all.extend(more));
        self.finals.iter_mut().zip(more.finals).for_each(|(all, more)| all.extend(more));
        self.tidy();
    }

    fn tidy(&mut self) {
        self.step.iter_mut().chain(&mut self.finals).for_each(|places| tidy(places, GAP));
    }

    fn add_reads(&mut self, context: &Context<'_, f64>, slab: &Slab<'_>) {
        let routes = &context.tables.routes;
        let mut read = |Location { array, start }: Location, len: usize| {
            let places = match array.checked_sub(arrays::FINAL) {
                Some(orientation) => &mut self.finals[orientation],
                None => &mut self.step[array - arrays::PUBLISHED],
            };
            places.push(start..start + len);
            if places.len() > MOST_UNORDERED {
                tidy(places, GAP);
            }
        };
        for successors in &slab.successors {
            successors.reads(routes).for_each(|(location, len, _)| read(location, len));
        }
    }
}
