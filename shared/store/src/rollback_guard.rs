//! A digest of the state as it was written last, in a file of its own, that detects a rollback.
//!
//! RocksDB takes a log that is gone or empty, or a manifest that was cut short, for those of an earlier
//! state, and goes on from that. The digest tells them apart: it has the number of RocksDB's last change, and a
//! checksum of all entries.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

/// The name of the file.
pub(crate) const FILE: &str = "witness";
/// What is between the numbers. An earlier version had another checksum, and nothing but a space here.
const SUM: &str = " sum ";

/// A digest of a state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateDigest {
    /// RocksDB's number of the last change.
    pub(crate) sequence: u64,
    /// Of all keys and values, in any order.
    pub(crate) checksum: u64,
}

impl StateDigest {
    /// Whether a state is the one that was seen, or a later one: a process that is killed before the digest is written leaves that.
    pub(crate) fn allows(self, found: Self) -> bool {
        found == self || found.sequence > self.sequence
    }

    /// All texts are equally long and less than a sector, which disks write as a whole.
    fn text(self) -> String {
        let Self { sequence, checksum } = self;
        format!("{sequence:020}{SUM}{checksum:016x}\n")
    }
}

/// The digest of a store's state; `None` if none was written.
pub(crate) fn read(root: &Path) -> io::Result<Option<StateDigest>> {
    let text = match fs::read_to_string(root.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(None),
        text => text?,
    };
    // A longer file was not written here; digests since are in the first line. One that was copied in part has none.
    let line = text.lines().next().unwrap_or_default();
    let parse = || {
        let (sequence, checksum) = line.split_once(SUM)?;
        let (sequence, checksum) =
            (sequence.parse().ok()?, u64::from_str_radix(checksum, 16).ok()?);
        Some(StateDigest { sequence, checksum }).filter(|digest| digest.text().trim_end() == line)
    };
    Ok(parse())
}

/// The file with the digest of a store in use.
pub(crate) struct RollbackGuard(File);

impl RollbackGuard {
    /// Opens the file, or makes it.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let options =
            File::options().write(true).create(true).truncate(false).open(root.join(FILE));
        options.map(Self)
    }

    /// Writes the digest of the state.
    pub(crate) fn write(&self, now: StateDigest) -> io::Result<()> {
        self.0.write_all_at(now.text().as_bytes(), 0)?;
        self.0.sync_data()
    }
}
