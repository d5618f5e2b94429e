//! A table that is written over days, by one process after another, in a file that stays when they end.
//!
//! Values come first in a table and its index last, so the index of the tiers so far says all of an unfinished file:
//! where it ends, and what its bytes are. The owner writes this index down, where it is durable, whenever the file was
//! synced. What a killed process wrote after that is written over.

use std::{
    fs::{self, File},
    io, mem,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tempfile::{NamedTempFile, PersistError, TempPath};
use xxhash_rust::xxh3::xxh3_64;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_files::{publish, sync};

use crate::{
    Compression, Existing, TableError, TierStatistics, ValueType,
    layout::{FrameEntry, TierEntry},
    output::{Output, have_same_bytes, sync_directory_of},
    writer::Contents,
};

/// How many bytes are copied at a time.
const COPIED_BYTES: usize = 1 << 20;

/// The tiers that are in an unfinished table, with the checksums of their frames.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TableIndex(Vec<TierEntry>);

/// A table that is not complete yet. Dropped, it stays as it is.
#[derive(Debug)]
pub struct UnfinishedTable {
    path: PathBuf,
    /// Opened when it is written to.
    file: Option<Arc<File>>,
    contents: Contents,
}

impl UnfinishedTable {
    /// The table in the file `path`, which has the tiers of an index so far. Nothing is read or written yet.
    ///
    /// # Errors
    /// If the ruleset cannot be described.
    pub fn new(
        path: &Path,
        encoding: &Encoding,
        value_type: ValueType,
        compression: Compression,
        TableIndex(entries): TableIndex,
    ) -> Result<Self, TableError> {
        let mut contents = Contents::new(path, encoding, value_type, compression)?;
        contents.entries = entries;
        Ok(Self { path: path.to_owned(), file: None, contents })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The tiers that are in it.
    pub fn index(&self) -> TableIndex {
        TableIndex(self.contents.entries.clone())
    }

    /// Whether a tier is in it.
    pub fn has(&self, tier: Tier) -> bool {
        self.contents.entries.iter().any(|entry| entry.tier == tier)
    }

    /// Reads what is in the file. If something is not as it was written, that and all tiers after it are not in the table any
    /// more, and are to be written again. Returns what is wrong.
    pub fn give_up_damaged(&mut self) -> Option<TableError> {
        let (intact, wrong) = self.intact_in(&self.path);
        self.contents.entries.truncate(intact);
        wrong
    }

    /// How many tiers, the first ones, are in a file as they were written, and what is wrong with the next.
    fn intact_in(&self, path: &Path) -> (usize, Option<TableError>) {
        let Contents { entries, preamble, .. } = &self.contents;
        if entries.is_empty() {
            return (0, None);
        }
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) => return (0, Some(TableError::io(path, "open")(error))),
        };
        let is = |offset: u64, length: usize, right: &dyn Fn(&[u8]) -> bool| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, offset).map(|()| right(&bytes))
        };
        let differs = |what| TableError::NotAsWritten { path: path.to_owned(), what };
        let wrong = |what: String, found: io::Result<bool>| match found {
            Ok(true) => None,
            Ok(false) => Some(differs(what)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let bytes = file.metadata().map_or(0, |file| file.len());
                Some(differs(format!("it has {bytes} bytes of at least {}", self.contents.bytes())))
            }
            Err(error) => Some(TableError::io(path, "read")(error)),
        };
        let begins = is(0, preamble.len(), &|bytes| bytes == preamble);
        if let Some(wrong) = wrong("it begins with something else".to_owned(), begins) {
            return (0, Some(wrong));
        }
        let frames = entries.iter().enumerate().flat_map(|(number, entry)| {
            entry.frames.iter().map(move |&frame| (number, entry.tier, frame))
        });
        let frames: Vec<_> = frames.collect();
        let found = frames.par_iter().find_map_first(|&(number, tier, frame)| {
            let FrameEntry(offset, length, checksum) = frame;
            let found = is(offset, length as usize, &|bytes| xxh3_64(bytes) == checksum);
            let what = format!("the checksum of tier {tier} at byte {offset} does not match");
            wrong(what, found).map(|wrong| (number, wrong))
        });
        match found {
            Some((intact, wrong)) => (intact, Some(wrong)),
            None => (entries.len(), None),
        }
    }

    /// Appends a tier, as [`TableWriter::write_tier`](crate::TableWriter::write_tier) does.
    ///
    /// # Errors
    /// As there.
    pub fn write_tier<V: Copy + Into<f64> + Sync>(
        &mut self,
        tier: Tier,
        statistics: TierStatistics,
        values: &[V],
    ) -> Result<(), TableError> {
        let file = self.opened()?;
        let Self { path, contents, .. } = self;
        let mut at = contents.bytes();
        contents.write_tier(tier, statistics, values, &mut |bytes| {
            file.write_all_at(bytes, at).map_err(TableError::io(path, "write"))?;
            at += bytes.len() as u64;
            Ok(())
        })
    }

    /// Makes what is in it durable.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn sync(&mut self) -> Result<(), TableError> {
        let file = self.opened()?;
        sync(&file).map_err(TableError::io(&self.path, "sync"))
    }

    /// The file. When it is opened, what does not count is cut off, and what comes before the values is written.
    fn opened(&mut self) -> Result<Arc<File>, TableError> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        let Self { path, contents, .. } = self;
        let options =
            File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = options.map_err(TableError::io(path, "create"))?;
        if contents.entries.is_empty() {
            file.set_len(0).map_err(TableError::io(path, "write"))?;
            file.write_all_at(&contents.preamble, 0).map_err(TableError::io(path, "write"))?;
            sync_directory_of(path)?;
        }
        file.set_len(contents.bytes()).map_err(TableError::io(path, "write"))?;
        Ok(self.file.insert(Arc::new(file)).clone())
    }

    /// Completes the file, durably; it is an unfinished one still to who opens it with the same index.
    ///
    /// # Errors
    /// If a tier is missing, or the disk is full.
    pub fn complete(&mut self) -> Result<(), TableError> {
        let (file, end) = (self.opened()?, self.contents.end()?);
        let written = file.write_all_at(&end, self.contents.bytes());
        written.map_err(TableError::io(&self.path, "write"))?;
        self.sync()
    }

    /// Gives the complete file a name, or copies it there if it is on another file system. If that fails it stays where
    /// it is.
    ///
    /// # Errors
    /// If there is another file of that name which is not to be replaced, or it cannot be written.
    pub fn publish(mut self, out: &Path, existing: Existing) -> Result<(), TableError> {
        self.complete()?;
        let file = File::open(&self.path).map_err(TableError::io(&self.path, "open"))?;
        let path =
            TempPath::try_from_path(&self.path).map_err(TableError::io(&self.path, "name"))?;
        let named =
            publish(NamedTempFile::from_parts(file, path), out, existing == Existing::Replace);
        let Err(PersistError { error, file }) = named else {
            return sync_directory_of(out);
        };
        if let Err(PersistError { file, .. }) = file.keep() {
            mem::forget(file); // its end would remove it
        }
        match error.kind() {
            io::ErrorKind::AlreadyExists if !have_same_bytes(&self.path, out).unwrap_or(false) => {
                return Err(TableError::Exists { path: out.to_owned() });
            }
            io::ErrorKind::AlreadyExists => {}
            io::ErrorKind::CrossesDevices => self.copy(&self.path, out, existing)?,
            _ => {
                let (path, kept) = (out.to_owned(), self.path);
                return Err(TableError::Unnamed { path, kept, source: error });
            }
        }
        fs::remove_file(&self.path).map_err(TableError::io(&self.path, "remove"))
    }

    /// Checks that a file is this table, complete.
    ///
    /// # Errors
    /// If it is not.
    pub fn check_complete(&self, path: &Path) -> Result<(), TableError> {
        let end = self.contents.end()?;
        if let (_, Some(wrong)) = self.intact_in(path) {
            return Err(wrong);
        }
        let mut found = vec![0; end.len()];
        let file = File::open(path).map_err(TableError::io(path, "open"))?;
        let bytes = file.metadata().map_err(TableError::io(path, "inspect"))?.len();
        let read = file.read_exact_at(&mut found, self.contents.bytes());
        match read {
            Ok(()) if found == end && bytes == self.contents.bytes() + end.len() as u64 => Ok(()),
            _ => {
                let what = "it ends with something else".to_owned();
                Err(TableError::NotAsWritten { path: path.to_owned(), what })
            }
        }
    }

    /// Copies the complete table from a file to another.
    ///
    /// # Errors
    /// If there is another file of that name which is not to be replaced, or it cannot be written.
    pub fn copy(&self, from: &Path, out: &Path, existing: Existing) -> Result<(), TableError> {
        let mut output = Output::create(out, existing)?;
        let file = File::open(from).map_err(TableError::io(from, "open"))?;
        let (mut at, mut bytes) = (0, vec![0; COPIED_BYTES]);
        loop {
            let read = file.read_at(&mut bytes, at).map_err(TableError::io(from, "read"))?;
            if read == 0 {
                return output.finish();
            }
            output.append(&bytes[..read])?;
            at += read as u64;
        }
    }
}
