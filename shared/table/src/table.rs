//! Reading a `.zgt` table.

mod lookup;

use std::{
    collections::BTreeMap,
    fs::File,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use lookup::Frames;
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Position, Ruleset};

use crate::{
    Compression, TableError, Tell, TierStatistics, ValueType,
    frame::{self, frame_values, from_little_endian},
    layout::{
        CERTIFIED_AS_STORED_SINCE, FORMAT_VERSION, FrameEntry, Header, LESS_ONE_HALF_SINCE, MAGIC,
        PREAMBLE_BYTES, TRAILER_BYTES, TierEntry, Trailer, may_begin,
    },
    position::{Decided, check, check_range},
    progress::Work,
    value::{HALF, is_chance},
};

/// A `.zgt` table, open for reading.
///
/// Nothing of the values is read until it is asked for, and each frame's checksum is verified
/// whenever it is read.
#[derive(Debug)]
pub struct Table {
    path: PathBuf,
    file: File,
    version: u32,
    checksum: u64,
    header: Header,
    encoding: Encoding,
    entries: Vec<TierEntry>,
    by_tier: BTreeMap<Tier, usize>,
    frames: Frames,
}

impl Table {
    /// Opens a table and verifies everything but its values.
    ///
    /// # Errors
    /// If the file cannot be read, is not a table, is incomplete or damaged, or comes from
    /// another version of the program.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let file = File::open(path).map_err(TableError::io(path, "open"))?;
        let bytes = file.metadata().map_err(TableError::io(path, "inspect"))?.len();
        let opening = Opening { path, file: &file, bytes };
        let (version, checksum, header, mut entries) = opening.read()?;
        if version < CERTIFIED_AS_STORED_SINCE {
            let value_type = header.value_type;
            // To write chances and to read them less one half rounds, too; numbers less one half are read as they are.
            let is_exact = version >= 2 && value_type != ValueType::Percent16;
            let rounding = value_type.rounding() + if is_exact { 0.0 } else { f64::EPSILON };
            for certificate in
                entries.iter_mut().filter_map(|it| it.statistics.certificate.as_mut())
            {
                *certificate = (*certificate + rounding).next_up();
            }
        }
        let ruleset =
            Ruleset::from_toml(&header.ruleset, &path.display().to_string()).map_err(|source| {
                TableError::Ruleset { path: path.to_owned(), source: source.into() }
            })?;
        let encoding = Encoding::new(&ruleset)?;
        let by_tier = entries.iter().enumerate().map(|(i, entry)| (entry.tier, i)).collect();
        opening.check_tiers(&header, &encoding, &entries, &by_tier)?;
        let frames = Frames::new(&entries, header.compression);
        let path = path.to_owned();
        Ok(Self { path, file, version, checksum, header, encoding, entries, by_tier, frames })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The ruleset that was solved.
    pub fn ruleset(&self) -> &Ruleset {
        self.encoding.ruleset()
    }

    /// The ranking that orders the values.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// A checksum of the whole file: XXH3 of its trailer, which has those of the header and of the index, which has those of
    /// all values.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// The type of the values.
    pub fn value_type(&self) -> ValueType {
        self.header.value_type
    }

    /// How the values are packed.
    pub fn compression(&self) -> Compression {
        self.header.compression
    }

    /// The number of values: all undecided positions.
    pub fn positions(&self) -> u64 {
        self.header.positions
    }

