//! Where a job is, for people and scripts: a file beside the store, since nobody else can look into a
//! store that is in use.

use std::{
    fs, io,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use ziggurat_kernel::{Found, Step, TierStatistics};

use crate::{Job, Manifest, job::STORE, state::lock};

/// The file's name.
const FILE: &str = "progress.json";
/// Its name while it is written. Nobody else writes in the directory, and what a killed process left is written over.
const UNFINISHED: &str = ".progress.json.new";

/// Where a job is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Progress {
    /// What the job is.
    pub job: Manifest,
    /// The process that wrote this.
    pub process: u32,
    /// When it was written, in seconds since 1970.
    pub written: u64,
    /// Undecided positions of the ruleset.
    pub positions: u64,
    /// Those of solved steps.
    pub positions_solved: u64,
    /// Bytes of values in the store, and of the unfinished table.
    pub disk_bytes: u64,
    /// What values in the store take each.
    pub bytes_per_value: f64,
    /// Bytes written per byte of values, since the process began; `None` if it has written no values.
    pub write_amplification: Option<f64>,
    /// The steps in the order they are solved.
    pub steps: Vec<StepProgress>,
}

/// Where a step is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepProgress {
    /// The step's first tier.
    pub tier: String,
    /// Positions of the step.
    pub positions: u64,
    /// Shards it is cut into.
    pub shards: usize,
    /// Whether it is solved.
    pub solved: bool,
    /// What is known of it at the last checkpoint, if it was begun.
    pub statistics: Option<TierStatistics>,
}

/// Where the job in a directory was when it was written down last; `None` if nothing was.
///
/// # Errors
/// If that cannot be read; of kind [`io::ErrorKind::InvalidData`] if it is something else.
pub fn progress_of(dir: &Path) -> io::Result<Option<Progress>> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    match fs::read(dir.join(FILE)) {
        Ok(text) => serde_json::from_slice(&text).map(Some).map_err(invalid),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Whether there is a job in a directory, or the beginning of one.
///
/// # Errors
/// If that cannot be told.
pub fn holds_job(dir: &Path) -> io::Result<bool> {
    ziggurat_store::is_store(&dir.join(STORE))
}

/// Whether another process works on the job in a directory.
///
/// # Errors
/// If that cannot be told.
pub fn is_running(dir: &Path) -> io::Result<bool> {
    ziggurat_store::is_in_use(&dir.join(STORE))
}

impl Job {
    /// Writes down where the job is. That it cannot be written is no reason to stop.
    pub(crate) fn write_progress(&self) {
        let write = || -> Option<()> {
            let _writing = lock(&self.writing);
            let text = serde_json::to_vec_pretty(&self.progress()?).ok()?;
            let unfinished = self.dir.join(UNFINISHED);
            fs::write(&unfinished, text).ok()?;
            fs::rename(unfinished, self.dir.join(FILE)).ok()
        };
        let _ = write();
    }

    /// Where the job is.
    pub fn progress(&self) -> Option<Progress> {
        let job = self.manifest.clone();
        let of = |step: &Step| {
            let found = self.record(step.tier).ok()?.found();
            let (solved, statistics) = match found {
                Found::Nothing => (false, None),
                Found::Begun(course) => (false, Some(*course.statistics())),
                Found::Solved(statistics) => (true, Some(statistics)),
            };
            let tier = step.tier.to_string();
            let (positions, shards) = (step.positions, step.shards);
            Some(StepProgress { tier, positions, shards, solved, statistics })
        };
        let steps: Vec<StepProgress> = self.plan.steps.iter().map(of).collect::<Option<_>>()?;
        let statistics = self.statistics().ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Some(Progress {
            job,
            process: std::process::id(),
            written: now.map_or(0, |now| now.as_secs()),
            positions: self.plan.positions,
            positions_solved: steps.iter().filter(|s| s.solved).map(|s| s.positions).sum(),
            disk_bytes: self.bytes().ok()?,
            bytes_per_value: statistics.bytes_per_value(),
            write_amplification: (statistics.page_bytes_written > 0)
                .then(|| statistics.write_amplification()),
            steps,
        })
    }
}
