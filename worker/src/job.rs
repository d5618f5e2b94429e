//! The directory of a job, and what it says of itself.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use ziggurat_encoding::{Encoding, EncodingError, Tier};
use ziggurat_files::make_dir;
use ziggurat_game::{Ruleset, RulesetFileError};
use ziggurat_kernel::{
    Found, Plan, Precision, STORE_MEMORY_BYTES, Settings, Step, StepStore, plan,
};
use ziggurat_store::{
    LEAST_MEMORY_BUDGET_BYTES, Reads, StateBatch, Statistics, Store, StoreError, StoreOptions,
};

use crate::{
    state::{lock, put},
    step_record::StepRecord,
};

/// The version of what a job writes down, and of what is done to it: a job that another version began would end
/// in other bytes.
pub const MANIFEST_FORMAT: u32 = 24;

// What a solve is said to take has room for a store.
const _: () = assert!(STORE_MEMORY_BYTES >= LEAST_MEMORY_BUDGET_BYTES);

/// Whose stores they are: those of jobs in one process.
const OWNER: u64 = 0x5a49_4747_5552_4154;

/// Where the store is in the directory of a job.
pub(crate) const STORE: &str = "store";

/// The table in the directory of a job, until it is complete.
const UNFINISHED_TABLE: &str = "unfinished-table";

/// The key of the manifest in the store's state.
const MANIFEST: &str = "manifest";

/// What a job is: all that its result depends on, and what is to become of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_FORMAT`] of the program that made it.
    pub format: u32,
    /// The version of that program.
    pub program: String,
    /// The version of the ranking of positions.
    pub encoder: u32,
    /// The ruleset, as a ruleset file.
    pub ruleset: String,
    /// The type of the values.
    pub precision: Precision,
    /// See `Settings::tolerance` of the kernel.
    pub tolerance: f64,
    /// See `Settings::certified`.
    pub certified: bool,
    /// See `Settings::shard_positions`.
    pub shard_positions: Option<u64>,
    /// What the table is called when it is complete.
    pub out: PathBuf,
    /// Whether the table may replace a file of that name.
    pub replace: bool,
    /// The type of the table's values.
    pub value_type: String,
    /// Whether the table is not compressed.
    pub raw: bool,
}

/// What manifests of all formats have.
#[derive(Deserialize)]
struct AnyManifest {
    format: u32,
    program: String,
}

/// How a process works on a job.
#[derive(Clone, Copy, Debug)]
pub struct JobOptions {
    /// At most so much work is lost if the process is killed, or a superstep if that takes longer.
    pub checkpoint_every: Duration,
}

/// Why a job cannot be started or resumed.
#[derive(Debug, Error)]
pub enum JobError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The operating system said no.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The directory was made by another version.
    #[error(
        "{} holds a job of format {found}, this program knows {MANIFEST_FORMAT}; \
         resume it with ziggurat {program}, or solve again in another directory", .dir.display()
    )]
    OtherFormat {
        /// The directory.
        dir: PathBuf,
        /// Its format.
        found: u32,
        /// The program that made it.
        program: String,
    },
    /// The positions are ranked by another version.
    #[error(
        "{} holds values in the order of encoder {found}, this program has {}; \
         resume it with ziggurat {program}, or solve again in another directory",
        .dir.display(), Encoding::VERSION
    )]
    OtherEncoder {
        /// The directory.
        dir: PathBuf,
        /// Its encoder's version.
        found: u32,
        /// The program that made it.
        program: String,
    },
    /// The ruleset that was written down is not one.
    #[error(transparent)]
    Ruleset(#[from] RulesetFileError),
    /// The ruleset has too many positions.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    /// There is no job, or what was given up before it was one.
    #[error("{} holds no job; check the name, or start one there", .dir.display())]
    Missing {
        /// The directory.
        dir: PathBuf,
    },
    /// There is a job already.
    #[error("{} holds a job already; resume it, or choose another directory", .dir.display())]
    Exists {
        /// The directory.
        dir: PathBuf,
    },
}

/// A job in a directory, which nobody else can open at the same time.
pub struct Job {
    pub(crate) store: Store,
    pub(crate) dir: PathBuf,
    pub(crate) options: JobOptions,
    pub(crate) manifest: Manifest,
    pub(crate) encoding: Encoding,
    pub(crate) plan: Plan,
    /// What is written down of each step.
    pub(crate) steps: Mutex<HashMap<Tier, StepRecord>>,
    /// What was given up because it was damaged.
    pub(crate) forgotten: Mutex<Vec<String>>,
    /// Held while values are given up.
    pub(crate) giving_up: Mutex<()>,
    /// Held while progress is written down.
    pub(crate) writing: Mutex<()>,
}

