//! `ziggurat export`: a table in another format or value type, or the table of a job of a cluster.

use std::path::{Path, PathBuf};

use serde_json::json;
use ziggurat_game::Ruleset;
use ziggurat_table::{
    AnyTable, Compression, ValueType,
    rgu::{self, Reader},
};

use crate::{
    failure::{Exit, Failure},
    format::Format,
    full::{CoordinatorArgs, fetch},
    interrupt,
    output::{bytes, print, print_json, typed},
    progress::watched,
    solving::although_complete,
    suggested,
    target::{Extent, JobOrPath, TargetArgs, Wish},
};

/// Write a table in another format or with another type of values, or the table of a job of a cluster
///
/// The file is called like the table, with the ending of the format, unless it is named; the table of a job
/// is called RULESET-PIECES. The values of a job come from its workers; what was fetched when the command is
/// interrupted is in FILE.part, and the same command goes on from there.
///
/// RoyalUr-Java reads every .rgu file. RoyalUr-Python reads finkel with 7 pieces in percent16, which is the default
/// there, and misreads all others without a word.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:\n\
\x20 ziggurat export finkel-7.zgt --format parquet\n\
\x20 ziggurat export finkel-7.zgt small.zgt --value-type percent16\n\
\x20 ziggurat export 3 --out masters.zgt")]
pub struct Args {
    /// A solved table, .zgt or .rgu, or the number of a solved job (`./7` if the name of a file is a number)
    #[arg(value_name = "FILE|JOB")]
    source: JobOrPath,

    /// The file to write, as with --out
    #[arg(value_name = "OUT", conflicts_with = "out")]
    to: Option<PathBuf>,

    /// The format to write [default: what the name of the file to write ends in; of a job without one, zgt]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// The type of the values: percent16, f32 or f64 [default: that of the table, or of the job; percent16 where
    /// RoyalUr-Python reads only that]
    #[arg(long, value_name = "TYPE", value_parser = suggested::value_type(), hide_possible_values = true)]
    value_type: Option<ValueType>,

    #[command(flatten)]
    target: TargetArgs,

    /// Store the values of a .zgt file as they are instead of compressed
    #[arg(long)]
    raw: bool,

    /// How many of the values of a job to hold against the rules before the table is written [default: sample]
    #[arg(long, value_enum, value_name = "EXTENT")]
    verify: Option<Extent>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    interrupt::end_on_interrupt(interrupt::INTERRUPTED)?;
    let target = args.target.or(args.to.as_deref());
    let format = format(args, &target)?;
    if args.raw && format != Format::Zgt {
        let ending = format.ending();
        return Err(Failure::bad_input(format!("--raw is about .zgt files, not .{ending} files"))
            .help("leave --raw out, or write --format zgt"));
    }
    match &args.source {
        JobOrPath::Job(job) => export_job(args, &target, format, *job),
        JobOrPath::Path(file) if args.verify.is_some() => {
            let typed = typed(file);
            Err(Failure::bad_input(format!("--verify is about jobs, and {typed} is a file"))
                .help(format!("leave it out; `table verify {typed}` verifies a file")))
        }
        JobOrPath::Path(file) => export_table(args, &target, format, file),
    }
}

/// The format to write: if nobody says so, the name of the file does.
fn format(args: &Args, target: &TargetArgs) -> Result<Format, Failure> {
    match (args.format, target.named(), &args.source) {
        (Some(format), ..) => Ok(format),
        (None, Some(out), _) => Format::of_file(out).ok_or_else(|| {
            Failure::bad_input(format!("the name of {} does not say its format", out.display()))
                .help("let it end in .zgt, .rgu or .parquet, or say which: --format")
        }),
        (None, None, JobOrPath::Job(_)) => Ok(Format::Zgt),
        (None, None, JobOrPath::Path(_)) => {
            Err(Failure::bad_input("nothing says which format to write")
                .help("name the file to write, or say which: --format"))
        }
    }
}

fn export_table(
    args: &Args,
    target: &TargetArgs,
    format: Format,
    file: &Path,
) -> Result<Exit, Failure> {
    let table = AnyTable::open(file)?;
    let out = target.file(|| file.with_extension(format.ending()))?;
    let value_type = value_type(args, format, table.ruleset(), table.value_type());
    let existing = target.existing();
    format.check_memory(table.encoding(), size_of::<f64>(), table.held_bytes(), &out)?;
    format.check_disk(table.encoding(), value_type, compression(args), (&out, 0))?;
    let title = format!("Writing {}", out.display());
    watched(&title, args.json, |tell| match format {
        Format::Zgt => table.export_zgt(&out, existing, value_type, compression(args), tell),
        Format::Rgu => table.export_rgu(&out, existing, value_type, tell),
        Format::Parquet => table.export_parquet(&out, existing, value_type, tell),
    })?;
    report(args, format, &out, table.ruleset(), value_type)
}

fn export_job(args: &Args, target: &TargetArgs, format: Format, job: u64) -> Result<Exit, Failure> {
    let wish = Wish {
        target,
        format,
        value_type: &|ruleset, own| value_type(args, format, ruleset, own),
        compression: compression(args),
        verify: args.verify.unwrap_or(Extent::Sample),
        json: args.json,
    };
    let (out, ruleset, value_type) = fetch::fetch(&args.coordinator, job, &wish)?;
    report(args, format, &out, &ruleset, value_type)
}

/// The type of the values, if nobody says so that of the source, or the one that all readers of the format read.
fn value_type(args: &Args, format: Format, ruleset: &Ruleset, own: ValueType) -> ValueType {
    let default = match format {
        Format::Rgu => rgu::value_type_for_readers(ruleset, own),
        Format::Zgt | Format::Parquet => own,
    };
    args.value_type.unwrap_or(default)
}

fn compression(args: &Args) -> Compression {
    if args.raw { Compression::Raw } else { Compression::default() }
}

fn report(
    args: &Args,
    format: Format,
    out: &Path,
    ruleset: &Ruleset,
    value_type: ValueType,
) -> Result<Exit, Failure> {
    let (size, ending) = (std::fs::metadata(out)?.len(), format.ending());
    let readers = match format {
        Format::Rgu => Some(rgu::readers(ruleset, value_type)?),
        Format::Zgt | Format::Parquet => None,
    };
    let told = if args.json {
        let read_by: Option<Vec<String>> =
            readers.map(|readers| readers.iter().map(Reader::to_string).collect());
        print_json(&json!({
            "file": out.to_string_lossy(), "format": ending, "value_type": value_type, "bytes": size,
            "read_by": read_by,
        }))
    } else {
        let wrote = format!("Wrote {} ({}, {value_type})\n", out.display(), bytes(size));
        print(&(wrote + &readers.map_or_else(String::new, |readers| read_by(args, &readers))))
    };
    told.map_err(|failure| although_complete(failure, out))?;
    Ok(Exit::Success)
}

/// Who reads an `.rgu` file, and how it can be read by others or with more digits.
fn read_by(args: &Args, readers: &[Reader]) -> String {
    if !readers.contains(&Reader::Python) {
        return format!(
            "{} reads it. {} would misread it without a word: it reads finkel with 7 pieces in percent16 only\n",
            Reader::Java,
            Reader::Python
        );
    }
    let more = match args.value_type {
        None => format!("; --value-type f64 keeps every digit, for {} alone", Reader::Java),
        Some(_) => String::new(),
    };
    format!("{} and {} read it{more}\n", Reader::Java, Reader::Python)
}
