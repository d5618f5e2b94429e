//! Signals, and what they ask for.
//!
//! | signal | what it asks for |
//! | --- | --- |
//! | the first SIGINT, SIGTERM or SIGHUP | to end cleanly; of work that has nothing to hand over or to write down, to end at once |
//! | another within [`SAME_WISH`] of that | nothing more: a terminal that closes sends two hang-ups, and both a shell and the program that it runs may pass the same interrupt on |
//! | SIGINT or SIGTERM after that | to end at once |
//! | SIGHUP after that | nothing more: nobody is there who is in a hurry |
//! | SIGXCPU (`ulimit -t`) | as SIGHUP: the system sends one a second |
//!
//! A hang-up that was ignored when the process started (`nohup`) stays ignored. No way of ending leaves an unfinished file.

use std::{
    fs,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU},
    iterator::Signals,
};

use crate::{ending::end_at_once, exhausted::no_threads, failure::Failure, output::note};

/// What a user reads whose work was stopped.
pub const INTERRUPTED: &str = "interrupted; no file was written";

/// What a user reads who did not want to wait for that.
const ENDED_AT_ONCE: &str = "ended at once, asked to a second time";

/// What a user reads whose processor time is over.
const NO_TIME: &str = "warning: all but the rest of the processor time this process may take is used (ulimit -t); it ends";

/// Signals that come so soon after the first are part of the same wish.
const SAME_WISH: Duration = Duration::from_secs(1);

/// A wish to end is noticed within this time by what looks for it now and then.
pub const NOTICE: Duration = Duration::from_millis(50);

/// Whether a signal has come.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the work looks at that, and ends cleanly.
static ENDS_CLEANLY: AtomicBool = AtomicBool::new(false);

/// What the first signal lets a user read whose work does not; once there is a thread that listens to signals.
static LISTENING: OnceLock<&str> = OnceLock::new();

/// From now on the first signal ends the process at once, with these last words, for work that cannot be asked to end, or not yet.
///
/// # Errors
/// If the system lets nobody listen.
pub fn end_on_interrupt(last_words: &'static str) -> Result<(), Failure> {
    if LISTENING.set(last_words).is_err() {
        return Ok(());
    }
    let signals = [SIGINT, SIGTERM, SIGHUP, SIGXCPU].into_iter();
    let mut signals = Signals::new(signals.filter(|&signal| signal != SIGHUP || !ignores(signal)))?;
    let listening = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut first = None;
        for signal in signals.forever() {
            if signal == SIGXCPU && first.is_none() {
                note!("{NO_TIME}");
            }
            let ends_cleanly = ENDS_CLEANLY.load(Ordering::SeqCst);
            match wish(signal, first.map(|first: Instant| first.elapsed()), ends_cleanly) {
                Wish::Clean => ASKED.store(true, Ordering::SeqCst),
                Wish::AtOnce => {
                    end_at_once(if first.is_none() { last_words } else { ENDED_AT_ONCE })
                }
                Wish::Known => {}
            }
            first.get_or_insert_with(Instant::now);
        }
    });
    listening.map(drop).map_err(no_threads)
}

/// A flag that becomes true when the user (or the system, on shutdown) wants the process to end; to be looked at all the time from
/// now on.
///
/// # Errors
/// If the system lets nobody listen.
pub fn flag_on_interrupt() -> Result<&'static AtomicBool, Failure> {
    ENDS_CLEANLY.store(true, Ordering::SeqCst);
    end_on_interrupt(INTERRUPTED)?;
    Ok(&ASKED)
}

/// Waits until a flag is up.
#[cfg(feature = "full")]
pub async fn is_up(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        tokio::time::sleep(NOTICE).await;
    }
}

/// What a signal asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wish {
    /// To end cleanly.
    Clean,
    /// To end at once.
    AtOnce,
    /// What was asked for before.
    Known,
}

/// What a signal asks for that comes so long after the first, if it is not the first.
fn wish(signal: i32, since_first: Option<Duration>, ends_cleanly: bool) -> Wish {
    match since_first {
        None if ends_cleanly => Wish::Clean,
        None => Wish::AtOnce,
        Some(since) if since >= SAME_WISH && ![SIGHUP, SIGXCPU].contains(&signal) => Wish::AtOnce,
        Some(_) => Wish::Known,
    }
}

/// Whether this process was started with a signal ignored.
fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_at_the_same_time_are_one_wish_and_a_hang_up_never_ends_at_once() {
        let (soon, later) = (SAME_WISH - Duration::from_millis(1), SAME_WISH);
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGXCPU] {
            assert_eq!(wish(signal, None, true), Wish::Clean);
            assert_eq!(wish(signal, None, false), Wish::AtOnce);
            assert_eq!(wish(signal, Some(Duration::ZERO), true), Wish::Known);
            assert_eq!(wish(signal, Some(soon), true), Wish::Known);
        }
        assert_eq!(wish(SIGINT, Some(later), true), Wish::AtOnce);
        assert_eq!(wish(SIGTERM, Some(later), true), Wish::AtOnce);
        assert_eq!(wish(SIGHUP, Some(later), true), Wish::Known);
        assert_eq!(wish(SIGXCPU, Some(later), true), Wish::Known);
    }
}
