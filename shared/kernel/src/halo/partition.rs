//! Partitions: who sweeps the units of which shards, and the strips of the halo that follow from it.

use std::ops::Range;

use bytemuck::Pod;
use rayon::prelude::*;
use ziggurat_planning::waves::{ShardIndex, UnitIndex};

use crate::{
    halo::{
        codec::STRIP,
        places::{Places, tidy},
        reads::Reads,
    },
    memory::array::Array,
    moves::tables::Tables,
    shards::{
        ranges::{Orientation, UnitRange},
        step::{Placed, ShardedStep, split},
    },
    sweep::context::Context,
};

/// A member's place in its team.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MemberIndex(pub usize);

/// A part of a unit that another member reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HaloStrip {
    /// The unit.
    pub unit: UnitIndex,
    /// Which of its ranges.
    pub range: usize,
    /// Where in that.
    pub start: usize,
    /// The orientation.
    pub orientation: Orientation,
    /// Which values of it: at most [`STRIP`].
    pub values: Range<usize>,
}

impl HaloStrip {
    /// Its values in arrays by orientation.
    pub fn of<'a, V: Pod>(&self, arrays: &'a [Array<V>]) -> &'a [V] {
        &arrays[self.orientation.index()][self.values.clone()]
    }
}

impl Placed for HaloStrip {
    fn place(&self) -> (Orientation, &Range<usize>) {
        (self.orientation, &self.values)
    }
}

/// A member's part in a step.
#[derive(Debug)]
pub struct Partition {
    /// Whether a unit is the member's.
    pub own: Vec<bool>,
    /// Whether a shard is.
    own_shards: Vec<bool>,
    /// By member, the strips of this one's shards that it reads, and of its shards that this one reads. In the order
    /// of values.
    pub sends: Vec<Vec<HaloStrip>>,
    pub receives: Vec<Vec<HaloStrip>>,
    /// The places of the step's values that the member has: those of its own shards, and its halo. By orientation.
    pub places: Vec<Places>,
    /// The places of the tiers that scoring leads to, by orientation, that are read.
    pub finals: [Places; 2],
}

impl Partition {
    /// The part of member `me` in a step, whose shards are swept by `owners`, members below `members`.
    ///
    /// # Panics
    /// If there are not as many owners as shards, or too few members.
    pub(crate) fn new(
        step: &ShardedStep<'_>,
        tables: &Tables,
        owners: &[MemberIndex],
        (me, members): (MemberIndex, usize),
    ) -> Self {
        let ShardedStep { shards, units, .. } = step;
        assert!(owners.len() == shards.len() && owners.iter().all(|owner| owner.0 < members));
        let context = Context::<f64>::new(step.encoding, tables, step.tier, |_| &[]);
        let of_member = |member: MemberIndex| {
            let own = shards.par_iter().zip(owners).filter(|&(_, &owner)| owner == member);
            own.map(|(shard, _)| Reads::of(&context, shard)).reduce(Reads::default, |mut a, b| {
                a.add(b);
                a
            })
        };
        let of_owner = |strips: &[HaloStrip], owner: MemberIndex| -> Vec<HaloStrip> {
            let of_unit = |unit: UnitIndex| owners[units[unit.0].shard.0];
            strips.iter().filter(|strip| of_unit(strip.unit) == owner).cloned().collect()
        };
        let mine = of_member(me);
        let ranges = || step.ranges.iter().map(|(range, _)| range);
        let halo = cut(ranges(), &mine.step);
        let others = || (0..members).map(MemberIndex);
        let receives = others().map(|other| match other == me {
            true => Vec::new(),
            false => of_owner(&halo, other),
        });
        let sends = others().map(|other| match other == me {
            true => Vec::new(),
            false => of_owner(&cut(ranges(), &of_member(other).step), me),
        });
        let own_shards: Vec<bool> = owners.iter().map(|&owner| owner == me).collect();
        let own = units.iter().map(|unit| own_shards[unit.shard.0]).collect();
        let (sends, receives) = (sends.collect(), receives.collect());
        let mut part =
            Self { own, own_shards, sends, receives, places: Vec::new(), finals: mine.finals };
        part.places = part.places_in(step);
        part
    }

    /// A part with so many own units, of which nothing but the halo is known.
    #[cfg(test)]
    pub(crate) fn of_strips(
        units: usize,
        sends: Vec<Vec<HaloStrip>>,
        receives: Vec<Vec<HaloStrip>>,
    ) -> Self {
        let (own_shards, places, finals) = Default::default();
        Self { own: vec![true; units], own_shards, sends, receives, places, finals }
    }

    /// Whether a shard is the member's.
    pub fn owns(&self, shard: ShardIndex) -> bool {
        self.own_shards[shard.0]
    }

    /// The positions of other members' shards that this member reads.
    pub fn halo_positions(&self) -> u64 {
        self.receives.iter().flatten().map(|strip| strip.values.len() as u64).sum()
    }

    /// The positions that the member sweeps.
    pub fn own_positions(&self, step: &ShardedStep<'_>) -> u64 {
        let shards = (0..).map(ShardIndex).zip(&step.shards);
        let own = shards.filter(|&(shard, _)| self.owns(shard));
        own.map(|(_, shard)| shard.len()).sum()
    }

    /// The places of the step's values that the member has, by orientation.
    fn places_in(&self, step: &ShardedStep<'_>) -> Vec<Places> {
        let mut all = vec![Places::new(); step.tier.both().count()];
        for (range, _) in step.ranges.iter().filter(|(range, _)| self.own[range.of.0]) {
            all[range.orientation.index()].push(range.values.clone());
        }
        for strip in self.receives.iter().flatten() {
            all[strip.orientation.index()].push(strip.values.clone());
        }
        all.iter_mut().for_each(|places| tidy(places, 0));
        all
    }
}

/// The parts of ranges that are read.
pub fn cut<'a>(ranges: impl Iterator<Item = &'a UnitRange>, read: &[Places; 2]) -> Vec<HaloStrip> {
    let mut strips = Vec::new();
    for UnitRange { of, range, orientation, values } in ranges {
        let places = &read[orientation.index()];
        let first = places.partition_point(|place| place.end <= values.start);
        for place in places[first..].iter().take_while(|place| place.start < values.end) {
            let (from, to) = (place.start.max(values.start), place.end.min(values.end));
            let mut at = from;
            while at < to {
                let start = at - values.start;
                // No strip has parts of two pieces.
                let end = to.min(values.start + (start / STRIP + 1) * STRIP);
                let (unit, range, orientation) = (*of, *range, *orientation);
                strips.push(HaloStrip { unit, range, start, orientation, values: at..end });
                at = end;
            }
        }
    }
    strips
}

/// The places of strips, which are in order, in arrays by orientation.
pub fn slices<'a, V: Pod>(arrays: &'a mut [Array<V>], strips: &[&HaloStrip]) -> Vec<&'a mut [V]> {
    split(strips.iter().copied(), arrays).map(|(_, values)| values).collect()
}
