//! `ziggurat submit`: gives a job to a cluster.

use std::{io::IsTerminal, time::Duration};

use serde_json::json;
use ziggurat_kernel::Settings;
use ziggurat_rpc::{
    convert::{Job, Submission},
    limits::{CHECKPOINT, KEY_BYTES},
    new_identity,
    proto::{JobState, SubmitRequest},
};

use super::watch;
use crate::{
    cluster::{
        client::Coordinator,
        flags::{CoordinatorArgs, parse_name},
        following::Following,
        lines::Told,
        words,
    },
    failure::{Exit, Failure},
    interrupt,
    job::SpecArgs,
    output::{game, note, print, print_json, table_name},
    program_name,
    resources::parse_duration,
    solving::check_proven,
};

/// Give a job to a cluster: print what it takes, what is missing, and the job's number
///
/// The number is all that goes to standard output. What is missing may come later: the job waits for it.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    spec: SpecArgs,

    /// What the job is called [default: RULESET-PIECES]
    #[arg(long = "name", value_name = "NAME", value_parser = parse_name)]
    called: Option<String>,

    /// The most work that may be lost when a worker is lost (a superstep if that takes longer), such as
    /// 90s or 10min; at most 168h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_checkpoint_every)]
    checkpoint_every: Duration,

    /// Goes before jobs with a lower number; among equals the oldest goes first
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,

    /// At most so many workers work on a step together [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_workers: Option<u32>,

    /// Begin when that job is solved
    #[arg(long, value_name = "JOB", value_parser = clap::value_parser!(u64).range(1..))]
    after: Option<u64>,

    /// Tells this submission from others: a command that is repeated with the same key gives the same job [default: one
    /// that nobody else has]
    #[arg(long, value_name = "TEXT", value_parser = parse_key)]
    key: Option<String>,

    /// Wait until the job has ended, and tell how far it is
    #[arg(long)]
    wait: bool,

    /// Print JSON: the plan, the number, and while waiting, where the job is
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    coordinator: CoordinatorArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    interrupt::end_on_interrupt("interrupted; `ziggurat jobs` lists the job if it was submitted")?;
    let ruleset = args.spec.ruleset()?;
    let settings = args.spec.settings();
    let title = game(&ruleset);
    let submission = Submission {
        name: args.called.clone().unwrap_or_else(|| table_name(&ruleset)),
        key: args.key.clone().unwrap_or_else(key),
        checkpoint: args.checkpoint_every,
        priority: args.priority,
        max_workers: args.max_workers,
        after: args.after,
        job: Job::new(ruleset, &settings),
    };
    let request = SubmitRequest::from(&submission);
    let coordinator = Coordinator::new(&args.coordinator)?;
    let plan = coordinator.ask(|mut jobs| {
        let request = request.clone();
        async move { jobs.plan(request).await }
    })?;
    if args.json {
        print_json(&words::plan_json(&plan))?;
    } else {
        note!("{}", words::plan_text(&plan, &title).trim_end());
    }
    let job = coordinator
        .ask(|mut jobs| {
            let request = request.clone();
            async move { jobs.submit(request).await }
        })
        .map_err(|failure| match failure.exit {
            // It may have been taken.
            Exit::Failed => {
                failure.and_help(format!("with --key {} it is not submitted twice", submission.key))
            }
            _ => failure,
        })?
        .job;
    if args.json {
        print_json(&json!({ "event": "submitted", "job": job, "key": submission.key }))?;
    } else {
        print(&format!("{job}\n"))?;
    }
    if !args.wait {
        if !args.json && std::io::stderr().is_terminal() {
            note!("Follow it: {} watch {job}", program_name());
        }
        return Ok(Exit::Success);
    }
    let told = if args.json { Told::Json } else { Told::Aside };
    let following = watch::in_lines(&coordinator, job, told)?;
    outcome(&following, &settings)
}

/// What came of a job that has ended.
fn outcome(following: &Following, settings: &Settings) -> Result<Exit, Failure> {
    let exit = watch::outcome(following)?;
    if following.job().is_some_and(|job| job.state() == JobState::Solved) {
        let steps = following.status.iter().flat_map(|status| &status.steps);
        let mut bounds = steps.map(|step| Some(step.bound).filter(|bound| *bound > 0.0));
        let largest = bounds.try_fold(0.0, |largest: f64, bound| Some(largest.max(bound?)));
        check_proven("the job is solved", largest, settings)?;
    }
    Ok(exit)
}

fn parse_checkpoint_every(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    match time > Duration::ZERO && time <= CHECKPOINT {
        true => Ok(time),
        false => Err(format!("write more than 0s and at most {}h", CHECKPOINT.as_secs() / 3600)),
    }
}

fn parse_key(text: &str) -> Result<String, String> {
    match (1..=KEY_BYTES).contains(&text.len()) && !text.chars().any(char::is_control) {
        true => Ok(text.to_owned()),
        false => Err(format!("a key has 1 to {KEY_BYTES} bytes, on one line")),
    }
}

/// Tells this submission from all others, so that it may be sent again.
fn key() -> String {
    format!("{:016x}{:016x}", new_identity(), new_identity())
}

#[cfg(test)]
mod tests {
    use ziggurat_kernel::Precision;

    use super::*;
    use crate::cluster::words::samples;

    #[test]
    fn no_two_submissions_have_the_same_key() {
        let (one, other) = (key(), key());
        assert_ne!(one, other);
        assert!(parse_key(&one).is_ok());
        for wrong in ["", "a\nb", &"x".repeat(KEY_BYTES + 1)] {
            assert!(parse_key(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn some_work_may_be_lost_but_not_more_than_a_week() {
        assert_eq!(parse_checkpoint_every("168h"), Ok(CHECKPOINT));
        for wrong in ["0s", "400h", "soon"] {
            assert!(parse_checkpoint_every(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_exit_code_is_that_of_a_solve() {
        let outcome = |state: JobState, bound: f64| {
            let mut status = samples::under_way();
            let job = status.job.as_mut().unwrap();
            job.state = state.into();
            job.message = "no room".into();
            status.steps.iter_mut().for_each(|step| step.bound = bound / 2.0);
            status.steps[0].bound = bound;
            let mut following = Following::new("a:1");
            following.hear(status);
            outcome(&following, &Settings::new(Precision::F64))
                .map_err(|failure| (failure.exit, failure.report()))
        };
        assert_eq!(outcome(JobState::Solved, 1e-12), Ok(Exit::Success));
        let (exit, report) = outcome(JobState::Solved, 1e-11).unwrap_err();
        assert!(exit == Exit::Failed && report.contains("proven to 1.0e-11 only, not to 1e-12"));
        let (exit, report) = outcome(JobState::Solved, 0.0).unwrap_err();
        assert!(exit == Exit::Failed && report.contains("nothing is proven"), "{report}");
        let (exit, report) = outcome(JobState::Failed, 0.0).unwrap_err();
        assert!(exit == Exit::Failed && report.contains("job 3 failed: no room"), "{report}");
        let (exit, report) = outcome(JobState::Cancelled, 0.0).unwrap_err();
        assert!(exit == Exit::Failed && report.contains("job 3 was cancelled"), "{report}");
    }
}
