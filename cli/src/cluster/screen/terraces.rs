//! The steps of a job as a ziggurat: a stone for each, filled as far as it is solved. It is the one that
//! `solve` draws: it grows from the ground, and its top is the step with all pieces left.

use ratatui::{
    Frame,
    layout::{Rect, Size},
    style::{Color, Style},
    text::{Line, Span},
    widgets::Paragraph,
};

use crate::{
    cluster::{following::Following, words},
    progress::{drawing, forecast::StepState},
};

/// The widest stone.
const WIDEST: u16 = 6;

/// The room that the ziggurat takes of so many columns: none if it does not fit.
pub fn size(following: &Following, columns: u16) -> Size {
    let levels = levels(following).len() as u16;
    let stone = stone(levels, columns);
    if stone == 0 || levels == 0 { Size::ZERO } else { Size::new(levels * (stone + 1) - 1, levels) }
}

/// The width of a stone if there are so many side by side, with gaps between them.
fn stone(count: u16, columns: u16) -> u16 {
    ((columns + 1) / count.max(1)).saturating_sub(1).min(WIDEST)
}

fn levels(following: &Following) -> Vec<Vec<usize>> {
    let steps = following.status.as_ref().map_or(&[][..], |status| &status.steps);
    drawing::levels(&steps.iter().map(words::step_tier).collect::<Vec<_>>())
}

/// Draws it into an area of its size.
pub fn draw(frame: &mut Frame, area: Rect, following: &Following) {
    let Some(forecast) = following.forecast.as_ref().filter(|_| !area.is_empty()) else { return };
    let levels = levels(following);
    let stone = usize::from(stone(levels.len() as u16, area.width));
    let count = levels.len();
    let lines = levels.iter().enumerate().map(|(above, steps)| {
        let mut spans = vec![Span::raw(" ".repeat(drawing::indent(count - 1 - above, stone)))];
        for &step in steps {
            spans.extend(spans_of(forecast.states()[step], forecast.step_fraction(step), stone));
            spans.push(Span::raw(" "));
        }
        Line::from(spans)
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}

/// A stone: what of it is filled, and the rest.
fn spans_of(state: StepState, fraction: f64, width: usize) -> [Span<'static>; 2] {
    let (face, color) = match state {
        StepState::Done { .. } => ("█", Color::Yellow),
        StepState::Proving { .. } => ("▓", Color::LightGreen),
        StepState::Active { .. } | StepState::Waiting => ("▒", Color::Cyan),
    };
    let filled = (fraction.clamp(0.0, 1.0) * width as f64).round() as usize;
    [
        Span::styled(face.repeat(filled), Style::new().fg(color)),
        Span::styled("░".repeat(width - filled), Style::new().fg(Color::DarkGray)),
    ]
}