    /// The tiers with their statistics, in the order they were written.
    pub fn tiers(&self) -> impl Iterator<Item = (Tier, TierStatistics)> + '_ {
        self.entries.iter().map(|entry| (entry.tier, entry.statistics))
    }

    /// The proven bound on the distance between the values in the file and the true ones, `None` if a
    /// tier has none.
    pub fn certificate(&self) -> Option<f64> {
        let mut certificates = self.entries.iter().map(|entry| entry.statistics.certificate);
        certificates.try_fold(0.0_f64, |largest, certificate| Some(largest.max(certificate?)))
    }

    /// The chance that the player to move wins.
    ///
    /// # Errors
    /// If the position is not one of the ruleset's, or the file cannot be read or is damaged.
    pub fn value(&self, position: &Position) -> Result<f64, TableError> {
        match check(self.ruleset(), position)? {
            Some(Decided::Won) => Ok(1.0),
            Some(Decided::Lost) => Ok(0.0),
            None => self.stored(self.encoding.rank(position)).map(|stored| HALF - stored),
        }
    }

    /// The chances that the player to move wins, for many positions: see [`Table::stored_at`].
    ///
    /// # Errors
    /// If a position is not one of the ruleset's, or the file cannot be read or is damaged.
    pub fn values(&self, positions: &[Position]) -> Result<Vec<f64>, TableError> {
        let mut values = Vec::with_capacity(positions.len());
        let (mut places, mut indices) = (Vec::new(), Vec::new());
        for position in positions {
            values.push(match check(self.ruleset(), position)? {
                Some(Decided::Won) => 1.0,
                Some(Decided::Lost) => 0.0,
                None => {
                    places.push(values.len());
                    indices.push(self.encoding.rank(position));
                    HALF
                }
            });
        }
        for (place, stored) in places.into_iter().zip(self.stored_at(&indices)?) {
            values[place] -= stored;
        }
        Ok(values)
    }

    /// All values of a tier in index order: chances of the player who just moved, less one half.
    ///
    /// # Errors
    /// If there is no such tier, or the file cannot be read or is damaged.
    pub fn read_tier(&self, tier: Tier) -> Result<Vec<f64>, TableError> {
        self.read_range(tier, 0..self.encoding.tier_len(tier))
    }

    /// The values of some offsets of a tier: chances of the player who just moved, less one half.
    ///
    /// # Errors
    /// If there is no such tier or offset, or the file cannot be read or is damaged.
    pub fn read_range(&self, tier: Tier, offsets: Range<u64>) -> Result<Vec<f64>, TableError> {
        let number = self.entry(tier, &offsets)?;
        let chunk = frame_values(self.value_type());
        let mut values = vec![0.0; (offsets.end - offsets.start) as usize];
        let skipped = (offsets.start % chunk as u64) as usize;
        let first = (offsets.start / chunk as u64) as usize;
        let in_first = (chunk - skipped).min(values.len());
        let (head, rest) = values.split_at_mut(in_first);
        let mut parts = vec![(first, skipped, head)];
        parts.extend(rest.chunks_mut(chunk).enumerate().map(|(i, part)| (first + 1 + i, 0, part)));
        parts.into_par_iter().filter(|(.., part)| !part.is_empty()).try_for_each(
            |(frame, skipped, part)| {
                let bytes = self.read_frame(number, frame)?;
                let bytes = &bytes[skipped * self.value_type().bytes()..];
                self.numbers((number, frame), bytes, part)
            },
        )?;
        Ok(values)
    }

    /// Where in the file the values of a tier are, as bytes; `None` if they are compressed or there
    /// is no such tier. They are little-endian and start at a multiple of 64, fit for mapping; what they are depends on the
    /// version of the file.
    pub fn raw_bytes(&self, tier: Tier) -> Option<Range<u64>> {
        let entry = &self.entries[*self.by_tier.get(&tier)?];
        let FrameEntry(start, ..) = entry.frames.first()?;
        let length = entry.length * self.value_type().bytes() as u64;
        (self.compression() == Compression::Raw).then(|| *start..start + length)
    }

    /// Reads every byte of the file and verifies its checksum.
    ///
    /// # Errors
    /// The first damage that is found, or that the file cannot be read.
    pub fn verify_checksums(&self, tell: &Tell<'_>) -> Result<(), TableError> {
        let bytes = self.file.metadata().map_err(TableError::io(&self.path, "inspect"))?.len();
        Opening { path: &self.path, file: &self.file, bytes }.read()?;
        let length = |entry: &TierEntry| entry.frames.iter().map(|frame| frame.1).sum::<u64>();
        let work = Work::new(self.entries.iter().map(length).sum(), tell);
        let frames =
            self.entries.iter().enumerate().flat_map(|(number, entry)| {
                (0..entry.frames.len()).map(move |frame| (number, frame))
            });
        frames.par_bridge().try_for_each(|(number, frame)| {
            let FrameEntry(_, length, _) = self.entries[number].frames[frame];
            self.read_frame(number, frame).map(|_| work.did(length))
        })
    }

    /// Little-endian values of a frame of a tier entry as chances less one half.
    fn numbers(
        &self,
        place: (usize, usize),
        bytes: &[u8],
        into: &mut [f64],
    ) -> Result<(), TableError> {
        from_little_endian(bytes, self.value_type(), into);
        if self.version < LESS_ONE_HALF_SINCE && self.value_type() != ValueType::Percent16 {
            into.iter_mut().for_each(|value| *value -= HALF);
        }
        match into.iter().find(|&&value| !is_chance(HALF + value)) {
            None => Ok(()),
            Some(value) => Err(self.damaged(place, &format!("{} is not a chance", HALF + value))),
        }
    }

    /// The place of a tier among the entries, if it has these offsets.
    fn entry(&self, tier: Tier, offsets: &Range<u64>) -> Result<usize, TableError> {
        check_range(&self.encoding, tier, offsets)?;
        Ok(self.by_tier[&tier]) // there since `check_tiers`
    }

    /// The little-endian values of a frame of a tier entry.
    fn read_frame(&self, number: usize, frame: usize) -> Result<Vec<u8>, TableError> {
        let entry = &self.entries[number];
        let FrameEntry(offset, length, checksum) = entry.frames[frame];
        let mut bytes = vec![0; length as usize];
        let read = self.file.read_exact_at(&mut bytes, offset);
        read.map_err(TableError::io(&self.path, "read"))?;
        let chunk = frame_values(self.value_type());
        let count = (entry.length as usize - frame * chunk).min(chunk);
        let unpacked = frame::unpack(bytes, checksum, count, self.value_type(), self.compression());
        unpacked.map_err(|why| self.damaged((number, frame), &why))
    }

    /// What is wrong with a frame of a tier entry.
    fn damaged(&self, (number, frame): (usize, usize), why: &str) -> TableError {
        let entry = &self.entries[number];
        let FrameEntry(offset, length, _) = entry.frames[frame];
        let (tier, end) = (entry.tier, offset + length);
        let what = format!("frame {frame} of tier {tier} (bytes {offset} to {end}): {why}");
        TableError::Damaged { path: self.path.clone(), what }
    }
}

