//! What can go wrong with a table. Every message names the file and says what to do.

use std::{
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;
use ziggurat_encoding::{EncodingError, Tier};
use ziggurat_game::RulesetFileError;

use crate::rgu::{NotExpressible, UnknownSetting};

/// Why a table could not be read, written or compared.
#[derive(Debug, Error)]
pub enum TableError {
    /// The operating system said no.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A file of that name exists, and was not to be replaced.
    #[error("{} already exists; choose another name or ask to replace it", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file of that name came while another was made under it, and has other bytes.
    #[error(
        "{} came to be meanwhile, and has other bytes; what was to be there is complete, and in {}", .path.display(), .kept.display()
    )]
    Taken {
        /// The name.
        path: PathBuf,
        /// What the file is called instead.
        kept: PathBuf,
    },
    /// A complete file could not get its name.
    #[error(
        "{} is complete, but cannot be called {}; it is kept: rename it, or ask for another name", .kept.display(), .path.display()
    )]
    Unnamed {
        /// The name.
        path: PathBuf,
        /// What the file is called instead.
        kept: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory has the name a file was to have.
    #[error("{} is a directory; give the name of a file", .path.display())]
    IsADirectory {
        /// The directory.
        path: PathBuf,
    },
    /// A pipe or a device has the name of a table.
    #[error("{} is no regular file, and a table is read here and there; copy it into a file", .path.display())]
    NotAFile {
        /// The name.
        path: PathBuf,
    },
    /// The file is something else.
    #[error(
        "{} is not a table: it does not begin like a .zgt or an .rgu file; \
         name a file that `ziggurat solve` has written, or `ziggurat export` as one of these", .path.display()
    )]
    NotATable {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later version of the program.
    #[error(
        "{} has format version {found}, this program reads up to {known}; \
         use a newer ziggurat or export the table again", .path.display()
    )]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The latest version known.
        known: u32,
    },
    /// The values are in the order of another encoder.
    #[error(
        "{} is ordered by encoder version {found}, this program has version {known}; \
         read it with the ziggurat that wrote it or solve the ruleset again", .path.display()
    )]
    ForeignEncoder {
        /// The file.
        path: PathBuf,
        /// The version of the encoder that ordered the values.
        found: u32,
        /// The version of this program's encoder.
        known: u32,
    },
    /// The file stops early.
    #[error(
        "{} is incomplete: it has {bytes} bytes and {missing}; \
         copy it again or solve the ruleset again", .path.display()
    )]
    Incomplete {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// What is not there.
        missing: String,
    },
    /// Something in the file is not what was written.
    #[error(
        "{} is damaged: {what}; copy it again or solve the ruleset again", .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// An unfinished table has other bytes than its index says.
    #[error("{} is not as it was written: {what}", .path.display())]
    NotAsWritten {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// The ruleset in the file is not one.
    #[error("the ruleset in {} is not valid", .path.display())]
    Ruleset {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<RulesetFileError>,
    },
    /// An `.rgu` file is of a game that Ziggurat does not know.
    #[error("{} is of a game this program cannot read from .rgu files", .path.display())]
    ForeignGame {
        /// The file.
        path: PathBuf,
        /// Which setting is unknown.
        source: UnknownSetting,
    },
    /// The keys of an `.rgu` file are in no layout that is known.
    #[error(
        "the keys of {} are not laid out in a way this program knows: an older key layout, or damage; \
         copy it again, or have it written again by today's RoyalUr-Java", .path.display()
    )]
    ForeignKeys {
        /// The file.
        path: PathBuf,
    },
    /// The ruleset is too large to rank.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    /// The ruleset cannot be written as `.rgu`.
    #[error(transparent)]
    NotExpressible(#[from] NotExpressible),
    /// The position is not one of the ruleset's.
    #[error("not a position of {ruleset}: {why}")]
    NotAPosition {
        /// The ruleset's name.
        ruleset: String,
        /// What is wrong with it.
        why: String,
    },
    /// The ruleset has no such tier.
    #[error("{ruleset} has no tier {tier}")]
    NoSuchTier {
        /// The ruleset's name.
        ruleset: String,
        /// The tier.
        tier: Tier,
    },
    /// A tier was given with too few or too many values.
    #[error("tier {tier} has {expected} positions, not {found}")]
    WrongLength {
        /// The tier.
        tier: Tier,
        /// The positions it has.
        expected: u64,
        /// The values given.
        found: u64,
    },
    /// A tier was given twice.
    #[error("tier {tier} is written already")]
    WrittenTwice {
        /// The tier.
        tier: Tier,
    },
    /// A table was finished without all of its tiers.
    #[error("tier {tier} is not written yet")]
    Unwritten {
        /// The first tier that is missing.
        tier: Tier,
    },
    /// A value to be written is not a chance.
    #[error("{value} is not a chance of winning (tier {tier}, offset {offset})")]
    NotAChance {
        /// The tier.
        tier: Tier,
        /// The offset in the tier.
        offset: u64,
        /// The value.
        value: f64,
    },
    /// Two tables are not about the same game.
    #[error(
        "the tables differ in {property}: {left} against {right}; compare tables of one ruleset"
    )]
    DifferentRulesets {
        /// The first property in which they differ.
        property: &'static str,
        /// What it is in the first table.
        left: String,
        /// What it is in the second table.
        right: String,
    },
}

impl TableError {
    /// What an I/O error becomes while trying to `action` a file; for `map_err`.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), action, source }
    }
}
