//! Where progress goes: a bar with some text that is drawn over and over on a terminal, a plain
//! line now and then elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{characters::shown, output::note};

/// At least this long between two plain lines.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);

/// The length of the bar.
const BAR_STEPS: f64 = 1000.0;

/// Progress on standard error. Dropped, it clears what it has drawn.
pub enum Display {
    /// On a terminal.
    Bar(ProgressBar),
    /// In a file or a pipe.
    Lines {
        /// When the last line was printed.
        last: Instant,
    },
}

impl Display {
    /// A display for standard error as it is. On a terminal, `template` says where text and bar
    /// stand, as `{msg}` and `{bar}`.
    pub fn new(template: &str) -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(8);
        let bar = ProgressBar::with_draw_target(Some(BAR_STEPS as u64), target);
        if bar.is_hidden() {
            return Self::Lines { last: Instant::now() };
        }
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars(&shown("█▓░")));
        }
        Self::Bar(bar)
    }

    /// Shows that a share of the work is done, 0 to 1, with a text around the bar, or a line.
    pub fn show(
        &mut self,
        share: f64,
        text: impl FnOnce() -> String,
        line: impl FnOnce() -> String,
    ) {
        match self {
            Self::Bar(bar) => {
                bar.set_message(shown(&text()).into_owned());
                bar.set_position((share * BAR_STEPS) as u64);
            }
            Self::Lines { last } if last.elapsed() >= PLAIN_INTERVAL => {
                *last = Instant::now();
                note!("{}", line());
            }
            Self::Lines { .. } => {}
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
