//! What the sweeps of a shard read besides the shard itself.

use std::ops::Range;

use ziggurat_encoding::Shard;

use crate::{
    context::Context,
    slab::{Place, Placed, Slab, arrays},
    sweep::for_each_pair_of_slabs,
};

/// Places of arrays, in order, without overlaps.
pub type Places = Vec<Range<usize>>;

/// What sweeps read.
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

impl Placed for Everywhere {
    fn place(&self, orientation: usize, offset: u64) -> Place {
        Place { array: arrays::PUBLISHED + orientation, start: offset as usize }
    }
}

impl Reads {
    /// What the sweeps of a shard read, its own values among it; whole rows, so that there may be places
    /// behind the end of a tier.
    pub fn of(context: &Context<'_, f64>, shard: &Shard) -> Self {
        let mut reads = Self::default();
        for_each_pair_of_slabs(context, shard, &Everywhere, |slabs, _| {
            for slab in slabs {
                reads.add_offers(context, slab);
            }
        });
        reads.tidy();
        reads
    }

    /// Adds what another shard reads.
    pub fn add(&mut self, more: Self) {
        self.step.iter_mut().zip(more.step).for_each(|(all, more)| all.extend(more));
        self.finals.iter_mut().zip(more.finals).for_each(|(all, more)| all.extend(more));
        self.tidy();
    }

    fn tidy(&mut self) {
        self.step.iter_mut().chain(&mut self.finals).for_each(|places| tidy(places, GAP));
    }

    fn add_offers(&mut self, context: &Context<'_, f64>, slab: &Slab<'_>) {
        let routes = &context.tables.routes;
        let mut read = |Place { array, start }: Place, len: usize| {
            let places = match array.checked_sub(arrays::FINAL) {
                Some(orientation) => &mut self.finals[orientation],
                None => &mut self.step[array - arrays::PUBLISHED],
            };
            places.push(start..start + len);
            if places.len() > MOST_UNORDERED {
                tidy(places, GAP);
            }
        };
        for offers in &slab.offers {
            offers.reads(routes).for_each(|(place, len, _)| read(place, len));
        }
    }
}

/// Puts places in order; those that touch, or are no further than `gap` from each other, are taken together.
pub fn tidy(places: &mut Places, gap: usize) {
    places.retain(|place| !place.is_empty());
    places.sort_unstable_by_key(|place| place.start);
    places.dedup_by(|next, last| {
        let touches = next.start <= last.end + gap;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
}

/// Those of some places that are not among others.
pub fn without(places: &[Range<usize>], others: &[Range<usize>]) -> Places {
    let mut left = Vec::new();
    for place in places {
        let mut start = place.start;
        let first = others.partition_point(|other| other.end <= start);
        for other in others[first..].iter().take_while(|other| other.start < place.end) {
            if start < other.start {
                left.push(start..other.start);
            }
            start = other.end;
        }
        if start < place.end {
            left.push(start..place.end);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_touch_are_one() {
        let mut places = vec![500..600, 0..0, 0..10, 5..100, 150..200, 590..700, 1000..1001];
        tidy(&mut places, GAP);
        assert_eq!(places, [0..200, 500..700, 1000..1001]);
        tidy(&mut places, 300);
        assert_eq!(places, std::slice::from_ref(&(0..1001)));
    }

    #[test]
    fn places_without_others_are_what_is_left() {
        let places = [0..10, 20..30, 40..50, 60..70];
        assert_eq!(without(&places, &[]), places);
        assert!(without(&places, &[0..50, 50..100]).is_empty());
        let left = without(&places, &[2..4, 6..25, 40..41, 45..62, 69..80]);
        assert_eq!(left, [0..2, 4..6, 25..30, 41..45, 62..69]);
    }
}
