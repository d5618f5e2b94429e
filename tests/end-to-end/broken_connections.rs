//! Connections that break when the coordinator has done what it was asked for, and before its answer is there.

use std::{
    collections::HashSet,
    fs,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    process::{Child, Output},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    cluster::{Cluster, expected},
    support::{last_json, run, stderr, ziggurat},
};

/// HTTP/2 frames (RFC 9113, section 4.1): length in 3 bytes, type, flags, stream in 4 bytes.
const FRAME_HEADER_BYTES: usize = 9;

/// The type of the frame that an answer begins with.
const HEADERS: u8 = 1;

/// Where connections to a coordinator break.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Breaks {
    /// Just before an answer begins.
    Before,
    /// When it has begun.
    Within,
}

/// A way to a coordinator on which every other answer is lost, from the first on.
struct Lossy {
    address: String,
    answers: Arc<AtomicU64>,
}

impl Lossy {
    fn way_to(coordinator: &str, breaks: Breaks) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let answers = Arc::new(AtomicU64::new(0));
        let (coordinator, counted) = (coordinator.to_owned(), answers.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&coordinator) else { continue };
                let counted = counted.clone();
                thread::spawn(move || join(&client, &server, breaks, &counted));
            }
        });
        Self { address, answers }
    }

    /// How many answers have begun, lost ones too.
    fn answers(&self) -> u64 {
        self.answers.load(Ordering::SeqCst)
    }
}

