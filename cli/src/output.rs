//! What goes to standard output and standard error, and how numbers look there.
//!
//! A reader that goes away (`ziggurat ... | head`) is not an error: printing then stops
//! quietly. Nor is a terminal that is closed, or a standard error that nobody reads any more, or that is a file on a full disk.

use std::{
    fs::Permissions,
    io::{self, Write},
    os::{fd::AsFd, unix::fs::PermissionsExt},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    fs::{FileType, fstat},
    io::Errno,
};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;
pub use ziggurat_files::size as bytes;
use ziggurat_game::Ruleset;

use crate::{
    characters::shown,
    failure::{Explain, Failure},
};

/// Prints a line to standard error, if that can be written.
macro_rules! note {
    ($($argument:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($argument)*);
    }};
}
pub(crate) use note;

/// Whether something was to be printed that nobody reads any more.
static READER_IS_GONE: AtomicBool = AtomicBool::new(false);

/// Whether whoever reads standard output has gone away, as far as that is known.
pub fn reader_is_gone() -> bool {
    READER_IS_GONE.load(Ordering::Relaxed)
}

/// Whether an error of writing to a stream means that nobody will ever read what is written there: the other end of a pipe is
/// closed, or a terminal is.
fn is_gone(error: &io::Error, stream: impl AsFd) -> bool {
    let is_device =
        || fstat(stream).is_ok_and(|file| FileType::from_raw_mode(file.st_mode).is_char_device());
    error.kind() == io::ErrorKind::BrokenPipe
        || error.raw_os_error() == Some(Errno::IO.raw_os_error()) && is_device()
}

/// The name of a file as it is typed in a shell: quoted where that takes quotes. One that is a number is written with its directory, since a
/// number alone is that of a job.
pub fn typed(file: &Path) -> String {
    let name = file.display().to_string();
    let name = match name.parse::<u64>() {
        Ok(_) => format!("./{name}"),
        Err(_) => name,
    };
    shlex::try_quote(&name).map_or_else(|_| name.clone(), Into::into)
}

/// A text on one line, with what would move the cursor or colour the terminal made visible.
pub fn one_line(text: &str) -> String {
    let shown =
        |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// Prints a text that ends in a line break, pictures in it with what characters there are.
pub fn print(text: &str) -> Result<(), Failure> {
    print_as_it_is(&shown(text))
}

fn print_as_it_is(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if is_gone(&error, io::stdout()) => {
            READER_IS_GONE.store(true, Ordering::Relaxed);
            Ok(())
        }
        Err(error) => Err(anyhow::Error::from(error).context("cannot write the output").into()),
        Ok(()) => Ok(()),
    }
}

/// Prints a value as one line of JSON.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print_as_it_is(&(serde_json::to_string(value)? + "\n"))
}

/// Writes a text into a file that is there completely or not at all. One that is there already is replaced only if it may be.
pub fn write_whole(file: &Path, replace: bool, text: &str) -> Result<(), Failure> {
    let shown = file.display().to_string();
    let exists =
        || Failure::bad_input(format!("{shown} already exists")).help("choose another name for it");
    if !replace && file.exists() {
        return Err(exists());
    }
    let cannot = || format!("cannot write {shown}");
    let directory = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let everybody = Permissions::from_mode(0o666); // less what the user takes away
    let interim = tempfile::Builder::new().permissions(everybody).tempfile_in(directory);
    let mut interim = interim.context(cannot()).or_bad_input()?;
    interim.write_all(text.as_bytes()).context(cannot())?;
    ziggurat_files::sync(interim.as_file()).context(cannot())?;
    match ziggurat_files::publish(interim, file, replace) {
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(exists()),
        Err(error) => Err(error.error).context(cannot()),
        Ok(_) => Ok(()),
    }
}

/// A chance in percent, with as many decimals as are right if it is no further than `bound` from the true one, at most ten:
/// `51.5404732509 %`.
pub fn percent(chance: f64, bound: f64) -> String {
    // A bound of 1e-12 is not always that to the last digit.
    let right = (0.01 - (100.0 * bound).log10()).floor().clamp(0.0, MOST_DECIMALS);
    format!("{:.*} %", right as usize, chance * 100.0)
}

