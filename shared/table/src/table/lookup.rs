//! Values of single positions: frames that are kept unpacked, and many look-ups that read each frame once.
//!
//! A value of a compressed table costs the frame it is in, a mebibyte. So frames that were unpacked are kept, as many as memory was
//! given for, and look-ups that come together are sorted by frame. A value of a raw table costs its own bytes once the checksum of
//! its frame was verified. Nothing is locked: a thread that looks up never waits for another.

use std::{
    os::unix::fs::FileExt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

use arc_swap::ArcSwapOption;
use rayon::prelude::*;
use ziggurat_encoding::Index;

use super::Table;
use crate::{
    Compression, TableError,
    frame::{FRAME_BYTES, frame_values},
    layout::{FrameEntry, TierEntry},
};

/// The memory that unpacked frames take between look-ups, unless [`Table::keep_unpacked`] gives another.
const KEPT_BYTES: u64 = 64 << 20;

/// Which tier entry, and which frame of it.
type FramePlace = (usize, usize);

/// What is known of the frames of an open table.
#[derive(Debug)]
pub(super) struct Frames {
    /// Those of a compressed table that are unpacked.
    unpacked: Unpacked,
    /// Of each frame of each entry of a raw table, whether its checksum was verified.
    verified: Vec<Vec<AtomicBool>>,
}

impl Frames {
    pub(super) fn new(entries: &[TierEntry], compression: Compression) -> Self {
        let unverified = |entry: &TierEntry| entry.frames.iter().map(|_| false.into()).collect();
        let (verified, compressed) = match compression {
            Compression::Raw => (entries.iter().map(unverified).collect(), [].as_slice()),
            Compression::Zstd => (Vec::new(), entries),
        };
        Self { unpacked: Unpacked::new(compressed), verified }
    }
}

/// Unpacked frames that are kept for look-ups to come. Which one goes when there are too many is decided as by the *clock*
/// algorithm: a hand goes round and takes the first that was not used since it last came by.
#[derive(Debug)]
struct Unpacked {
    /// Of the frames of each entry the first slot.
    starts: Vec<usize>,
    slots: Vec<Slot>,
    most: usize,
    kept: AtomicUsize,
    hand: AtomicUsize,
}

/// The little-endian values of a frame, if they are kept, and whether they were used.
#[derive(Debug, Default)]
struct Slot {
    values: ArcSwapOption<Vec<u8>>,
    used: AtomicBool,
}

impl Unpacked {
    fn new(entries: &[TierEntry]) -> Self {
        let mut frames = 0;
        let starts = entries.iter().map(|entry| {
            let start = frames;
            frames += entry.frames.len();
            start
        });
        let starts = starts.collect();
        let slots = std::iter::repeat_with(Slot::default).take(frames).collect();
        let most = (KEPT_BYTES / FRAME_BYTES as u64) as usize;
        Self { starts, slots, most, kept: 0.into(), hand: 0.into() }
    }

    fn slot(&self, (entry, frame): FramePlace) -> &Slot {
        &self.slots[self.starts[entry] + frame]
    }

    fn get(&self, place: FramePlace) -> Option<Arc<Vec<u8>>> {
        let slot = self.slot(place);
        let values = slot.values.load_full()?;
        slot.used.store(true, Relaxed);
        Some(values)
    }

    fn keep(&self, place: FramePlace, values: &Arc<Vec<u8>>) {
        if self.most == 0 {
            return;
        }
        let slot = self.slot(place);
        slot.used.store(true, Relaxed);
        // Another thread may have unpacked the same frame.
        let is_new = slot.values.swap(Some(Arc::clone(values))).is_none();
        if is_new && self.kept.fetch_add(1, Relaxed) >= self.most {
            self.let_one_go();
        }
    }

    fn let_one_go(&self) {
        loop {
            let at = self.hand.fetch_add(1, Relaxed) % self.slots.len();
            let slot = &self.slots[at];
            if !slot.used.swap(false, Relaxed) && slot.values.swap(None).is_some() {
                self.kept.fetch_sub(1, Relaxed);
                return;
            }
        }
    }
}

/// A value that is wanted: its frame, its place in the frame, and its place among the questions. Sorted, those of a frame are
/// next to each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    frame: FramePlace,
    within: usize,
    question: usize,
}

impl Table {
    /// The value at an index: the chance of the player who just moved, less one half.
    ///
    /// # Errors
    /// If there is no such index, or the file cannot be read or is damaged.
    pub fn stored(&self, index: Index) -> Result<f64, TableError> {
        let mut value = [0.0];
        self.values_of_frame(&[self.wanted(0, index)?], &mut value)?;
        Ok(value[0])
    }

