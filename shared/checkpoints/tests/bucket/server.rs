//! A server that talks like S3, or like the XML API of Google Cloud Storage, as far as the checkpoint store asks it,
//! and misbehaves as it is told.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use tokio::net::TcpListener;
use url::form_urlencoded;

/// A request, as those see it who tell the server what to answer.
pub struct Call {
    pub method: String,
    /// Whether it is to be done only if there is no such object.
    pub is_conditional: bool,
    /// How many came before it for the same thing.
    pub number: usize,
}

/// Whose protocol a server talks. They differ in conditions and keys, and in how several objects are deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    Amazon,
    Google,
}

impl Dialect {
    /// A place in the bucket.
    pub fn url(self) -> &'static str {
        match self {
            Self::Amazon => "s3://bucket/some/where",
            Self::Google => "gs://bucket/some/where",
        }
    }

    /// The header that says that a write is to be done only if there is no such object.
    pub fn condition(self) -> &'static str {
        match self {
            Self::Amazon => "if-none-match",
            Self::Google => "x-goog-if-generation-match",
        }
    }
}

type Answers = Arc<dyn Fn(&Call) -> Option<Response> + Send + Sync>;

/// A bucket.
#[derive(Clone)]
pub struct Bucket {
    address: SocketAddr,
    pub dialect: Dialect,
    inside: Arc<Mutex<Inside>>,
}

struct Inside {
    objects: BTreeMap<String, Vec<u8>>,
    /// Of objects that are sent in parts, those that came.
    uploads: BTreeMap<String, BTreeMap<usize, Vec<u8>>>,
    calls: BTreeMap<(String, String), usize>,
    answers: Answers,
    knows_conditions: bool,
    /// The next write of an object hangs, and whether it is done all the same.
    hangs: Option<bool>,
}

impl Bucket {
    /// A bucket whose server talks like S3, answers as it is told, and where it is told nothing, as it should.
    pub async fn start(
        answers: impl Fn(&Call) -> Option<Response> + Send + Sync + 'static,
    ) -> Self {
        Self::talking(Dialect::Amazon, answers).await
    }

    /// The same in either dialect.
    pub async fn talking(
        dialect: Dialect,
        answers: impl Fn(&Call) -> Option<Response> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let inside = Inside {
            objects: BTreeMap::new(),
            uploads: BTreeMap::new(),
            calls: BTreeMap::new(),
            answers: Arc::new(answers),
            knows_conditions: true,
            hangs: None,
        };
        let bucket = Self { address, dialect, inside: Arc::new(Mutex::new(inside)) };
        let app = Router::new().fallback(answer).with_state(bucket.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        bucket
    }

    /// One that does not look at conditions.
    pub async fn ignoring_conditions(dialect: Dialect) -> Self {
        let bucket = Self::talking(dialect, |_| None).await;
        bucket.inside().knows_conditions = false;
        bucket
    }

    /// One that nobody listens for.
    pub async fn gone(dialect: Dialect) -> Self {
        let bucket = Self::talking(dialect, |_| None).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { address: listener.local_addr().unwrap(), ..bucket }
    }

    /// One that takes connections and never answers.
    pub async fn silent(dialect: Dialect) -> Self {
        let bucket = Self::talking(dialect, |_| None).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let mut kept = Vec::new();
            while let Ok(connection) = listener.accept().await {
                kept.push(connection);
            }
        });
        Self { address, ..bucket }
    }

    /// How it is reached.
    pub fn variables(&self) -> Vec<(String, String)> {
        let url = format!("http://{}", self.address);
        let key = format!(
            "{{\"disable_oauth\": true, \"gcs_base_url\": \"{url}\", \"client_email\": \"\", \"private_key\": \"\", \
             \"private_key_id\": \"\"}}"
        );
        let variables = match self.dialect {
            Dialect::Amazon => vec![
                ("AWS_ACCESS_KEY_ID", "key"),
                ("AWS_SECRET_ACCESS_KEY", "secret"),
                ("AWS_ENDPOINT", &url),
                ("AWS_ALLOW_HTTP", "true"),
            ],
            Dialect::Google => {
                vec![("GOOGLE_SERVICE_ACCOUNT_KEY", key.as_str()), ("GOOGLE_ALLOW_HTTP", "true")]
            }
        };
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        variables.into_iter().map(owned).collect()
    }

    /// From now on it answers as it is told.
    pub fn answer(&self, answers: impl Fn(&Call) -> Option<Response> + Send + Sync + 'static) {
        self.inside().answers = Arc::new(answers);
    }

    /// The next write is not answered; whether it is done.
    pub fn hang_next_write(&self, is_done: bool) {
        self.inside().hangs = Some(is_done);
    }

    /// The names of all objects.
    pub fn names(&self) -> Vec<String> {
        self.inside().objects.keys().cloned().collect()
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap()
    }
}

/// A refusal as S3 writes it.
pub fn error(status: StatusCode, code: &str) -> Response {
    let body = format!(
        "<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>so\nit is</Message></Error>"
    );
    (status, body).into_response()
}

/// A page of something that is no S3.
pub fn html(status: StatusCode) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "text/html")],
        "<!DOCTYPE html><html><body>Hello</body></html>",
    )
        .into_response()
}

