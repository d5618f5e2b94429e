//! A server of tables in this process, and a client that says what it is told to.

pub mod schema;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    sync::mpsc,
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::Value;
use tokio::{runtime::Builder, sync::oneshot};
use ziggurat_web::{
    explorer,
    server::{self, Options},
};

/// A file of the reference data.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name)
}

/// The tables that most tests serve: two rulesets, one of them proven to nothing and one a `.zgt` file.
pub fn tables() -> Vec<PathBuf> {
    ["finkel2-f64.rgu", "masters1-f64.rgu", "finkel1-f64-version1.zgt"].map(data).to_vec()
}

/// A server, which ends with this.
pub struct Server {
    pub address: SocketAddr,
    ends: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// One that anybody of this machine may ask.
    pub fn usual() -> Self {
        Self::start(&tables(), Options::default())
    }

    pub fn start(tables: &[PathBuf], options: Options) -> Self {
        let pages = explorer::pages(tables, 16 << 20).unwrap();
        let (ends, ended) = oneshot::channel();
        let (tell, told) = mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.unwrap().block_on(async {
                let bound = server::bind("127.0.0.1:0".parse().unwrap(), &options).await.unwrap();
                tell.send(bound.address()).unwrap();
                server::serve(bound, pages, options, async { drop(ended.await) }).await;
            });
        });
        Self { address: told.recv().unwrap(), ends: Some(ends), thread: Some(thread) }
    }

    /// Sends bytes, and reads until the server closes the connection.
    pub fn raw(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // A server may refuse before it has read all.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    /// Asks with a method, headers (lines that end in CRLF) and a body.
    pub fn ask(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let (host, length) = (self.address, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
        );
        Answer::parse(&self.raw(&[head.as_bytes(), body].concat()))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", b"")
    }

    pub fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        self.ask("POST", path, "", body.as_ref())
    }

    /// Ends the server, and waits for it.
    pub fn end(&mut self) {
        drop(self.ends.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a server said.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no head: {:?}", String::from_utf8_lossy(bytes)));
        let headers = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = headers.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Self { status, headers, body: bytes[end + 4..].to_vec() };
        // What a damaged request has after its end may be answered, too.
        if let Some(length) = answer.header("content-length").map(|it| it.parse().unwrap()) {
            answer.body.truncate(length);
        }
        answer
    }

    /// The value of a header, if there is one.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.headers.lines().filter_map(|line| line.split_once(": "));
        lines.clone().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{}", self.headers);
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The JSON of an answer that went well.
    pub fn right(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// What is wrong, given the status that says so.
    pub fn wrong(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        let error = self.json()["error"].clone();
        assert!(error["message"].is_string(), "{error}");
        error
    }
}
