//! What a server does around every call: it asks who is calling and whether they may, and puts an end to calls that are not
//! answered and to peers that send what is no message.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::time::timeout;
use tonic::{
    Status,
    body::Body,
    codegen::{Service, http},
};
use tower::Layer;

use crate::{
    Holder, Peer, Security,
    limits::{CALL_TIMEOUT, CONNECTIONS, CONNECTIONS_PER_HOST},
    roles::needed,
};

/// Calls with a stream of requests: they are answered when the stream ends, or go on for as long as
/// both sides like.
const WITH_STREAMS_OF_REQUESTS: [&str; 2] =
    ["/ziggurat.v1.Control/Work", "/ziggurat.v1.Data/Exchange"];

/// Puts a [`Watched`] around a service.
#[derive(Clone, Debug)]
pub struct Watch(Security);

impl Watch {
    pub(crate) fn new(security: &Security) -> Self {
        Self(security.clone())
    }
}

impl<S> Layer<S> for Watch {
    type Service = Watched<S>;

    fn layer(&self, service: S) -> Watched<S> {
        Watched { service, security: self.0.clone() }
    }
}

/// A service that only those may call who know a token with the role for it, if there are tokens; whose calls end in time; and whose
/// peers are disconnected and named in the log if they misbehave.
#[derive(Clone, Debug)]
pub struct Watched<S> {
    service: S,
    security: Security,
}

impl<S> Watched<S> {
    /// Whether a request may be answered, and whose token it told, if there are tokens.
    fn admit(
        &self,
        request: &http::Request<Body>,
        peer: Option<&Peer>,
    ) -> Result<Option<Holder>, Status> {
        let Security::Token(token) = &self.security else { return has_room(peer).map(|()| None) };
        let told = request.headers().get("authorization");
        let Some(holder) = told.and_then(|told| token.holder(told.as_bytes())) else {
            let (what, message) = match told {
                Some(_) => ("has another token", "the token is not that of the server"),
                None => ("has no token", "the server asks for a token: give it with --token-file"),
            };
            if let Some(peer) = peer {
                peer.misbehaved(what);
            }
            return Err(Status::unauthenticated(message));
        };
        has_room(peer)?;
        let path = request.uri().path();
        let needed = needed(path).ok_or_else(|| Status::unimplemented("there is no such call"))?;
        holder.check(needed).map_err(|why| {
            tracing::debug!(?peer, path, "refused a call: {why}");
            Status::permission_denied(why)
        })?;
        Ok(Some(holder))
    }
}

/// Whether there is room for the connection of a member.
fn has_room(peer: Option<&Peer>) -> Result<(), Status> {
    match peer.is_none_or(Peer::authenticate) {
        true => Ok(()),
        false => Err(Status::unavailable(format!(
            "there are too many connections: {CONNECTIONS_PER_HOST} of a host, {CONNECTIONS} of all"
        ))),
    }
}

impl<S> Service<http::Request<Body>> for Watched<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let peer = request.extensions().get::<Peer>().cloned();
        match self.admit(&request, peer.as_ref()) {
            Ok(holder) => drop(holder.map(|holder| request.extensions_mut().insert(holder))),
            Err(refusal) => return Box::pin(async move { Ok(refusal.into_http()) }),
        }
        let may_last = WITH_STREAMS_OF_REQUESTS.contains(&request.uri().path());
        let answer = self.service.call(request);
        Box::pin(async move {
            let answer = if may_last {
                answer.await?
            } else {
                let Ok(answer) = timeout(CALL_TIMEOUT, answer).await else {
                    let message = format!("not answered within {CALL_TIMEOUT:?}");
                    return Ok(Status::deadline_exceeded(message).into_http());
                };
                answer?
            };
            if let (Some(peer), Some(error)) = (peer, Status::from_header_map(answer.headers())) {
                peer.sent(&error);
            }
            Ok(answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future::pending};

    use tonic::Code;

    use super::*;

    /// How long a call of a service that never answers takes until it is ended, if it is, within a day.
    async fn end_of_call(path: &str) -> Option<(Code, bool)> {
        let never = tower::service_fn(|_: http::Request<Body>| {
            pending::<Result<http::Response<Body>, Infallible>>()
        });
        let mut watched = Watch::new(&Security::Open).layer(never);
        let request = http::Request::builder().uri(path).body(Body::empty()).unwrap();
        let started = tokio::time::Instant::now();
        let day = std::time::Duration::from_secs(24 * 60 * 60);
        let answer = timeout(day, watched.call(request)).await.ok()?.unwrap();
        let status = Status::from_header_map(answer.headers()).unwrap();
        let late = started.elapsed() - CALL_TIMEOUT;
        Some((status.code(), late < std::time::Duration::from_secs(1)))
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_are_not_answered_are_ended_unless_they_go_on_for_as_long_as_they_like() {
        let ended = Some((Code::DeadlineExceeded, true));
        assert_eq!(end_of_call("/ziggurat.v1.Jobs/Submit").await, ended);
        assert_eq!(end_of_call("/ziggurat.v1.Data/Fetch").await, ended);
        for path in WITH_STREAMS_OF_REQUESTS {
            assert_eq!(end_of_call(path).await, None);
        }
    }
}
