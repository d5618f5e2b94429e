//! Values of single positions: frames that are kept unpacked, and many look-ups that read each frame once.
//!
//! A value of a compressed table costs the frame it is in, a mebibyte. So frames that were unpacked are kept, the most recently
//! used up to [`CACHED_FRAMES`], and look-ups that come together are sorted by frame. A value of a raw table costs its own bytes
//! once the checksum of its frame was verified.

use std::{
    collections::VecDeque,
    os::unix::fs::FileExt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use rayon::prelude::*;
use ziggurat_encoding::Index;

use super::Table;
use crate::{
    Compression, TableError,
    frame::{FRAME_BYTES, frame_values},
    layout::{FrameEntry, TierEntry},
};

/// The most memory that unpacked frames take between look-ups.
const CACHED_BYTES: usize = 64 << 20;

/// Frames kept for look-ups.
const CACHED_FRAMES: usize = CACHED_BYTES / FRAME_BYTES;

/// Which tier entry, and which frame of it.
type FramePlace = (usize, usize);

/// The little-endian values of a frame.
type CachedFrame = (FramePlace, Arc<Vec<u8>>);

/// What is known of the frames of an open table.
#[derive(Debug)]
pub(super) struct Frames {
    /// Unpacked ones of a compressed table, most recently used first.
    unpacked: Mutex<VecDeque<CachedFrame>>,
    /// Of each frame of each entry of a raw table, whether its checksum was verified.
    verified: Vec<Vec<AtomicBool>>,
}

impl Frames {
    pub(super) fn new(entries: &[TierEntry], compression: Compression) -> Self {
        let unverified = |entry: &TierEntry| entry.frames.iter().map(|_| false.into()).collect();
        let verified = match compression {
            Compression::Raw => entries.iter().map(unverified).collect(),
            Compression::Zstd => Vec::new(),
        };
        Self { unpacked: Mutex::default(), verified }
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
                if !verified.load(Ordering::Relaxed) {
                    self.read_frame(frame.0, frame.1)?;
                    verified.store(true, Ordering::Relaxed);
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
        let lock = || self.frames.unpacked.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut kept = lock();
        if let Some(at) = kept.iter().position(|(known, _)| *known == place)
            && let Some(hit) = kept.remove(at)
        {
            let frame = Arc::clone(&hit.1);
            kept.push_front(hit);
            return Ok(frame);
        }
        drop(kept); // others may look up while this one reads
        let frame = Arc::new(self.read_frame(place.0, place.1)?);
        let mut kept = lock();
        kept.truncate(CACHED_FRAMES - 1);
        kept.push_front((place, Arc::clone(&frame)));
        Ok(frame)
    }
}
