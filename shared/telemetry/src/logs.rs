//! Logs: one line per event on standard error, as text for people or as JSON for programs.
//!
//! Every line has the time (RFC 3339, UTC), the level, the message and its fields, and those of the spans
//! it happened in: code that works on a job enters `info_span!("step", job, step, attempt)` once, and
//! every line below it names them.

use std::{env, io};

use thiserror::Error;
use tracing_subscriber::{EnvFilter, fmt::MakeWriter, util::SubscriberInitExt};

/// The environment variable whose filter goes before the caller's.
pub const FILTER_VARIABLE: &str = "ZIGGURAT_LOG";

/// What lines look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// An object per line. The fields of the spans are in `spans`, the outermost first.
    Json,
}

/// Why there are no logs.
#[derive(Debug, Error)]
pub enum LogError {
    /// The filter cannot be read.
    #[error(
        "the log filter `{filter}`{} is none: {why}; write a level (error, warn, info, debug, trace, off), or \
         levels by part of the program, like `info,ziggurat_worker=debug`",
        if *.from_variable { " in ZIGGURAT_LOG" } else { "" }
    )]
    Filter {
        /// The filter.
        filter: String,
        /// Whether it is from [`FILTER_VARIABLE`].
        from_variable: bool,
        /// What is wrong with it.
        why: String,
    },
    /// They were started before.
    #[error("logs were started before; start them once, when the program starts")]
    Started,
}

/// Starts logs of the whole program on standard error. The environment variable `ZIGGURAT_LOG` goes before
/// `filter`, if it is set and not empty.
///
/// # Errors
///
/// If the filter cannot be read, or logs were started before.
pub fn start(format: LogFormat, filter: &str) -> Result<(), LogError> {
    let variable = env::var(FILTER_VARIABLE).ok().filter(|variable| !variable.is_empty());
    let filter = parse(variable.as_deref(), filter)?;
    subscriber(format, filter, io::stderr).try_init().map_err(|_| LogError::Started)
}

fn parse(variable: Option<&str>, filter: &str) -> Result<EnvFilter, LogError> {
    let text = variable.unwrap_or(filter);
    EnvFilter::builder().parse(text).map_err(|error| LogError::Filter {
        filter: text.to_owned(),
        from_variable: variable.is_some(),
        why: error.to_string(),
    })
}

fn subscriber(
    format: LogFormat,
    filter: EnvFilter,
    to: impl for<'a> MakeWriter<'a> + Send + Sync + 'static,
) -> Box<dyn tracing::Subscriber + Send + Sync> {
    // Who cannot be told a line cannot be told why either, and what logs goes on.
    let lines = tracing_subscriber::fmt()
        .log_internal_errors(false)
        .with_env_filter(filter)
        .with_writer(to);
    match format {
        LogFormat::Text => Box::new(lines.with_ansi(false).finish()),
        LogFormat::Json => {
            Box::new(lines.json().flatten_event(true).with_current_span(false).finish())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::Value;
    use tracing::{Subscriber, debug, info, info_span, subscriber::with_default};

    use super::*;

    /// Lines that were written.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is written about a save in a step.
    fn written(format: LogFormat, filter: &str) -> String {
        let lines = Lines::default();
        let copy = lines.clone();
        let subscriber = subscriber(format, parse(None, filter).unwrap(), move || copy.clone());
        with_default(Box::new(subscriber) as Box<dyn Subscriber + Send + Sync>, || {
            let _step = info_span!("step", job = 17_u64, step = "5-4").entered();
            info!(shard = 3, epoch = 8, "saved");
            debug!("details");
        });
        String::from_utf8(lines.0.lock().unwrap().clone()).unwrap()
    }

    /// Whether it is like `2026-11-21T19:41:53.000000Z`.
    fn is_rfc3339(time: &str) -> bool {
        let shape: String =
            time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        shape == "0000-00-00T00:00:00.000000Z"
    }

    #[test]
    fn a_line_of_json_names_what_it_is_about() {
        let lines = written(LogFormat::Json, "info");
        let [line] = lines.lines().collect::<Vec<_>>()[..] else { panic!("{lines}") };
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["message"], "saved");
        assert_eq!((&line["shard"], &line["epoch"]), (&Value::from(3), &Value::from(8)));
        assert_eq!(line["spans"][0]["job"], 17);
        assert_eq!(line["spans"][0]["step"], "5-4");
        assert!(is_rfc3339(line["timestamp"].as_str().unwrap()), "{line}");
    }

    #[test]
    fn a_line_of_text_names_what_it_is_about() {
        let lines = written(LogFormat::Text, "debug");
        assert_eq!(lines.lines().count(), 2, "{lines}");
        let line = lines.lines().next().unwrap();
        assert!(is_rfc3339(line.split(' ').next().unwrap()), "{line}");
        for part in ["INFO", "saved", "job=17", "step=\"5-4\"", "shard=3", "epoch=8"] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }

    #[test]
    fn a_filter_that_is_none_is_refused_and_named() {
        let error = parse(None, "ziggurat=loud").unwrap_err().to_string();
        assert!(error.contains("`ziggurat=loud`") && !error.contains("ZIGGURAT_LOG"), "{error}");
        let error = parse(Some("a=b=c"), "info").unwrap_err().to_string();
        assert!(error.contains("`a=b=c` in ZIGGURAT_LOG"), "{error}");
    }
}