/// Hands on what client and server say until an answer is to be lost.
fn join(client: &TcpStream, server: &TcpStream, breaks: Breaks, answers: &AtomicU64) {
    let (mut from_client, mut to_server) =
        (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let _ = hand_on(server, client, breaks, answers);
    for end in [client, server] {
        let _ = end.shutdown(Shutdown::Both);
    }
}

fn hand_on(
    mut server: &TcpStream,
    mut client: &TcpStream,
    breaks: Breaks,
    answers: &AtomicU64,
) -> std::io::Result<()> {
    let mut answered = HashSet::new();
    let mut header = [0; FRAME_HEADER_BYTES];
    loop {
        server.read_exact(&mut header)?;
        let [a, b, c, kind, _, stream @ ..] = header;
        let mut frame = header.to_vec();
        frame.resize(FRAME_HEADER_BYTES + u32::from_be_bytes([0, a, b, c]) as usize, 0);
        server.read_exact(&mut frame[FRAME_HEADER_BYTES..])?;
        let is_lost = kind == HEADERS
            && answered.insert(stream)
            && answers.fetch_add(1, Ordering::SeqCst).is_multiple_of(2);
        if !is_lost || breaks == Breaks::Within {
            client.write_all(&frame)?;
        }
        if is_lost {
            return Ok(());
        }
    }
}

/// Runs a command of the cluster's user, whose every other answer is lost.
fn asked(cluster: &Cluster, breaks: Breaks, arguments: &[&str]) -> (Output, u64) {
    let lossy = Lossy::way_to(&cluster.address(), breaks);
    let output = run(cluster.path(), &[arguments, &["--coordinator", &lossy.address]].concat());
    (output, lossy.answers())
}

/// What such a command printed, given that it succeeded, although it lost so many answers.
fn succeeds(cluster: &Cluster, breaks: Breaks, arguments: &[&str], lost: u64) -> String {
    let (output, answers) = asked(cluster, breaks, arguments);
    let said = stderr(&output);
    assert!(output.status.success(), "{breaks:?} {arguments:?}: {}: {said}", output.status);
    assert!(answers >= 2 * lost, "{breaks:?} {arguments:?}: {answers} answers");
    String::from_utf8(output.stdout).unwrap()
}

fn jobs(cluster: &Cluster) -> Vec<serde_json::Value> {
    let jobs = last_json(&cluster.ask(&["jobs", "--json"]));
    jobs["jobs"].as_array().unwrap().clone()
}

#[test]
fn a_job_whose_number_was_lost_is_submitted_once() {
    let cluster = Cluster::new(0);
    cluster.wait_for("the coordinator", || TcpStream::connect(cluster.address()).is_ok());
    for (submitted, breaks) in [(1, Breaks::Before), (2, Breaks::Within)] {
        let told = succeeds(&cluster, breaks, &["submit", "finkel", "--pieces", "2"], 2);
        assert_eq!(told.trim(), submitted.to_string());
        assert_eq!(jobs(&cluster).len(), submitted);
    }
}

#[test]
fn every_command_asks_again_for_an_answer_that_was_lost() {
    let expected = expected();
    let mut cluster = Cluster::new(0);
    let job = cluster.submit();
    for breaks in [Breaks::Before, Breaks::Within] {
        let ask = |arguments: &[&str], lost| succeeds(&cluster, breaks, arguments, lost);
        assert!(ask(&["jobs"], 1).contains("finkel"));
        assert!(ask(&["status", &job], 1).contains("queued"));
        assert!(ask(&["pause", &job], 1).contains("paused"));
        assert_eq!(cluster.state(&job), "paused");
        assert!(ask(&["resume", &job], 1).contains("queued"));
    }
    cluster.start_another_worker();
    cluster.ends_well(&job, &expected);
    for breaks in [Breaks::Before, Breaks::Within] {
        let ask = |arguments: &[&str], lost| succeeds(&cluster, breaks, arguments, lost);
        // The last state is what it goes by, which comes at once here.
        assert!(ask(&["watch", &job, "--json"], 2).contains("solved"));
        ask(&["export", &job, "--out", "again.zgt", "--force"], 1);
        assert!(fs::read(cluster.path().join("again.zgt")).unwrap() == expected, "other bytes");
    }
    for breaks in [Breaks::Before, Breaks::Within] {
        succeeds(&cluster, breaks, &["cancel", &job, "--force"], 1);
        assert_eq!(cluster.state(&job), "cancelled");
    }
}

#[test]
fn what_is_no_coordinator_gets_the_hint_that_fits() {
    let directory = tempfile::tempdir().unwrap();
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (listen, metrics) = (free(), free());
    let arguments = ["coordinator", "--dir", "c", "--listen", &listen, "--metrics", &metrics];
    let _coordinator = Killed(ziggurat(directory.path(), &arguments).spawn().unwrap());
    while TcpStream::connect(&listen).is_err() {
        thread::sleep(Duration::from_millis(20));
    }
    for (address, code, error, help) in [
        ("no-such-host.invalid:7400", 1, "the host of the coordinator at", "its name is right"),
        (&free(), 1, "no coordinator listens at", "coordinator --dir"),
        (&metrics, 2, "is no coordinator, but a web server", "not that of its metrics"),
    ] {
        let output = run(directory.path(), &["jobs", "--coordinator", address]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(error) && said.contains(help), "{said}");
        assert!(!said.to_lowercase().contains("tls"), "{said}");
    }
}

/// A process that ends with the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_script_may_submit_a_job_again_with_its_key() {
    let mut cluster = Cluster::new(0);
    cluster.wait_for("the coordinator", || TcpStream::connect(cluster.address()).is_ok());
    let submit = ["submit", "finkel", "--pieces", "2", "--key", "nightly-1", "--json"];
    let told = last_json(&cluster.ask(&submit));
    assert_eq!((&told["job"], &told["key"]), (&1.into(), &"nightly-1".into()));
    assert_eq!(last_json(&cluster.ask(&submit))["job"], 1);
    // The key is as durable as the job.
    let mut coordinator = cluster.take(None);
    coordinator.kill().unwrap();
    coordinator.wait().unwrap();
    cluster.start_again(None);
    cluster.wait_for("the coordinator", || TcpStream::connect(cluster.address()).is_ok());
    assert_eq!(last_json(&cluster.ask(&submit))["job"], 1);
    // Another job is not taken for it, nor it for another.
    let address = cluster.address();
    for other in [
        &["submit", "finkel", "--pieces", "3"][..],
        &["submit", "finkel", "--pieces", "2", "--tolerance", "1e-9"],
        &["submit", "finkel", "--pieces", "2", "--name", "another"],
        &["submit", "finkel", "--pieces", "2", "--checkpoint-every", "30s"],
    ] {
        let other = [other, &["--key", "nightly-1", "--coordinator", &address]].concat();
        let refused = run(cluster.path(), &other);
        let said = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{other:?}: {said}");
        assert!(said.contains("job 1 was submitted with the same key"), "{said}");
    }
    assert_eq!(jobs(&cluster).len(), 1);
    // One that is cancelled is not begun anew by its key.
    cluster.ask(&["cancel", "1"]);
    assert_eq!(last_json(&cluster.ask(&submit))["job"], 1);
    assert_eq!(cluster.state("1"), "cancelled");
    for wrong in ["", &"x".repeat(65)] {
        let output = run(cluster.path(), &["submit", "finkel", "--key", wrong]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    }
}
