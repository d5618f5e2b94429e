//! The table of a solve while it is written: into a file that ends with the process if it is not complete, or in the
//! directory of a job, tier by tier, for as many processes as it takes.
//!
//! A job's table comes before anything that is given up for it: its bytes are made durable, then what it has is written
//! down in the job, then values go. Where it is to be called when it is complete is written down before it is renamed, so it
//! is found in one of two places at any moment.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_kernel::{StepStore, TierStatistics as Made, TierValues};
use ziggurat_table::{
    Compression, Existing, TableError, TableIndex, TableWriter, TierStatistics, UnfinishedTable,
    ValueType,
};

use crate::{
    failure::{Exit, Failure},
    output::{note, typed},
    program_name,
};

/// A solve that is written down in a directory, from which another process can go on.
pub trait WrittenDown: StepStore {
    /// The directory.
    fn dir(&self) -> &Path;

    /// Where arrays can be that do not fit memory.
    fn scratch(&self) -> PathBuf;

    /// Where the table is until it is complete.
    fn unfinished_table(&self) -> PathBuf;

    /// What was written down of the table.
    ///
    /// # Errors
    /// If it cannot be read.
    fn table(&self) -> anyhow::Result<TableRecord>;

    /// Writes down what is in the table, durably, with the step that has come to be there, and its first value. Values that
    /// nobody needs any more are given up.
    ///
    /// # Errors
    /// If it cannot be written.
    fn put_table(&self, table: &TableRecord, step: Option<(Tier, f64)>) -> anyhow::Result<()>;

    /// Takes note that steps are not in the table any more; whether all values are there to write them again. If not,
    /// nothing happens.
    ///
    /// # Errors
    /// If it cannot be read or written.
    fn take_back(&self, is_in_table: &dyn Fn(Tier) -> bool) -> anyhow::Result<bool>;

    /// What was found damaged and is computed again, since the last call.
    fn take_forgotten(&self) -> Vec<String>;
}

/// What a job writes down of its table.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TableRecord {
    /// What is in it.
    pub index: TableIndex,
    /// What it was called when it was complete, unless it still is where it was written.
    pub name: Option<PathBuf>,
}

/// The table of a solve while it is written.
pub enum Writing<'a> {
    /// By this process alone.
    AtOnce(TableWriter),
    /// In the directory of a job.
    InJob(InJob<'a>),
}

/// The table of a job.
pub struct InJob<'a> {
    job: &'a dyn WrittenDown,
    table: UnfinishedTable,
    /// What it is called already.
    name: Option<PathBuf>,
    /// The first value of the step of which some tiers are in it.
    first_value: f64,
}

impl<'a> Writing<'a> {
    /// Begins, or goes on.
    ///
    /// # Errors
    /// If the file cannot be created, or what is in it is damaged and cannot be written again.
    pub fn begin(
        encoding: &Encoding,
        out: &Path,
        existing: Existing,
        value_type: ValueType,
        compression: Compression,
        job: Option<&'a dyn WrittenDown>,
    ) -> Result<Self, Failure> {
        let Some(job) = job else {
            let writer = TableWriter::create(out, existing, encoding, value_type, compression)?;
            return Ok(Self::AtOnce(writer));
        };
        path_to_write_down(out)?;
        let TableRecord { index, name } = job.table()?;
        let path = job.unfinished_table();
        let mut table = UnfinishedTable::new(&path, encoding, value_type, compression, index)?;
        let name = name.filter(|_| !path.exists());
        if let Some(name) = &name {
            table.check_complete(name).map_err(|wrong| lost(wrong, job))?;
        } else if let Some(wrong) = table.give_up_damaged() {
            if !job.take_back(&|tier| table.has(tier))? {
                return Err(lost(wrong, job));
            }
            let wrong = anyhow::Error::from(wrong);
            note!("Damaged: {wrong:#}; what is missing in it is written again");
        }
        Ok(Self::InJob(InJob { job, table, name, first_value: 0.0 }))
    }

