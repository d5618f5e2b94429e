//! Solves that are written down in a directory.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use ziggurat_encoding::{Encoding, Tier};
use ziggurat_table::{Compression, Existing};
use ziggurat_worker::{
    Job, JobError, JobOptions, MANIFEST_FORMAT, Manifest, holds_job, progress_of,
};

use crate::{
    failure::{Explain, Failure},
    output::typed,
    program_name,
    solving::Solving,
    writing::{TableRecord, WrittenDown, path_to_write_down},
};

impl WrittenDown for Job {
    fn dir(&self) -> &Path {
        self.dir()
    }

    fn scratch(&self) -> PathBuf {
        self.scratch()
    }

    fn unfinished_table(&self) -> PathBuf {
        self.unfinished_table()
    }

    fn table(&self) -> anyhow::Result<TableRecord> {
        Ok(self.table()?)
    }

    fn put_table(&self, table: &TableRecord, step: Option<(Tier, f64)>) -> anyhow::Result<()> {
        Ok(self.put_table(table, step)?)
    }

    fn take_back(&self, is_in_table: &dyn Fn(Tier) -> bool) -> anyhow::Result<bool> {
        Ok(self.take_back(is_in_table)?)
    }

    fn take_forgotten(&self) -> Vec<String> {
        self.take_forgotten()
    }
}

/// What is wrong with a directory that is none of a solve.
pub fn holds_no_solve(dir: &Path) -> Failure {
    Failure::bad_input(format!("{} holds no solve", dir.display()))
        .help("name the directory that was given to `solve --dir`, or solve there")
}

/// What is said of a directory in which something else was begun.
pub fn holds_a_solve(dir: &Path) -> Failure {
    let (program, shown, dir) = (program_name(), dir.display(), typed(dir));
    Failure::bad_input(format!("{shown} holds a solve already")).help(format!(
        "go on with it: {program} resume {dir}; look at it: {program} status {dir}; or choose another --dir"
    ))
}

/// Refuses a directory that holds something else.
///
/// # Errors
/// If it does, or cannot be looked into.
pub fn check_free(dir: &Path) -> Result<(), Failure> {
    let other = |message: String| {
        Failure::bad_input(message)
            .help("give the solve a directory of its own, or a name that is free: --dir DIR")
    };
    if dir.exists() && !dir.is_dir() {
        return Err(other(format!("{} is not a directory", dir.display())));
    }
    let found = progress_of(dir);
    let holds_job = holds_job(dir).context(format!("cannot look into {}", dir.display()))?;
    match found {
        // What was only begun is begun anew; of a solve whose store is gone there is nothing to go on with.
        Ok(progress) if progress.is_none() || !holds_job => Ok(()),
        Ok(_) => Err(holds_a_solve(dir)),
        Err(error) if error.kind() != io::ErrorKind::InvalidData => {
            Err(error).context(format!("cannot read the progress of {}", dir.display()))
        }
        Err(_) if holds_job => Err(holds_a_solve(dir)),
        Err(_) => Err(other(format!("{} has a progress.json of something else", dir.display()))),
    }
}

/// What is written down of a solve.
///
/// # Errors
/// If the path of its table cannot be.
pub fn manifest(solving: &Solving<'_>) -> Result<Manifest, Failure> {
    let &Solving { encoding, settings, out, existing, value_type, compression, .. } = solving;
    Ok(Manifest {
        format: MANIFEST_FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        encoder: Encoding::VERSION,
        ruleset: encoding.ruleset().to_toml(),
        precision: settings.precision,
        tolerance: settings.tolerance,
        certified: settings.certified,
        shard_positions: settings.shard_positions,
        out: path_to_write_down(out)?,
        replace: existing == Existing::Replace,
        value_type: value_type.to_string(),
        raw: compression == Compression::Raw,
    })
}

/// Begins a solve in a directory; at most the work of `checkpoint_every` is lost if the process is killed.
///
/// # Errors
/// If the directory holds a solve, or cannot be written to.
pub fn create(
    dir: &Path,
    manifest: Manifest,
    checkpoint_every: Duration,
) -> Result<Box<dyn WrittenDown>, Failure> {
    let job = Job::create(dir, manifest, JobOptions { checkpoint_every });
    let job = job.map_err(|error| match error {
        JobError::Exists { .. } => holds_a_solve(dir),
        error => error.into(),
    })?;
    Ok(Box::new(job))
}
