//! The progress of a solve: a drawing on a terminal, plain lines elsewhere, JSON lines on standard
//! output for machines.

use std::{
    collections::BTreeMap,
    io,
    mem::discriminant,
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
    lines: Thinned,
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
        let lines = Thinned::default();
        Self { plan, title, forecast, started: Instant::now(), display, lines }
    }

    /// Shows an event.
    pub fn tell(&mut self, event: Event) {
        let seconds = self.started.elapsed().as_secs_f64();
        self.forecast.tell(&event, seconds);
        let forecast = &self.forecast;
        let Some(display) = &mut self.display else {
            let told = self.lines.told(event, seconds).into_iter();
            // A reader that went away does not stop a solve.
            return told.for_each(|(event, seconds)| {
                drop(print_json(&event_json(self.plan, &event, forecast, seconds)));
            });
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
    lines.extend(forecast.lost());
    lines
}

/// Which events machines are told: of supersteps and interval sweeps, the first ones of every step and proof, the last
/// one, of those between the fewer the more there were, and one a second. So many that fit memory and disks.
#[derive(Default)]
struct Thinned {
    /// By step, the last event that was not told, with its time.
    untold: BTreeMap<usize, (Event, f64)>,
    /// When a line was told that time alone would have.
    last_seconds: f64,
}

impl Thinned {
    /// So many supersteps are told, and as many whenever their number has doubled.
    const PER_DOUBLING: u32 = 128;

    /// Whenever so many seconds are gone, something is told.
    const SECONDS: f64 = 1.0;

    /// What is told of an event: nothing, the event, or before it the last one of the step that was not.
    fn told(&mut self, event: Event, seconds: f64) -> Vec<(Event, f64)> {
        let (step, number) = match event {
            Event::Superstep { step, superstep, .. } => (step, superstep),
            Event::Certifying { step, sweep, .. } => (step, sweep),
            Event::StepStarted { step }
            | Event::StepResumed { step, .. }
            | Event::StepFound { step, .. }
            | Event::StepFinished { step } => (step, 0),
        };
        let is_other = |&(other, _): &(Event, f64)| discriminant(&other) != discriminant(&event);
        // What came before this one is the last of its kind if this is another kind.
        let last = self.untold.remove(&step).filter(is_other);
        let every = (number / Self::PER_DOUBLING).checked_ilog2().map_or(1, |doubled| 1 << doubled);
        let is_due = seconds >= self.last_seconds + Self::SECONDS;
        if is_due || number % every == 0 {
            self.last_seconds = seconds;
            return last.into_iter().chain([(event, seconds)]).collect();
        }
        self.untold.insert(step, (event, seconds));
        last.into_iter().collect()
    }
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
    if let Event::Certifying { sweep, distance, .. } = *event {
        line["sweep"] = json!(sweep);
        line["distance"] = json!(distance);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_told_of_ever_fewer_supersteps_but_of_the_first_and_the_last() {
        let superstep = |superstep: u32| Event::Superstep {
            step: 3,
            superstep,
            residual: 1e-9,
            swept_positions: u64::from(superstep),
        };
        let mut lines = Thinned::default();
        let mut told = Vec::new();
        let most = 10_000_019;
        for made in 1..=most {
            told.extend(lines.told(superstep(made), 1e-7 * f64::from(made)));
        }
        let finished = Event::StepFinished { step: 3 };
        told.extend(lines.told(finished, 2.0));
        let events: Vec<Event> = told.iter().map(|&(event, _)| event).collect();
        assert_eq!(events[..128], (1..=128).map(superstep).collect::<Vec<_>>());
        assert_eq!(events[events.len() - 2..], [superstep(most), finished]);
        assert!(events.len() < 128 * 20, "{}", events.len());
        assert!(told.is_sorted_by(|a, b| a.1 <= b.1));
        // However slow supersteps are, there is a line a second.
        let mut lines = Thinned::default();
        let slow =
            (1_000_000..1_000_100).map(|made| lines.told(superstep(made), 3.0 * f64::from(made)));
        assert!(slow.map(|told| told.len()).eq([1; 100]));
        // A proof follows, and others are about other steps.
        let sweep = |step, sweep| Event::Certifying { step, sweep, distance: 1e-12 };
        assert_eq!(lines.told(superstep(1_000_101), 3_000_297.5), []);
        assert_eq!(lines.told(sweep(2, 1), 3_000_297.6).len(), 1);
        assert_eq!(lines.told(sweep(3, 1), 3_000_297.7).len(), 2);
    }

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
