//! `ziggurat resume`: goes on with a solve that was interrupted.

use std::path::PathBuf;

use ziggurat_kernel::{Settings, Simd};
use ziggurat_table::{Compression, Existing, ValueType};
use ziggurat_worker::{Job, Manifest};

use super::solve::Checkpoints;
use crate::{
    failure::{Exit, Failure},
    job::threads,
    needs::Needs,
    resources,
    solving::{Solving, holds_no_solve, solve_and_report},
    target::TargetArgs,
};

/// Go on with a solve that was killed or interrupted, where it was written down last
///
/// What the result depends on is as it was when the solve began; threads and memory may change.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The directory of the solve
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    #[command(flatten)]
    target: TargetArgs,

    /// Memory the whole process may use, such as 6GiB [default: what the system has available]
    #[arg(long, value_name = "SIZE", value_parser = resources::parse_size)]
    memory: Option<u64>,

    /// Threads to solve with; 0 is one per core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads())]
    threads: usize,

    /// The vector instructions: portable, avx2 or avx512 [default: the best there are]. The result
    /// does not depend on it
    #[arg(long, value_name = "NAME", value_parser = Simd::named)]
    simd: Option<Simd>,

    #[command(flatten)]
    checkpoints: Checkpoints,

    /// Print progress and result as lines of JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let job = open(args)?;
    let Manifest { out, replace, raw, value_type, .. } = job.manifest().clone();
    let settings = Settings {
        threads: args.threads,
        simd: args.simd.unwrap_or(Simd::best()),
        ..job.manifest().settings()
    };
    let value_type: ValueType = value_type.parse()?;
    let compression = if raw { Compression::Raw } else { Compression::default() };
    let existing = if replace { Existing::Replace } else { args.target.existing() };
    let out = args.target.file_or(out, existing)?;
    let encoding = job.encoding();
    let needs = Needs::of(encoding, &settings, value_type, compression);
    let arrays = needs.arrange(args.memory, true)?;
    solve_and_report(&Solving {
        encoding,
        settings: &settings,
        needs: &needs,
        arrays,
        job: Some(&job),
        out: &out,
        existing,
        value_type,
        compression,
        json: args.json,
    })
}

fn open(args: &Args) -> Result<Job, Failure> {
    if !Job::exists(&args.dir) {
        return Err(holds_no_solve(&args.dir));
    }
    Ok(Job::open(&args.dir, args.checkpoints.options())?)
}