/// More decimals of a chance in percent are never shown.
const MOST_DECIMALS: f64 = 10.0;

/// A difference of two chances, to two digits that matter: `18 percentage points`, and in
/// powers of ten where it is tiny.
pub fn points(difference: f64) -> String {
    let points = difference * 100.0;
    if points == 0.0 {
        "0 percentage points".to_owned()
    } else if points < 1e-4 {
        format!("{points:.1e} percentage points")
    } else {
        let decimals = (1.0 - points.log10().floor()).max(0.0) as usize;
        format!("{points:.decimals$} percentage points")
    }
}

/// A bound to two digits, rounded up, so that what is said of it is still true: `1.0e-12`.
pub fn bound(bound: f64) -> String {
    let nearest = format!("{bound:.1e}");
    if nearest.parse().is_ok_and(|nearest: f64| nearest >= bound) {
        return nearest;
    }
    // The next number of two digits.
    let (digits, exponent) = nearest.split_once('e').unwrap_or((&nearest, "0"));
    let tenths: u32 = digits.replace('.', "").parse().unwrap_or(99);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (tenths, exponent) = if tenths < 99 { (tenths + 1, exponent) } else { (10, exponent + 1) };
    format!("{}.{}e{exponent}", tenths / 10, tenths % 10)
}

