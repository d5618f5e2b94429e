//! The terminal, while something is drawn on it.

use std::{
    io,
    mem::ManuallyDrop,
    sync::atomic::{AtomicBool, Ordering},
};

use ratatui::{
    DefaultTerminal, Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor::Show,
        execute,
        terminal::{self, EnterAlternateScreen, LeaveAlternateScreen},
    },
};
/// Whether the terminal is not as it was: raw, and showing another screen.
static DRAWN_ON: AtomicBool = AtomicBool::new(false);

/// A terminal to draw on, with a screen of its own, until it is [restored](restore), when the process ends at the
/// latest.
///
/// # Errors
/// If it is none, or is gone.
pub fn draw_on() -> io::Result<ManuallyDrop<DefaultTerminal>> {
    DRAWN_ON.store(true, Ordering::SeqCst);
    terminal::enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen)?;
    // Its destructor panics where the terminal is gone: it writes that to standard error.
    Terminal::new(CrosstermBackend::new(io::stdout())).map(ManuallyDrop::new)
}

/// Gives a terminal back as it was before it was drawn on.
pub fn restore() {
    if DRAWN_ON.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs nothing.
        let _ = terminal::disable_raw_mode();
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    }
}
