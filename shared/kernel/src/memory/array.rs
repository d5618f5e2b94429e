//! Large arrays of values, on huge pages where the system has them: a sweep reads a few dozen
//! places of an array at a time, more than a processor knows the small pages of.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;
use rayon::prelude::*;

use crate::{
    memory::budget::{self, FileMap, Memory, MemoryError},
    simd::value::{PADDING, Value},
};

/// An array of values with [`PADDING`] more behind them.
#[derive(Debug)]
pub struct Array<T> {
    storage: Storage<T>,
}

/// How many values are looked at together for whether they are used.
const UNUSED: usize = 4 << 10;

#[derive(Debug)]
enum Storage<T> {
    Small(Vec<T>),
    Large(MmapMut, usize),
    File(FileMap, usize),
}

impl<T: Pod + PartialEq + Send + Sync> Array<T> {
    /// Arrays of at least this many bytes are worth huge pages, or a file.
    pub const LARGE_BYTES: usize = 4 << 20;

    /// An array in memory of `len` times the same value.
    pub fn filled(value: T, len: usize) -> Self {
        let padded = len + PADDING;
        let bytes = padded * size_of::<T>();
        let is_large = bytes >= Self::LARGE_BYTES;
        let mapped = is_large.then(|| MmapMut::map_anon(bytes)).and_then(Result::ok);
        let Some(map) = mapped else {
            return Self { storage: Storage::Small(vec![value; padded]) };
        };
        // A system without huge pages is only slower.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Self { storage: Storage::Large(map, padded) }.fill_fresh(value)
    }

    /// An array of `len` times the same value, in a new file that is long enough.
    pub fn in_file(map: FileMap, value: T, len: usize) -> Self {
        Self { storage: Storage::File(map, len + PADDING) }.fill_fresh(value)
    }

    /// Fills memory that is zero.
    fn fill_fresh(mut self, value: T) -> Self {
        if value != T::zeroed() {
            budget::fill(&mut self, value);
        }
        self
    }

    /// The same values in another type. Zeros are left as they are, so that room that was never used
    /// takes no memory.
    ///
    /// # Errors
    /// If there is no room for them.
    pub fn converted<U: Value>(&self, memory: &Memory) -> Result<Array<U>, MemoryError>
    where
        T: Value,
    {
        let mut array = memory.filled(U::default(), self.values().len())?;
        array.par_chunks_mut(UNUSED).zip(self.par_chunks(UNUSED)).for_each(|(to, from)| {
            if from.iter().any(|&value| value != T::default()) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = U::from_f64(from.to_f64()));
            }
            budget::enforce_budget();
        });
        Ok(array)
    }

    /// The values without the padding.
    pub fn values(&self) -> &[T] {
        &self[..self.len() - PADDING]
    }
}

impl Memory {
    /// An array of `len` times the same value.
    ///
    /// # Errors
    /// If the disk is full, or the system refuses to map the file.
    pub fn filled<T: Pod + PartialEq + Send + Sync>(
        &self,
        value: T,
        len: usize,
    ) -> Result<Array<T>, MemoryError> {
        let bytes = (len + PADDING) * size_of::<T>();
        let files = self.files.as_ref().filter(|_| bytes >= Array::<T>::LARGE_BYTES);
        let Some(files) = files else { return Ok(Array::filled(value, len)) };
        let dir = files.dir.clone();
        let map =
            files.map(bytes).map_err(|source| MemoryError { dir, bytes: bytes as u64, source })?;
        Ok(Array::in_file(map, value, len))
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.storage {
            Storage::Small(values) => values,
            Storage::Large(map, len) => &bytemuck::cast_slice(map)[..*len],
            Storage::File(map, len) => &bytemuck::cast_slice(map.bytes())[..*len],
        }
    }
}

impl<T: Pod> DerefMut for Array<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.storage {
            Storage::Small(values) => values,
            Storage::Large(map, len) => &mut bytemuck::cast_slice_mut(map)[..*len],
            Storage::File(map, len) => &mut bytemuck::cast_slice_mut(map.bytes_mut())[..*len],
        }
    }
}
