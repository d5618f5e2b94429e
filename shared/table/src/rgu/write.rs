//! Writing an `.rgu` file.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use rayon::prelude::*;
use ziggurat_encoding::Encoding;
use ziggurat_game::{Position, Ruleset};

use super::{
    Keys, Metadata, Run,
    format::{KEY_BYTES, MAGIC, VERSION, push_value},
};
use crate::{
    AnyTable, BATCH_POSITIONS, Existing, TableError, Tell, ValueType,
    output::Output,
    progress::{Work, unheard},
    value::HALF,
};

/// Runs whose keys or values are prepared at a time.
const RUNS_AT_A_TIME: usize = 256;
/// Values collected at a time on the way from a table's order to that of the keys: 2 GiB.
const WINDOW_VALUES: u64 = 256 << 20;

/// Writes a file with the values that a function gives: for each position that is not lost, the
/// chance of the player to move.
///
/// # Errors
/// The first error of `value`, or that the file exists and is to be kept, or cannot be written.
pub fn write(
    path: &Path,
    existing: Existing,
    keys: &Keys,
    value_type: ValueType,
    value: impl Fn(&Position) -> Result<f64, TableError> + Sync,
) -> Result<(), TableError> {
    let work = Work::new(0, &unheard);
    let mut output = start(path, existing, keys, value_type, None, &work)?;
    write_runs(&mut output, keys, &work, |run, bytes| {
        let mut result = Ok(());
        keys.for_each(run, |_, position| match (&result, value(position)) {
            (Ok(()), Ok(chance)) => push_value(bytes, chance, value_type),
            (Ok(()), Err(error)) => result = Err(error),
            (Err(_), _) => {}
        });
        result
    })?;
    output.finish()
}

/// Writes a table as an `.rgu` file.
///
/// The table is read tier by tier, in its own order, and its values are scattered to their places
/// in the order of the keys: in a single pass up to 2^28 keys, in more passes beyond.
///
/// # Errors
/// If the format cannot express the ruleset, the table cannot be read, the file exists and is to
/// be kept, or cannot be written.
pub fn export(
    table: &AnyTable,
    path: &Path,
    existing: Existing,
    value_type: ValueType,
    tell: &Tell<'_>,
) -> Result<(), TableError> {
    export_in_windows(table, path, existing, value_type, WINDOW_VALUES, tell)
}

impl AnyTable {
    /// Writes the table as an `.rgu` file; see [`export`].
    ///
    /// # Errors
    /// If the format cannot express the ruleset, the table cannot be read, the file exists and
    /// is to be kept, or cannot be written.
    pub fn export_rgu(
        &self,
        path: &Path,
        existing: Existing,
        value_type: ValueType,
        tell: &Tell<'_>,
    ) -> Result<(), TableError> {
        export(self, path, existing, value_type, tell)
    }
}

/// The most bytes of values that [`export`] has in memory.
///
/// # Errors
/// If the format cannot express the ruleset.
pub fn export_bytes(ruleset: &Ruleset) -> Result<u64, TableError> {
    let keys = Keys::new(ruleset)?;
    let windows = windows(&keys, WINDOW_VALUES);
    let values = |window: &Vec<Run>| window.iter().map(|run| run.len).sum::<u64>();
    let most = windows.iter().map(values).max().unwrap_or(0);
    Ok(size_of::<f64>() as u64 * (most + BATCH_POSITIONS))
}

/// How many bytes [`export`] writes, but for the header.
///
/// # Errors
/// If the format cannot express the ruleset.
pub fn export_file_bytes(ruleset: &Ruleset, value_type: ValueType) -> Result<u64, TableError> {
    Ok(Keys::new(ruleset)?.count() * (KEY_BYTES + value_type.bytes() as u64))
}

/// [`export`], collecting at most `window_values` values at a time, or those of one run.
fn export_in_windows(
    table: &AnyTable,
    path: &Path,
    existing: Existing,
    value_type: ValueType,
    window_values: u64,
    tell: &Tell<'_>,
) -> Result<(), TableError> {
    let keys = Keys::new(table.ruleset())?;
    let residuals =
        table.encoding().tiers().into_iter().map(|tier| table.statistics(tier).residual);
    let residual = residuals.reduce(|one, other| Some(one?.max(other?))).flatten();
    let windows = windows(&keys, window_values);
    // The keys are written, each window reads the whole table, the values are written.
    let reading = windows.len() as u64 * table.encoding().undecided();
    let work = Work::new(keys.count() + reading + keys.count(), tell);
    let mut output = start(path, existing, &keys, value_type, residual, &work)?;
    for window in windows {
        let first = window[0];
        let values = collect(table, &keys, &window, &work)?;
        for some in window.chunks(RUNS_AT_A_TIME) {
            let packed = some.par_iter().map(|run| {
                let start = (run.first - first.first) as usize;
                let mut bytes = Vec::with_capacity(run.len as usize * value_type.bytes());
                for value in &values[start..start + run.len as usize] {
                    push_value(&mut bytes, f64::from_bits(value.load(Relaxed)), value_type);
                }
                bytes
            });
            for bytes in packed.collect::<Vec<_>>() {
                output.append(&bytes)?;
            }
            work.did(some.iter().map(|run| run.len).sum());
        }
    }
    output.finish()
}

