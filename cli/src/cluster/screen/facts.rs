//! What there is to say of a job, a line for each subject.

use ratatui::text::Line;

use crate::{
    cluster::{following::Following, words},
    output::{bytes, sweeping, times},
    progress::forecast::StepState,
};

/// At most so many steps are told of.
const STEPS: usize = 2;

/// The lines.
pub fn lines(following: &Following) -> Vec<Line<'static>> {
    let (Some(job), Some(forecast)) = (following.job(), &following.forecast) else {
        return Vec::new();
    };
    let mut lines = vec![format!(
        "{} of {} steps, {:.1} % of the positions",
        job.solved_steps,
        job.steps,
        words::share(job) * 100.0
    )];
    let steps = following.status.iter().flat_map(|status| &status.steps);
    let active = steps.zip(forecast.states()).filter_map(|(step, state)| {
        let tier = words::step_tier(step);
        match state {
            StepState::Active { superstep, residual } => {
                Some(format!("{tier}: superstep {superstep}, residual {residual:.1e}"))
            }
            StepState::Proving { sweep, .. } => Some(format!("{tier}: proof, sweep {sweep}")),
            StepState::Waiting | StepState::Done { .. } => None,
        }
    });
    lines.extend(active.take(STEPS));
    if following.goes_on() {
        lines.extend(sweeping(forecast.speed()));
    }
    let each = words::bytes_per_position(job);
    let each = each.map_or_else(String::new, |each| format!(", {each:.2} per halo position"));
    lines.push(format!("{} exchanged{each}", bytes(job.exchanged_bytes)));
    lines.push(times(job.seconds, forecast.seconds_left().filter(|_| following.goes_on())));
    lines.extend(forecast.lost().filter(|_| following.goes_on()));
    lines.into_iter().map(Line::from).collect()
}
