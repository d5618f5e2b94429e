//! `ziggurat solve`: solves a ruleset and writes the table.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use ziggurat_encoding::Encoding;
use ziggurat_table::{Compression, Existing, TableWriter};
use ziggurat_worker::{
    Job, JobError, JobOptions, MANIFEST_FORMAT, Manifest, holds_job, progress_of,
};

use crate::{
    failure::{Exit, Explain, Failure},
    interrupt,
    job::JobArgs,
    output::table_name,
    resources,
    solving::{Solving, announce, check_name, holds_a_solve, solve_and_report},
    target::TargetArgs,
};

/// Solve a ruleset: the chance of winning every position, in a table
///
/// The table is called RULESET-PIECES.zgt, in the current directory, unless --out names it.
///
/// With --dir, the solve writes down where it is, can be killed at any moment and resumed, and
/// keeps on disk what does not fit memory.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:\n\
\x20 ziggurat solve finkel\n\
\x20 ziggurat solve masters --pieces 8 --tolerance 1e-9 --dir job --memory 2GiB\n\
\x20 ziggurat solve --ruleset mine.toml --value-type percent16")]
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

/// So often if nobody says otherwise.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

/// How often a solve writes down where it is.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Checkpoints {
    /// The most work that may be lost when the solve is killed (a superstep if that takes longer), such
    /// as 90s or 10min [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = resources::parse_duration)]
    checkpoint_every: Option<Duration>,
}

impl Checkpoints {
    /// As what a job takes.
    pub fn options(self) -> JobOptions {
        JobOptions { checkpoint_every: self.checkpoint_every.unwrap_or(CHECKPOINT_EVERY) }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    interrupt::end_on_interrupt(interrupt::INTERRUPTED)?;
    if args.dir.is_none() && args.checkpoints.checkpoint_every.is_some() {
        let what = "--checkpoint-every says how often a solve with a directory is written down";
        return Err(Failure::bad_input(what).help("give it one: --dir DIR"));
    }
    // Before anything that takes time; `create_job` asks the store itself.
    args.dir.as_deref().map_or(Ok(()), check_free)?;
    let encoding = args.job.encoding()?;
    let settings = args.job.settings();
    let ruleset = encoding.ruleset();
    let default = || PathBuf::from(format!("{}.zgt", table_name(ruleset)));
    let out = args.target.file(default)?;
    check_name(&out)?;
    let needs = args.job.needs(&encoding);
    let available = resources::available_memory_bytes();
    let arrays = needs.arrange(args.memory, available, args.dir.is_some())?;
    needs.check_disk(arrays, args.dir.as_deref(), &out, 0)?;
    // Where no table can be begun no job is begun either.
    let (existing, values) = (args.target.existing(), args.job.value_type());
    drop(TableWriter::create(&out, existing, &encoding, values, args.job.compression())?);
    let solving = Solving {
        encoding: &encoding,
        settings: &settings,
        simd: args.job.simd(),
        needs: &needs,
        arrays,
        allowed: args.memory,
        job: None,
        out: &out,
        existing,
        value_type: values,
        compression: args.job.compression(),
        json: args.json,
    };
    let manifest = args.dir.as_ref().map(|_| manifest(args, &encoding, &out)).transpose()?;
    announce(&solving, args.dir.as_deref())?;
    let job = args.dir.as_deref().zip(manifest).map(|(dir, what)| create_job(args, dir, what));
    let job = job.transpose()?;
    solve_and_report(&Solving { job: job.as_ref(), ..solving })
}

/// Refuses a directory that holds something else.
fn check_free(dir: &Path) -> Result<(), Failure> {
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

/// What is written down of the job.
fn manifest(args: &Args, encoding: &Encoding, out: &Path) -> Result<Manifest, Failure> {
    let settings = args.job.settings();
    let path = std::path::absolute(out)?;
    if path.to_str().is_none() {
        let what =
            format!("the path {} is not UTF-8, in which a solve is written down", path.display());
        return Err(Failure::bad_input(what).help("let the table go elsewhere: --out FILE"));
    }
    Ok(Manifest {
        format: MANIFEST_FORMAT,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        encoder: Encoding::VERSION,
        ruleset: encoding.ruleset().to_toml(),
        precision: settings.precision,
        tolerance: settings.tolerance,
        certified: settings.certified,
        shard_positions: settings.shard_positions,
        out: path,
        replace: args.target.existing() == Existing::Replace,
        value_type: args.job.value_type().to_string(),
        raw: args.job.compression() == Compression::Raw,
    })
}

fn create_job(args: &Args, dir: &Path, manifest: Manifest) -> Result<Job, Failure> {
    Job::create(dir, manifest, args.checkpoints.options()).map_err(|error| match error {
        JobError::Exists { .. } => holds_a_solve(dir),
        error => error.into(),
    })
}
