//! Which requests are let through.
//!
//! On loopback anybody at this machine may ask, and so may any page in a browser of this machine, unless it is told from the
//! server's own. A page of a stranger's site can have its name resolved to 127.0.0.1 (DNS rebinding): its requests have the
//! wrong `Host`. Or it sends what needs no permission to be sent, and cannot read the answer: its requests have the wrong `Origin`.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tokio::time::timeout;
use ziggurat_rpc::{Holder, Role};

use super::{ApiError, Options, options::is_loopback};

/// What requests are measured by.
#[derive(Debug)]
pub(super) struct Guard {
    pub options: Options,
    is_loopback: bool,
}

impl Guard {
    pub fn new(address: SocketAddr, options: Options) -> Self {
        Self { options, is_loopback: is_loopback(address) }
    }
}

/// Lets those through who know a token, and notes whose it is.
pub(super) async fn token(
    State(guard): State<Arc<Guard>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(token) = &guard.options.token {
        let told = request.headers().get(header::AUTHORIZATION);
        let Some(holder) = told.and_then(|told| token.holder(told.as_bytes())) else {
            let problem =
                if told.is_some() { "the token is not right" } else { "there is no token" };
            return ApiError::new(StatusCode::UNAUTHORIZED, problem)
                .help("send a header `Authorization: Bearer TOKEN` with the token that the server was started with")
                .into_response();
        };
        request.extensions_mut().insert(holder);
    }
    next.run(request).await
}

/// Lets those through whose token has a role; all, where there are no tokens.
pub async fn role(State(needed): State<Role>, request: Request, next: Next) -> Response {
    match request.extensions().get::<Holder>().map_or(Ok(()), |holder| holder.check(needed)) {
        Ok(()) => next.run(request).await,
        Err(why) => ApiError::new(StatusCode::FORBIDDEN, why)
            .help("log in with a token that has it")
            .into_response(),
    }
}

/// Lets requests through that are meant for this server, and change nothing on behalf of a stranger's page.
pub(super) async fn origin(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let host = host(&request);
    if guard.is_loopback && !host.as_ref().is_some_and(is_of_this_machine) {
        return ApiError::new(
            StatusCode::FORBIDDEN,
            "this server answers to names of its own machine alone",
        )
        .help("ask for http://localhost or http://127.0.0.1 with the port it listens at")
        .into_response();
    }
    let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
    if !reads && !is_from(request.headers(), host.as_ref(), &guard) {
        return ApiError::new(
            StatusCode::FORBIDDEN,
            "the page that sent this is not of this server",
        )
        .help("allow its origin when the server is started (--cors)")
        .into_response();
    }
    next.run(request).await
}

/// Gives a request its time.
pub(super) async fn time(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    match timeout(guard.options.request_timeout, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            let seconds = guard.options.request_timeout.as_secs_f64();
            let problem = format!("the request took longer than {seconds} seconds");
            ApiError::new(StatusCode::REQUEST_TIMEOUT, problem)
                .help("send it faster, or ask for less")
                .into_response()
        }
    }
}

/// The host that a request is meant for.
fn host(request: &Request) -> Option<Authority> {
    let told = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    told.and_then(|host| host.parse().ok()).or_else(|| request.uri().authority().cloned())
}

fn is_of_this_machine(host: &Authority) -> bool {
    let name = host.host();
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Whether a request comes from a page of this server, an allowed one, or no page at all.
fn is_from(headers: &HeaderMap, host: Option<&Authority>, guard: &Guard) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let own = origin.split_once("://").map(|(_, authority)| authority);
    own.is_some_and(|own| host.is_some_and(|host| host.as_str().eq_ignore_ascii_case(own)))
        || guard.options.cors.allows(origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_are_told_from_others() {
        let is = |host: &str| is_of_this_machine(&host.parse().unwrap());
        for own in ["localhost", "LOCALHOST:80", "127.0.0.1:7480", "127.8.0.1", "[::1]:1"] {
            assert!(is(own), "{own}");
        }
        for other in ["localhost.example.org", "127.0.0.1.example.org", "10.0.0.1", "[::2]", "a"] {
            assert!(!is(other), "{other}");
        }
    }
}
