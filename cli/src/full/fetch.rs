//! The table of a job of a cluster: see [`download`](crate::cluster::download).

use std::path::PathBuf;

use ziggurat_game::Ruleset;
use ziggurat_table::ValueType;

use crate::{
    cluster::{
        client::Coordinator,
        download::{Download, Wanted},
        flags::CoordinatorArgs,
    },
    failure::Failure,
    interrupt,
    target::Wish,
};

/// Fetches a table, and says where it is, its ruleset and the type of its values.
///
/// # Errors
/// If the coordinator or the workers refuse or cannot be reached, the file cannot be written, or somebody asked for it to stop.
pub fn fetch(
    coordinator: &CoordinatorArgs,
    job: u64,
    wish: &Wish<'_>,
) -> Result<(PathBuf, Ruleset, ValueType), Failure> {
    let coordinator = Coordinator::new(coordinator)?;
    let download = Download::locate(&coordinator, job)?;
    let default = || PathBuf::from(format!("{}.{}", download.title(), wish.format.ending()));
    let out = wish.target.file(default)?;
    let ruleset = download.ruleset().clone();
    let value_type = (wish.value_type)(&ruleset, download.value_type());
    let stops = interrupt::flag_on_interrupt()?;
    let wanted = Wanted {
        out: &out,
        existing: wish.target.existing(),
        format: wish.format,
        value_type,
        compression: wish.compression,
        verify: wish.verify,
        json: wish.json,
    };
    download.write(wanted, stops)?;
    Ok((out, ruleset, value_type))
}