async fn answer(State(bucket): State<Bucket>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let Some(name) = parts.uri.path().strip_prefix("/bucket") else {
        return error(StatusCode::NOT_FOUND, "NoSuchBucket");
    };
    let name = name.trim_start_matches('/');
    let name = value_of(&format!("name={name}"), "name");
    let query = parts.uri.query().unwrap_or_default().to_owned();
    let is_conditional = parts.headers.contains_key(bucket.dialect.condition());
    let told = {
        let mut inside = bucket.inside();
        let count = inside.calls.entry((parts.method.to_string(), name.clone())).or_default();
        let call = Call { method: parts.method.to_string(), is_conditional, number: *count };
        *count += 1;
        let answers = inside.answers.clone();
        drop(inside);
        answers(&call)
    };
    if let Some(told) = told {
        return told;
    }
    let hangs = match parts.method {
        Method::PUT => bucket.inside().hangs.take(),
        _ => None,
    };
    if hangs != Some(false) {
        let answer = bucket.inside().act(&parts.method, &name, &query, is_conditional, &body);
        if hangs.is_none() {
            return answer;
        }
    }
    tokio::time::sleep(Duration::from_secs(600)).await;
    StatusCode::GATEWAY_TIMEOUT.into_response()
}

/// What a query says of something.
fn value_of(query: &str, key: &str) -> String {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == key).map_or(String::new(), |(_, value)| value.into_owned())
}

impl Inside {
    fn act(
        &mut self,
        method: &Method,
        name: &str,
        query: &str,
        is_conditional: bool,
        body: &[u8],
    ) -> Response {
        match *method {
            Method::GET if name.is_empty() => self.list(query),
            Method::GET => match self.objects.get(name) {
                Some(bytes) => {
                    let modified = "Thu, 01 Jan 2026 00:00:00 GMT";
                    let headers = [(header::ETAG, "\"1\""), (header::LAST_MODIFIED, modified)];
                    (headers, Body::from(bytes.clone())).into_response()
                }
                None => error(StatusCode::NOT_FOUND, "NoSuchKey"),
            },
            Method::PUT
                if is_conditional && self.knows_conditions && self.objects.contains_key(name) =>
            {
                error(StatusCode::PRECONDITION_FAILED, "PreconditionFailed")
            }
            Method::PUT if query.contains("partNumber=") => {
                let Some(parts) = self.uploads.get_mut(&value_of(query, "uploadId")) else {
                    return error(StatusCode::NOT_FOUND, "NoSuchUpload");
                };
                parts.insert(value_of(query, "partNumber").parse().unwrap(), body.to_vec());
                [(header::ETAG, "\"1\"")].into_response()
            }
            Method::PUT => {
                self.objects.insert(name.to_owned(), body.to_vec());
                [(header::ETAG, "\"1\"")].into_response()
            }
            Method::DELETE if query.contains("uploadId=") => {
                self.uploads.remove(&value_of(query, "uploadId"));
                StatusCode::NO_CONTENT.into_response()
            }
            Method::DELETE => {
                self.objects.remove(name);
                StatusCode::NO_CONTENT.into_response()
            }
            Method::POST if query.starts_with("delete") => {
                let body = String::from_utf8_lossy(body).into_owned();
                let names = body.split("<Key>").skip(1).filter_map(|part| part.split('<').next());
                let mut deleted = String::new();
                for name in names {
                    self.objects.remove(name);
                    deleted += &format!("<Deleted><Key>{name}</Key></Deleted>");
                }
                format!("<DeleteResult>{deleted}</DeleteResult>").into_response()
            }
            Method::POST if query.starts_with("uploads") => {
                let id = format!("{name}-{}", self.uploads.len());
                self.uploads.insert(id.clone(), BTreeMap::new());
                format!("<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>")
                    .into_response()
            }
            Method::POST if query.contains("uploadId=") => {
                let Some(parts) = self.uploads.remove(&value_of(query, "uploadId")) else {
                    return error(StatusCode::NOT_FOUND, "NoSuchUpload");
                };
                let listed = String::from_utf8_lossy(body).matches("<PartNumber>").count();
                if listed != parts.len() {
                    return error(StatusCode::BAD_REQUEST, "InvalidPart");
                }
                self.objects.insert(name.to_owned(), parts.into_values().flatten().collect());
                "<CompleteMultipartUploadResult><ETag>\"1\"</ETag></CompleteMultipartUploadResult>"
                    .into_response()
            }
            _ => error(StatusCode::NOT_IMPLEMENTED, "NotImplemented"),
        }
    }

    /// All names with a prefix; with a delimiter, what they begin with up to the next one.
    fn list(&self, query: &str) -> Response {
        let (prefix, delimiter) = (value_of(query, "prefix"), value_of(query, "delimiter"));
        let (mut contents, mut prefixes) = (String::new(), Vec::new());
        for (name, bytes) in self.objects.range(prefix.clone()..) {
            let Some(rest) = name.strip_prefix(&prefix) else { break };
            match rest.split_once('/').filter(|_| !delimiter.is_empty()) {
                Some((part, _)) => prefixes.push(format!("{prefix}{part}/")),
                None => {
                    contents += &format!(
                        "<Contents><Key>{name}</Key><LastModified>2026-01-01T00:00:00Z</LastModified>\
                     <ETag>\"1\"</ETag><Size>{}</Size></Contents>",
                        bytes.len()
                    )
                }
            }
        }
        prefixes.dedup();
        let prefixes = prefixes.iter();
        let prefixes: String = prefixes
            .map(|prefix| format!("<CommonPrefixes><Prefix>{prefix}</Prefix></CommonPrefixes>"))
            .collect();
        let body = format!(
            "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>{contents}{prefixes}\
             </ListBucketResult>"
        );
        body.into_response()
    }
}
