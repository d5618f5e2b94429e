//! `serve`: the values of tables over HTTP are those that are printed, and the explorer works in a browser.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{
    Random, data, in_a_browser, run, stderr, succeed, succeed_with_json, ziggurat,
};

/// A server, which is killed with this.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(directory: &Path, arguments: &[&str]) -> Self {
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
        let mut command = ziggurat(directory, &arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").and_then(|it| it.strip_suffix('/'));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, address }
    }

    /// The status and the body of an answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (host, length) = (&self.address, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn right(&self, method: &str, path: &str, body: &str) -> Value {
        let (status, body) = self.ask(method, path, body);
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A position of finkel with 3 pieces: at most two of each player on the board, and one scored.
fn position(random: &mut Random) -> String {
    let mut taken = Vec::new();
    let mut side = || {
        let mut pieces = Vec::new();
        for _ in 0..random.below(3) {
            let at = 1 + random.below(14);
            if !taken.contains(&at) {
                taken.push(at);
                pieces.push(at.to_string());
            }
        }
        let board = if pieces.is_empty() { "-".to_owned() } else { pieces.join(",") };
        format!("{board}+{}", random.below(2))
    };
    format!("{}/{}", side(), side())
}

#[test]
fn ten_thousand_positions_over_http_are_those_of_table_get() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    succeed(path, &["solve", "finkel", "--pieces", "3", "--json", "--out", "finkel-3.zgt"]);
    let server = Server::start(path, &["finkel-3.zgt"]);
    let mut random = Random::new();
    let positions: Vec<String> = (0..10_000).map(|_| position(&mut random)).collect();
    let asked = json!({"positions": positions}).to_string();
    let answer = server.right("POST", "/v1/finkel-3", &asked);
    let mut get = ziggurat(path, &["table", "get", "finkel-3.zgt", "-", "--json"]);
    let mut get = get.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = get.stdin.take().unwrap();
    let lines = positions.join("\n") + "\n";
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = get.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed: Vec<Value> = printed.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let answers = answer["answers"].as_array().unwrap();
    assert_eq!((answers.len(), printed.len()), (10_000, 10_000));
    for (answer, printed) in answers.iter().zip(&printed) {
        assert_eq!(answer["position"], printed["position"]);
        assert_eq!(answer["percent"], printed["percent"], "{answer}");
    }
    assert_eq!(answer["certificate"], printed[0]["certificate"]);
    // And moves are those of `best`, the checksum that of `table info`.
    let mut found = server.right("GET", "/v1/finkel-3?position=4,8+1/3", "");
    let best = succeed_with_json(path, &["best", "finkel-3.zgt", "4,8+1/3", "--json"]);
    for only_served in ["table", "bound"] {
        assert!(found.as_object_mut().unwrap().remove(only_served).is_some());
    }
    assert_eq!(found, best);
    let info = succeed_with_json(path, &["table", "info", "finkel-3.zgt", "--json"]);
    let tables = server.right("GET", "/v1/tables", "");
    assert_eq!(tables["tables"][0]["checksum"], info["checksum"]);
    assert!(info["checksum"].is_string());
}

#[test]
fn a_review_over_http_is_that_of_the_command() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    succeed(path, &["solve", "finkel", "--pieces", "2", "--json", "--out", "finkel-2.zgt"]);
    let server = Server::start(path, &["finkel-2.zgt"]);
    let record = data("games/finkel2-1.rgn");
    let text = std::fs::read_to_string(&record).unwrap();
    let served = server.right("POST", "/v1/review", &text);
    let record = record.to_str().unwrap();
    let printed = succeed_with_json(path, &["review", record, "--table", "finkel-2.zgt", "--json"]);
    for (name, value) in printed.as_object().unwrap().iter().filter(|(name, _)| *name != "file") {
        assert_eq!(&served[name], value, "{name}");
    }
}

#[test]
fn what_cannot_be_served_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let table = data("finkel1-f64.rgu");
    let table = table.to_str().unwrap();
    std::fs::write(path.join("short"), "secret").unwrap();
    for (arguments, part) in [
        (&["serve"][..], "<TABLE>"),
        (&["serve", "nothing.zgt"], "cannot open nothing.zgt"),
        (&["serve", "short"], "is not a table"),
        (&["serve", table, table], "would both be served as `finkel1-f64`"),
        (&["serve", table, "--listen", "localhost"], "write ADDRESS:PORT"),
        (&["serve", table, "--listen", "0.0.0.0:0"], "--token-file"),
        (&["serve", table, "--token-file", "short"], "at least 16"),
        (&["serve", table, "--token-file", "none"], "cannot read none"),
        (&["serve", table, "--cors", "example.org"], "is no origin"),
    ] {
        let output = run(path, arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.contains(part), "{arguments:?}: {message}");
    }
}

#[test]
fn a_server_ends_cleanly_when_it_is_asked_to() {
    let directory = tempfile::tempdir().unwrap();
    let table = data("finkel1-f64.rgu");
    let mut server = Server::start(directory.path(), &[table.to_str().unwrap()]);
    assert_eq!(server.ask("GET", "/healthz", "").0, 200);
    let pid = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn the_explorer_works_in_a_browser() {
    in_a_browser("explorer.sh");
}
