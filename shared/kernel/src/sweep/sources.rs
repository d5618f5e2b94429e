//! Sources: the arrays that a sweep of one unit reads, locations in them, and the values there.
#![expect(unsafe_code)]

use ziggurat_encoding::Shard;

use crate::{
    memory::array::Array,
    shards::ranges::Orientation,
    simd::{
        value::Value,
        vector::{Instructions, Vector},
    },
    sweep::context::Context,
};

/// The arrays of values that a sweep of one unit reads, padded.
pub struct ValueArrays<'a, T> {
    /// Each orientation as it was published at the last barrier, the unit's own ranges as they
    /// are now, and for each orientation the tier that scoring a piece leads to.
    pub arrays: [&'a [T]; 6],
}

/// Where an array begins among [`ValueArrays::arrays`].
pub mod arrays {
    /// Published values, by orientation.
    pub const PUBLISHED: usize = 0;
    /// The unit's own values, by range.
    pub const LIVE: usize = 2;
    /// Values after scoring, by orientation.
    pub const FINAL: usize = 4;
}

/// A place among the [`ValueArrays`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Location {
    /// Which array.
    pub array: usize,
    /// Where in it.
    pub start: usize,
}

impl<'a, T> ValueArrays<'a, T> {
    /// The values from a place on.
    #[inline(always)]
    pub fn at(&self, location: Location) -> &'a [T] {
        &self.arrays[location.array][location.start..]
    }
}

/// A source of values: stored ones, or bounds that are made of them.
pub trait ValueSource<T: Value> {
    /// The values from a location on.
    type Values<'s>: ValueReader<T>
    where
        Self: 's;

    /// The values from a location on, read with another roll of the mover or without.
    fn values_at(&self, location: Location, rolls_again: bool) -> Self::Values<'_>;
}

impl<T: Value> ValueSource<T> for ValueArrays<'_, T> {
    type Values<'s>
        = &'s [T]
    where
        Self: 's;

    #[inline(always)]
    fn values_at(&self, location: Location, _: bool) -> &[T] {
        self.at(location)
    }
}

/// Where values of the step are found: a unit's own values as they are now, those of others as
/// they were published.
pub trait Locator {
    /// The place of an index of an orientation.
    fn locate(&self, orientation: Orientation, offset: u64) -> Location;
}

/// A unit's own ranges, whose values are as they are now; those of others are as they were published.
pub struct OwnRanges<'a> {
    /// The part of a shard that the unit is.
    pub part: &'a Shard,
    /// The last orientation of the step: 1, or 0 if both are the same.
    pub last: Orientation,
}

impl Locator for OwnRanges<'_> {
    #[inline(always)]
    fn locate(&self, orientation: Orientation, offset: u64) -> Location {
        let (first, second) = &self.part.ranges;
        let own = |range: usize, start: u64| Location {
            array: arrays::LIVE + range,
            start: (offset - start) as usize,
        };
        if orientation == Orientation::FIRST && first.contains(&offset) {
            return own(0, first.start);
        }
        match second {
            Some(second) if orientation == self.last && second.contains(&offset) => {
                own(1, second.start)
            }
            _ => {
                Location { array: arrays::PUBLISHED + orientation.index(), start: offset as usize }
            }
        }
    }
}

/// Values that can be read: as they are stored, or made of stored ones when they are needed.
pub trait ValueReader<T: Value>: Copy {
    /// Whether so many values may be asked for, in whole groups.
    fn has(&self, reach: usize) -> bool;

    /// The group of values from a place on.
    ///
    /// # Safety
    /// It must be within the values that it [has](ValueReader::has).
    unsafe fn group<I: Instructions>(&self, at: usize) -> T::Vector<I>;

    /// The value at a place.
    ///
    /// # Safety
    /// It must be within the values that it [has](ValueReader::has).
    unsafe fn value(&self, at: usize) -> T;

    /// Prefetches the value at a place, which need not be there.
    fn ask<I: Instructions>(&self, instructions: I, at: usize);

    /// The values from a place on, of which `len` are looked at, and as many are readable as there are in memory or, of
    /// values that are made in `room`, at least `reach`.
    fn from<'r>(&'r self, at: usize, len: usize, reach: usize, room: &'r mut Vec<T>) -> &'r [T];
}

impl<T: Value> ValueReader<T> for &[T] {
    #[inline(always)]
    fn has(&self, reach: usize) -> bool {
        self.len() >= reach
    }

    #[inline(always)]
    unsafe fn group<I: Instructions>(&self, at: usize) -> T::Vector<I> {
        // SAFETY: the caller promises it.
        unsafe { T::Vector::<I>::read(self.as_ptr().add(at)) }
    }

    #[inline(always)]
    unsafe fn value(&self, at: usize) -> T {
        // SAFETY: the caller promises it.
        unsafe { *self.get_unchecked(at) }
    }

    #[inline(always)]
    fn ask<I: Instructions>(&self, instructions: I, at: usize) {
        instructions.prefetch(self.as_ptr().wrapping_add(at).cast());
    }

    #[inline(always)]
    fn from<'r>(&'r self, at: usize, _: usize, _: usize, _: &'r mut Vec<T>) -> &'r [T] {
        &self[at..]
    }
}

/// The arrays that a sweep of a unit reads.
#[inline(always)]
pub fn value_arrays<'a, T: Value>(
    context: &Context<'a, T>,
    published: &'a [Array<T>],
    live: &'a [&mut [T]; 2],
) -> ValueArrays<'a, T> {
    let last = published.len() - 1;
    let [first, second] = live;
    let finals = [0, 1].map(|i| context.finals(Orientation::at(i)));
    ValueArrays { arrays: [&published[0], &published[last], first, second, finals[0], finals[1]] }
}