    /// Appends a tier of a step, in the order in which they are solved.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_tier(
        &mut self,
        tier: Tier,
        made: &Made,
        values: TierValues<'_>,
    ) -> anyhow::Result<()> {
        let statistics = TierStatistics {
            supersteps: made.supersteps,
            residual: Some(made.residual),
            certificate: made.certificate.map(|certificate| certificate.bound),
        };
        match self {
            Self::AtOnce(writer) => match values {
                TierValues::F32(values) => writer.write_tier(tier, statistics, values)?,
                TierValues::F64(values) => writer.write_tier(tier, statistics, values)?,
            },
            Self::InJob(it) => it.write_tier(tier, statistics, values)?,
        }
        Ok(())
    }

    /// Completes the table, and gives it its name.
    ///
    /// # Errors
    /// If it cannot have it.
    pub fn finish(self, out: &Path, existing: Existing) -> Result<(), Failure> {
        match self {
            Self::AtOnce(writer) => Ok(writer.finish()?),
            Self::InJob(it) => it.finish(out, existing),
        }
    }
}

impl InJob<'_> {
    fn write_tier(
        &mut self,
        tier: Tier,
        statistics: TierStatistics,
        values: TierValues<'_>,
    ) -> anyhow::Result<()> {
        let step = tier.first_of_step();
        let first_value = match values {
            TierValues::F32(values) => f64::from(values[0]),
            TierValues::F64(values) => values[0],
        };
        if tier == step {
            self.first_value = first_value;
        }
        // Of a table that was damaged within a step, a tier may be there already.
        if !self.table.has(tier) {
            match values {
                TierValues::F32(values) => self.table.write_tier(tier, statistics, values)?,
                TierValues::F64(values) => self.table.write_tier(tier, statistics, values)?,
            }
        }
        if step.both().last() == Some(tier) {
            self.table.sync()?;
            let record = TableRecord { index: self.table.index(), name: None };
            self.job.put_table(&record, Some((step, self.first_value)))?;
        }
        Ok(())
    }

    fn finish(mut self, out: &Path, existing: Existing) -> Result<(), Failure> {
        if let Some(name) = &self.name {
            let is_there = name.canonicalize().ok() == out.canonicalize().ok();
            return if is_there { Ok(()) } else { Ok(self.table.copy(name, out, existing)?) };
        }
        self.table.complete()?;
        let name = Some(path_to_write_down(out)?);
        self.job.put_table(&TableRecord { index: self.table.index(), name }, None)?;
        let path = self.table.path().to_owned();
        self.table.publish(out, existing).map_err(|error| match error {
            exists @ TableError::Exists { .. } => Failure::from(exists).help(format!(
                "it is not what this solve writes, which is complete and in {}: give --out FILE, or --force to \
                 replace it",
                path.display()
            )),
            error => error.into(),
        })
    }
}

/// The path of a table as a job writes it down.
///
/// # Errors
/// If it cannot be.
pub fn path_to_write_down(out: &Path) -> Result<PathBuf, Failure> {
    let path = std::path::absolute(out)?;
    if path.to_str().is_none() {
        let what =
            format!("the path {} is not UTF-8, in which a solve is written down", path.display());
        return Err(Failure::bad_input(what).help("let the table go elsewhere: --out FILE"));
    }
    Ok(path)
}

/// What is said of a table that is damaged, and cannot be written again.
fn lost(wrong: TableError, job: &dyn WrittenDown) -> Failure {
    let (wrong, dir) = (anyhow::Error::from(wrong), job.dir().display());
    let what = format!("{wrong:#}, and {dir} has not all values any more to write it again");
    Failure::of(Exit::Failed, what).help(format!(
        "put the file back as it was, then go on: {}; if it is lost, solve again in another directory",
        resume_with(job),
    ))
}

/// The command that goes on with a job.
pub fn resume_with(job: &dyn WrittenDown) -> String {
    format!("{} resume {}", program_name(), typed(job.dir()))
}
