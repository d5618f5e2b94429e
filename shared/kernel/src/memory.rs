//! Where large arrays live: in memory, or in files without a name, of which the process holds only
//! as much as it may.
//!
//! An array in a file is mapped, so a sweep reads and writes it as if it were in memory: the
//! system loads what is touched, writes back what was changed, and keeps in its page cache what others leave room
//! for. What counts towards the memory of the process is what is mapped at the moment. A *watch*
//! looks at that every few milliseconds, and when it is too much, unmaps all of it: what is still
//! needed comes back from the page cache at a few gigabytes per second. No sweep knows of any of
//! this, so values cannot depend on it.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use bytemuck::Pod;
use memmap2::MmapMut;
use rustix::fs::FallocateFlags;
use thiserror::Error;

use crate::{array::Array, value::PADDING};

/// How often the watch looks.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// What a thread may touch between two looks, in bytes.
const TOUCHED_BETWEEN_LOOKS: u64 = 8 << 20;

/// The part of the limit that is left free beside that: on a busy machine a look may come 10 ms late, and two
/// threads have then touched 150 MB.
const LATE_LOOKS: u64 = 4;

/// An array could not be made.
#[derive(Debug, Error)]
#[error("could not reserve {bytes} bytes in {}", dir.display())]
pub struct MemoryError {
    /// Where.
    pub dir: PathBuf,
    /// How much.
    pub bytes: u64,
    /// Why.
    pub source: io::Error,
}

/// Where large arrays live.
#[derive(Debug)]
pub struct Memory {
    files: Option<Arc<Files>>,
    /// The thread that unmaps.
    watch: Option<JoinHandle<()>>,
}

/// The files of arrays, and which places in memory they are mapped to.
#[derive(Debug)]
struct Files {
    dir: PathBuf,
    mappings: Mutex<Vec<(usize, usize)>>,
    ended: AtomicBool,
}

impl Memory {
    /// Arrays are in memory.
    pub const fn anonymous() -> Self {
        Self { files: None, watch: None }
    }

    /// Large arrays are in files in `dir`, which vanish with the process; with all else it holds,
    /// the process is kept at about `limit_bytes`, where `threads` threads work on them.
    ///
    /// # Errors
    /// If files cannot be made in `dir`, or the system does not tell what a process holds.
    pub fn in_files(dir: &Path, limit_bytes: u64, threads: usize) -> io::Result<Self> {
        tempfile::tempfile_in(dir)?;
        resident_bytes()?;
        let (mappings, ended) = Default::default();
        let files = Arc::new(Files { dir: dir.to_owned(), mappings, ended });
        let slack = (threads as u64 + 1) * TOUCHED_BETWEEN_LOOKS + limit_bytes / LATE_LOOKS;
        let limit = limit_bytes.saturating_sub(slack);
        let watched = Arc::clone(&files);
        let watch =
            thread::Builder::new().name("memory".to_owned()).spawn(move || watched.watch(limit))?;
        Ok(Self { files: Some(files), watch: Some(watch) })
    }

    /// An array of `len` times the same value.
    ///
    /// # Errors
    /// If the disk is full, or the system refuses to map the file.
    pub fn filled<T: Pod + PartialEq>(
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

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(files) = &self.files {
            files.ended.store(true, Ordering::Relaxed);
        }
        if let Some(thread) = self.watch.take() {
            thread.thread().unpark();
            drop(thread.join()); // it does not matter any more how it ended
        }
    }
}

/// A file without a name, mapped to memory.
#[derive(Debug)]
pub struct FileMap {
    map: MmapMut,
    files: Arc<Files>,
}

impl FileMap {
    /// The bytes.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// The bytes.
    #[inline(always)]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

impl Drop for FileMap {
    fn drop(&mut self) {
        let start = self.map.as_ptr() as usize;
        let mut mappings = self.files.mappings.lock().unwrap_or_else(PoisonError::into_inner);
        mappings.retain(|&(other, _)| other != start);
    }
}

impl Files {
    fn map(self: &Arc<Self>, bytes: usize) -> io::Result<FileMap> {
        let file = tempfile::tempfile_in(&self.dir)?;
        reserve(&file, bytes as u64)?;
        #[expect(unsafe_code)]
        // SAFETY: the file has no name, so nobody else changes it or cuts it off.
        let map = unsafe { MmapMut::map_mut(&file) }?;
        let place = (map.as_ptr() as usize, bytes);
        self.mappings.lock().unwrap_or_else(PoisonError::into_inner).push(place);
        Ok(FileMap { map, files: Arc::clone(self) })
    }

    /// Unmaps everything whenever the process holds more than `limit_bytes`.
    fn watch(&self, limit_bytes: u64) {
        while !self.ended.load(Ordering::Relaxed) {
            if resident_bytes().is_ok_and(|resident| resident > limit_bytes) {
                self.unmap();
            }
            thread::park_timeout(LOOK_EVERY);
        }
    }

    fn unmap(&self) {
        // Nobody unmaps an array while the lock is held.
        let mappings = self.mappings.lock().unwrap_or_else(PoisonError::into_inner);
        for &(start, bytes) in &*mappings {
            #[expect(unsafe_code)]
            // SAFETY: the pages of a shared mapping of a file come back with the same contents when
            // they are touched next.
            let dropped = unsafe {
                rustix::mm::madvise(start as *mut _, bytes, rustix::mm::Advice::LinuxDontNeed)
            };
            debug_assert!(dropped.is_ok());
        }
    }
}

/// Makes a file so many bytes long, with disk space for all of them, so that none is missing when
/// they are written.
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
        // Some network file systems cannot reserve.
        Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(bytes),
        other => other.map_err(Into::into),
    }
}

/// The memory this process holds, in bytes.
///
/// # Errors
/// If the system does not tell.
pub fn resident_bytes() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    let pages = pages.ok_or_else(|| io::Error::other("/proc/self/statm is not as expected"))?;
    Ok(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_in_files_hold_more_than_the_process_may() {
        let dir = tempfile::tempdir().unwrap();
        let base = resident_bytes().unwrap();
        let limit = base + (64 << 20);
        let memory = Memory::in_files(dir.path(), limit, 1).unwrap();
        let mut arrays: Vec<Array<u64>> =
            (0..8).map(|_| memory.filled(1, 4 << 20).unwrap()).collect();
        for round in 1..3 {
            for (i, array) in arrays.iter_mut().enumerate() {
                for (j, value) in array.iter_mut().enumerate() {
                    assert!(*value == 1 || round > 1 && *value == (i * j) as u64);
                    *value = (i * j) as u64;
                }
            }
        }
        thread::sleep(10 * LOOK_EVERY);
        // Tests beside this one have memory, too.
        assert!(resident_bytes().unwrap() < base + (200 << 20));
        assert!(dir.path().read_dir().unwrap().next().is_none(), "files have no names");
    }

    #[test]
    fn an_array_larger_than_the_disk_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let memory = Memory::in_files(dir.path(), 1 << 30, 1).unwrap();
        let error = memory.filled(0_u64, 1 << 50).unwrap_err();
        assert!(error.to_string().contains(&dir.path().display().to_string()), "{error}");
    }
}
