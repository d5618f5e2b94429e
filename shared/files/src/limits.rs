//! What a process may have no more of, as errors name it.
//!
//! A limit is told from the error of the system. Libraries that pass errors on as text are read as text.

use std::{fmt, io};

use rustix::{
    io::Errno,
    process::{Resource, getrlimit},
};

use crate::size;

/// A limit that a call ran into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The largest file: of this process, or of the file system.
    FileSize,
    /// The number of files this process may have open.
    OpenFiles,
    /// The number of files the system may have open.
    OpenFilesOfAll,
    /// The disk quota of the user or the directory.
    Quota,
}

/// How C libraries say it, the longer texts first.
const TEXTS: [(&str, Limit); 6] = [
    ("File too large", Limit::FileSize),
    ("Too many open files in system", Limit::OpenFilesOfAll),
    ("Too many open files", Limit::OpenFiles),
    ("No file descriptors available", Limit::OpenFiles),
    ("quota exceeded", Limit::Quota),
    ("Quota exceeded", Limit::Quota),
];

impl Limit {
    /// The limit that an error of the system is about, if it is about one.
    pub fn of(error: &io::Error) -> Option<Self> {
        match Errno::from_io_error(error)? {
            Errno::FBIG => Some(Self::FileSize),
            Errno::MFILE => Some(Self::OpenFiles),
            Errno::NFILE => Some(Self::OpenFilesOfAll),
            Errno::DQUOT => Some(Self::Quota),
            _ => None,
        }
    }

    /// The same for an error that is passed on as text.
    pub fn in_text(text: &str) -> Option<Self> {
        TEXTS.into_iter().find(|(said, _)| text.contains(said)).map(|(_, limit)| limit)
    }

    /// What to do about it, as part of a sentence.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::FileSize if file_size_limit().is_some() => {
                "raise that limit (ulimit -f unlimited)"
            }
            Self::FileSize => "choose a directory on another file system",
            Self::OpenFiles => "raise that limit (ulimit -n 4096)",
            Self::OpenFilesOfAll => "end programs that have many open, or raise fs.file-max",
            Self::Quota => {
                "remove files of that user, have the quota raised, or choose a directory on another disk"
            }
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileSize => match file_size_limit() {
                Some(bytes) => {
                    write!(f, "a file of this process may have at most {} (ulimit -f)", size(bytes))
                }
                None => f.write_str("the file system takes no file that large"),
            },
            Self::OpenFiles => match open_files_limit() {
                Some(files) => {
                    write!(f, "this process may have at most {files} files open (ulimit -n)")
                }
                None => f.write_str("this process may have no more files open"),
            },
            Self::OpenFilesOfAll => f.write_str("the system may have no more files open"),
            Self::Quota => f.write_str("a disk quota is used up"),
        }
    }
}

/// The most bytes that a file of this process may have; `None` if nothing limits that.
pub fn file_size_limit() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

/// The most files that this process may have open; `None` if nothing limits that.
pub fn open_files_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_told_from_the_error_as_from_its_text() {
        for (error, limit) in [
            (Errno::FBIG, Limit::FileSize),
            (Errno::MFILE, Limit::OpenFiles),
            (Errno::NFILE, Limit::OpenFilesOfAll),
            (Errno::DQUOT, Limit::Quota),
        ] {
            let error = io::Error::from(error);
            assert_eq!(Limit::of(&error), Some(limit));
            assert_eq!(Limit::in_text(&format!("While appending: {error}")), Some(limit));
        }
        let full = io::Error::from(Errno::NOSPC);
        assert_eq!((Limit::of(&full), Limit::in_text(&full.to_string())), (None, None));
    }
}