    /// The values at some indices, in their order: chances of the player who just moved, less one half. Each frame is read once,
    /// and frames are read by all threads.
    ///
    /// # Errors
    /// If there is no such index, or the file cannot be read or is damaged.
    pub fn stored_at(&self, indices: &[Index]) -> Result<Vec<f64>, TableError> {
        let wanted =
            indices.iter().enumerate().map(|(question, &index)| self.wanted(question, index));
        let mut wanted = wanted.collect::<Result<Vec<_>, _>>()?;
        wanted.sort_unstable();
        let frames: Vec<&[Wanted]> = wanted.chunk_by(|a, b| a.frame == b.frame).collect();
        let found = frames.par_iter().map(|wanted| {
            let mut values = vec![0.0; wanted.len()];
            self.values_of_frame(wanted, &mut values).map(|()| values)
        });
        let found = found.collect::<Result<Vec<_>, _>>()?;
        let mut values = vec![0.0; indices.len()];
        for (wanted, value) in wanted.iter().zip(found.into_iter().flatten()) {
            values[wanted.question] = value;
        }
        Ok(values)
    }

    fn wanted(&self, question: usize, index: Index) -> Result<Wanted, TableError> {
        let number = self.entry(index.tier, &(index.offset..index.offset.saturating_add(1)))?;
        let chunk = frame_values(self.value_type()) as u64;
        let (frame, within) = (index.offset / chunk, index.offset % chunk);
        Ok(Wanted { frame: (number, frame as usize), within: within as usize, question })
    }

    /// Values of one frame.
    fn values_of_frame(&self, wanted: &[Wanted], into: &mut [f64]) -> Result<(), TableError> {
        let Some(&Wanted { frame, .. }) = wanted.first() else { return Ok(()) };
        let width = self.value_type().bytes();
        let mut put = |bytes: &[u8], at: usize| self.numbers(frame, bytes, &mut into[at..=at]);
        match self.compression() {
            Compression::Zstd => {
                let unpacked = self.unpacked(frame)?;
                let mut values = wanted.iter().enumerate();
                values.try_for_each(|(at, it)| put(&unpacked[it.within * width..], at))
            }
            Compression::Raw => {
                let verified = &self.frames.verified[frame.0][frame.1];
                if !verified.load(Relaxed) {
                    self.read_frame(frame.0, frame.1)?;
                    verified.store(true, Relaxed);
                }
                let FrameEntry(start, ..) = self.entries[frame.0].frames[frame.1];
                let mut bytes = [0; size_of::<f64>()];
                let bytes = &mut bytes[..width];
                wanted.iter().enumerate().try_for_each(|(at, it)| {
                    let read = self.file.read_exact_at(bytes, start + (it.within * width) as u64);
                    read.map_err(TableError::io(&self.path, "read"))?;
                    put(bytes, at)
                })
            }
        }
    }

    /// The values of a frame of a compressed table, which stay for look-ups to come.
    fn unpacked(&self, place: FramePlace) -> Result<Arc<Vec<u8>>, TableError> {
        let kept = &self.frames.unpacked;
        if let Some(values) = kept.get(place) {
            return Ok(values);
        }
        let values = Arc::new(self.read_frame(place.0, place.1)?);
        kept.keep(place, &values);
        Ok(values)
    }

    /// Gives so much memory, in bytes, to unpacked frames between look-ups; 64 MiB without this. Raw tables need none.
    pub fn keep_unpacked(&mut self, bytes: u64) {
        self.frames.unpacked.most = (bytes / FRAME_BYTES as u64) as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(frames: usize, most: usize) -> Unpacked {
        let slots = std::iter::repeat_with(Slot::default).take(frames).collect();
        Unpacked { starts: vec![0], slots, most, kept: 0.into(), hand: 0.into() }
    }

    fn number_kept(unpacked: &Unpacked) -> usize {
        unpacked.slots.iter().filter(|slot| slot.values.load().is_some()).count()
    }

    #[test]
    fn no_more_frames_are_kept_than_there_is_memory_for_and_those_that_are_used_stay() {
        let unpacked = unpacked(100, 8);
        let often = (0, 17);
        for frame in (0..100).cycle().take(500) {
            if unpacked.get(often).is_none() {
                unpacked.keep(often, &Arc::new(vec![17]));
            }
            if unpacked.get((0, frame)).is_none() {
                unpacked.keep((0, frame), &Arc::new(vec![frame as u8]));
            }
            assert!(number_kept(&unpacked) <= 8);
            assert_eq!(*unpacked.get(often).unwrap(), [17]);
        }
        assert_eq!(number_kept(&unpacked), 8);
    }

    #[test]
    fn threads_that_look_up_at_the_same_time_find_what_they_asked_for() {
        let unpacked = unpacked(50, 5);
        (0..20_000_usize).into_par_iter().for_each(|at| {
            let frame = at * 7 % 50;
            let values = unpacked.get((0, frame)).unwrap_or_else(|| {
                let values = Arc::new(vec![frame as u8]);
                unpacked.keep((0, frame), &values);
                values
            });
            assert_eq!(*values, [frame as u8]);
        });
        assert_eq!(number_kept(&unpacked), 5);
    }

    #[test]
    fn without_memory_nothing_is_kept() {
        let unpacked = unpacked(3, 0);
        unpacked.keep((0, 1), &Arc::new(vec![1]));
        assert_eq!(number_kept(&unpacked), 0);
    }
}
