//! The API of the dashboard: every route, every error, and streams, over a source that pretends.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{runtime::Builder, sync::oneshot};
use ziggurat_rpc::Security;
use ziggurat_web::{
    dashboard::{self, Answer, Change, Source},
    server::{self, ApiError, Options},
};

const TOKEN: &str = "0123456789abcdef";
const READING: &str = "0123456789abcdefg";
const WORKING: &str = "0123456789abcdefgh";
const HOSTILE: &str = "<script>\"'\u{202e}";

/// One job, which gets on whenever somebody looks, and ends.
#[derive(Default)]
struct Pretends {
    looks: AtomicU64,
    asked: Mutex<Vec<(u64, Change, String)>>,
}

impl Pretends {
    fn known(&self, job: u64) -> Result<(), ApiError> {
        let problem = || ApiError::not_found(format!("there is no job {job}"));
        (job == 1).then_some(()).ok_or_else(problem)
    }
}

impl Source for Pretends {
    fn jobs(&self) -> Answer<'_> {
        Box::pin(async { Ok(json!({"jobs": [{"job": 1, "name": HOSTILE}], "left_out": 0})) })
    }

    fn workers(&self) -> Answer<'_> {
        Box::pin(async { Ok(json!({"workers": [{"name": "one", "silent_seconds": 0.5}]})) })
    }

    fn job(&self, job: u64) -> Answer<'_> {
        Box::pin(async move {
            self.known(job)?;
            let looks = self.looks.fetch_add(1, Ordering::Relaxed);
            let ended = (looks >= 2).then_some(1.5);
            Ok(json!({"job": {"job": 1, "name": HOSTILE, "ended": ended, "looks": looks}}))
        })
    }

    fn history(&self, job: u64) -> Answer<'_> {
        Box::pin(async move {
            self.known(job)?;
            Ok(json!({"events": [{"number": 1}], "left_out": 3, "steps": {}}))
        })
    }

    fn change(&self, job: u64, change: Change, by: String) -> Answer<'_> {
        Box::pin(async move {
            self.known(job)?;
            if change == Change::Cancel {
                return Err(ApiError::conflict("job 1 is solved"));
            }
            self.asked.lock().unwrap().push((job, change, by));
            Ok(json!({"job": 1}))
        })
    }
}

/// A server in this process, which ends with this.
struct Server {
    address: SocketAddr,
    source: Arc<Pretends>,
    _end: oneshot::Sender<()>,
}

impl Server {
    fn start(with_token: bool) -> Self {
        let source = Arc::new(Pretends::default());
        let (_end, ended) = oneshot::channel::<()>();
        let (tell, told) = mpsc::channel();
        let looked_at = source.clone();
        thread::spawn(move || {
            let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.unwrap().block_on(async {
                let options = Options { token: with_token.then(token), ..Options::default() };
                let at = "127.0.0.1:0".parse().unwrap();
                let bound = server::bind(at, &options).await.unwrap();
                tell.send(bound.address()).unwrap();
                let pages = dashboard::pages(looked_at);
                server::serve(bound, pages, options, async { drop(ended.await) }).await;
            });
        });
        Self { address: told.recv().unwrap(), source, _end }
    }

    /// The status and the rest of an answer.
    fn ask(&self, method: &str, path: &str, headers: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let host = self.address;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("{answer}")), answer)
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.ask("GET", path, &authorization())
    }
}

fn token() -> ziggurat_rpc::Token {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "submit {TOKEN}\nread anu {READING}\nworker {WORKING}").unwrap();
    match Security::from_token_file(file.path()).unwrap() {
        Security::Token(token) => token,
        other => panic!("{other:?}"),
    }
}

fn authorization() -> String {
    format!("Authorization: Bearer {TOKEN}\r\n")
}

/// The JSON of an answer.
fn body(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body.trim()).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

const READS: [&str; 7] = [
    "/v1/jobs",
    "/v1/workers",
    "/v1/jobs/1",
    "/v1/jobs/1/events",
    "/v1/jobs/1/history",
    "/v1/jobs/1/live",
    "/v1/live",
];

#[test]
fn without_the_token_nothing_is_told_but_the_page_itself() {
    let server = Server::start(true);
    for path in READS {
        for headers in ["", "Authorization: Bearer 0123456789abcdeX\r\n"] {
            let (status, answer) = server.ask("GET", path, headers);
            assert_eq!(status, 401, "{path}");
            assert!(!answer.contains("<script>") && !answer.contains("\"job\""), "{answer}");
        }
    }
    for change in ["pause", "resume", "cancel"] {
        assert_eq!(server.ask("POST", &format!("/v1/jobs/1/{change}"), "").0, 401);
    }
    assert!(server.source.asked.lock().unwrap().is_empty());
    for page in ["/", "/assets/dashboard.js", "/assets/dashboard-job.js", "/assets/dashboard.css"] {
        let (status, answer) = server.ask("GET", page, "");
        assert_eq!(status, 200, "{page}");
        assert!(answer.contains("default-src 'none'"), "{answer}");
    }
}

