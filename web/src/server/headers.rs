//! What browsers are told.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::guard::Guard;

/// What a page may do: load files of this server, ask this server, and nothing else. No text becomes markup, not even by
/// mistake of a script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
     trusted-types 'none'";

/// What goes with every answer.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// For how long a browser may remember what an origin is allowed, in seconds.
const REMEMBERED: &str = "600";

/// Adds the headers that go with every answer, and answers what browsers ask before they send what another origin wants.
pub(super) async fn add(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let allowed = origin.filter(|it| it.to_str().is_ok_and(|it| guard.options.cors.allows(it)));
    let asks_first = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut answer = match &allowed {
        Some(_) if asks_first => StatusCode::NO_CONTENT.into_response(),
        _ => next.run(request).await,
    };
    let headers = answer.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let share = if guard.options.cors.is_empty() { "same-origin" } else { "cross-origin" };
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static(share));
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if !guard.options.cors.is_empty() {
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    if let Some(origin) = allowed {
        share_with(headers, origin, asks_first);
    }
    answer
}

/// Lets pages of an origin read an answer.
fn share_with(headers: &mut HeaderMap, origin: HeaderValue, asks_first: bool) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("ETag"));
    if asks_first {
        for (name, value) in [
            (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST"),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, if-none-match"),
            (header::ACCESS_CONTROL_MAX_AGE, REMEMBERED),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}
