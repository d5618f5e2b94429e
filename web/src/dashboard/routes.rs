//! The routes of the API.

use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::{
    Router,
    extract::{ConnectInfo, FromRequestParts, Path, State, rejection::PathRejection},
    http::{StatusCode, request::Parts},
    middleware::from_fn_with_state,
    response::Response,
    routing::{get, post},
};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use ziggurat_rpc::{Holder, Role, asker};

use super::{Change, Source, live};
use crate::server::{self, ApiError};

/// Streams at the same time.
const STREAMS: usize = 64;

/// The role that orders need.
const ORDERS: Role = Role::Submit;

#[derive(Clone)]
struct Api {
    source: Arc<dyn Source>,
    streams: Arc<Semaphore>,
}

type Answer = Result<Response, ApiError>;

/// The routes of a source, by the role that they need.
pub fn router(source: Arc<dyn Source>) -> Router {
    let with_role = |role: Role, routes: Router<Api>| {
        routes.route_layer(from_fn_with_state(role, server::role))
    };
    let reading = Router::new()
        .route("/v1/jobs", get(jobs))
        .route("/v1/jobs/{job}", get(job))
        .route("/v1/jobs/{job}/events", get(events))
        .route("/v1/jobs/{job}/history", get(history))
        .route("/v1/jobs/{job}/live", get(live_job))
        .route("/v1/live", get(live_all))
        .route("/v1/workers", get(workers));
    let ordering = Router::new().route("/v1/jobs/{job}/{change}", post(change));
    with_role(Role::Read, reading)
        .merge(with_role(ORDERS, ordering))
        .with_state(Api { source, streams: Arc::new(Semaphore::new(STREAMS)) })
}

impl Api {
    /// Room for a stream.
    fn permit(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        self.streams.clone().try_acquire_owned().map_err(|_| {
            let problem = format!("{STREAMS} streams are open");
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, problem).help("close some pages")
        })
    }
}

/// A job's number in a path.
fn number(text: &str) -> Result<u64, ApiError> {
    text.parse().map_err(|_| {
        ApiError::new(StatusCode::NOT_FOUND, format!("`{}` is no job", text.escape_debug()))
            .help("jobs are named by their numbers; /v1/jobs lists them")
    })
}

async fn jobs(State(api): State<Api>) -> Answer {
    Ok(server::json(&api.source.jobs().await?))
}

async fn workers(State(api): State<Api>) -> Answer {
    Ok(server::json(&api.source.workers().await?))
}

async fn job(State(api): State<Api>, job: Result<Path<String>, PathRejection>) -> Answer {
    Ok(server::json(&api.source.job(number(&job?.0)?).await?))
}

async fn history(State(api): State<Api>, job: Result<Path<String>, PathRejection>) -> Answer {
    Ok(server::json(&api.source.history(number(&job?.0)?).await?))
}

async fn events(State(api): State<Api>, job: Result<Path<String>, PathRejection>) -> Answer {
    let history = api.source.history(number(&job?.0)?).await?;
    let events = json!({"events": history["events"], "left_out": history["left_out"]});
    Ok(server::json(&events))
}

async fn live_all(State(api): State<Api>) -> Answer {
    let permit = api.permit()?;
    live::all(api.source, permit).await
}

async fn live_job(
    State(api): State<Api>,
    job: Result<Path<String>, PathRejection>,
    By { may_change, .. }: By,
) -> Answer {
    let job = number(&job?.0)?;
    let permit = api.permit()?;
    live::one(api.source, job, may_change, permit).await
}

async fn change(
    State(api): State<Api>,
    path: Result<Path<(String, String)>, PathRejection>,
    By { name, may_change }: By,
) -> Answer {
    let (job, change) = path?.0;
    let job = number(&job)?;
    let change = match change.as_str() {
        "pause" => Change::Pause,
        "resume" => Change::Resume,
        "cancel" => Change::Cancel,
        other => {
            let problem = format!("`{}` is nothing that is done about a job", other.escape_debug());
            return Err(ApiError::new(StatusCode::NOT_FOUND, problem)
                .help("there are pause, resume and cancel"));
        }
    };
    if !may_change {
        let problem = "here jobs can be looked at only";
        return Err(ApiError::new(StatusCode::FORBIDDEN, problem).help(
            "start the coordinator with --token-file to give orders here, or use the command line",
        ));
    }
    Ok(server::json(&api.source.change(job, change, name).await?))
}

/// Who asks.
struct By {
    /// The name of the token, and the address as far as it is known.
    name: String,
    /// Whether the token is good for orders. Where there are no tokens, nobody's is.
    may_change: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for By {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let address = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let address = address.map(|ConnectInfo(address)| address.ip().to_canonical());
        let name = |address: IpAddr| format!("the page, {address}");
        let address = address.map_or_else(|| "the page".to_owned(), name);
        let holder = parts.extensions.get::<Holder>();
        let may_change = holder.is_some_and(|holder| holder.role.allows(ORDERS));
        Ok(Self { name: asker(holder, &address), may_change })
    }
}
