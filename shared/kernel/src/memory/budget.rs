//! Where large arrays live: in memory, or in files without a name, of which the process holds only
//! as much as it may.
//!
//! An array in a file is mapped, so a sweep reads and writes it as if it were in memory: the system loads the pages
//! that are touched, writes back those that were changed, and keeps in its page cache as many as others leave room
//! for. The memory of the process is the pages that are mapped at the moment. All work on arrays [enforces the
//! budget](enforce_budget) every millisecond, and when too much is mapped, unmaps all of it: pages that are still
//! needed comes back from the page cache at a few gigabytes per second. A *watch*, a thread of its own, does the same
//! for all other work; alone it would not do, since on a busy machine it may be 20 ms late, and 200 MB are touched in
//! that time. No sweep knows of any of this, so values cannot depend on it.

use std::{
    cell::Cell,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
    slice,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use memmap2::MmapMut;
use rayon::prelude::*;
use rustix::{
    fs::{FallocateFlags, FsWord, fallocate, fstatfs},
    io::retry_on_intr,
};
use thiserror::Error;
use ziggurat_files::{is_lacking, size, sync};

/// How often the watch checks, and all threads at work.
const CHECK_EVERY: Duration = Duration::from_millis(1);

/// How many values are copied or set between two looks.
const VALUES_BETWEEN_CHECKS: usize = 16 << 10;

/// The most that a thread may touch between two checks, in bytes.
const BYTES_BETWEEN_CHECKS: u64 = 8 << 20;

/// The part of the limit that is left free beside that: a look may come late.
const LATE_CHECKS: u64 = 8;

/// The size of a probe whether files can be mapped.
const PROBE_BYTES: usize = 4096;

/// The type of file systems in memory.
const TMPFS_MAGIC: FsWord = 0x0102_1994;

/// The memories with a limit. The memory of a process is one, so there is one list of them.
static LIMITED: Mutex<Vec<Arc<Files>>> = Mutex::new(Vec::new());

/// Whether there are any, for those who only ask that.
static ANY_LIMITED: AtomicBool = AtomicBool::new(false);

/// An array could not be made.
#[derive(Debug, Error)]
#[error("could not reserve {} in {}", size(*.bytes), dir.display())]
pub struct MemoryError {
    /// Where.
    pub(super) dir: PathBuf,
    /// How much.
    pub bytes: u64,
    /// Why.
    pub source: io::Error,
}

/// Where the arrays of a solve are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrays {
    /// In memory, beside tables that only save time.
    InMemory,
    /// In memory, without such tables.
    Sparing,
    /// The same, of each array only the pages that are used: for members of teams.
    ByPage,
    /// In files, with at most so much in memory.
    InFiles {
        /// The memory of the whole process, in bytes.
        budget: u64,
    },
}

impl Arrays {
    /// Whether they are in files.
    pub fn are_in_files(self) -> bool {
        matches!(self, Self::InFiles { .. })
    }
}

/// Where large arrays live.
#[derive(Debug)]
pub struct Memory {
    pub(super) files: Option<Arc<Files>>,
    /// The thread that unmaps.
    watch: Option<JoinHandle<()>>,
    arrays: Arrays,
}

/// The files of arrays, and which places in memory they are mapped to.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) dir: PathBuf,
    /// The most bytes that the process may hold.
    limit_bytes: u64,
    mappings: Mutex<Vec<(usize, usize)>>,
    ended: AtomicBool,
}

impl Memory {
    /// Where they are asked for; files are in `dir`.
    ///
    /// # Errors
    /// Those of [`Self::in_files`].
    pub fn new(arrays: Arrays, dir: &Path, threads: usize) -> io::Result<Self> {
        match arrays {
            Arrays::InFiles { budget } => Self::in_files(dir, budget, threads),
            _ => Ok(Self { files: None, watch: None, arrays }),
        }
    }

    /// Arrays are in memory.
    pub const fn anonymous() -> Self {
        Self { files: None, watch: None, arrays: Arrays::InMemory }
    }

