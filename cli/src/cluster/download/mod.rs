//! The values of a solved job, from its workers into a file.
//!
//! A download is interrupted as easily as a solve, so the values go into a *part file* next to the table
//! first, range by range, each under a checksum. What is there already is not fetched again. When all is
//! there, the table is written from it, and the part file goes.
//!
//! | module | knows |
//! | --- | --- |
//! | `ranges` | what there is to fetch, and from whom |
//! | `part` | the part file |
//! | `fetch` | getting a range from a worker that may be gone, slow or wrong |
//! | `verify` | whether the values are those of optimal play |
//! | `table` | writing the table |

mod fetch;
mod part;
mod ranges;
mod table;
#[cfg(test)]
mod tests;
mod verify;

use std::{
    ffi::OsString,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use futures::{StreamExt, TryStreamExt, stream};
use ziggurat_game::Ruleset;
use ziggurat_kernel::Precision;
use ziggurat_rpc::proto::{JobRequest, LocateReply};
use ziggurat_table::{Compression, Existing, ValueType};

use self::{
    fetch::{Fetcher, Patience, Reported},
    part::Part,
    ranges::{Holders, Ranges},
    verify::Merged,
};
use super::client::Coordinator;
use crate::{
    failure::{Exit, Explain, Failure},
    format::Format,
    interrupt::is_up,
    needs::{check_file_size, value_type_of},
    output::{note, table_name},
    progress::watched,
    target::Extent,
};

/// Ranges that are fetched at the same time.
const AT_A_TIME: usize = 4;

/// In which systems count the space that files take.
const BLOCK_BYTES: u64 = 512;

/// A solved job whose table is wanted.
pub struct Download<'a> {
    coordinator: &'a Coordinator,
    job: u64,
    ranges: Ranges,
    holders: Holders,
}

/// A table to be written.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Its name.
    pub out: &'a Path,
    /// Whether it may replace a file.
    pub existing: Existing,
    /// Its format.
    pub format: Format,
    /// The type of its values.
    pub value_type: ValueType,
    /// How they are packed, in a `.zgt` file.
    pub compression: Compression,
    /// How much of the values is verified.
    pub verify: Extent,
    /// Whether machines read what is printed.
    pub json: bool,
}

impl<'a> Download<'a> {
    /// Asks where the values of a job are.
    ///
    /// # Errors
    /// If there is no such job, it is not solved, or by a program whose positions are ranked in
    /// another way.
    pub fn locate(coordinator: &'a Coordinator, job: u64) -> Result<Self, Failure> {
        let located = locate(coordinator, job)?;
        let (ranges, holders) = (Ranges::new(&located)?, Holders::new(&located));
        Ok(Self { coordinator, job, ranges, holders })
    }

    /// The ruleset that was solved.
    pub fn ruleset(&self) -> &Ruleset {
        self.ranges.encoding().ruleset()
    }

    /// The type of values that loses nothing.
    pub fn value_type(&self) -> ValueType {
        value_type_of(self.precision())
    }

    /// The name of the table, but for its ending: `RULESET-PIECES`.
    pub fn title(&self) -> String {
        table_name(self.ruleset())
    }

    fn precision(&self) -> Precision {
        self.ranges.settings().precision
    }

    /// Fetches what is not there yet, and writes the table. Where `stops` becomes true, what was
    /// fetched stays.
    ///
    /// # Errors
    /// If the format has no words for the rules, workers cannot be reached for long or send what is damaged or wrong, a file
    /// cannot be written, or somebody asked for it to stop.
    pub fn write(self, wanted: Wanted<'_>, stops: &AtomicBool) -> Result<(), Failure> {
        self.write_with(wanted, stops, Patience::default())
    }

    fn write_with(
        self,
        wanted: Wanted<'_>,
        stops: &AtomicBool,
        patience: Patience,
    ) -> Result<(), Failure> {
        let encoding = self.ranges.encoding();
        for format in [Format::Zgt, wanted.format] {
            format.check_memory(encoding, self.precision().bytes(), 0, wanted.out)?;
        }
        let file = part_file(wanted.out);
        self.check_disk(wanted, &file)?;
        let title = format!("Fetching job {} into {}", self.job, file.display());
        let part = watched(&title, wanted.json, |tell| self.fetch(&file, stops, patience, tell))?;
        let part = self.verified(part, wanted, stops)?;
        let title = format!("Writing {}", wanted.out.display());
        watched(&title, wanted.json, |tell| {
            table::write(&self.ranges, &part, wanted, tell, stops)
        })?;
        part.remove().context("the table is complete, but a file is left")
    }

