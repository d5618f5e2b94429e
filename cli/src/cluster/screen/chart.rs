//! The residuals of the steps under way against their supersteps, as powers of ten.

use ratatui::{
    Frame,
    layout::Rect,
    style::{Color, Style, Stylize},
    symbols::Marker,
    text::Line,
    widgets::{Axis, Block, Chart, Dataset, GraphType},
};

use crate::{
    cluster::{following::Following, words},
    progress::forecast::StepState,
};

/// The colours of steps; more of them are not drawn.
const COLORS: [Color; 4] = [Color::Cyan, Color::Magenta, Color::Green, Color::Blue];

/// A residual of zero is drawn as if it were this.
const LEAST: f64 = 1e-18;

/// Draws it.
pub fn draw(frame: &mut Frame, area: Rect, following: &Following) {
    let curves = curves(following);
    let points = || curves.iter().flat_map(|(_, points)| points);
    let last = points().map(|point| point.0).fold(1.0, f64::max);
    // Whole powers of ten, an even number of them, so that there is a label in the middle.
    let lowest = points().map(|point| point.1).fold(-2.0, f64::min);
    let lowest = (lowest / 2.0).floor() * 2.0;
    let datasets = curves.iter().zip(COLORS).map(|((name, points), color)| {
        Dataset::default()
            .name(name.as_str())
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(Style::new().fg(color))
            .data(points)
    });
    let power = |power: f64| Line::from(format!("1e{power:.0}"));
    let frame_style = Style::new().fg(Color::DarkGray);
    let chart = Chart::new(datasets.collect())
        .block(Block::new().title(Line::from("residual against superstep").dim()))
        .x_axis(
            Axis::default()
                .style(frame_style)
                .bounds([0.0, last])
                .labels([Line::from("0"), Line::from(format!("{last:.0}"))]),
        )
        .y_axis(Axis::default().style(frame_style).bounds([lowest, 0.0]).labels([
            power(lowest),
            power(lowest / 2.0),
            power(0.0),
        ]));
    frame.render_widget(chart, area);
}

/// The steps under way, or the latest if there are none: a name, and points of superstep and power of
/// ten.
fn curves(following: &Following) -> Vec<(String, Vec<(f64, f64)>)> {
    let (Some(status), Some(forecast)) = (&following.status, &following.forecast) else {
        return Vec::new();
    };
    let under_way = |step: &usize| {
        matches!(forecast.states()[*step], StepState::Active { .. } | StepState::Proving { .. })
    };
    let mut steps: Vec<usize> = (0..status.steps.len()).filter(under_way).collect();
    if steps.is_empty() && !status.steps.is_empty() {
        steps.push(forecast.latest());
    }
    let curve = |step: usize| {
        let point = |&(superstep, residual): &(u32, f64)| {
            (f64::from(superstep), residual.max(LEAST).log10())
        };
        let points = forecast.residuals(step).iter().map(point).collect();
        (words::step_tier(&status.steps[step]).to_string(), points)
    };
    steps.into_iter().take(COLORS.len()).map(curve).collect()
}
