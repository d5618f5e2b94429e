//! `ziggurat solve`: solves a ruleset and writes the table.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use ziggurat_encoding::Encoding;
use ziggurat_table::{Compression, Existing, TableWriter};
use ziggurat_worker::{Job, JobError, JobOptions, MANIFEST_FORMAT, Manifest, progress_of};

use crate::{
    failure::{Exit, Failure},
    job::JobArgs,
    resources,
    solving::{Solving, check_name, holds_a_solve, solve_and_report},
    target::TargetArgs,
};

/// Solve a ruleset: the chance of winning every position, in a table
///
/// The table is called RULESET-PIECES.zgt, in the current directory, unless --out names it.
///
/// With --dir, the solve writes down where it is, can be killed at any moment and resumed, and
/// keeps on disk what does not fit memory.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    job: JobArgs,

    #[command(flatten)]
    target: TargetArgs,

    /// Memory the whole process may use, such as 6GiB [default: what the system has available]
    #[arg(long, value_name = "SIZE", value_parser = resources::parse_size)]
    memory: Option<u64>,

    /// A directory for the solve: to resume it, and for what does not fit memory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    #[command(flatten)]
    checkpoints: Checkpoints,

    /// Print progress and result as lines of JSON
    #[arg(long)]
    json: bool,
}

/// How often a solve writes down where it is.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Checkpoints {
    /// The most work that may be lost when the solve is killed (a superstep if that takes longer), such
    /// as 90s or 10min
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = resources::parse_duration)]
    checkpoint_every: Duration,
}

impl Checkpoints {
    /// As what a job takes.
    pub fn options(self) -> JobOptions {
        JobOptions { checkpoint_every: self.checkpoint_every }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    // Before anything that takes time; `create_job` asks the store itself.
    if let Some(dir) = args.dir.as_deref() {
        if dir.exists() && !dir.is_dir() {
            return Err(Failure::bad_input(format!("{} is not a directory", dir.display()))
                .help("give the solve a directory of its own, or a name that is free: --dir DIR"));
        }
        if !matches!(progress_of(dir), Ok(None)) {
            return Err(holds_a_solve(dir));
        }
    }
    let encoding = args.job.encoding()?;
    let settings = args.job.settings();
    let ruleset = encoding.ruleset();
    let default = || PathBuf::from(format!("{}-{}.zgt", ruleset.name(), ruleset.pieces()));
    let out = args.target.file(default)?;
    check_name(&out)?;
    let needs = args.job.needs(&encoding);
    let arrays = needs.arrange(args.memory, args.dir.is_some())?;
    needs.check_disk(arrays, args.dir.as_deref(), &out)?;
    // Where no table can be begun no job is begun either.
    let (existing, values) = (args.target.existing(), args.job.value_type());
    drop(TableWriter::create(&out, existing, &encoding, values, args.job.compression())?);
    let job = args.dir.as_deref().map(|dir| create_job(args, &encoding, dir, &out)).transpose()?;
    solve_and_report(&Solving {
        encoding: &encoding,
        settings: &settings,
        needs: &needs,
        arrays,
        allowed: args.memory,
        job: job.as_ref(),
        out: &out,
        existing,
        value_type: values,
        compression: args.job.compression(),
        json: args.json,
    })
}

fn create_job(args: &Args, encoding: &Encoding, dir: &Path, out: &Path) -> Result<Job, Failure> {
    let settings = args.job.settings();
    let manifest = Manifest {
        format: MANIFEST_FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        encoder: Encoding::VERSION,
        ruleset: encoding.ruleset().to_toml(),
        precision: settings.precision,
        tolerance: settings.tolerance,
        certified: settings.certified,
        shard_positions: settings.shard_positions,
        out: std::path::absolute(out)?,
        replace: args.target.existing() == Existing::Replace,
        value_type: args.job.value_type().to_string(),
        raw: args.job.compression() == Compression::Raw,
    };
    Job::create(dir, manifest, args.checkpoints.options()).map_err(|error| match error {
        JobError::Exists { .. } => holds_a_solve(dir),
        error => error.into(),
    })
}
