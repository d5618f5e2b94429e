//! `ziggurat solve`: solves a ruleset and writes the table.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use ziggurat_table::TableWriter;

use crate::{
    failure::{Exit, Failure},
    full::{directory, solved_alone},
    interrupt,
    job::JobArgs,
    output::table_name,
    resources,
    solving::{Solving, announce, check_name, solve_and_report},
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

    /// Serve the dashboard, a page that shows how the solve goes, over HTTP at this address of this machine, such as
    /// 127.0.0.1:7401
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = own_address)]
    http: Option<SocketAddr>,

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
    /// How often that is.
    pub fn every(self) -> Duration {
        self.checkpoint_every.unwrap_or(CHECKPOINT_EVERY)
    }
}

/// An address that this machine alone reaches: who looks at a solve is not asked for anything.
pub fn own_address(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "write 127.0.0.1:PORT".to_owned())?;
    match address.ip().to_canonical().is_loopback() {
        true => Ok(address),
        false => Err(format!(
            "{address} can be reached from other machines, and anybody there could look; write 127.0.0.1:{}",
            address.port()
        )),
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    interrupt::end_on_interrupt(interrupt::INTERRUPTED)?;
    if args.dir.is_none() && args.checkpoints.checkpoint_every.is_some() {
        let what = "--checkpoint-every says how often a solve with a directory is written down";
        return Err(Failure::bad_input(what).help("give it one: --dir DIR"));
    }
    // Before anything that takes time; creating the job asks the store itself.
    args.dir.as_deref().map_or(Ok(()), directory::check_free)?;
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
        witness: None,
        out: &out,
        existing,
        value_type: values,
        compression: args.job.compression(),
        json: args.json,
    };
    let manifest = args.dir.as_ref().map(|_| directory::manifest(&solving)).transpose()?;
    announce(&solving, args.dir.as_deref())?;
    let every = args.checkpoints.every();
    let create = |(dir, what)| directory::create(dir, what, every);
    let job = args.dir.as_deref().zip(manifest).map(create).transpose()?;
    let witness = solved_alone::watch(&solving, args.dir.as_deref(), args.http)?;
    solve_and_report(&Solving { job: job.as_deref(), witness: witness.as_deref(), ..solving })
}
