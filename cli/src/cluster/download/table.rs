//! Writing a table from a part file: the same bytes as `solve` and `export FILE` write.

use std::sync::atomic::{AtomicBool, Ordering};

use ziggurat_kernel::Precision;
use ziggurat_table::{AnyTable, Compression, Existing, Interim, TableWriter, remove_leftovers};

use super::{Format, Wanted, interrupted, part::Part, ranges::Ranges};
use crate::{failure::Failure, needs::value_type_of};

/// Writes a table. Other formats than Ziggurat's own are written from a table in that, which goes then.
///
/// # Errors
/// If the values are no chances, or a file cannot be written.
pub fn write(
    ranges: &Ranges,
    part: &Part,
    wanted: Wanted<'_>,
    tell: &(dyn Fn(f64) + Sync),
    stops: &AtomicBool,
) -> Result<(), Failure> {
    let Wanted { out, existing, value_type, .. } = wanted;
    if wanted.format == Format::Zgt {
        return write_zgt(ranges, part, wanted, tell, stops);
    }
    let mut own_format = part.path().to_owned().into_os_string();
    own_format.push(".zgt");
    let between = Interim::new(own_format.into());
    remove_leftovers(between.path());
    let own = Wanted {
        out: between.path(),
        // What is there was left by a process that was killed.
        existing: Existing::Replace,
        value_type: value_type_of(ranges.settings().precision),
        compression: Compression::default(),
        ..wanted
    };
    write_zgt(ranges, part, own, &|share| tell(share / 2.0), stops)?;
    // Nobody looks at the flag from here on: once it is up, a signal ends the process.
    if stops.swap(true, Ordering::Relaxed) {
        return Err(interrupted(part.path()));
    }
    let table = AnyTable::open(between.path())?;
    let tell = |share: f64| tell(0.5 + share / 2.0);
    match wanted.format {
        Format::Rgu => table.export_rgu(out, existing, value_type, &tell)?,
        Format::Zgt | Format::Parquet => table.export_parquet(out, existing, value_type, &tell)?,
    }
    Ok(())
}

fn write_zgt(
    ranges: &Ranges,
    part: &Part,
    wanted: Wanted<'_>,
    tell: &(dyn Fn(f64) + Sync),
    stops: &AtomicBool,
) -> Result<(), Failure> {
    let Wanted { out, existing, value_type, compression, .. } = wanted;
    let encoding = ranges.encoding();
    let mut writer = TableWriter::create(out, existing, encoding, value_type, compression)?;
    let mut written = 0;
    for &(tier, statistics) in ranges.tiers() {
        if stops.load(Ordering::Relaxed) {
            return Err(interrupted(part.path()));
        }
        let positions = encoding.tier_len(tier);
        match ranges.settings().precision {
            Precision::F32 => {
                let mut values: Vec<f32> = Vec::with_capacity(positions as usize);
                part.read_tier(tier, positions, |piece| {
                    let (numbers, _) = piece.as_chunks();
                    values.extend(numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)));
                })?;
                writer.write_tier(tier, statistics, &values)?;
            }
            Precision::F64 => {
                let mut values: Vec<f64> = Vec::with_capacity(positions as usize);
                part.read_tier(tier, positions, |piece| {
                    let (numbers, _) = piece.as_chunks();
                    values.extend(numbers.iter().map(|&bytes| f64::from_le_bytes(bytes)));
                })?;
                writer.write_tier(tier, statistics, &values)?;
            }
        }
        written += positions;
        tell(written as f64 / ranges.positions().max(1) as f64);
    }
    Ok(writer.finish()?)
}
