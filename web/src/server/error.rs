//! Errors as JSON.

use axum::{
    extract::rejection::{BytesRejection, PathRejection},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

/// Why a request was refused or failed: a status, and `{"error": {"message": ..., "help": ...}}` with what else is known.
#[derive(Clone, PartialEq, Debug)]
pub struct ApiError {
    status: StatusCode,
    parts: Map<String, Value>,
}

impl ApiError {
    /// An error that says what is wrong.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, parts: Map::new() }.with("message", message.into())
    }

    /// A request that can be put right.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// What is asked for is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// What is asked for is not in the state for it.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    /// There is no answer now, but there may be later.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// Adds what to do about it.
    pub fn help(self, help: impl Into<String>) -> Self {
        self.with("help", help.into())
    }

    /// Adds something else that is known of it, such as the `character` at which a text goes wrong.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.parts.insert(name.to_owned(), value.into());
        self
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl From<BytesRejection> for ApiError {
    fn from(rejected: BytesRejection) -> Self {
        match rejected.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "the request has too long a body")
                    .help("send less at a time")
            }
            status => Self::new(status, rejected.body_text()),
        }
    }
}

impl From<PathRejection> for ApiError {
    fn from(rejected: PathRejection) -> Self {
        Self::new(rejected.status(), rejected.body_text())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut answer = super::json(&json!({"error": self.parts}));
        *answer.status_mut() = self.status;
        if self.status == StatusCode::UNAUTHORIZED {
            let asked = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, asked);
        }
        answer
    }
}
