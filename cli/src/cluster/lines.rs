//! Following a job without a terminal: a line when something happens, and now and then.

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use super::{feed::News, following::Following, words};
use crate::{
    failure::Failure,
    output::{bytes, note, one_line, print, print_json, reader_is_gone, sweeping, times},
    progress::forecast::StepState,
};

/// At most this long between two lines of a job that runs.
const INTERVAL: Duration = Duration::from_secs(5);

/// A wish to stop is noticed within this time.
const NOTICE: Duration = Duration::from_millis(100);

/// How what happens is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// As lines of JSON on standard output; that the coordinator is silent on standard error.
    Json,
    /// As lines of text on standard output.
    Text,
    /// As lines of text on standard error, where something else is the result.
    Aside,
}

/// Prints what happens until the job has ended, `stops` becomes true or nobody reads it any more. Returns false if somebody wants it
/// to stop.
///
/// # Errors
/// If the coordinator refuses, or does not answer for long.
pub fn print_until_end(
    news: &Receiver<Result<News, Failure>>,
    following: &mut Following,
    stops: &AtomicBool,
    told: Told,
) -> Result<bool, Failure> {
    let mut printed: Option<(Instant, String)> = None;
    while !stops.load(Ordering::Relaxed) {
        match news.recv_timeout(NOTICE) {
            Ok(Ok(News::Status(status))) => {
                if told == Told::Json {
                    print_json(&words::status_json(&status))?;
                }
                following.hear(*status);
                if told != Told::Aside && reader_is_gone() {
                    return Ok(true);
                }
            }
            Ok(Ok(News::Silence(why))) => following.silence = Some(why),
            Ok(Err(failure)) => return Err(failure),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(true),
        }
        let happens = happening(following);
        let due = printed
            .as_ref()
            .is_none_or(|(last, before)| *before != happens || last.elapsed() >= INTERVAL);
        if due && !happens.is_empty() {
            match told {
                Told::Text => print(&(line(following) + "\n"))?,
                Told::Aside => note!("{}", line(following)),
                // Silence is no status.
                Told::Json if following.silence.is_some() => note!("{}", line(following)),
                Told::Json => {}
            }
            printed = Some((Instant::now(), happens));
        }
    }
    Ok(false)
}

/// What is told at once when it changes.
fn happening(following: &Following) -> String {
    let silence = following.silence.as_ref().map(|_| "silence").unwrap_or_default();
    following.job().map_or_else(
        || silence.to_owned(),
        |job| {
            let waits = job.message.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
            format!("{} {waits} {silence}", words::job_state(job))
        },
    )
}

/// Where the job is.
pub fn line(following: &Following) -> String {
    if let Some(silence) = &following.silence {
        let at = &following.coordinator;
        return format!("the coordinator at {at} does not answer: {silence}; asking again");
    }
    let (Some(job), Some(forecast)) = (following.job(), &following.forecast) else {
        return String::new();
    };
    let mut parts = vec![format!(
        "job {}, {}: {}, step {} of {}",
        job.job,
        one_line(&job.name),
        words::job_state(job),
        (job.solved_steps + 1).min(job.steps),
        job.steps
    )];
    let steps = following.status.iter().flat_map(|status| &status.steps);
    for (step, state) in steps.zip(forecast.states()) {
        let tier = words::step_tier(step);
        match state {
            StepState::Active { superstep, residual } => {
                parts.push(format!("tier {tier} superstep {superstep}, residual {residual:.1e}"))
            }
            StepState::Proving { sweep, .. } => {
                parts.push(format!("tier {tier} proof, interval sweep {sweep}"));
            }
            StepState::Waiting | StepState::Done { .. } => {}
        }
    }
    if following.goes_on() {
        parts.extend(sweeping(forecast.speed()));
    }
    if job.exchanged_bytes > 0 {
        parts.push(format!("{} exchanged", bytes(job.exchanged_bytes)));
    }
    parts.push(times(job.seconds, forecast.seconds_left().filter(|_| following.goes_on())));
    parts.extend(forecast.lost().filter(|_| following.goes_on()));
    if !job.message.is_empty() {
        parts.push(job.message.clone());
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use ziggurat_rpc::proto::StepState as State;

    use super::*;
    use crate::failure::Exit;

    #[test]
    fn a_line_says_where_the_job_is_and_why_it_waits() {
        let mut following = Following::new("a:1");
        let mut status = words::samples::under_way();
        following.hear(status.clone());
        assert_eq!(
            line(&following),
            "job 3, blitz-3: running, step 5 of 6, tier 3-2 superstep 12, residual 3.4e-7, \
             sweeps 10.4 M positions per second, 52.0 MB exchanged, 1 min 35 s gone, about 3 min 30 s left, \
             waiting for worker utu (last heard 40 s ago)"
        );
        // No step is worked on.
        status.steps[4].state = State::Waiting.into();
        following.hear(status);
        let text = line(&following);
        assert!(!text.contains("per second") && !text.contains("left"), "{text}");
        assert!(
            text.ends_with("1 min 35 s gone, waiting for worker utu (last heard 40 s ago)"),
            "{text}"
        );
        following.silence = Some("connection refused".into());
        assert_eq!(
            line(&following),
            "the coordinator at a:1 does not answer: connection refused; asking again"
        );
    }

    #[test]
    fn following_ends_with_the_job_with_a_refusal_or_by_request() {
        let (sender, news) = mpsc::channel();
        let mut following = Following::new("a:1");
        let stops = AtomicBool::new(false);
        sender.send(Ok(News::Status(Box::new(words::samples::under_way())))).unwrap();
        sender.send(Err(Failure::bad_input("no"))).unwrap();
        let mut follow =
            |stops: &AtomicBool| print_until_end(&news, &mut following, stops, Told::Aside);
        assert_eq!(follow(&stops).unwrap_err().exit, Exit::BadInput);
        assert!(!follow(&AtomicBool::new(true)).unwrap());
        drop(sender);
        assert!(follow(&stops).unwrap());
        assert_eq!(following.job().unwrap().job, 3);
    }
}