impl Manifest {
    /// How the ruleset is solved, on all cores.
    pub fn settings(&self) -> Settings {
        Settings {
            tolerance: self.tolerance,
            certified: self.certified,
            shard_positions: self.shard_positions,
            ..Settings::new(self.precision)
        }
    }
}

impl Job {
    /// Starts a job in a directory, which is made if there is none.
    ///
    /// # Errors
    /// If there is a job already, or the directory cannot be written to.
    pub fn create(dir: &Path, manifest: Manifest, options: JobOptions) -> Result<Self, JobError> {
        make_dir(dir).map_err(io_error(dir, "create"))?;
        let store = Store::open_or_create(&dir.join(STORE), &store_options())?;
        if store.get_state::<AnyManifest>(MANIFEST)?.is_some() {
            return Err(JobError::Exists { dir: dir.to_owned() });
        }
        let mut batch = StateBatch::new();
        put(&mut batch, MANIFEST, &manifest);
        store.put_state(batch)?;
        Self::with(store, dir, manifest, options)
    }

    /// Opens the job in a directory, to go on.
    ///
    /// # Errors
    /// If there is none, another process has it open, another version made it, or it is damaged beyond
    /// what can be computed again.
    pub fn open(dir: &Path, options: JobOptions) -> Result<Self, JobError> {
        let dir_of = || dir.to_owned();
        let store = match Store::open(&dir.join(STORE), &store_options()) {
            Err(StoreError::Missing { .. }) => return Err(JobError::Missing { dir: dir_of() }),
            opened => opened?,
        };
        let Some(AnyManifest { format, program }) = store.get_state(MANIFEST)? else {
            return Err(JobError::Missing { dir: dir_of() });
        };
        if format != MANIFEST_FORMAT {
            return Err(JobError::OtherFormat { dir: dir_of(), found: format, program });
        }
        let manifest: Manifest = store.get_state(MANIFEST)?.expect("it was just there");
        if manifest.encoder != Encoding::VERSION {
            return Err(JobError::OtherEncoder { dir: dir_of(), found: manifest.encoder, program });
        }
        Self::with(store, dir, manifest, options)
    }

    fn with(
        store: Store,
        dir: &Path,
        manifest: Manifest,
        options: JobOptions,
    ) -> Result<Self, JobError> {
        let scratch = dir.join("scratch");
        fs::create_dir_all(&scratch).map_err(io_error(&scratch, "create"))?;
        let dir = dir.to_owned();
        let ruleset = Ruleset::from_toml(&manifest.ruleset, &dir.display().to_string())?;
        let encoding = Encoding::new(&ruleset)?;
        let plan = plan(&encoding, &manifest.settings());
        let forgotten = Mutex::new(store.recovery().map(ToString::to_string).into_iter().collect());
        let (steps, giving_up, writing) = Default::default();
        let job = Self {
            store,
            dir,
            options,
            manifest,
            encoding,
            plan,
            steps,
            forgotten,
            giving_up,
            writing,
        };
        job.drop_unnamed()?;
        job.give_up_values()?;
        job.write_progress();
        Ok(job)
    }

    /// The ranking of the ruleset's positions.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// What the job is.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Whether all steps are solved, so that there is nothing left but to write the table.
    pub fn is_solved(&self) -> bool {
        let solved = |step: &Step| matches!(self.find(step.tier), Ok(Found::Solved(_)));
        self.plan.steps.iter().all(solved)
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the table is until it is complete.
    pub fn unfinished_table(&self) -> PathBuf {
        self.dir.join(UNFINISHED_TABLE)
    }

    /// Where arrays can be that do not fit memory.
    pub fn scratch(&self) -> PathBuf {
        self.dir.join("scratch")
    }

    /// What the store did since it was opened.
    ///
    /// # Errors
    /// If it does not tell.
    pub(crate) fn statistics(&self) -> Result<Statistics, StoreError> {
        self.store.statistics()
    }

    /// Bytes of values in the store, and of the unfinished table.
    ///
    /// # Errors
    /// If the store does not tell.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        let table = fs::metadata(self.unfinished_table()).map_or(0, |table| table.len());
        Ok(self.statistics()?.disk_bytes + table)
    }

    /// What was found damaged and is computed again, since the last call.
    pub fn take_forgotten(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.forgotten))
    }
}

pub(crate) fn io_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> JobError {
    let path = path.to_owned();
    move |source| JobError::Io { path, action, source }
}

fn store_options() -> StoreOptions {
    // What is read back is read once.
    StoreOptions { owner: OWNER, memory_budget_bytes: STORE_MEMORY_BYTES, reads: Reads::Direct }
}
