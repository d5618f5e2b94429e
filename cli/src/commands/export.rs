//! `ziggurat export`: a table in another format or value type.

use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::json;
use ziggurat_table::{AnyTable, Compression, ValueType};

use crate::{
    failure::{Exit, Failure},
    interrupt,
    output::{bytes, print, print_json},
    progress::watched,
    target::TargetArgs,
};

/// Write a table in another format or with another type of values
///
/// The file is called like the table, with the ending of the format, unless --out names it.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A solved table, .zgt or .rgu
    file: PathBuf,

    /// The format to write
    #[arg(long, value_enum)]
    format: Format,

    /// The type of the values: percent16, f32 or f64 [default: that of the table]
    #[arg(long, value_name = "TYPE")]
    value_type: Option<ValueType>,

    #[command(flatten)]
    target: TargetArgs,

    /// Store the values of a .zgt file as they are instead of compressed
    #[arg(long)]
    raw: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The formats tables are written in.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Format {
    /// Ziggurat's own
    Zgt,
    /// That of the Java and Python libraries for the game
    Rgu,
    /// For DuckDB, Polars, pandas and the like
    Parquet,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let table = AnyTable::open(&args.file)?;
    let ending = match args.format {
        Format::Zgt => "zgt",
        Format::Rgu => "rgu",
        Format::Parquet => "parquet",
    };
    if args.raw && args.format != Format::Zgt {
        return Err(Failure::bad_input(format!("--raw is about .zgt files, not .{ending} files"))
            .help("leave --raw out, or write --format zgt"));
    }
    let out = args.target.file(|| args.file.with_extension(ending))?;
    let value_type = args.value_type.unwrap_or(table.value_type());
    let existing = args.target.existing();
    let compression = if args.raw { Compression::Raw } else { Compression::default() };
    interrupt::end_on_interrupt()?;
    let title = format!("Writing {}", out.display());
    watched(&title, args.json, |tell| match args.format {
        Format::Zgt => table.export_zgt(&out, existing, value_type, compression, tell),
        Format::Rgu => table.export_rgu(&out, existing, value_type, tell),
        Format::Parquet => table.export_parquet(&out, existing, value_type, tell),
    })?;
    let size = std::fs::metadata(&out)?.len();
    if args.json {
        print_json(&json!({
            "file": out, "format": ending, "value_type": value_type, "bytes": size,
        }))?;
    } else {
        print(&format!("Wrote {} ({}, {value_type})\n", out.display(), bytes(size)))?;
    }
    Ok(Exit::Success)
}
