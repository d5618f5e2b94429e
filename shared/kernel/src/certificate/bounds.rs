//! The lower or upper bounds of intervals, made of values and offsets when they are needed.
#![expect(unsafe_code)]

use ziggurat_planning::proof::GROWN;

use crate::{
    simd::{
        value::Value,
        vector::{Instructions, LANES, Vector},
    },
    sweep::sources::ValueReader,
};

/// A bound of the intervals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    Lower,
    Upper,
}

impl Bound {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Lower => Self::Upper,
            Self::Upper => Self::Lower,
        }
    }

    /// Its place among the offsets of both.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The factor of an offset.
    pub fn sign(self) -> f64 {
        match self {
            Self::Lower => -1.0,
            Self::Upper => 1.0,
        }
    }
}

/// How far the bounds of intervals are from values.
#[derive(Clone, Copy, Debug)]
pub enum BoundOffset<'a> {
    /// All by as much.
    Uniform(f64),
    /// Each by an offset, in units of so much.
    Each(&'a [u16], f64),
}

/// A bound of the intervals of some values.
#[derive(Clone, Copy, Debug)]
pub struct BoundValues<'a, V> {
    values: &'a [V],
    apart: BoundOffset<'a>,
}

impl<'a, V: Value> BoundValues<'a, V> {
    /// The bounds of values that are so far below them, or above.
    ///
    /// # Panics
    /// If there is no offset for each value.
    #[inline(always)]
    pub fn new(values: &'a [V], apart: BoundOffset<'a>) -> Self {
        if let BoundOffset::Each(offsets, _) = apart {
            assert!(offsets.len() == values.len());
        }
        Self { values, apart }
    }

    /// Writes the bounds of as many values as there are, from the first on.
    #[inline(always)]
    pub fn write(&self, to: &mut [f64]) {
        match self.apart {
            BoundOffset::Uniform(offset) => {
                for (to, &value) in to.iter_mut().zip(self.values) {
                    *to = value.moved(offset);
                }
            }
            BoundOffset::Each(offsets, unit) => {
                for ((to, &value), &offset) in to.iter_mut().zip(self.values).zip(offsets) {
                    *to = value.moved(unit * f64::from(offset & !GROWN));
                }
            }
        }
    }

    /// From a value on.
    #[inline(always)]
    fn skip(&self, at: usize) -> Self {
        let apart = match self.apart {
            BoundOffset::Uniform(offset) => BoundOffset::Uniform(offset),
            BoundOffset::Each(offsets, unit) => BoundOffset::Each(&offsets[at..], unit),
        };
        Self { values: &self.values[at..], apart }
    }
}

impl<V: Value> ValueReader<f64> for BoundValues<'_, V> {
    /// Where there are no values, there are numbers that mean nothing.
    #[inline(always)]
    fn has(&self, _: usize) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn group<I: Instructions>(&self, at: usize) -> I::F64 {
        if at + LANES > self.values.len() {
            let mut group = [0.0; LANES];
            self.skip(at).write(&mut group);
            // SAFETY: it is a group.
            return unsafe { I::F64::read(group.as_ptr()) };
        }
        // SAFETY: there are as many values, and an offset for each.
        unsafe {
            let offsets = match self.apart {
                BoundOffset::Uniform(offset) => I::F64::splat(offset),
                BoundOffset::Each(offsets, unit) => {
                    I::numbers(offsets.as_ptr().add(at), !GROWN).times(I::F64::splat(unit))
                }
            };
            let bounds = V::widened::<I>(self.values.as_ptr().add(at)).plus(offsets);
            bounds.larger(I::F64::splat(-f64::WIN)).smaller(I::F64::splat(f64::WIN))
        }
    }

    #[inline(always)]
    unsafe fn value(&self, at: usize) -> f64 {
        let offset = match self.apart {
            BoundOffset::Uniform(offset) => offset,
            BoundOffset::Each(offsets, unit) => unit * f64::from(offsets[at] & !GROWN),
        };
        self.values[at].moved(offset)
    }

    #[inline(always)]
    fn ask<I: Instructions>(&self, instructions: I, at: usize) {
        instructions.prefetch(self.values.as_ptr().wrapping_add(at).cast());
        if let BoundOffset::Each(offsets, _) = self.apart {
            instructions.prefetch(offsets.as_ptr().wrapping_add(at).cast());
        }
    }

    #[inline(always)]
    fn from<'r>(
        &'r self,
        at: usize,
        len: usize,
        reach: usize,
        room: &'r mut Vec<f64>,
    ) -> &'r [f64] {
        room.resize(reach.max(len), 0.0);
        self.skip(at).write(&mut room[..len]);
        room
    }
}