/// How many there are of what is called `thing`: `1 piece`, `1,085 cases`.
pub fn count(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// How many pieces a ruleset has: `1 piece`, `7 pieces`.
pub fn pieces(ruleset: &Ruleset) -> String {
    count(ruleset.pieces().into(), "piece")
}

/// A game: `finkel with 7 pieces`.
pub fn game(ruleset: &Ruleset) -> String {
    format!("{} with {}", ruleset.name(), pieces(ruleset))
}

/// What its table is called, but for the ending: `RULESET-PIECES`. Variants, of which many have the same name, are told apart by a
/// checksum of their rules: `finkel-variant-5c1f0a-3`.
pub fn table_name(ruleset: &Ruleset) -> String {
    let (name, pieces) = (ruleset.name(), ruleset.pieces());
    if !ruleset.is_variant() {
        return format!("{name}-{pieces}");
    }
    // With another number of pieces the rules are the same.
    let toml = ruleset.to_toml();
    let rules: String = toml.lines().filter(|line| !line.starts_with("pieces")).collect();
    format!("{name}-{:06x}-{pieces}", xxh3_64(rules.as_bytes()) >> 40)
}

/// A whole number with its thousands apart: `137,913,936`.
pub fn grouped(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A span of time as a person says it: `47 s`, `3 min 20 s`, `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, _) if seconds < 9.95 => format!("{seconds:.1} s"),
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) if h < 48 => format!("{h} h {m} min"),
        (h, ..) => format!("{} d {} h", h / 24, h % 24),
    }
}

/// A moment, in seconds since 1970, in UTC: `2026-11-28 19:05:38`.
#[cfg(feature = "full")]
pub fn moment(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    let (days, second) = (whole / 86400, whole % 86400);
    // Years begin in March here, so that a leap day is the last of one (Hinnant, "chrono-compatible low-level date algorithms").
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// How long something takes already, and may still take, in seconds.
pub fn times(gone: f64, left: Option<f64>) -> String {
    let left = left.map_or_else(String::new, |left| format!(", about {} left", duration(left)));
    format!("{} gone{left}", duration(gone))
}

/// A count with an appropriate unit: `31.2 M`, for rates.
pub fn short(number: f64) -> String {
    match number {
        n if n >= 1e9 => format!("{:.2} G", n / 1e9),
        n if n >= 1e6 => format!("{:.1} M", n / 1e6),
        n if n >= 1e3 => format!("{:.1} k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

/// How fast a solve goes, in positions per second, once that is known.
pub fn sweeping(speed: f64) -> Option<String> {
    (speed > 0.0).then(|| format!("sweeps {} positions per second", short(speed)))
}

/// Lines of cells with the columns aligned: the first to the left, the others to the right.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let line: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(column, cell)| {
                let width = widths[column];
                if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            })
            .collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use ziggurat_game::Overrides;

    use super::*;

    #[test]
    fn names_are_typed_as_a_shell_reads_them() {
        for (name, as_typed) in [
            ("finkel-7.zgt", "finkel-7.zgt"),
            ("a b/c", "'a b/c'"),
            ("7", "./7"),
            ("./7", "./7"),
            ("it's", r#""it's""#),
        ] {
            assert_eq!(typed(Path::new(name)), as_typed);
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_as_text() {
        assert_eq!(one_line("two\nlines \u{1b}[31mred ü"), r"two\nlines \u{1b}[31mred ü");
    }

    #[test]
    #[cfg(feature = "full")]
    fn moments_are_days_and_times_of_day() {
        for (seconds, text) in [
            (0.0, "1970-01-01 00:00:00"),
            (951_782_399.9, "2000-02-28 23:59:59"),
            (951_782_400.0, "2000-02-29 00:00:00"),
            (1_795_892_738.5, "2026-11-28 19:05:38"),
            (4_107_542_400.0, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(moment(seconds), text);
        }
    }

    #[test]
    fn numbers_look_as_a_person_writes_them() {
        assert_eq!(percent(0.515404732509, 1e-12), "51.5404732509 %");
        assert_eq!(percent(0.515404732509, 1.0001e-12), "51.5404732509 %");
        assert_eq!(percent(0.515404732509, 0.0), "51.5404732509 %");
        assert_eq!(percent(0.515404732509, 5e-6), "51.540 %");
        assert_eq!(percent(0.515404732509, 1.1e-5), "51.54 %");
        assert_eq!(percent(0.515404732509, 0.4), "52 %");
        assert_eq!(points(0.183654), "18 percentage points");
        assert_eq!(points(0.00015066), "0.015 percentage points");
        assert_eq!(points(3.1e-14), "3.1e-12 percentage points");
        assert_eq!(points(0.0), "0 percentage points");
        assert_eq!(sweeping(0.0), None);
        assert_eq!(sweeping(31.2e6), Some("sweeps 31.2 M positions per second".to_owned()));
        assert_eq!(bound(1e-12), "1.0e-12");
        assert_eq!(bound(1.04e-10), "1.1e-10");
        assert_eq!(bound(9.91e-13), "1.0e-12");
        assert_eq!(bound(9.96e-13), "1.0e-12");
        assert_eq!(bound(1.0_f64.next_up()), "1.1e0");
        assert_eq!(bound(5e-6), "5.0e-6");
        assert_eq!(grouped(137_913_936u64), "137,913,936");
        assert_eq!(grouped(7u64), "7");
        assert_eq!(grouped(1000u64), "1,000");
        assert_eq!(duration(4.0), "4.0 s");
        assert_eq!(duration(59.9), "1 min 0 s");
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(duration(7500.0), "2 h 5 min");
        assert_eq!(short(31_200_000.0), "31.2 M");
    }

    #[test]
    fn variants_of_other_rules_have_tables_of_other_names() {
        let finkel = Ruleset::builtin("finkel").unwrap();
        let name = |overrides| table_name(&finkel.with(&overrides).unwrap());
        let of = |pieces| Overrides { pieces: Some(pieces), ..Overrides::default() };
        assert_eq!(name(of(3)), "finkel-3");
        let risky = |pieces| Overrides { safe_rosettes: Some(false), ..of(pieces) };
        let slow = |pieces| Overrides { rosettes_grant_rolls: Some(false), ..of(pieces) };
        let both = |pieces| Overrides { safe_rosettes: Some(false), ..slow(pieces) };
        let names = [name(risky(3)), name(slow(3)), name(both(3))];
        for (i, one) in names.iter().enumerate() {
            assert!(one.starts_with("finkel-variant-") && one.ends_with("-3"), "{one}");
            assert!(names[..i].iter().all(|other| other != one), "{one}");
        }
        assert_eq!(name(risky(4)), names[0].strip_suffix("3").unwrap().to_owned() + "4");
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".into(), "10".into()], vec!["bcd".into(), "7".into()]];
        assert_eq!(columns(&rows), "a    10\nbcd   7\n");
    }
}
