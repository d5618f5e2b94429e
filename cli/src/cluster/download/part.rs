//! The part file: values of a table on their way, in the order of the table, each range under a checksum.
//!
//! | part | content |
//! | --- | --- |
//! | magic | 8 bytes |
//! | fingerprint | u64, little-endian: of all that decides the values |
//! | an entry for each range | checksum (XXH3) and its complement, u64 each; zeros if it is not there |
//! | values | tier by tier in the order of the job, from a multiple of 4096 bytes on |
//!
//! An entry is written after its range. What a crash left half-written does not match its checksum
//! and is fetched again.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use prost::Message;
use xxhash_rust::xxh3::xxh3_64;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_table::TableError;

use super::ranges::{Fetched, Ranges};
use crate::failure::{Explain, Failure};

const MAGIC: [u8; 8] = *b"\x89ZGPART\n";
const HEADER_BYTES: u64 = 16;
const ENTRY_BYTES: u64 = 16;
const ALIGNMENT_BYTES: u64 = 4096;

/// Values are read back in pieces of so many bytes.
const PIECE_BYTES: usize = 1 << 20;

/// The remedy for one that cannot be read.
const REMOVE: &str = "remove it; the same command makes it again";

/// A part file, locked as long as this lives.
pub struct Part {
    path: PathBuf,
    file: File,
    /// Where the values of each tier begin.
    tiers: Vec<(Tier, u64)>,
    width: u64,
}

impl Part {
    /// The part file of that name, made if there is none.
    ///
    /// # Errors
    /// If it cannot be made, is that of something else, or another process has it.
    pub fn open(path: &Path, ranges: &Ranges) -> Result<Self, Failure> {
        let shown = path.display();
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.context(format!("cannot open {shown}")).or_bad_input()?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::bad_input(format!("another process is writing {shown}"))
                    .help("wait for it, or give another name: --out FILE"));
            }
            // A file system without locks is the user's affair.
            Err(TryLockError::Error(_)) => {}
        }
        let width = ranges.width() as u64;
        let mut end = HEADER_BYTES + ranges.all().len() as u64 * ENTRY_BYTES;
        end = end.next_multiple_of(ALIGNMENT_BYTES);
        let mut tiers = Vec::new();
        for &(tier, _) in ranges.tiers() {
            tiers.push((tier, end));
            end += ranges.encoding().tier_len(tier) * width;
        }
        let part = Self { path: path.to_owned(), file, tiers, width };
        let length = part.file.metadata()?.len();
        let header = [MAGIC, fingerprint(ranges).to_le_bytes()].concat();
        let mut found = [0; HEADER_BYTES as usize];
        if length == 0 {
            part.writes(part.file.write_all_at(&header, 0))?;
            part.writes(part.file.set_len(end))?;
        } else if part.file.read_exact_at(&mut found, 0).is_err() || found != *header {
            return Err(Failure::bad_input(format!("{shown} is not part of this table"))
                .help("remove it if nobody needs it, or give another name: --out FILE"));
        } else if length != end {
            // It was being made when its process was killed, or was cut short later.
            part.writes(part.file.set_len(end))?;
        }
        Ok(part)
    }

    /// The ranges that are not there, or not as they were written.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn missing<'r>(&self, ranges: &'r Ranges) -> Result<Vec<&'r Fetched>, Failure> {
        let mut missing = Vec::new();
        for range in ranges.all() {
            let mut entry = [0; ENTRY_BYTES as usize];
            self.reads(self.file.read_exact_at(&mut entry, entry_offset(range)))?;
            let there = entry != [0; ENTRY_BYTES as usize] && {
                let mut bytes = vec![0; (range.len() * self.width) as usize];
                self.reads(self.file.read_exact_at(&mut bytes, self.offset(range)))?;
                entry == entry_of(&bytes)
            };
            if !there {
                missing.push(range);
            }
        }
        Ok(missing)
    }

    /// Keeps the values of a range.
    ///
    /// # Errors
    /// If the disk is full, or fails.
    pub fn put(&mut self, range: &Fetched, bytes: &[u8]) -> Result<(), Failure> {
        debug_assert_eq!(bytes.len() as u64, range.len() * self.width);
        self.writes(self.file.write_all_at(bytes, self.offset(range)))?;
        self.writes(self.file.write_all_at(&entry_of(bytes), entry_offset(range)))
    }

    /// The bytes of a tier, in pieces of whole values, in order.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_tier(
        &self,
        tier: Tier,
        positions: u64,
        take: impl FnMut(&[u8]),
    ) -> Result<(), Failure> {
        self.read_at(tier, 0, positions, take).or_help(REMOVE)
    }

    /// The same of some positions from an offset on.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_at(
        &self,
        tier: Tier,
        offset: u64,
        positions: u64,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), TableError> {
        let place = self.tiers.iter().find(|(known, _)| *known == tier);
        let mut at = place.expect("a tier of the job").1 + offset * self.width;
        let end = at + positions * self.width;
        let mut piece = vec![0; PIECE_BYTES.min((positions * self.width) as usize)];
        while at < end {
            let length = (end - at).min(piece.len() as u64) as usize;
            let read = self.file.read_exact_at(&mut piece[..length], at);
            let path = || self.path.clone();
            read.map_err(|source| TableError::Io { path: path(), action: "read", source })?;
            take(&piece[..length]);
            at += length as u64;
        }
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file: its table is written, or never will be.
    ///
    /// # Errors
    /// If that fails.
    pub fn remove(self) -> Result<(), Failure> {
        fs::remove_file(&self.path).context(format!("cannot remove {}", self.path.display()))
    }

    fn offset(&self, range: &Fetched) -> u64 {
        let place = self.tiers.iter().find(|(tier, _)| *tier == range.tier);
        place.expect("a tier of the job").1 + range.offsets.start * self.width
    }

    fn writes<T>(&self, done: io::Result<T>) -> Result<T, Failure> {
        done.context(format!("cannot write {}", self.path.display()))
            .or_help("make room on the disk; the same command goes on where it was")
    }

    fn reads<T>(&self, done: io::Result<T>) -> Result<T, Failure> {
        done.context(format!("cannot read {}", self.path.display())).or_help(REMOVE)
    }
}

fn entry_offset(range: &Fetched) -> u64 {
    HEADER_BYTES + range.number as u64 * ENTRY_BYTES
}

/// A checksum that is never zeros.
fn entry_of(bytes: &[u8]) -> [u8; ENTRY_BYTES as usize] {
    let checksum = xxh3_64(bytes);
    let mut entry = [0; ENTRY_BYTES as usize];
    entry[..8].copy_from_slice(&checksum.to_le_bytes());
    entry[8..].copy_from_slice(&(!checksum).to_le_bytes());
    entry
}

/// Stands for all that decides the values: equal jobs have equal values, wherever they are solved.
fn fingerprint(ranges: &Ranges) -> u64 {
    let mut bytes = ranges.spec().encode_to_vec();
    bytes.extend(Encoding::VERSION.to_le_bytes());
    bytes.extend(env!("CARGO_PKG_VERSION").as_bytes());
    xxh3_64(&bytes)
}