    /// A part file with values that are those of optimal play, as far as is to be verified. What is not goes.
    fn verified(
        &self,
        part: Part,
        Wanted { verify, json, .. }: Wanted<'_>,
        stops: &AtomicBool,
    ) -> Result<Part, Failure> {
        if verify == Extent::None {
            note!("The values are as the workers reported them: nothing was verified.");
            return Ok(part);
        }
        // Nobody looks at the flag meanwhile: once it is up, a signal ends the process.
        if stops.swap(true, Ordering::Relaxed) {
            return Err(interrupted(part.path()));
        }
        let merged = Merged { ranges: &self.ranges, part: &part };
        merged.check_memory(verify)?;
        let title = format!("Verifying the values of job {}", self.job);
        let right = watched(&title, json, |tell| merged.verify(verify, &self.holders, tell));
        stops.store(false, Ordering::Relaxed);
        match right {
            Ok(()) => Ok(part),
            Err(wrong) => {
                part.remove()?;
                Err(wrong)
            }
        }
    }

    /// Refuses to fetch what the disk has no room for: the table, the values beside it as far as they are not there yet, and
    /// what lies between them.
    fn check_disk(&self, wanted: Wanted<'_>, file: &Path) -> Result<(), Failure> {
        let Wanted { out, format, value_type, compression, .. } = wanted;
        let encoding = self.ranges.encoding();
        let fetched = self.ranges.positions() * self.ranges.width() as u64;
        let there = file.metadata().map_or(0, |part| part.blocks() * BLOCK_BYTES);
        let between = match format {
            Format::Zgt => 0,
            _ => Format::Zgt.file_bytes(encoding, self.value_type(), Compression::default())?,
        };
        check_file_size(&format!("writing {}", file.display()), fetched)?;
        let more = fetched.saturating_sub(there) + between;
        format.check_disk(encoding, value_type, compression, (out, more))
    }

    /// A part file with all values.
    fn fetch(
        &self,
        file: &Path,
        stops: &AtomicBool,
        patience: Patience,
        tell: &(dyn Fn(f64) + Sync),
    ) -> Result<Part, Failure> {
        let mut part = Part::open(file, &self.ranges)?;
        let all = self.ranges.positions().max(1) as f64;
        let missing = part.missing(&self.ranges)?;
        let mut there =
            self.ranges.positions() - missing.iter().map(|range| range.len()).sum::<u64>();
        let steps = self.ranges.tiers().iter().map(|&(tier, _)| tier);
        let steps = steps.filter(|tier| tier.just_moved >= tier.to_move);
        let reported = Reported::ask(self.coordinator, self.job, steps)?;
        let known = (&self.ranges, &reported);
        let fetcher = Fetcher::new(self.coordinator, self.job, known, patience);
        let fetcher = &fetcher;
        let fetch = async |range| Ok::<_, Failure>((range, fetcher.fetch(range).await?));
        let fetching = async {
            let mut fetched = stream::iter(missing).map(fetch).buffer_unordered(AT_A_TIME);
            while let Some((range, bytes)) = fetched.try_next().await? {
                part.put(range, &bytes)?;
                there += range.len();
                tell(there as f64 / all);
            }
            Ok(())
        };
        let stopped = async {
            is_up(stops).await;
            Err(interrupted(file))
        };
        self.coordinator.runtime().block_on(async {
            tokio::select! {
                done = fetching => done,
                stopped = stopped => stopped,
            }
        })?;
        Ok(part)
    }
}

/// What a user reads who stopped it.
fn interrupted(part: &Path) -> Failure {
    let message = format!("interrupted; what was fetched is in {}", part.display());
    Failure::of(Exit::Interrupted, message).help("the same command goes on from there")
}

fn locate(coordinator: &Coordinator, job: u64) -> Result<LocateReply, Failure> {
    coordinator.ask(|mut jobs| async move { jobs.locate(JobRequest { job }).await })
}

/// Where the values of a table go first.
fn part_file(out: &Path) -> PathBuf {
    let mut name = OsString::from(out);
    name.push(".part");
    name.into()
}
