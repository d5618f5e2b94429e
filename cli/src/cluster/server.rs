//! What the commands that listen have in common: their runtime, their logs, and how they end.

use std::{io, pin::Pin, process};

use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
};
use ziggurat_telemetry::logs;

use super::flags::{ListenArgs, LogFormat};
use crate::{
    failure::{Exit, Explain, Failure},
    output::note,
};

/// What is logged unless ZIGGURAT_LOG says otherwise. What `object_store` tries again, it tells every time.
const FILTER: &str = "info,object_store=warn";

/// Starts the logs, and runs a service until it ends by itself or, asked to by a signal, cleanly. A second
/// signal ends the process at once; what is on disk is as after a power failure. Errors that starting it again like that
/// does not help have the exit code of bad input.
///
/// # Errors
/// Those of the service.
pub fn serve<E, F>(
    args: &ListenArgs,
    service: impl FnOnce(Shutdown) -> F,
    is_bad_input: impl Fn(&E) -> bool,
) -> Result<Exit, Failure>
where
    F: Future<Output = Result<(), E>>,
    E: std::error::Error + Send + Sync + 'static,
{
    let format = match args.log_format {
        LogFormat::Text => logs::LogFormat::Text,
        LogFormat::Json => logs::LogFormat::Json,
    };
    logs::start(format, FILTER).or_bad_input()?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let shutdown = shutdown()?;
        service(shutdown).await.map_err(|error| {
            let exit = is_bad_input(&error).then_some(Exit::BadInput);
            let mut failure = Failure::from(error);
            failure.exit = exit.unwrap_or(failure.exit);
            failure
        })
    })?;
    Ok(Exit::Success)
}

/// Becomes ready when somebody wants the service to end.
pub type Shutdown = Pin<Box<dyn Future<Output = ()> + Send>>;

fn shutdown() -> io::Result<Shutdown> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(Box::pin(async move {
        either(&mut interrupt, &mut terminate).await;
        tokio::spawn(async move {
            either(&mut interrupt, &mut terminate).await;
            note!("error: ended at once, asked to a second time");
            process::exit(Exit::Interrupted as i32);
        });
    }))
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