/// The runs in order, in groups of at most `window_values` values or of one run.
fn windows(keys: &Keys, window_values: u64) -> Vec<Vec<Run>> {
    let mut windows: Vec<Vec<Run>> = Vec::new();
    for run in keys.runs() {
        match windows.last_mut() {
            Some(window) if run.first + run.len - window[0].first <= window_values => {
                window.push(run);
            }
            _ => windows.push(vec![run]),
        }
    }
    windows
}

/// The chances of the player to move for the keys of consecutive runs, as bits. What the table
/// does not store is won.
fn collect(
    table: &AnyTable,
    keys: &Keys,
    runs: &[Run],
    work: &Work<'_>,
) -> Result<Vec<AtomicU64>, TableError> {
    let first = runs.first().map_or(0, |run| run.first);
    let end = runs.last().map_or(0, |run| run.first + run.len);
    let won = 1.0_f64.to_bits();
    let mut values = Vec::new();
    values.resize_with((end - first) as usize, || AtomicU64::new(won));
    let encoding: &Encoding = table.encoding();
    for (tier, offsets) in table.batches() {
        let stored = table.read_range(tier, offsets.clone())?;
        let unranking = || encoding.unranking(tier);
        stored.par_iter().enumerate().for_each_init(unranking, |positions, (i, stored)| {
            let position = positions.position(offsets.start + i as u64);
            if let Some(ordinal) = keys.ordinal(&position)
                && (first..end).contains(&ordinal)
            {
                values[(ordinal - first) as usize].store((HALF - stored).to_bits(), Relaxed);
            }
        });
        work.did(stored.len() as u64);
    }
    Ok(values)
}

/// Starts a file: everything before the values.
fn start(
    path: &Path,
    existing: Existing,
    keys: &Keys,
    value_type: ValueType,
    residual: Option<f64>,
    work: &Work<'_>,
) -> Result<Output, TableError> {
    let metadata = Metadata::new(keys.settings(), value_type, residual).to_json();
    let mut output = Output::create(path, existing)?;
    output.append(&MAGIC)?;
    output.append(&[VERSION])?;
    output.append(&(metadata.len() as u32).to_be_bytes())?;
    output.append(metadata.as_bytes())?;
    output.append(&(keys.map_lens().len() as u32).to_be_bytes())?;
    for &len in keys.map_lens() {
        output.append(&(len as u32).to_be_bytes())?;
    }
    write_runs(&mut output, keys, work, |run, bytes| {
        keys.for_each(run, |key, _| bytes.extend((key as u32).to_be_bytes()));
        Ok(())
    })?;
    Ok(output)
}

/// Appends what `fill` makes of every run, in order.
fn write_runs(
    output: &mut Output,
    keys: &Keys,
    work: &Work<'_>,
    fill: impl Fn(&Run, &mut Vec<u8>) -> Result<(), TableError> + Sync,
) -> Result<(), TableError> {
    let runs: Vec<Run> = keys.runs().collect();
    for some in runs.chunks(RUNS_AT_A_TIME) {
        let filled: Vec<_> = some
            .par_iter()
            .map(|run| {
                let mut bytes = Vec::new();
                fill(run, &mut bytes).map(|()| bytes)
            })
            .collect();
        for bytes in filled {
            output.append(&bytes?)?;
        }
        work.did(some.iter().map(|run| run.len).sum());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_windows_give_the_bytes_of_a_single_one() {
        let data = Path::new("../../tests/data");
        let directory = tempfile::tempdir().unwrap();
        for name in ["finkel2-f64", "masters2-f64"] {
            let table = AnyTable::open(&data.join(name).with_extension("rgu")).unwrap();
            let export = |window_values: u64| {
                let path = directory.path().join(format!("{name}-{window_values}"));
                let value_type = ValueType::F64;
                export_in_windows(
                    &table,
                    &path,
                    Existing::Keep,
                    value_type,
                    window_values,
                    &unheard,
                )
                .unwrap();
                std::fs::read(path).unwrap()
            };
            let whole = export(WINDOW_VALUES);
            for window_values in [1, 1_000, 5_000] {
                assert!(export(window_values) == whole, "{name} {window_values}");
            }
        }
    }
}
