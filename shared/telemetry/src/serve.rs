//! Metrics and health over HTTP: a port that can only be read.

use std::{future::pending, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use prometheus_client::{encoding, registry::Registry};
use thiserror::Error;
use tokio::net::TcpListener;

use crate::{
    Health,
    accept::prefers_open_metrics,
    connections::{Limits, serve_connections},
    text,
};

/// What a port for metrics is good for.
const LIMITS: Limits = Limits {
    connections: 64,
    header_timeout: Duration::from_secs(10),
    goodbye: Duration::from_secs(1),
};

/// What the text of `/metrics` is for requests that ask for it.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What it is for all others.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Why metrics cannot be served.
#[derive(Debug, Error)]
pub enum BindError {
    /// Others could read them, and nobody said they may.
    #[error(
        "metrics on {address} could be read by everybody who reaches this host, since they are served without \
         any protection; give an address of this host alone, like 127.0.0.1:{}, or --insecure-metrics",
        .address.port()
    )]
    Exposed {
        /// The address.
        address: SocketAddr,
    },
    /// The operating system said no.
    #[error("cannot serve metrics on {address}; give another address or port")]
    Io {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// Listens for who wants metrics. With port 0 the system chooses one.
///
/// # Errors
///
/// If the address is not a loopback address, unless `insecure`; or if the system refuses it.
pub async fn bind(address: SocketAddr, insecure: bool) -> Result<TcpListener, BindError> {
    if !insecure && !address.ip().to_canonical().is_loopback() {
        return Err(BindError::Exposed { address });
    }
    TcpListener::bind(address).await.map_err(|source| BindError::Io { address, source })
}

/// Serves, until the future is dropped:
///
/// * `/metrics`: what `registry` has, as OpenMetrics text for requests whose `Accept` prefers that, otherwise in the older text
///   format of Prometheus,
/// * `/healthz`: whether the service is alive; status 503 if the part of it that does the work does not answer,
/// * `/readyz`: whether it is ready for work; otherwise status 503 and the reason.
///
/// A connection whose request takes longer than ten seconds to come is closed; of more than 64 at a time the oldest one is.
pub async fn serve(listener: TcpListener, registry: Registry, health: Arc<Health>) {
    let pages = metrics_page(Arc::new(registry)).merge(health_pages(health));
    serve_connections(listener, pages, LIMITS, pending()).await;
}

/// `/metrics`, for servers that have other pages beside it.
pub fn metrics_page(registry: Arc<Registry>) -> Router {
    Router::new().route("/metrics", get(metrics).with_state(registry))
}

/// `/healthz` and `/readyz`, likewise.
pub fn health_pages(health: Arc<Health>) -> Router {
    Router::new()
        .route("/healthz", get(liveness).with_state(health.clone()))
        .route("/readyz", get(readiness).with_state(health))
}

async fn metrics(State(registry): State<Arc<Registry>>, headers: HeaderMap) -> Response {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    let (kind, page) = if prefers_open_metrics(accepted) {
        let mut page = String::new();
        (OPEN_METRICS, encoding::text::encode(&mut page, &registry).map(|()| page))
    } else {
        (TEXT, text::encode(&registry))
    };
    match page {
        Ok(page) => {
            ([(header::CONTENT_TYPE, kind), (header::VARY, "Accept")], page).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn liveness(State(health): State<Arc<Health>>) -> Response {
    if health.is_alive().await {
        return "alive\n".into_response();
    }
    let why = "not alive: the part of the program that does the work does not answer\n";
    (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
}

async fn readiness(State(health): State<Arc<Health>>) -> Response {
    match health.why_not_ready() {
        None => "ready\n".into_response(),
        Some(reason) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {reason}\n")).into_response()
        }
    }
}