    /// Large arrays are in files in `dir`, which vanish with the process; with all else it holds,
    /// the process is kept at about `budget` bytes, where `threads` threads work on them.
    ///
    /// # Errors
    /// If files cannot be made in `dir` and mapped, or the system does not tell how much a process holds.
    pub fn in_files(dir: &Path, budget: u64, threads: usize) -> io::Result<Self> {
        resident_bytes()?;
        let (mappings, ended) = Default::default();
        let slack = (threads as u64 + 1) * BYTES_BETWEEN_CHECKS + budget / LATE_CHECKS;
        let limit_bytes = budget.saturating_sub(slack);
        let files = Arc::new(Files { dir: dir.to_owned(), limit_bytes, mappings, ended });
        // A file system that cannot map files says so now.
        files.map(PROBE_BYTES, None)?.bytes_mut().fill(1);
        let watched = Arc::clone(&files);
        let watch =
            thread::Builder::new().name("memory".to_owned()).spawn(move || watched.watch())?;
        lock(&LIMITED).push(Arc::clone(&files));
        ANY_LIMITED.store(true, Ordering::Relaxed);
        let arrays = Arrays::InFiles { budget };
        Ok(Self { files: Some(files), watch: Some(watch), arrays })
    }

    /// Whether arrays are in files, of which the process holds only a part.
    pub fn is_limited(&self) -> bool {
        self.files.is_some()
    }

    /// Whether tables that only save time are left out.
    pub fn is_sparing(&self) -> bool {
        self.arrays != Arrays::InMemory
    }

    /// Whether arrays in memory are on small pages.
    pub(super) fn is_by_page(&self) -> bool {
        matches!(self.arrays, Arrays::ByPage | Arrays::InFiles { .. })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(files) = &self.files {
            files.ended.store(true, Ordering::Relaxed);
            let mut limited = lock(&LIMITED);
            limited.retain(|other| !Arc::ptr_eq(other, files));
            ANY_LIMITED.store(!limited.is_empty(), Ordering::Relaxed);
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
        lock(&self.files.mappings).retain(|&(other, _)| other != start);
    }
}

impl Files {
    /// Maps a file of so many bytes, of which these are used, or all. Sweeps may look at others, too. That takes no disk
    /// space, but in a file system in memory it does: there all bytes are used.
    pub(super) fn map(
        self: &Arc<Self>,
        bytes: usize,
        used: Option<&[Range<u64>]>,
    ) -> io::Result<FileMap> {
        let file = tempfile::tempfile_in(&self.dir)?;
        file.set_len(bytes as u64)?;
        let all = 0..bytes as u64;
        let used = used.filter(|_| !is_in_memory(&file));
        used.unwrap_or(slice::from_ref(&all)).iter().try_for_each(|used| reserve(&file, used))?;
        #[expect(unsafe_code)]
        // SAFETY: the file has no name, so nobody else changes it or cuts it off.
        let map = unsafe { MmapMut::map_mut(&file) }?;
        let place = (map.as_ptr() as usize, bytes);
        lock(&self.mappings).push(place);
        Ok(FileMap { map, files: Arc::clone(self) })
    }

    fn watch(&self) {
        while !self.ended.load(Ordering::Relaxed) {
            self.keep_limit();
            thread::park_timeout(CHECK_EVERY);
        }
    }

    fn is_too_much(&self) -> bool {
        resident_bytes().is_ok_and(|resident| resident > self.limit_bytes)
    }

