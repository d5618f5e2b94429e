//! Following a job on a terminal.
//!
//! ```text
//! job 3, blitz-3: running                                    127.0.0.1:7400
//!
//!         ░░░           4 of 6 steps, 19.0 % of the positions
//!       ███ ▓░░         sweeps 10.4 M positions per second
//!     ███ ███ ███       ...
//!
//! residual against superstep, as a chart
//!
//! worker ...
//! ```
//!
//! What is drawn is a function of what is known, see [`draw`]; around it there is a loop that listens
//! to the coordinator and to the [keyboard](keys).

mod chart;
mod facts;
mod keys;
mod terraces;
#[cfg(test)]
mod tests;
mod workers;

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    },
    time::Duration,
};

use ratatui::{
    Frame,
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    style::{Color, Style, Stylize},
    text::Line,
    widgets::{Paragraph, Wrap},
};

use self::keys::Key;
use super::{feed::News, following::Following, words};
use crate::{
    characters,
    failure::{Explain, Failure},
    full::terminal,
    output::one_line,
};

/// News and keys are noticed within this time.
const NOTICE: Duration = Duration::from_millis(100);

/// A chart needs so many lines, with its frame.
const LEAST_CHART: u16 = 7;

/// Between the ziggurat and what there is to say.
const GAP: u16 = 4;

/// What there is to say needs so many columns.
const LEAST_FACTS: u16 = 42;

/// What stands at the bottom.
const KEYS: &str = "q leaves; the job goes on";

/// Why a job is no longer followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// It has ended.
    JobEnded,
    /// Somebody pressed a key to leave.
    ByKey,
    /// The process was asked to end, or the terminal is gone.
    Interrupted,
}

/// Draws what is known whenever it changes, until the job has ended, the user leaves, `stops`
/// becomes true, or the terminal is gone. The terminal is as it was, afterwards and after a bug.
///
/// # Errors
/// If the coordinator refuses or does not answer for long, or the terminal fails.
pub fn show_until_end(
    news: &Receiver<Result<News, Failure>>,
    following: &mut Following,
    stops: &AtomicBool,
) -> Result<Left, Failure> {
    let _restores = Restores;
    let mut terminal = terminal::draw_on().context("cannot draw on this terminal")?;
    let keys = keys::listen();
    loop {
        loop {
            match news.try_recv() {
                Ok(Ok(News::Status(status))) => following.hear(*status),
                Ok(Ok(News::Silence(why))) => following.silence = Some(why),
                Ok(Err(failure)) => return Err(failure),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(Left::JobEnded),
            }
        }
        let drawn = terminal.draw(|frame| {
            draw(frame, following);
            if characters::is_ascii() {
                draw_in_ascii(frame.buffer_mut());
            }
        });
        let drawn = drawn.map(drop);
        match keys.recv_timeout(NOTICE) {
            _ if stops.load(Ordering::Relaxed) => return Ok(Left::Interrupted),
            Ok(Key::Leaves) => return Ok(Left::ByKey),
            // Nothing more can be typed: the terminal is gone, and that is why it cannot be drawn on either.
            Err(RecvTimeoutError::Disconnected) => return Ok(Left::Interrupted),
            Err(RecvTimeoutError::Timeout) => drawn?,
        }
    }
}

/// Takes the characters of ASCII that stand for others, where a terminal has no others.
fn draw_in_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let shown = characters::in_ascii(cell.symbol());
        cell.set_symbol(&shown);
    }
}

/// Gives the terminal back.
struct Restores;

impl Drop for Restores {
    fn drop(&mut self) {
        terminal::restore();
    }
}

/// Draws what is known of a job. Where there is little room, the chart goes first, then the ziggurat.
fn draw(frame: &mut Frame, following: &Following) {
    let area = frame.area();
    let (message, style) = message(following);
    let width = usize::from(area.width.max(1));
    let message_lines = message.chars().count().div_ceil(width).min(2) as u16;
    let facts = facts::lines(following);
    let terraces = terraces::size(following, area.width.saturating_sub(GAP + LEAST_FACTS));
    let upper = (facts.len() as u16).max(terraces.height).min(area.height.saturating_sub(4));
    let taken = 2 + upper + 1 + message_lines + 1;
    let free = area.height.saturating_sub(taken);
    let workers = following.status.as_ref().map_or(&[][..], |status| &status.workers);
    let table = (workers.len() as u16 + 1).min(free.saturating_sub(LEAST_CHART + 1).max(free / 2));
    let chart = free.saturating_sub(table + 1);
    let chart = if chart < LEAST_CHART { 0 } else { chart };
    let table = if chart == 0 { free } else { table };
    let [title, _, upper, _, chart, _, table, message_area, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(upper),
        Constraint::Length(1),
        Constraint::Length(chart),
        Constraint::Length(u16::from(chart > 0)),
        Constraint::Min(table.min(1)),
        Constraint::Length(message_lines),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_title(frame, title, following);
    let [left, _, right] = Layout::horizontal([
        Constraint::Length(terraces.width),
        Constraint::Length(if terraces.width > 0 { GAP } else { 0 }),
        Constraint::Min(0),
    ])
    .areas(upper);
    terraces::draw(frame, left, following);
    frame.render_widget(Paragraph::new(facts), right);
    if chart.height >= LEAST_CHART {
        chart::draw(frame, chart, following);
    }
    workers::draw(frame, table, workers);
    let text = Paragraph::new(message).style(style).wrap(Wrap { trim: true });
    frame.render_widget(text, message_area);
    frame.render_widget(Line::from(KEYS).dim(), keys);
}

fn draw_title(frame: &mut Frame, area: Rect, following: &Following) {
    let title = following.job().map_or_else(
        || "waiting for the coordinator".to_owned(),
        |job| format!("job {}, {}: {}", job.job, one_line(&job.name), words::job_state(job)),
    );
    frame.render_widget(Line::from(following.coordinator.as_str()).right_aligned().dim(), area);
    frame.render_widget(Line::from(title).bold(), area);
}

/// Why nothing is heard, or why it waits.
fn message(following: &Following) -> (String, Style) {
    match (&following.silence, following.job()) {
        (Some(why), _) => (format!("no answer: {why}; asking again"), Style::new().fg(Color::Red)),
        (None, Some(job)) => (job.message.clone(), Style::new().fg(Color::Yellow)),
        (None, None) => (String::new(), Style::new()),
    }
}
