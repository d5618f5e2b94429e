//! An end of intervals, made of values and distances when it is needed.
#![expect(unsafe_code)]

use ziggurat_planning::proof::GROWN;

use crate::{
    simd::{
        value::Value,
        vector::{Instructions, LANES, Vector},
    },
    sweep::sources::Offered,
};

/// An end of the intervals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Lower,
    Upper,
}

impl End {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Lower => Self::Upper,
            Self::Upper => Self::Lower,
        }
    }

    /// Its place among the distances of both.
    pub fn index(self) -> usize {
        self as usize
    }

    /// What to multiply a distance by.
    pub fn sign(self) -> f64 {
        match self {
            Self::Lower => -1.0,
            Self::Upper => 1.0,
        }
    }
}

/// How far the ends of intervals are from values.
#[derive(Clone, Copy, Debug)]
pub enum Apart<'a> {
    /// All by as much.
    By(f64),
    /// Each by a distance, in units of so much.
    Each(&'a [u16], f64),
}

/// An end of the intervals of some values.
#[derive(Clone, Copy, Debug)]
pub struct EndOf<'a, V> {
    values: &'a [V],
    apart: Apart<'a>,
}

impl<'a, V: Value> EndOf<'a, V> {
    /// The ends of values that are so far below them, or above.
    ///
    /// # Panics
    /// If there is no distance for each value.
    #[inline(always)]
    pub fn new(values: &'a [V], apart: Apart<'a>) -> Self {
        if let Apart::Each(distances, _) = apart {
            assert!(distances.len() == values.len());
        }
        Self { values, apart }
    }

    /// Writes the ends of as many values as there are, from the first on.
    #[inline(always)]
    pub fn write(&self, to: &mut [f64]) {
        match self.apart {
            Apart::By(distance) => {
                for (to, &value) in to.iter_mut().zip(self.values) {
                    *to = value.moved(distance);
                }
            }
            Apart::Each(distances, unit) => {
                for ((to, &value), &distance) in to.iter_mut().zip(self.values).zip(distances) {
                    *to = value.moved(unit * f64::from(distance & !GROWN));
                }
            }
        }
    }

    /// From a value on.
    #[inline(always)]
    fn skip(&self, at: usize) -> Self {
        let apart = match self.apart {
            Apart::By(distance) => Apart::By(distance),
            Apart::Each(distances, unit) => Apart::Each(&distances[at..], unit),
        };
        Self { values: &self.values[at..], apart }
    }
}

impl<V: Value> Offered<f64> for EndOf<'_, V> {
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
        // SAFETY: there are as many values, and a distance for each.
        unsafe {
            let distances = match self.apart {
                Apart::By(distance) => I::F64::splat(distance),
                Apart::Each(distances, unit) => {
                    I::numbers(distances.as_ptr().add(at), !GROWN).times(I::F64::splat(unit))
                }
            };
            let ends = V::widened::<I>(self.values.as_ptr().add(at)).plus(distances);
            ends.larger(I::F64::splat(-f64::WIN)).smaller(I::F64::splat(f64::WIN))
        }
    }

    #[inline(always)]
    unsafe fn value(&self, at: usize) -> f64 {
        let distance = match self.apart {
            Apart::By(distance) => distance,
            Apart::Each(distances, unit) => unit * f64::from(distances[at] & !GROWN),
        };
        self.values[at].moved(distance)
    }

    #[inline(always)]
    fn ask<I: Instructions>(&self, instructions: I, at: usize) {
        instructions.prefetch(self.values.as_ptr().wrapping_add(at).cast());
        if let Apart::Each(distances, _) = self.apart {
            instructions.prefetch(distances.as_ptr().wrapping_add(at).cast());
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