    /// Unmaps everything if the process holds more than it may.
    fn keep_limit(&self) {
        if !self.is_too_much() {
            return;
        }
        // No array goes away while the lock is held; and who waited for it may find it done.
        let mappings = lock(&self.mappings);
        if !self.is_too_much() {
            return;
        }
        for &(start, bytes) in &*mappings {
            #[expect(unsafe_code)]
            // SAFETY: the pages of a shared mapping of a file come back with the same contents when
            // they are touched next.
            let dropped = unsafe {
                rustix::mm::madvise(start as *mut _, bytes, rustix::mm::Advice::LinuxDontNeed)
            };
            // Where pages are locked in memory, or there is no such call, the process holds more.
            let _ = dropped;
        }
    }
}

/// Sees to it that the process holds no more than it may. All code that touches much of arrays calls this after
/// every few hundred kilobytes at most; if nothing is limited, or this thread has just looked, it costs nothing.
#[inline]
pub fn enforce_budget() {
    if ANY_LIMITED.load(Ordering::Relaxed) {
        enforce_budget_now();
    }
}

fn enforce_budget_now() {
    thread_local! {
        static LAST: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    if LAST.get().is_none_or(|last| last.elapsed() >= CHECK_EVERY) {
        lock(&LIMITED).iter().for_each(|files| files.keep_limit());
        LAST.set(Some(Instant::now()));
    }
}

/// Copies values of the same number, and [enforces the budget](enforce_budget) meanwhile.
pub fn copy<T: Copy>(to: &mut [T], from: &[T]) {
    for (to, from) in to.chunks_mut(VALUES_BETWEEN_CHECKS).zip(from.chunks(VALUES_BETWEEN_CHECKS)) {
        to.copy_from_slice(from);
        enforce_budget();
    }
}

/// Sets values on all threads, and [enforces the budget](enforce_budget) meanwhile.
pub fn fill<T: Copy + Send + Sync>(values: &mut [T], value: T) {
    values.par_chunks_mut(VALUES_BETWEEN_CHECKS).for_each(|values| {
        values.fill(value);
        enforce_budget();
    });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a file is of a file system in memory.
pub(super) fn is_in_memory(file: &File) -> bool {
    fstatfs(file).is_ok_and(|of| of.f_type == TMPFS_MAGIC)
}

/// Takes disk space for some bytes of a new file, so that none is missing when they are written.
fn reserve(file: &File, bytes: &Range<u64>) -> io::Result<()> {
    let count = bytes.end - bytes.start;
    let reserved = retry_on_intr(|| fallocate(file, FallocateFlags::empty(), bytes.start, count));
    match reserved.map_err(Into::into) {
        // Some network file systems cannot reserve.
        Err(error) if is_lacking(&error) => write_zeros(file, bytes),
        other => other,
    }
}

/// Fills some bytes of a new file with zeros.
fn write_zeros(mut file: &File, bytes: &Range<u64>) -> io::Result<()> {
    file.seek(SeekFrom::Start(bytes.start))?;
    io::copy(&mut io::repeat(0).take(bytes.end - bytes.start), &mut file)?;
    // A server may not say before that its disk is full.
    sync(file)
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
    use crate::memory::array::Array;

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
        thread::sleep(10 * CHECK_EVERY);
        // Tests beside this one have memory, too.
        assert!(resident_bytes().unwrap() < base + (200 << 20));
        assert!(dir.path().read_dir().unwrap().next().is_none(), "files have no names");
    }

    #[test]
    fn whoever_works_keeps_the_limit_if_the_watch_is_late() {
        let dir = tempfile::tempdir().unwrap();
        let base = resident_bytes().unwrap();
        let mut memory = Memory::in_files(dir.path(), base + (64 << 20), 1).unwrap();
        memory.files.as_ref().unwrap().ended.store(true, Ordering::Relaxed);
        memory.watch.take().unwrap().join().unwrap();
        let mut array: Array<u64> = memory.filled(0, 32 << 20).unwrap(); // 256 MiB
        let mut most = 0;
        for values in array.chunks_mut(VALUES_BETWEEN_CHECKS) {
            fill(values, 7);
            most = most.max(resident_bytes().unwrap());
        }
        // Tests beside this one have memory, too.
        assert!(most < base + (160 << 20), "{most} after {base}");
        assert!(array.values().iter().all(|&value| value == 7));
    }

    #[test]
    fn zeros_take_their_place_on_the_disk() {
        let file = tempfile::tempfile().unwrap();
        let bytes = (1 << 20) + 1;
        let taken = || std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap()) * 512;
        write_zeros(&file, &(bytes / 2..bytes)).unwrap();
        assert_eq!(file.metadata().unwrap().len(), bytes);
        assert!((bytes / 2..bytes).contains(&taken()));
        write_zeros(&file, &(0..bytes / 2)).unwrap();
        assert!(taken() >= bytes);
    }

    #[test]
    fn an_array_larger_than_the_disk_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let memory = Memory::in_files(dir.path(), 1 << 30, 1).unwrap();
        let error = memory.filled(0_u64, 1 << 50).unwrap_err();
        assert!(error.to_string().contains(&dir.path().display().to_string()), "{error}");
    }
}
