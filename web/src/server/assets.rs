//! Files that are part of the program.

use axum::{
    Router,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use xxhash_rust::xxh3::xxh3_64;

/// A file that is part of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asset {
    /// Where it is served.
    pub path: &'static str,
    /// Its content type.
    pub kind: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl Asset {
    /// A page.
    pub const fn html(path: &'static str, text: &'static str) -> Self {
        Self { path, kind: "text/html; charset=utf-8", text }
    }

    /// A style sheet.
    pub const fn css(path: &'static str, text: &'static str) -> Self {
        Self { path, kind: "text/css; charset=utf-8", text }
    }

    /// A module of JavaScript.
    pub const fn js(path: &'static str, text: &'static str) -> Self {
        Self { path, kind: "text/javascript; charset=utf-8", text }
    }

    /// Data.
    pub const fn json(path: &'static str, text: &'static str) -> Self {
        Self { path, kind: "application/json", text }
    }

    /// A picture.
    pub const fn svg(path: &'static str, text: &'static str) -> Self {
        Self { path, kind: "image/svg+xml", text }
    }
}

/// What all pages use: the style, elements from texts, charts, requests with the token, and the icon.
pub static SHARED: [Asset; 5] = [
    Asset::css("/assets/style.css", include_str!("../../assets/style.css")),
    Asset::js("/assets/dom.js", include_str!("../../assets/dom.js")),
    Asset::js("/assets/chart.js", include_str!("../../assets/chart.js")),
    Asset::js("/assets/api.js", include_str!("../../assets/api.js")),
    Asset::svg("/favicon.ico", include_str!("../../assets/icon.svg")),
];

/// Routes that serve files. A browser asks again each time, and has the file again only if it has changed.
pub fn assets(files: &'static [Asset]) -> Router {
    files.iter().fold(Router::new(), |router, file| {
        let tag = format!("\"{:016x}\"", xxh3_64(file.text.as_bytes()));
        router.route(file.path, get(async move |headers: HeaderMap| answer(file, &tag, &headers)))
    })
}

fn answer(file: &Asset, tag: &str, asked: &HeaderMap) -> Response {
    let tags = HeaderValue::from_str(tag).expect("hexadecimal digits");
    let common =
        [(header::ETAG, tags), (header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    if is_known(asked, tag) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    (common, [(header::CONTENT_TYPE, file.kind)], file.text).into_response()
}

/// Whether a request says that it has the answer with a tag already (RFC 9110, section 13.1.2).
pub fn is_known(asked: &HeaderMap, tag: &str) -> bool {
    let known = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|it| it.to_str().ok());
    known
        .flat_map(|it| it.split(','))
        .map(|it| it.trim().trim_start_matches("W/"))
        .any(|it| it == tag || it == "*")
}
