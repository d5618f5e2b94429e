//! `ziggurat events`: what happened to a job of a cluster.

use serde_json::json;
use ziggurat_history::{Event, History};
use ziggurat_rpc::proto::JobRequest;

use crate::{
    cluster::{client::Coordinator, one_job::JobArgs},
    failure::{Exit, Failure},
    output::{count, moment, note, one_line, print, print_json},
};

/// Print what happened to a job of a cluster: why attempts ended, what was given up, who asked for what
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    of: JobArgs,
}

/// Runs the command.
pub fn run(Args { of: JobArgs { job, json, coordinator } }: &Args) -> Result<Exit, Failure> {
    let job = *job;
    let reply = Coordinator::new(coordinator)?
        .ask(|mut jobs| async move { jobs.history(JobRequest { job }).await })?;
    let History { events, .. } = reply.into();
    if *json {
        let all: Vec<&Event> = events.iter().collect();
        print_json(&json!({ "events": all, "left_out": events.left_out() }))?;
        return Ok(Exit::Success);
    }
    if events.left_out() > 0 {
        note!("{} left out", count(events.left_out(), "older event"));
    }
    print(&events.iter().map(line).collect::<String>())?;
    Ok(Exit::Success)
}

/// An event for people. What it says comes from workers, too.
fn line(event: &Event) -> String {
    let by = event.by.as_deref().filter(|by| !by.is_empty());
    let by = by.map_or_else(String::new, |by| format!(" (asked by {})", one_line(by)));
    format!("{}  {:<11}  {}{by}\n", moment(event.at), event.kind.name(), one_line(&event.text))
}

#[cfg(test)]
mod tests {
    use ziggurat_history::Kind;

    use super::*;

    #[test]
    fn an_event_is_a_line_whatever_it_says() {
        let event = Event::new(1_795_892_738.5, Kind::Cancelled, "job 1 cancelled\n\u{1b}[31m");
        let event = Event { by: Some("192.0.2.7".to_owned()), ..event };
        assert_eq!(
            line(&event),
            "2026-11-28 19:05:38  cancelled    job 1 cancelled\\n\\u{1b}[31m (asked by 192.0.2.7)\n"
        );
    }
}