#[test]
fn every_route_answers_and_every_error_says_what_is_wrong() {
    let server = Server::start(true);
    let (_, jobs) = server.get("/v1/jobs");
    assert_eq!(body(&jobs)["jobs"][0]["name"], HOSTILE);
    assert!(jobs.contains("content-type: application/json"), "{jobs}");
    assert_eq!(body(&server.get("/v1/workers").1)["workers"][0]["name"], "one");
    assert_eq!(body(&server.get("/v1/jobs/1").1)["job"]["job"], 1);
    let (_, events) = server.get("/v1/jobs/1/events");
    assert_eq!(body(&events), json!({"events": [{"number": 1}], "left_out": 3}));
    assert!(body(&server.get("/v1/jobs/1/history").1)["steps"].is_object());
    for (path, problem) in [
        ("/v1/jobs/2", "no job 2"),
        ("/v1/jobs/2/events", "no job 2"),
        ("/v1/jobs/2/history", "no job 2"),
        ("/v1/jobs/2/live", "no job 2"),
        ("/v1/jobs/x", "`x` is no job"),
        ("/v1/jobs/-1", "`-1` is no job"),
        ("/v1/jobs/18446744073709551616/live", "is no job"),
        ("/v1/nothing", "no such page"),
    ] {
        let (status, answer) = server.get(path);
        assert_eq!(status, 404, "{path}");
        let message = body(&answer)["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(problem), "{path}: {message}");
    }
    assert_eq!(server.ask("DELETE", "/v1/jobs/1", &authorization()).0, 405);
    let post = |path: &str, more: &str| server.ask("POST", path, &(authorization() + more));
    assert_eq!(post("/v1/jobs/1/pause", "").0, 200);
    assert_eq!(post("/v1/jobs/1/resume", "").0, 200);
    assert_eq!(post("/v1/jobs/1/cancel", "").0, 409);
    assert_eq!(post("/v1/jobs/2/pause", "").0, 404);
    assert_eq!(post("/v1/jobs/1/explode", "").0, 404);
    assert_eq!(post("/v1/jobs/1/pause", "Origin: http://example.org\r\n").0, 403);
    let asked: Vec<Change> =
        server.source.asked.lock().unwrap().iter().map(|asked| asked.1).collect();
    assert_eq!(asked, [Change::Pause, Change::Resume]);
}

#[test]
fn without_a_token_jobs_can_be_looked_at_and_not_changed() {
    let server = Server::start(false);
    assert_eq!(server.ask("GET", "/v1/jobs/1", "").0, 200);
    for change in ["pause", "resume", "cancel"] {
        let (status, answer) = server.ask("POST", &format!("/v1/jobs/1/{change}"), "");
        assert_eq!(status, 403);
        assert!(answer.contains("--token-file"), "{answer}");
    }
    assert!(server.source.asked.lock().unwrap().is_empty());
}

#[test]
fn tokens_of_other_roles_read_and_change_nothing() {
    let server = Server::start(true);
    for token in [READING, WORKING] {
        let headers = format!("Authorization: Bearer {token}\r\n");
        for path in READS.iter().filter(|path| !path.ends_with("live")) {
            assert_eq!(server.ask("GET", path, &headers).0, 200, "{path}");
        }
        let told = server.ask("GET", "/v1/jobs/1/live", &headers).1;
        assert!(told.contains("\"may_change\":false"), "{told}");
        for change in ["pause", "resume", "cancel"] {
            let (status, answer) = server.ask("POST", &format!("/v1/jobs/1/{change}"), &headers);
            assert_eq!(status, 403, "{answer}");
            assert!(answer.contains("the role `submit`"), "{answer}");
        }
    }
    assert!(server.source.asked.lock().unwrap().is_empty());
    assert_eq!(server.ask("POST", "/v1/jobs/1/pause", &authorization()).0, 200);
    let asked = server.source.asked.lock().unwrap();
    assert!(asked[0].2.starts_with("submit (the page"), "{asked:?}");
}

#[test]
fn a_stream_tells_what_changes_and_ends_with_the_job() {
    let server = Server::start(true);
    let (status, told) = server.get("/v1/jobs/1/live");
    assert_eq!(status, 200);
    assert!(told.contains("content-type: text/event-stream"), "{told}");
    assert_eq!(told.matches("event: status").count(), 3, "{told}");
    assert_eq!(told.matches("event: history").count(), 1, "{told}");
    assert!(told.contains("\"may_change\":true"), "{told}");
    // Who leaves makes room for others.
    for _ in 0..100 {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let request =
            format!("GET /v1/live HTTP/1.1\r\nHost: localhost\r\n{}\r\n", authorization());
        stream.write_all(request.as_bytes()).unwrap();
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).unwrap();
        assert!(begin.starts_with(b"HTTP/1.1 "));
    }
    let room = || server.get("/v1/jobs/1/live").0 == 200;
    assert!((0..50).any(|_| room() || (thread::sleep(Duration::from_millis(100)), false).1));
}
