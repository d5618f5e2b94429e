//! Reading an `.rgu` file.
//!
//! The ruleset decides which keys a file has, so a position's value is found by computing where
//! its key must be; that the key is there is verified on every look-up.

use std::{
    fs::File,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use rayon::prelude::*;
use ziggurat_encoding::{Encoding, Index, Tier, Unranking};
use ziggurat_game::{Position, Ruleset};

use super::{
    KeyLayout, Keys, Metadata, Run,
    format::{KEY_BYTES, MAGIC, VERSION, read_value},
};
use crate::{
    TableError, Tell, ValueType,
    layout::may_begin,
    position::{Decided, check},
    progress::{Work, unheard},
    value::HALF,
};

/// Metadata longer than this is taken for damage.
const MAX_METADATA_BYTES: u64 = 1 << 20;

/// So many entries are read at a time to be verified.
const ENTRIES: u64 = 1 << 16;

/// So many keys tell how a file lays them out: most of them, since some may be damaged.
const SAMPLED_KEYS: usize = 15;

/// An `.rgu` file, open for reading.
pub struct RguTable {
    path: PathBuf,
    file: File,
    metadata: Metadata,
    encoding: Encoding,
    keys: Keys,
    value_type: ValueType,
    keys_offset: u64,
    values_offset: u64,
    values: OnceLock<Vec<u8>>,
}

impl RguTable {
    /// Opens a file and verifies everything but its keys and values.
    ///
    /// # Errors
    /// If the file cannot be read, is not an `.rgu` file, is of a game that Ziggurat does not
    /// know, or is incomplete or damaged.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let file = File::open(path).map_err(TableError::io(path, "open"))?;
        let bytes = file.metadata().map_err(TableError::io(path, "inspect"))?.len();
        let damaged = |what: String| TableError::Damaged { path: path.to_owned(), what };
        let part = |start: u64, length: u64, missing: &str| -> Result<Vec<u8>, TableError> {
            if start.checked_add(length).is_none_or(|end| end > bytes) {
                let (path, missing) = (path.to_owned(), missing.to_owned());
                return Err(TableError::Incomplete { path, bytes, missing });
            }
            let mut part = vec![0; length as usize];
            file.read_exact_at(&mut part, start).map_err(TableError::io(path, "read"))?;
            Ok(part)
        };
        let start = part(0, bytes.min(8), "no header")?;
        if !may_begin(&start, &MAGIC) {
            return Err(TableError::NotATable { path: path.to_owned() });
        }
        let start = part(0, 8, "no header")?;
        if start[3] > VERSION {
            let (path, found) = (path.to_owned(), start[3].into());
            return Err(TableError::NewerFormat { path, found, known: VERSION.into() });
        }
        let metadata_length = number(&start[4..]);
        if metadata_length > MAX_METADATA_BYTES {
            return Err(damaged(format!("its metadata is said to have {metadata_length} bytes")));
        }
        let metadata = part(8, metadata_length, "no complete metadata")?;
        let metadata: Metadata = serde_json::from_slice(&metadata)
            .map_err(|error| damaged(format!("its metadata cannot be read: {error}")))?;
        let settings = metadata
            .settings()
            .map_err(|error| damaged(format!("its `game_settings` cannot be read: {error}")))?;
        let foreign = |why| TableError::ForeignGame { path: path.to_owned(), source: why };
        let ruleset = settings.ruleset().map_err(foreign)?;
        let keys = Keys::new(&ruleset)?;

        let maps_offset = 8 + metadata_length;
        let maps = number(&part(maps_offset, 4, "no maps")?);
        let expected = keys.map_lens();
        if maps != expected.len() as u64 {
            let many = expected.len();
            return Err(damaged(format!("it has {maps} maps, where its game has {many}")));
        }
        let lens = part(maps_offset + 4, 4 * maps, "no complete list of maps")?;
        for (map, (len, expected)) in lens.chunks_exact(4).zip(expected).enumerate() {
            if number(len) != *expected {
                let found = number(len);
                return Err(damaged(format!("map {map} has {found} entries, not {expected}")));
            }
        }
        let keys_offset = maps_offset + 4 + 4 * maps;
        let values_offset = keys_offset + KEY_BYTES * keys.count();
        // Some programs state two value types: the one that the length of the file fits is meant.
        let value_type = ValueType::ALL
            .into_iter()
            .filter(|&value_type| metadata.says(value_type))
            .find(|value_type| values_offset + keys.count() * value_type.bytes() as u64 == bytes);
        let value_type = value_type.ok_or_else(|| TableError::Incomplete {
            path: path.to_owned(),
            bytes,
            missing: format!("not one value of its type for each of {} keys", keys.count()),
        })?;
        let encoding = Encoding::new(&ruleset)?;
        let key_of = |ordinal: u64| {
            part(keys_offset + KEY_BYTES * ordinal, KEY_BYTES, "no complete keys")
                .map(|key| number(&key))
        };
        let keys = in_layout_of_file(keys, &encoding, key_of)?
            .ok_or_else(|| TableError::ForeignKeys { path: path.to_owned() })?;
        let (path, values) = (path.to_owned(), OnceLock::new());
        Ok(Self {
            path,
            file,
            metadata,
            encoding,
            keys,
            value_type,
            keys_offset,
            values_offset,
            values,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file says about itself.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The ruleset that was solved.
    pub fn ruleset(&self) -> &Ruleset {
        self.encoding.ruleset()
    }

    /// The ranking that [`RguTable::stored`] and [`RguTable::read_range`] go by.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// The keys of the file.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The type of the values, as the length of the file says.
    pub fn value_type(&self) -> ValueType {
        self.value_type
    }

    /// The residual that the file states, as a probability.
    pub fn residual(&self) -> Option<f64> {
        self.metadata.residual()
    }

    /// The chance that the player to move wins.
    ///
    /// # Errors
    /// If the position is not one of the ruleset's, or the file cannot be read or is damaged.
    pub fn value(&self, position: &Position) -> Result<f64, TableError> {
        match check(self.ruleset(), position)? {
            Some(Decided::Lost) => Ok(0.0),
            Some(Decided::Won) | None => self.look_up(position),
        }
    }

    /// The chance of the player who just moved before the position at an index, less one half.
    ///
    /// # Errors
    /// If there is no such index, or the file cannot be read or is damaged.
    pub fn stored(&self, index: Index) -> Result<f64, TableError> {
        let values = self.read_range(index.tier, index.offset..index.offset + 1)?;
        Ok(values[0])
    }

    /// The chances of the player who just moved, less one half, for all positions of a tier in index order.
    ///
    /// # Errors
    /// As [`RguTable::read_range`].
    pub fn read_tier(&self, tier: Tier) -> Result<Vec<f64>, TableError> {
        self.read_range(tier, 0..self.encoding.tier_len(tier))
    }

    /// The chances of the player who just moved, less one half, for some offsets of a tier. The first time that
    /// more than one is asked for, all values of the file are read into memory.
    ///
    /// # Errors
    /// If there is no such tier or offset, or the file cannot be read or is damaged.
    pub fn read_range(&self, tier: Tier, offsets: Range<u64>) -> Result<Vec<f64>, TableError> {
        crate::position::check_range(&self.encoding, tier, &offsets)?;
        if offsets.end - offsets.start > 1 {
            self.load()?;
        }
        let unranking = || self.encoding.unranking(tier);
        let one = |positions: &mut Unranking<'_>, i: usize| {
            let position = positions.position(offsets.start + i as u64);
            self.look_up(&position).map(|value| HALF - value)
        };
        let count = (offsets.end - offsets.start) as usize;
        (0..count).into_par_iter().map_init(unranking, one).collect()
    }

    /// Verifies that the keys are those of the ruleset, and that every value is a chance.
    ///
    /// # Errors
    /// The first damage that is found, or that the file cannot be read.
    pub fn verify_keys(&self, tell: &Tell<'_>) -> Result<(), TableError> {
        let runs: Vec<Run> = self.keys.runs().collect();
        let work = Work::new(self.keys.count(), tell);
        runs.par_iter().try_for_each(|run| {
            let entries = run.first..run.first + run.len;
            self.verify_keys_of(run)?;
            for first in entries.clone().step_by(ENTRIES as usize) {
                self.verify_values_of(first..entries.end.min(first + ENTRIES))?;
            }
            work.did(run.len);
            Ok(())
        })
    }

    fn verify_keys_of(&self, run: &Run) -> Result<(), TableError> {
        let end = run.first + run.len;
        let mut found = Ok(Vec::new());
        let mut ordinal = run.first;
        self.keys.for_each(run, |key, _| {
            let at = (ordinal - run.first) % ENTRIES;
            if at == 0 && found.is_ok() {
                let len = ENTRIES.min(end - ordinal);
                found = self.read(self.keys_offset + KEY_BYTES * ordinal, KEY_BYTES * len);
            }
            if let Ok(keys) = &found
                && number(&keys[(KEY_BYTES * at) as usize..]) != lower(key)
            {
                found = Err(self.wrong_key(ordinal));
            }
            ordinal += 1;
        });
        found.map(drop)
    }

    fn verify_values_of(&self, entries: Range<u64>) -> Result<(), TableError> {
        let width = self.value_type.bytes() as u64;
        let length = width * (entries.end - entries.start);
        let values = self.read(self.values_offset + width * entries.start, length)?;
        for (ordinal, value) in entries.zip(values.chunks_exact(width as usize)) {
            self.chance(ordinal, value)?;
        }
        Ok(())
    }

    /// The bytes of its values, which stay in memory once more than one of them was asked for.
    pub fn held_bytes(&self) -> u64 {
        self.keys.count() * self.value_type.bytes() as u64
    }

    /// Reads all values into memory and verifies the keys, once. The largest game there are keys
    /// for has 5e8 values.
    fn load(&self) -> Result<(), TableError> {
        if self.values.get().is_none() {
            self.verify_keys(&unheard)?;
            let values = self.read(self.values_offset, self.held_bytes())?;
            self.values.get_or_init(|| values);
        }
        Ok(())
    }

    fn look_up(&self, position: &Position) -> Result<f64, TableError> {
        let ordinal = self.keys.ordinal(position).expect("the opponent has pieces left");
        let width = self.value_type.bytes();
        if let Some(values) = self.values.get() {
            return self.chance(ordinal, &values[ordinal as usize * width..][..width]);
        }
        let key = self.read(self.keys_offset + KEY_BYTES * ordinal, KEY_BYTES)?;
        if number(&key) != lower(self.keys.key(position)) {
            return Err(self.wrong_key(ordinal));
        }
        let value = self.read(self.values_offset + ordinal * width as u64, width as u64)?;
        self.chance(ordinal, &value)
    }

    fn chance(&self, ordinal: u64, value: &[u8]) -> Result<f64, TableError> {
        read_value(value, self.value_type).map_err(|percent| {
            self.damaged(format!("the value of entry {ordinal} is {percent} percent"))
        })
    }

    fn read(&self, start: u64, length: u64) -> Result<Vec<u8>, TableError> {
        let mut bytes = vec![0; length as usize];
        let read = self.file.read_exact_at(&mut bytes, start);
        read.map_err(TableError::io(&self.path, "read"))?;
        Ok(bytes)
    }

    fn wrong_key(&self, ordinal: u64) -> TableError {
        self.damaged(format!("the key of entry {ordinal} is not the one that belongs there"))
    }

    fn damaged(&self, what: String) -> TableError {
        TableError::Damaged { path: self.path.clone(), what }
    }
}

/// The keys of a game as a file lays them out, `None` if in no way that is known; `key_of` gives the stored key with an
/// ordinal.
fn in_layout_of_file(
    keys: Keys,
    encoding: &Encoding,
    key_of: impl Fn(u64) -> Result<u64, TableError>,
) -> Result<Option<Keys>, TableError> {
    let tiers = encoding.tiers();
    let sampled = (0..SAMPLED_KEYS).map(|i| {
        let tier = tiers[i * tiers.len() / SAMPLED_KEYS];
        let offset = encoding.tier_len(tier) * i as u64 / SAMPLED_KEYS as u64;
        let position = encoding.unrank(Index { tier, offset });
        let ordinal = keys.ordinal(&position).expect("the opponent has pieces left");
        Ok((position, key_of(ordinal)?))
    });
    let sampled: Vec<(Position, u64)> = sampled.collect::<Result<_, TableError>>()?;
    let fit = |keys: &Keys| {
        let fit = sampled.iter().filter(|(position, stored)| lower(keys.key(position)) == *stored);
        fit.count() > SAMPLED_KEYS / 2
    };
    if fit(&keys) {
        return Ok(Some(keys));
    }
    let older = Keys::laid_out(encoding.ruleset(), KeyLayout::Early2024)?;
    Ok(Some(older).filter(|older| older.map_lens() == keys.map_lens() && fit(older)))
}

/// What is stored of a key.
fn lower(key: u64) -> u64 {
    key & u64::from(u32::MAX)
}

/// A big-endian number of four bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes[..4].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
