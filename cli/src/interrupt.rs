//! Ctrl-C and its relatives: the first asks for a clean end, the second ends at once. Neither
//! leaves an unfinished file.

use std::{
    fs, process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use ziggurat_table::abandon_outputs;

use crate::{
    failure::{Exit, Failure},
    output::note,
};

/// What a user reads whose work was stopped.
pub const INTERRUPTED: &str = "interrupted; no file was written";

/// A flag that becomes true when the user (or the system, on shutdown) wants the process to end.
pub fn flag_on_interrupt() -> Result<Arc<AtomicBool>, Failure> {
    listen(false)
}

/// Ends the process at once when the user wants it to: for work that cannot be asked to end.
pub fn end_on_interrupt() -> Result<(), Failure> {
    listen(true).map(drop)
}

/// A flag that a first signal raises, while a signal that finds it up ends the process.
fn listen(raised: bool) -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(raised));
    let raised = Arc::clone(&flag);
    // A hang-up is ignored under `nohup`, and stays so.
    let signals = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let mut signals = Signals::new(signals.filter(|&signal| signal != SIGHUP || !ignores(signal)))?;
    thread::spawn(move || {
        for _ in signals.forever() {
            if raised.swap(true, Ordering::Relaxed) {
                abandon_outputs();
                note!("\nerror: {INTERRUPTED}");
                process::exit(Exit::Interrupted as i32);
            }
        }
    });
    Ok(flag)
}

/// Whether this process was started with a signal ignored.
fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
