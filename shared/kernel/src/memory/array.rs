//! Large arrays of values, on huge pages where the system has them: a sweep reads a few dozen
//! places of an array at a time, more than a processor knows the small pages of.
//!
//! Of an array of which only some places are used, only the pages of these take memory, or disk space; where that counts,
//! they are small.

use std::{
    ops::{Deref, DerefMut, Range},
    slice,
};

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
        Self::new(len, false).fill_fresh(value)
    }

    /// An array of `len` zeros in memory, on small pages or on large ones.
    fn new(len: usize, is_by_page: bool) -> Self {
        let padded = len + PADDING;
        let mapped = Self::is_large(len).then(|| MmapMut::map_anon(padded * size_of::<T>()));
        let Some(map) = mapped.and_then(Result::ok) else {
            return Self { storage: Storage::Small(vec![T::zeroed(); padded]) };
        };
        // A system without huge pages is only slower.
        #[cfg(target_os = "linux")]
        let _ = map.advise(match is_by_page {
            true => memmap2::Advice::NoHugePage,
            false => memmap2::Advice::HugePage,
        });
        Self { storage: Storage::Large(map, padded) }
    }

    /// Whether an array of `len` values is large.
    fn is_large(len: usize) -> bool {
        (len + PADDING) * size_of::<T>() >= Self::LARGE_BYTES
    }

    /// The bytes that an array of `len` values takes of which only some places, in order, are used, on small pages.
    pub fn bytes_at(len: usize, places: &[Range<usize>]) -> u64 {
        match Self::is_large(len) {
            true => pages::<T>(len, places).iter().map(|page| page.end - page.start).sum(),
            false => ((len + PADDING) * size_of::<T>()) as u64,
        }
    }

    /// Fills memory that is zero.
    fn fill_fresh(mut self, value: T) -> Self {
        if value != T::zeroed() {
            budget::fill(&mut self, value);
        }
        self
    }

    /// The same values in another type, at some places, or all. Zeros are left as they are, so that room that was never
    /// used takes no memory.
    ///
    /// # Errors
    /// If there is no room for them.
    pub fn converted<U: Value>(
        &self,
        memory: &Memory,
        places: Option<&[Range<usize>]>,
    ) -> Result<Array<U>, MemoryError>
    where
        T: Value,
    {
        let len = self.values().len();
        let mut array = memory.zeros(len, places)?;
        let all = 0..len;
        for place in places.unwrap_or(slice::from_ref(&all)) {
            let place = place.start.min(len)..place.end.min(len);
            let (to, from) = (&mut array[place.clone()], &self[place]);
            to.par_chunks_mut(UNUSED).zip(from.par_chunks(UNUSED)).for_each(|(to, from)| {
                if from.iter().any(|&value| value != T::default()) {
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = U::from_f64(from.to_f64()));
                }
                budget::enforce_budget();
            });
        }
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
        Ok(self.zeros(len, None)?.fill_fresh(value))
    }

    /// An array of `len` zeros, of which only some places, in order, are used, or all.
    ///
    /// # Errors
    /// If the disk is full, or the system refuses to map the file.
    pub fn zeros<T: Pod + PartialEq + Send + Sync>(
        &self,
        len: usize,
        places: Option<&[Range<usize>]>,
    ) -> Result<Array<T>, MemoryError> {
        let Some(files) = self.files.as_ref().filter(|_| Array::<T>::is_large(len)) else {
            return Ok(Array::new(len, self.is_by_page()));
        };
        let (dir, bytes) = (files.dir.clone(), (len + PADDING) * size_of::<T>());
        let used = places.map(|places| pages::<T>(len, places));
        let map = files.map(bytes, used.as_deref()).map_err(|source| {
            let of_pages = |used: &[Range<u64>]| used.iter().map(|it| it.end - it.start).sum();
            MemoryError { dir, bytes: used.as_deref().map_or(bytes as u64, of_pages), source }
        })?;
        Ok(Array { storage: Storage::File(map, len + PADDING) })
    }
}

/// The bytes of the pages that some places of `len` values, in order, are on; what is behind the values is left out.
fn pages<T>(len: usize, places: &[Range<usize>]) -> Vec<Range<u64>> {
    let (page, size) = (rustix::param::page_size() as u64, size_of::<T>() as u64);
    let mut pages: Vec<Range<u64>> = Vec::new();
    for place in places {
        let bytes = [place.start, place.end].map(|at| at.min(len) as u64 * size);
        let (start, end) = (bytes[0] / page * page, bytes[1].next_multiple_of(page));
        match pages.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ if start < end => pages.push(start..end),
            _ => {}
        }
    }
    pages
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::budget::{Arrays, is_in_memory, resident_bytes};

    /// One place in each 2 MiB of values.
    fn sparse_places(len: usize) -> Vec<Range<usize>> {
        (0..len).step_by(1 << 18).map(|start| start..start + 10).collect()
    }

    #[test]
    fn only_the_pages_of_places_that_are_used_take_memory() {
        let len = 64 << 20;
        let memory = Memory::new(Arrays::ByPage, "".as_ref(), 1).unwrap();
        let mut array: Array<u64> = memory.zeros(len, None).unwrap();
        let before = resident_bytes().unwrap();
        let places = sparse_places(len);
        places.iter().for_each(|place| array[place.clone()].fill(7));
        // Of 512 MiB; tests beside this one have memory, too.
        assert!(resident_bytes().unwrap() < before + (200 << 20));
        assert_eq!(Array::<u64>::bytes_at(len, &places), places.len() as u64 * 4096);
        let narrow: Array<f32> = memory.zeros(1 << 20, None).unwrap();
        assert_eq!(narrow.values().len(), 1 << 20);
    }

    #[test]
    fn only_the_pages_of_places_that_are_used_take_disk_space() {
        let dir = tempfile::tempdir().unwrap();
        let memory = Memory::in_files(dir.path(), 1 << 30, 1).unwrap();
        let len = 1 << 38; // 2 TiB
        let places = [0..1000, 5_000..5_001, len - 3..len + 100];
        let zeros = memory.zeros(len, Some(&places));
        if is_in_memory(&tempfile::tempfile_in(dir.path()).unwrap()) {
            zeros.unwrap_err(); // all of it is reserved
            return;
        }
        let mut array: Array<u64> = zeros.unwrap();
        array[len - 1] = 5;
        assert_eq!(array[len - 1] + array[5_000], 5);
        assert_eq!(Array::<u64>::bytes_at(len, &places), 4 * 4096);
    }

    #[test]
    fn pages_of_places_are_counted_once() {
        let len = 1 << 20;
        let of = |places: &[Range<usize>]| pages::<u64>(len, places);
        let pages_from = |first: u64, count: u64| first * 4096..(first + count) * 4096;
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[0..1, 3..600]), [pages_from(0, 2)]);
        assert_eq!(of(&[1000..1024, 1024..1025, 5000..5001]), [pages_from(1, 2), pages_from(9, 1)]);
        assert_eq!(of(&[len - 1..len + 9, len + 10..len + 20]), [pages_from(2047, 1)]);
    }

    #[test]
    fn values_in_another_type_are_where_they_were() {
        let memory = Memory::anonymous();
        let mut array: Array<f32> = memory.zeros(1 << 20, None).unwrap();
        (5000..5600).for_each(|i| array[i] = i as f32);
        let wide: Array<f64> = array.converted(&memory, None).unwrap();
        let same = |(&wide, &narrow): (&f64, &f32)| wide == f64::from(narrow);
        assert!(wide.values().iter().zip(array.values()).all(same));
    }
}
