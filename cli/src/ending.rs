//! How the process ends.
//!
//! It always ends by `_exit`. `exit` would first run the destructors of C++ statics, RocksDB's among them, while other threads
//! still use what these destroy: a signal that came a moment before or after the end of the work then crashed the process.
//! Nothing is lost by that: whatever has to be on disk is synced when it is written, and what is printed is flushed at once.

use std::{
    io::{self, Write},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use ziggurat_table::abandon_outputs;

use crate::{failure::Exit, full::terminal, output::note};

/// A standard error that takes longer to be written (a terminal that was stopped, a pipe that nobody reads) is not waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Whether some thread is ending the process.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Ends the process when its work is done, whatever threads are still at theirs.
pub fn end(code: u8) -> ! {
    // What libraries have printed. Other output was flushed, and its errors were told.
    let _ = io::stdout().flush();
    claim();
    signal_hook::low_level::exit(code.into())
}

/// Ends the process in the middle of its work, with the exit code of an interrupted one. Files that are not complete go.
pub fn end_at_once(last_words: &'static str) -> ! {
    claim();
    abandon_outputs();
    terminal::restore();
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        note!("\nerror: {last_words}");
        let _ = done.send(()); // nobody waits any more
    });
    let _ = is_done.recv_timeout(LAST_WORDS);
    signal_hook::low_level::exit(Exit::Interrupted as i32)
}

/// The first thread that ends the process decides how; others stand still.
fn claim() {
    if ENDING.swap(true, Ordering::SeqCst) {
        loop {
            thread::park();
        }
    }
}