/// A file whose parts are being read and checked against each other.
struct Opening<'a> {
    path: &'a Path,
    file: &'a File,
    bytes: u64,
}

impl Opening<'_> {
    /// The version, the checksum of all, the header and the index, the last two verified.
    fn read(&self) -> Result<(u32, u64, Header, Vec<TierEntry>), TableError> {
        let missing = "no complete header";
        let start = self.part(0, self.bytes.min(PREAMBLE_BYTES as u64), missing)?;
        if !may_begin(&start, &MAGIC) {
            return Err(TableError::NotATable { path: self.path.to_owned() });
        }
        if start.len() < PREAMBLE_BYTES {
            return Err(self.incomplete(missing));
        }
        let (words, _) = start.as_chunks::<4>();
        let version = u32::from_le_bytes(words[2]);
        if version > FORMAT_VERSION {
            let (path, found) = (self.path.to_owned(), version);
            return Err(TableError::NewerFormat { path, found, known: FORMAT_VERSION });
        }
        if version == 0 {
            return Err(self.damaged(format!("its format version is {version}")));
        }
        let header_length = PREAMBLE_BYTES as u64 + u64::from(u32::from_le_bytes(words[3]));
        let values = header_length.next_multiple_of(frame::ALIGNMENT_BYTES as u64);
        let trailer = self.trailer()?;
        if values > trailer.index_offset {
            return Err(self.damaged("the header is longer than the file has room for"));
        }
        let preamble = self.part(0, values, "no complete header")?;
        if xxh3_64(&preamble) != trailer.preamble_checksum {
            return Err(self.damaged("the checksum of the header does not match"));
        }
        let header: Header =
            serde_json::from_slice(&preamble[PREAMBLE_BYTES..header_length as usize])
                .map_err(|error| self.damaged(format!("the header cannot be read: {error}")))?;
        if header.encoder_version != Encoding::VERSION {
            let (path, found) = (self.path.to_owned(), header.encoder_version);
            return Err(TableError::ForeignEncoder { path, found, known: Encoding::VERSION });
        }
        let index = self.part(trailer.index_offset, trailer.index_length, "no index")?;
        if xxh3_64(&index) != trailer.index_checksum {
            return Err(self.damaged("the checksum of the index does not match"));
        }
        let entries: Vec<TierEntry> = serde_json::from_slice(&index)
            .map_err(|error| self.damaged(format!("the index cannot be read: {error}")))?;
        let mut end = values;
        for FrameEntry(offset, length, _) in entries.iter().flat_map(|entry| &entry.frames) {
            if *offset != end {
                return Err(self.damaged(format!("a frame starts at byte {offset}, not {end}")));
            }
            end = end.saturating_add(*length);
        }
        if end != trailer.index_offset {
            return Err(self.damaged(format!("the values end at byte {end}, not at the index")));
        }
        Ok((version, xxh3_64(&trailer.to_bytes()), header, entries))
    }

    fn trailer(&self) -> Result<Trailer, TableError> {
        let missing = "no trailer at its end";
        let start = self.bytes.saturating_sub(TRAILER_BYTES as u64);
        let bytes = self.part(start, TRAILER_BYTES as u64, missing)?;
        let bytes: &[u8; TRAILER_BYTES] =
            bytes.as_slice().try_into().map_err(|_| self.incomplete(missing))?;
        let trailer = Trailer::from_bytes(bytes).ok_or_else(|| self.incomplete(missing))?;
        if trailer.index_offset.checked_add(trailer.index_length) != Some(start) {
            return Err(self.damaged("the index is not where the trailer says"));
        }
        Ok(trailer)
    }

    /// Every tier of the ruleset is there once, with all its positions and frames.
    fn check_tiers(
        &self,
        header: &Header,
        encoding: &Encoding,
        entries: &[TierEntry],
        by_tier: &BTreeMap<Tier, usize>,
    ) -> Result<(), TableError> {
        let tiers = encoding.tiers();
        let mut positions = 0;
        for &tier in &tiers {
            let Some(&number) = by_tier.get(&tier) else {
                return Err(self.damaged(format!("tier {tier} is missing")));
            };
            let (entry, length) = (&entries[number], encoding.tier_len(tier));
            let frames = length.div_ceil(frame_values(header.value_type) as u64);
            if entry.length != length || entry.frames.len() as u64 != frames {
                let (found, many) = (entry.length, entry.frames.len());
                return Err(self.damaged(format!(
                    "tier {tier} has {found} positions in {many} frames, not {length} in {frames}"
                )));
            }
            positions += length;
            if let Some(bound) = entry.statistics.certificate.filter(|bound| *bound <= 0.0) {
                return Err(self.damaged(format!(
                    "it claims that the values of tier {tier} are within {bound:e}, which nobody can prove"
                )));
            }
        }
        if entries.len() != tiers.len() || header.positions != positions {
            return Err(self.damaged("it has other tiers or positions than its ruleset"));
        }
        Ok(())
    }

    /// Some bytes of the file, which is incomplete if it does not have them.
    fn part(&self, start: u64, length: u64, missing: &str) -> Result<Vec<u8>, TableError> {
        if start.checked_add(length).is_none_or(|end| end > self.bytes) {
            return Err(self.incomplete(missing));
        }
        let mut bytes = vec![0; length as usize];
        let read = self.file.read_exact_at(&mut bytes, start);
        read.map_err(TableError::io(self.path, "read"))?;
        Ok(bytes)
    }

    fn incomplete(&self, missing: &str) -> TableError {
        let (path, missing) = (self.path.to_owned(), missing.to_owned());
        TableError::Incomplete { path, bytes: self.bytes, missing }
    }

    fn damaged(&self, what: impl Into<String>) -> TableError {
        TableError::Damaged { path: self.path.to_owned(), what: what.into() }
    }
}
