//! Ctrl-C and its relatives: the first asks for a clean end, the second ends at once.

use std::{
    fs,
    sync::{Arc, atomic::AtomicBool},
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use crate::failure::{Exit, Failure};

/// A flag that becomes true when the user (or the system, on shutdown) wants the process to end.
pub fn flag_on_interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // A hang-up is ignored under `nohup`, and stays so.
        if signal == SIGHUP && ignores(SIGHUP) {
            continue;
        }
        // Hooks run in the order of their registration: at the first signal the flag is not up yet.
        let exit = Exit::Interrupted as i32;
        flag::register_conditional_shutdown(signal, exit, Arc::clone(&interrupted))?;
        flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// Whether this process was started with a signal ignored.
fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
