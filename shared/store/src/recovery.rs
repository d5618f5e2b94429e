//! Opening the database of values when its files are not as they should be.
//!
//! RocksDB refuses a database of which one file is gone, cut short or corrupt, though all others are
//! fine. But its files are exactly those that were ingested, and nothing else: so the damaged
//! database is set aside, and what can still be read is ingested into a new one. This copies
//! nothing, since files are linked, and may be interrupted anywhere, since the damaged database stays as it was
//! until the new one is complete. What was lost is missing from then on, and whoever reads it
//! is told.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use rocksdb::{ErrorKind, Options};

use ziggurat_files::sync_dir;

use crate::{
    StoreError,
    error::{is_damage, is_unreadable},
    failpoint::failpoint,
    values::{STAGING, Values},
};

const VALUES: &str = "values";
const DAMAGED: &str = "values-damaged";
/// What had to be done to open a damaged store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// What was wrong.
    pub why: String,
    /// Files of values that are as they were.
    pub kept: usize,
    /// Files of values that could not be read any more.
    pub lost: Vec<String>,
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, kept, lost } = self;
        write!(f, "the database of values ({why}); files of values kept: {kept}, lost: ")?;
        match lost.as_slice() {
            [] => f.write_str("none"),
            lost => f.write_str(&lost.join(", ")),
        }
    }
}

/// Opens the values of the store in `root`, as many as there are.
pub(crate) fn open_values(
    root: &Path,
    settings: &Options,
) -> Result<(Values, Option<Recovery>), StoreError> {
    let (values, damaged) = (root.join(VALUES), root.join(DAMAGED));
    let why = if damaged.exists() {
        // A new database was begun before, and is not complete.
        remove(&values)?;
        "a recovery was interrupted".to_owned()
    } else {
        let why = match try_open(&values, settings)? {
            Ok(values) => return Ok((values, None)),
            Err(why) => why,
        };
        let aside = StoreError::io(&values, "set aside");
        fs::rename(&values, &damaged).and_then(|()| sync_dir(root)).map_err(aside)?;
        why
    };
    let (values, kept, lost) = ingest_all(&damaged, &values, &root.join(STAGING), settings)?;
    discard(root, &damaged)?;
    Ok((values, Some(Recovery { why, kept, lost })))
}

/// Removes the damaged database. From its name the next opening would conclude that the new one is incomplete, so
/// that goes first, at once and for good; the new one's name is on disk before that.
fn discard(root: &Path, damaged: &Path) -> Result<(), StoreError> {
    let staging = root.join(STAGING);
    let rubbish = staging.join(DAMAGED);
    sync_dir(root)
        .and_then(|()| fs::rename(damaged, &rubbish))
        .and_then(|()| sync_dir(&staging))
        .and_then(|()| sync_dir(root))
        .map_err(StoreError::io(damaged, "discard"))?;
    failpoint!("store::before-remove", root);
    remove(&rubbish)
}

/// Opens the database if it is whole; or says what is wrong with it.
fn try_open(dir: &Path, settings: &Options) -> Result<Result<Values, String>, StoreError> {
    // RocksDB would take such a directory for a new database, and its files for rubbish.
    if !dir.join("CURRENT").exists() && !tables(dir)?.is_empty() {
        return Ok(Err(format!("{} is gone", dir.join("CURRENT").display())));
    }
    match Values::open(dir, settings.clone()) {
        Ok(values) => Ok(match values.fault()? {
            None => Ok(values),
            Some(why) => Err(why),
        }),
        Err(error) if is_damage(&error) => Ok(Err(error.into_string())),
        Err(error) if is_unreadable(&error) => {
            Err(StoreError::Unreadable { dir: dir.to_owned(), what: error.into_string() })
        }
        Err(error) => Err(StoreError::rocksdb(dir, "open the values in")(error)),
    }
}

/// Makes a new database of the files of a damaged one. Tells how many there are, and which were
/// lost.
fn ingest_all(
    damaged: &Path,
    values: &Path,
    staging: &Path,
    settings: &Options,
) -> Result<(Values, usize, Vec<String>), StoreError> {
    let new = Values::open(values, settings.clone())
        .map_err(StoreError::rocksdb(values, "make a new database in"))?;
    let mut staged = Vec::new();
    for file in tables(damaged)? {
        let link = staging.join(file.file_name().unwrap_or_default());
        fs::hard_link(&file, &link)
            .or_else(|_| fs::copy(&file, &link).map(drop))
            .map_err(StoreError::io(&link, "link"))?;
        staged.push(link);
    }
    let files: Vec<_> = staged.iter().map(PathBuf::as_path).collect();
    let mut lost = Vec::new();
    ingest_readable(&new, &files, &mut lost).map_err(StoreError::rocksdb(values, "recover"))?;
    Ok((new, staged.len() - lost.len(), lost))
}

/// Ingests the files that can be read, and names the others. Since one that cannot be read keeps all
/// from being ingested, halves are tried in turn until it is alone.
fn ingest_readable(
    values: &Values,
    files: &[&Path],
    lost: &mut Vec<String>,
) -> Result<(), rocksdb::Error> {
    if files.is_empty() {
        return Ok(());
    }
    match values.ingest(files) {
        Ok(()) => {}
        // An I/O error may pass: the next try starts over, and nothing is lost.
        Err(error) if error.kind() == ErrorKind::IOError => return Err(error),
        Err(_) if files.len() == 1 => {
            lost.push(files[0].file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
        Err(_) => {
            let (first, second) = files.split_at(files.len() / 2);
            ingest_readable(values, first, lost)?;
            ingest_readable(values, second, lost)?;
        }
    }
    Ok(())
}

/// The tables of a database in a directory, oldest first.
pub(crate) fn tables(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries,
    };
    let paths = entries.and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut paths: Vec<PathBuf> = paths.map_err(StoreError::io(dir, "list"))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sst"));
    paths.sort_unstable();
    Ok(paths)
}

/// Removes a directory with all that is in it, if there is one.
pub(crate) fn remove(dir: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io(dir, "remove")(error))
        }
        _ => Ok(()),
    }
}
