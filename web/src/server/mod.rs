//! A server of pages and of their API.
//!
//! A user of this module brings two routers. The *open* one has what holds no secret: the page, its scripts and styles, whether
//! the server is alive. The *guarded* one has all that a token protects, where there is a token. This module adds the rest:
//!
//! * nothing beyond loopback without a token, unless that is asked for ([`bind`]);
//! * a bearer token, compared in constant time; who has none gets status 401, and where a route asks for a [`role`] that the
//!   token has not, 403;
//! * names of hosts that are not this machine's are refused on loopback (DNS rebinding), and requests that change something and
//!   come from pages of other origins everywhere;
//! * a content security policy under which a page can load its own files alone, and the other headers of that kind;
//! * limits: bytes of a body, time of a request until its answer begins, time of its head, number of connections;
//! * errors as JSON: `{"error": {"message": ..., "help": ...}}`, from handlers as [`ApiError`];
//! * an end that lets answers under way finish.
//!
//! ```no_run
//! use axum::{Router, routing::get};
//! use ziggurat_web::server::{self, Asset, Options, Pages};
//!
//! # async fn example(token: Option<ziggurat_rpc::Token>) -> Result<(), Box<dyn std::error::Error>> {
//! static FILES: [Asset; 1] = [Asset::html("/", "<!doctype html><script type=module src=/assets/mine.js></script>")];
//! let pages = Pages {
//!     open: server::assets(&FILES).merge(server::assets(&server::SHARED)),
//!     guarded: Router::new().route("/v1/jobs", get(|| async { server::json(&serde_json::json!([])) })),
//! };
//! let options = Options { token, ..Options::default() };
//! let bound = server::bind("127.0.0.1:7401".parse()?, &options).await?;
//! println!("http://{}", bound.address());
//! server::serve(bound, pages, options, async { /* ready when the server is to end */ }).await;
//! # Ok(())
//! # }
//! ```
//!
//! Pages send the token themselves: `/assets/api.js` takes it from the fragment of the address (`#token=...`, which browsers do
//! not send) or from a form, keeps it in the session of the tab, and puts it into a header. There is no cookie, so no other page
//! can make a browser use it. Streams of events are read with `listen` of the same file, for an `EventSource` has no headers;
//! [`axum::response::sse`] writes them. A stream is not cut by the limit of time, which ends with the head of an answer.
//!
//! | module | knows |
//! | --- | --- |
//! | `options` | limits, and who may ask |
//! | `guard` | which requests are let through |
//! | `headers` | what browsers are told |
//! | `assets` | files that are part of the program |
//! | `error` | errors as JSON |

mod assets;
mod error;
mod guard;
mod headers;
mod options;

use std::{io, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::{StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
};
use serde_json::Value;
use tokio::net::TcpListener;
use ziggurat_telemetry::serve_connections;

pub use assets::{Asset, SHARED, assets, is_known};
pub use error::ApiError;
pub use guard::role;
pub use options::{BindError, Cors, Options};

/// What a server serves.
#[derive(Debug, Default)]
pub struct Pages {
    /// What anybody may have who reaches the server.
    pub open: Router,
    /// What the token protects, if there is one.
    pub guarded: Router,
}

/// A socket that listens.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
}

impl Bound {
    /// The address it listens at, with the port that was free if any would do.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Listens at an address; port 0 stands for any that is free.
///
/// # Errors
/// If others than this machine could reach it and there is no token, unless that is what [`Options::insecure`] says; if the
/// address cannot be listened on.
pub async fn bind(address: SocketAddr, options: &Options) -> Result<Bound, BindError> {
    if options.token.is_none() && !options.insecure && !options::is_loopback(address) {
        return Err(BindError::Exposed { address });
    }
    let listen = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        io::Result::Ok(Bound { listener, address })
    };
    listen.await.map_err(|source| BindError::Io { address, source })
}

/// Serves pages until `shutdown` is ready, and the answers under way are given, or long enough after it.
pub async fn serve(
    bound: Bound,
    pages: Pages,
    options: Options,
    shutdown: impl Future<Output = ()>,
) {
    let limits = options.connections;
    let app = app(pages, bound.address, options);
    serve_connections(bound.listener, app, limits, shutdown).await;
}

/// All of the pages with what is around them.
fn app(pages: Pages, address: SocketAddr, options: Options) -> Router {
    let guard = Arc::new(guard::Guard::new(address, options));
    let with_token = middleware::from_fn_with_state(Arc::clone(&guard), guard::token);
    let with_host = middleware::from_fn_with_state(Arc::clone(&guard), guard::origin);
    let in_time = middleware::from_fn_with_state(Arc::clone(&guard), guard::time);
    let with_headers = middleware::from_fn_with_state(Arc::clone(&guard), headers::add);
    pages
        .open
        .merge(pages.guarded.route_layer(with_token))
        .fallback(|| async { ApiError::new(StatusCode::NOT_FOUND, "there is no such page") })
        .method_not_allowed_fallback(|| async {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "this page does not take that method")
        })
        .layer(DefaultBodyLimit::max(guard.options.body_bytes))
        .layer(in_time)
        .layer(with_host)
        .layer(with_headers)
}

/// An answer in JSON, on one line.
pub fn json(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], format!("{value}\n")).into_response()
}
