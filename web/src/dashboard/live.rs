//! Streams of what changes, as server-sent events: looked for once a second, told if it differs.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::response::{
    IntoResponse, Response,
    sse::{Event, KeepAlive, Sse},
};
use serde_json::{Value, json};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::sleep,
};
use tokio_stream::wrappers::ReceiverStream;

use super::Source;
use crate::server::ApiError;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);

/// Of so many looks, one is at the history.
const HISTORY_EVERY: u32 = 2;

/// Messages that a browser has not read yet.
const UNREAD: usize = 4;

type Sender = mpsc::Sender<Result<Event, Infallible>>;

/// Follows all jobs and workers: an event `all` whenever they differ, at once at first.
///
/// # Errors
/// Those of the source.
pub async fn all(
    source: Arc<dyn Source>,
    permit: OwnedSemaphorePermit,
) -> Result<Response, ApiError> {
    let first = everything(&*source).await?;
    Ok(stream(async move |sender| {
        let (_permit, mut told) = (permit, Value::Null);
        let mut now = Some(first);
        loop {
            if let Some(now) = now.take_if(|now| timeless(now) != told) {
                told = timeless(&now);
                if tell(&sender, "all", &now).await.is_none() {
                    return;
                }
            }
            if rest(&sender).await.is_none() {
                return;
            }
            let Ok(latest) = everything(&*source).await else { return };
            now = Some(latest);
        }
    }))
}

/// Follows a job until it has ended: an event `status` whenever its state differs, `history` whenever that does.
///
/// # Errors
/// Those of the source: that there is no such job.
pub async fn one(
    source: Arc<dyn Source>,
    job: u64,
    may_change: bool,
    permit: OwnedSemaphorePermit,
) -> Result<Response, ApiError> {
    let first = source.job(job).await?;
    Ok(stream(async move |sender| {
        let _permit = permit;
        let (mut told, mut history) = (Value::Null, Value::Null);
        let mut status = first;
        for look in 0_u32.. {
            // What is told last has to be all there is.
            let has_ended = status["job"]["ended"].is_number();
            if has_ended || look % HISTORY_EVERY == 0 {
                let Ok(latest) = source.history(job).await else { return };
                if latest != history {
                    history = latest;
                    if tell(&sender, "history", &history).await.is_none() {
                        return;
                    }
                }
            }
            status["may_change"] = may_change.into();
            if timeless(&status) != told {
                told = timeless(&status);
                if tell(&sender, "status", &status).await.is_none() {
                    return;
                }
            }
            if has_ended || rest(&sender).await.is_none() {
                return;
            }
            let Ok(latest) = source.job(job).await else { return };
            status = latest;
        }
    }))
}

async fn everything(source: &dyn Source) -> Result<Value, ApiError> {
    let (mut all, workers) = (source.jobs().await?, source.workers().await?);
    all["workers"] = workers["workers"].clone();
    Ok(all)
}

/// Waits for the next look; `None` if the browser is gone.
async fn rest(sender: &Sender) -> Option<()> {
    tokio::select! {
        () = sleep(EVERY) => Some(()),
        () = sender.closed() => None,
    }
}

async fn tell(sender: &Sender, name: &str, value: &Value) -> Option<()> {
    let event = Event::default().event(name).data(value.to_string());
    sender.send(Ok(event)).await.ok()
}

/// A stream that some work fills.
fn stream<F>(work: impl FnOnce(Sender) -> F) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, events) = mpsc::channel(UNREAD);
    tokio::spawn(work(sender));
    Sse::new(ReceiverStream::new(events)).keep_alive(KeepAlive::default()).into_response()
}

/// What is told, without what changes by itself at every look, to three seconds.
fn timeless(told: &Value) -> Value {
    let mut told = told.clone();
    for worker in told["workers"].as_array_mut().into_iter().flatten() {
        let silent = worker["silent_seconds"].as_f64().unwrap_or(0.0);
        worker["silent_seconds"] = json!((silent / 3.0).floor());
    }
    told
}
