//! Large arrays of values, on huge pages where the system has them: a sweep reads a few dozen
//! places of an array at a time, more than a processor knows the small pages of.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

use crate::value::{PADDING, Value};

/// An array of values with [`PADDING`] more behind them.
#[derive(Debug)]
pub struct Array<T> {
    memory: Memory<T>,
}

#[derive(Debug)]
enum Memory<T> {
    Small(Vec<T>),
    Large(MmapMut, usize),
}

/// Arrays of at least this many bytes are worth huge pages.
const LARGE_BYTES: usize = 4 << 20;

impl<T: Pod> Array<T> {
    /// An array of `len` times the same value.
    pub fn filled(value: T, len: usize) -> Self {
        let padded = len + PADDING;
        let bytes = padded * size_of::<T>();
        let mapped = (bytes >= LARGE_BYTES).then(|| MmapMut::map_anon(bytes)).and_then(Result::ok);
        let memory = match mapped {
            None => Memory::Small(vec![value; padded]),
            Some(map) => {
                // A system without huge pages is only slower.
                #[cfg(target_os = "linux")]
                let _ = map.advise(memmap2::Advice::HugePage);
                Memory::Large(map, padded)
            }
        };
        let mut array = Self { memory };
        array.fill(value);
        array
    }

    /// The same values in another type.
    pub fn converted<U: Value>(&self) -> Array<U>
    where
        T: Value,
    {
        let mut array = Array::filled(U::default(), self.values().len());
        array.iter_mut().zip(&**self).for_each(|(to, from)| *to = U::from_f64(from.to_f64()));
        array
    }

    /// The values without the padding.
    pub fn values(&self) -> &[T] {
        &self[..self.len() - PADDING]
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.memory {
            Memory::Small(values) => values,
            Memory::Large(map, len) => &bytemuck::cast_slice(map)[..*len],
        }
    }
}

impl<T: Pod> DerefMut for Array<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.memory {
            Memory::Small(values) => values,
            Memory::Large(map, len) => &mut bytemuck::cast_slice_mut(map)[..*len],
        }
    }
}
