//! The progress of a solve: a drawing on a terminal, plain lines elsewhere, JSON lines on standard
//! output for machines.

use std::{
    io,
    time::{Duration, Instant},
};

use serde_json::json;
use ziggurat_game::Ruleset;
use ziggurat_kernel::{Event, Plan, Settings};

use super::{
    display::Display,
    drawing,
    forecast::{Forecast, StepState},
};
use crate::output::{pieces, print_json, sweeping, times};

/// The progress of one solve.
pub struct Progress<'p> {
    plan: &'p Plan,
    title: String,
    forecast: Forecast,
    started: Instant,
    /// None where machines read.
    display: Option<Display>,
}

impl<'p> Progress<'p> {
    /// Progress of a solve of a ruleset.
    pub fn new(plan: &'p Plan, ruleset: &Ruleset, settings: &Settings, json: bool) -> Self {
        let display = (!json).then(|| Display::new("\n{msg}\n\n{wide_bar} {percent:>3} %"));
        if let Some(Display::Bar(bar)) = &display {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        let steps = plan.steps.iter().map(|step| (step.tier, step.positions)).collect();
        let forecast = Forecast::new(steps, settings.tolerance, settings.certified);
        let title = format!("{}, {}", ruleset.name(), pieces(ruleset));
        Self { plan, title, forecast, started: Instant::now(), display }
    }

    /// Shows an event.
    pub fn tell(&mut self, event: Event) {
        let seconds = self.started.elapsed().as_secs_f64();
        self.forecast.tell(&event, seconds);
        let forecast = &self.forecast;
        let Some(display) = &mut self.display else {
            // A reader that went away does not stop a solve.
            return drop(print_json(&event_json(self.plan, &event, forecast, seconds)));
        };
        let lines = || status(self.plan, &self.title, forecast, seconds);
        let drawing = || drawing::ziggurat(self.plan, forecast.states());
        let drawn = || fitted(&drawing(), &lines(), terminal_size());
        display.show(forecast.fraction(), drawn, || lines()[1..].join(", "));
    }
}

/// What there is to say, a line for each subject, the title first.
fn status(plan: &Plan, title: &str, forecast: &Forecast, seconds: f64) -> Vec<String> {
    let tier = plan.steps[forecast.latest()].tier;
    let mut lines = vec![
        title.to_owned(),
        format!("step {} of {}, tier {tier}", forecast.latest() + 1, plan.steps.len()),
    ];
    match forecast.states()[forecast.latest()] {
        StepState::Active { superstep, residual } => {
            lines.push(format!("superstep {superstep}, residual {residual:.1e}"));
        }
        StepState::Proving { sweep, .. } => lines.push(format!("proof, interval sweep {sweep}")),
        StepState::Waiting | StepState::Done { .. } => {}
    }
    lines.extend(sweeping(forecast.speed()));
    lines.push(times(seconds, forecast.seconds_left()));
    lines
}

/// Columns and rows of the terminal that progress is drawn on.
fn terminal_size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok().filter(|size| size.ws_col > 0);
    size.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into()))
}

/// The drawing and the lines or, where there is no room for both, as much of the lines as there is room for, above the bar and the
/// blank lines around it.
fn fitted(drawing: &[String], lines: &[String], (columns, rows): (usize, usize)) -> String {
    let rows = rows.saturating_sub(4).max(1);
    let both = side_by_side(drawing, lines);
    if both.lines().count() <= rows && both.lines().all(|line| line.chars().count() <= columns) {
        return both;
    }
    let cut = |line: &String| line.chars().take(columns).collect::<String>();
    lines.iter().take(rows).map(cut).collect::<Vec<_>>().join("\n")
}

/// The drawing to the left, the lines to the right, both ending at the bottom.
fn side_by_side(drawing: &[String], lines: &[String]) -> String {
    let width = drawing.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let height = drawing.len().max(lines.len());
    let row = |rows: &[String], i: usize| {
        (i + rows.len()).checked_sub(height).map_or(String::new(), |i| rows[i].clone())
    };
    let rows: Vec<String> = (0..height)
        .map(|i| format!("  {:<width$}    {}", row(drawing, i), row(lines, i)))
        .collect();
    rows.join("\n")
}

/// An event for machines.
fn event_json(plan: &Plan, event: &Event, forecast: &Forecast, seconds: f64) -> serde_json::Value {
    let (name, step) = match *event {
        Event::StepStarted { step } => ("step-started", step),
        Event::StepResumed { step, .. } => ("step-resumed", step),
        Event::StepFound { step, .. } => ("step-found", step),
        Event::Superstep { step, .. } => ("superstep", step),
        Event::Certifying { step, .. } => ("certifying", step),
        Event::StepFinished { step } => ("step-finished", step),
    };
    let mut line = json!({
        "event": name,
        "step": step + 1,
        "steps": plan.steps.len(),
        "tier": plan.steps[step].tier.to_string(),
        "seconds": seconds,
    });
    if let Event::Superstep { superstep, residual, swept_positions, .. } = *event {
        line["superstep"] = json!(superstep);
        line["residual"] = json!(residual);
        line["swept_positions"] = json!(swept_positions);
        line["seconds_left"] = json!(forecast.seconds_left());
    }
    if let Event::StepResumed { supersteps, .. } | Event::StepFound { supersteps, .. } = *event {
        line["supersteps"] = json!(supersteps);
    }
    if let Event::Certifying { sweep, .. } = *event {
        line["sweep"] = json!(sweep);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawing_and_status_stand_on_the_same_ground() {
        let drawing = ["#".to_owned()];
        let lines = ["a".to_owned(), "b".to_owned()];
        assert_eq!(side_by_side(&drawing, &lines), "       a\n  #    b");
    }

    #[test]
    fn where_there_is_no_room_the_drawing_is_left_out_and_lines_are_cut() {
        let (drawing, lines) = (["#".to_owned()], ["first".to_owned(), "second".to_owned()]);
        assert_eq!(fitted(&drawing, &lines, (13, 6)), "       first\n  #    second");
        assert_eq!(fitted(&drawing, &lines, (12, 6)), "first\nsecond");
        assert_eq!(fitted(&drawing, &lines, (4, 6)), "firs\nseco");
        assert_eq!(fitted(&drawing, &lines, (80, 5)), "first");
    }
}
