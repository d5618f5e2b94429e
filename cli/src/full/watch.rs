//! `ziggurat watch`: follows a job of a cluster.

use std::{
    env,
    io::{self, IsTerminal},
};

use ziggurat_rpc::proto::{JobRequest, JobState};

use crate::{
    cluster::{
        client::Coordinator,
        feed,
        following::Following,
        lines::{self, Told},
        one_job::JobArgs,
        screen::{self, Left},
        words,
    },
    failure::{Exit, Failure},
    interrupt,
    output::print,
    program_name,
};

/// Follow a job of a cluster until it has ended: on a terminal as a picture, elsewhere as lines
///
/// The picture has the ziggurat as far as it is solved, the residuals against supersteps, and the workers.
#[derive(clap::Args, Debug)]
#[command(mut_arg("json", |json| json.help("Print lines of JSON")))]
pub struct Args {
    #[command(flatten)]
    of: JobArgs,
}

/// Runs the command.
pub fn run(Args { of: args }: &Args) -> Result<Exit, Failure> {
    interrupt::end_on_interrupt("interrupted; the job goes on")?;
    let coordinator = Coordinator::new(&args.coordinator)?;
    // One that has never answered is not waited for: it may not be the right one.
    let request = JobRequest { job: args.job };
    coordinator.ask(|mut jobs| async move { jobs.status(request).await })?;
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if args.json || !is_terminal || env::var_os("TERM").is_some_and(|term| term == "dumb") {
        let told = if args.json { Told::Json } else { Told::Text };
        let following = in_lines(&coordinator, args.job, told)?;
        return outcome(&following);
    }
    let stops = interrupt::flag_on_interrupt()?;
    let news = feed::follow(&coordinator, args.job);
    let mut following = Following::new(coordinator.address());
    match screen::show_until_end(&news, &mut following, stops)? {
        Left::JobEnded => {}
        Left::ByKey => return Ok(Exit::Success),
        Left::Interrupted => return Err(interrupted(args.job)),
    }
    if let Some(status) = &following.status {
        print(&words::status_text(status))?;
    }
    outcome(&following)
}

/// Follows a job as lines until it has ended.
///
/// # Errors
/// If the coordinator refuses or does not answer for long, or the user does not want to wait.
pub fn in_lines(coordinator: &Coordinator, job: u64, told: Told) -> Result<Following, Failure> {
    let stops = interrupt::flag_on_interrupt()?;
    let news = feed::follow(coordinator, job);
    let mut following = Following::new(coordinator.address());
    if lines::print_until_end(&news, &mut following, stops, told)? {
        return Ok(following);
    }
    Err(interrupted(job))
}

/// What a user reads who does not want to wait, or whose terminal is gone.
fn interrupted(job: u64) -> Failure {
    let program = program_name();
    Failure::of(Exit::Interrupted, format!("interrupted; job {job} goes on"))
        .help(format!("look at it: {program} watch {job}; end it: {program} cancel {job}"))
}

/// What came of a job that has ended.
///
/// # Errors
/// If it is not solved.
pub fn outcome(following: &Following) -> Result<Exit, Failure> {
    let Some(job) = following.job() else { return Ok(Exit::Success) };
    let failed = |what: String| Err(Failure::of(Exit::Failed, what));
    match job.state() {
        JobState::Failed => failed(format!("job {} failed: {}", job.job, job.message)),
        JobState::Cancelled => failed(format!("job {} was cancelled", job.job)),
        _ => Ok(Exit::Success),
    }
}
