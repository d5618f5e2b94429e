//! What the commands that listen have in common: their runtime, their logs, and how they end.

use std::{pin::Pin, time::Duration};

use tokio::runtime::Builder;
use ziggurat_telemetry::logs;

use super::flags::LogFormat;
use crate::{
    exhausted::no_threads,
    failure::{Exit, Explain, Failure},
    interrupt,
};

/// What is logged unless ZIGGURAT_LOG says otherwise. What `object_store` tries again, it tells every time.
const FILTER: &str = "info,object_store=warn";

/// What a service has begun and nobody waits for any more (dropping what is not needed, working out a plan) may take so
/// long when it ends.
const GOODBYE: Duration = Duration::from_secs(5);

/// Starts the logs, and runs a service until it ends by itself or, asked to by a [signal](interrupt), cleanly. Asked to end at
/// once, it leaves on disk what a power failure would. Errors that starting it again like that
/// does not help have the exit code of bad input.
///
/// # Errors
/// Those of the service.
pub fn serve<E, F>(
    log_format: LogFormat,
    service: impl FnOnce(Shutdown) -> F,
    is_bad_input: impl Fn(&E) -> bool,
) -> Result<Exit, Failure>
where
    F: Future<Output = Result<(), E>>,
    E: std::error::Error + Send + Sync + 'static,
{
    let asked = interrupt::flag_on_interrupt()?;
    let format = match log_format {
        LogFormat::Text => logs::LogFormat::Text,
        LogFormat::Json => logs::LogFormat::Json,
    };
    logs::start(format, FILTER).or_bad_input()?;
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(no_threads)?;
    let ended = runtime.block_on(async { service(Box::pin(interrupt::is_up(asked))).await });
    runtime.shutdown_timeout(GOODBYE);
    ended.map_err(|error| {
        let exit = is_bad_input(&error).then_some(Exit::BadInput);
        let mut failure = Failure::from(error);
        failure.exit = exit.unwrap_or(failure.exit);
        failure
    })?;
    Ok(Exit::Success)
}

/// Becomes ready when somebody wants the service to end.
pub type Shutdown = Pin<Box<dyn Future<Output = ()> + Send>>;
