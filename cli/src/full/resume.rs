//! `ziggurat resume`: goes on with a solve that was interrupted, or a job of a cluster that was paused.

use std::{net::SocketAddr, path::Path};

use ziggurat_kernel::{Settings, Simd};
use ziggurat_rpc::proto::JobRequest;
use ziggurat_table::{Compression, Existing, ValueType};
use ziggurat_worker::{Job, JobError, JobOptions, Manifest};

use super::{directory::holds_no_solve, solved_alone};
use crate::{
    cluster::{flags::CoordinatorArgs, one_job::change, words},
    commands::solve::{Checkpoints, own_address},
    failure::{Exit, Failure},
    interrupt,
    job::threads,
    needs::Needs,
    resources,
    solving::{Solving, announce, check_name, solve_and_report},
    suggested,
    target::{JobOrPath, TargetArgs},
};

/// Go on with a solve that was killed or interrupted, where it was written down last, or with a job of a
/// cluster that was paused
///
/// Of a job, nothing but --coordinator (with what goes with it) and --json has a meaning. What the result depends on is as it was when the solve began; threads and memory may change.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The directory of the solve (`./7` if its name is a number), or the job's number
    #[arg(value_name = "DIR|JOB")]
    target: JobOrPath,

    #[command(flatten)]
    out: TargetArgs,

    /// Memory the whole process may use, such as 6GiB [default: what the system has available]
    #[arg(long, value_name = "SIZE", value_parser = resources::parse_size)]
    memory: Option<u64>,

    /// Threads to solve with; 0 is one per core. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = threads())]
    threads: usize,

    /// The vector instructions: portable, avx2 or avx512 [default: the best there are]. The result
    /// does not depend on it
    #[arg(long, value_name = "NAME", value_parser = suggested::simd(), hide_possible_values = true)]
    simd: Option<Simd>,

    #[command(flatten)]
    checkpoints: Checkpoints,

    /// Serve the dashboard, a page that shows how the solve goes, over HTTP at this address of this machine, such as
    /// 127.0.0.1:7401
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = own_address)]
    http: Option<SocketAddr>,

    /// Print progress and result as lines of JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.target {
        JobOrPath::Job(job) => resume_job(args, *job),
        JobOrPath::Path(dir) => resume_solve(args, dir),
    }
}

fn resume_job(args: &Args, job: u64) -> Result<Exit, Failure> {
    change(
        &args.coordinator,
        args.json,
        |mut jobs| async move { jobs.resume(JobRequest { job }).await },
        |status| words::job_state(status).to_string(),
    )
}

fn resume_solve(args: &Args, dir: &Path) -> Result<Exit, Failure> {
    interrupt::end_on_interrupt(interrupt::INTERRUPTED)?;
    let job = open(args, dir)?;
    let Manifest { out, replace, raw, value_type, .. } = job.manifest().clone();
    let settings = Settings { threads: args.threads, ..job.manifest().settings() };
    let value_type: ValueType = value_type.parse()?;
    let compression = if raw { Compression::Raw } else { Compression::default() };
    let existing = match args.out.existing() {
        // What may be replaced is what the solve was told to write, and nothing else.
        Existing::Keep if replace && args.out.named().is_none() => Existing::Replace,
        // The job was killed, or went on to its end before, when it had written its table.
        Existing::Keep if job.is_solved() => Existing::Expect,
        existing => existing,
    };
    let out = args.out.file_or(out, existing)?;
    check_name(&out)?;
    let encoding = job.encoding();
    let needs = Needs::of(encoding, &settings, value_type, compression);
    let arrays = needs.arrange(args.memory, resources::available_memory_bytes(), true)?;
    needs.check_disk(arrays, Some(dir), &out, job.bytes()?)?;
    let solving = Solving {
        encoding,
        settings: &settings,
        simd: args.simd.unwrap_or(Simd::best()),
        needs: &needs,
        arrays,
        allowed: args.memory,
        job: Some(&job),
        witness: None,
        out: &out,
        existing,
        value_type,
        compression,
        json: args.json,
    };
    announce(&solving, Some(dir))?;
    let witness = solved_alone::watch(&solving, Some(dir), args.http)?;
    solve_and_report(&Solving { witness: witness.as_deref(), ..solving })
}

fn open(args: &Args, dir: &Path) -> Result<Job, Failure> {
    let options = JobOptions { checkpoint_every: args.checkpoints.every() };
    Job::open(dir, options).map_err(|error| match error {
        JobError::Missing { .. } => holds_no_solve(dir),
        error => error.into(),
    })
}
