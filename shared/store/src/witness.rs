//! What the state was when it was written last, in a file of its own.
//!
//! RocksDB takes a log that is gone or empty, or a manifest that was cut short, for those of an earlier
//! state, and goes on from that. The witness knows better: the number of RocksDB's last change, and a
//! checksum of all there was then.

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

/// What a state is told apart by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Testimony {
    /// RocksDB's number of the last change.
    pub(crate) sequence: u64,
    /// Of all keys and values, in any order.
    pub(crate) checksum: u64,
}

impl Testimony {
    /// Whether a state is the one that was seen, or a later one: who is killed before the witness is told leaves that.
    pub(crate) fn allows(self, found: Self) -> bool {
        found == self || found.sequence > self.sequence
    }

    /// All texts are equally long and less than a sector, which disks write as a whole.
    fn text(self) -> String {
        let Self { sequence, checksum } = self;
        format!("{sequence:020}{SUM}{checksum:016x}\n")
    }
}

/// What a store's witness says; `None` if there is none, or it was not told anything yet.
pub(crate) fn ask(root: &Path) -> io::Result<Option<Testimony>> {
    let text = match fs::read_to_string(root.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(None),
        text => text?,
    };
    // What is longer was not written here; what was told since is in the first line. One that was copied in part says nothing.
    let line = text.lines().next().unwrap_or_default();
    let parse = || {
        let (sequence, checksum) = line.split_once(SUM)?;
        let (sequence, checksum) =
            (sequence.parse().ok()?, u64::from_str_radix(checksum, 16).ok()?);
        Some(Testimony { sequence, checksum }).filter(|told| told.text().trim_end() == line)
    };
    Ok(parse())
}

/// The witness of a store in use.
pub(crate) struct Witness(File);

impl Witness {
    /// Opens the file, or makes it.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let options =
            File::options().write(true).create(true).truncate(false).open(root.join(FILE));
        options.map(Self)
    }

    /// Writes down what the state is.
    pub(crate) fn tell(&self, now: Testimony) -> io::Result<()> {
        self.0.write_all_at(now.text().as_bytes(), 0)?;
        self.0.sync_data()
    }
}
