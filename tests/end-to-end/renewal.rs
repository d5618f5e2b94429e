//! Certificates and tokens are exchanged while a cluster of real processes runs: whoever has the new ones gets in, jobs
//! go on, and nothing is started again.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::support::{run, stderr, ziggurat};

/// What is new is in use some seconds later; machines under load take longer.
const PATIENCE: Duration = Duration::from_secs(240);

/// Processes that end with the test.
struct Processes {
    directory: tempfile::TempDir,
    address: String,
    metrics: String,
    security: &'static [&'static str],
    all: Vec<(&'static str, Child)>,
}

impl Drop for Processes {
    fn drop(&mut self) {
        for (name, process) in &mut self.all {
            let _ = process.kill();
            let _ = process.wait();
            if thread::panicking() {
                let log = fs::read_to_string(self.directory.path().join(format!("{name}.log")));
                eprintln!("== {name}\n{}", log.unwrap_or_default());
            }
        }
    }
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

const CERTIFICATES: [&str; 6] =
    ["--tls-ca", "ca.pem", "--tls-cert", "own.pem", "--tls-key", "own.key"];

impl Processes {
    /// A coordinator and two workers that know each other by some files.
    fn start(directory: tempfile::TempDir, security: &'static [&'static str]) -> Self {
        let (address, metrics) = (free_address(), free_address());
        let mut processes = Self { directory, address, metrics, security, all: Vec::new() };
        processes.start_coordinator();
        for name in ["one", "two"] {
            let to = processes.address.clone();
            let own =
                ["worker", "--dir", name, "--name", name, "--threads", "1", "--coordinator", &to];
            processes.start_one(name, &own);
        }
        processes
    }

    fn start_coordinator(&mut self) {
        let (address, metrics) = (self.address.clone(), self.metrics.clone());
        let own = ["coordinator", "--dir", "c", "--listen", &address, "--metrics", &metrics];
        self.start_one("coordinator", &[&own[..], &["--split-above", "1000"]].concat());
    }

    fn start_one(&mut self, name: &'static str, arguments: &[&str]) {
        let log = self.directory.path().join(format!("{name}.log"));
        let log = fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let mut command = ziggurat(self.directory.path(), &[arguments, self.security].concat());
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        self.all.push((name, child));
    }

    fn kill(&mut self, name: &str) {
        let place = self.all.iter().position(|(other, _)| *other == name).unwrap();
        let (_, mut process) = self.all.remove(place);
        process.kill().unwrap();
        process.wait().unwrap();
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(format!("{name}.log"))).unwrap()
    }

    /// Whether a user who has files in some directory gets in, and what is said.
    fn asks(&self, directory: &Path) -> (bool, String) {
        let coordinator = ["--coordinator", &self.address];
        let output = run(directory, &[&["jobs"], &coordinator[..], self.security].concat());
        (output.status.success(), stderr(&output))
    }

    /// Waits until a user with the files in a directory gets in, or does not.
    fn wait_until(&self, directory: &Path, gets_in: bool) {
        let started = Instant::now();
        loop {
            let (is_in, said) = self.asks(directory);
            if is_in == gets_in {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "{gets_in}: {said}");
            thread::sleep(Duration::from_millis(500));
        }
    }

    /// Solves a game that both workers have a part in.
    fn solves(&mut self) {
        let coordinator = ["--coordinator", &self.address.clone()];
        let arguments =
            ["submit", "finkel", "--pieces", "2", "--shard-positions", "4096", "--wait"];
        let all = [&arguments[..], &coordinator[..], self.security].concat();
        let output = run(self.directory.path(), &all);
        assert!(output.status.success(), "{}", stderr(&output));
        for (name, process) in &mut self.all {
            assert!(process.try_wait().unwrap().is_none(), "{name} has ended");
        }
    }

    /// The line of a metric.
    fn metric(&self, name: &str) -> String {
        let mut stream = TcpStream::connect(&self.metrics).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        let line = page.lines().find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("no {name}")).to_owned()
    }
}

/// Writes the files of a new authority, and a certificate that it signed, for so many seconds.
fn write_certificates(directory: &Path, seconds: i64) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    fs::write(directory.join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    let issuer = Issuer::new(params, key);
    let mut own = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let now = time::OffsetDateTime::now_utc();
    own.not_before = now - time::Duration::hours(1);
    own.not_after = now + time::Duration::seconds(seconds);
    let key = KeyPair::generate().unwrap();
    fs::write(directory.join("own.pem"), own.signed_by(&key, &issuer).unwrap().pem()).unwrap();
    fs::write(directory.join("own.key"), key.serialize_pem()).unwrap();
}

#[test]
fn certificates_are_renewed_and_their_end_is_spoken_of() {
    let (directory, old) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_certificates(directory.path(), 50 * 60 * 60);
    for name in ["ca.pem", "own.pem", "own.key"] {
        fs::copy(directory.path().join(name), old.path().join(name)).unwrap();
    }
    let mut cluster = Processes::start(directory, &CERTIFICATES);
    cluster.wait_until(old.path(), true);
    cluster.solves();
    let (_, said) = cluster.asks(old.path());
    assert!(said.contains("own.pem ends in 2 days"), "{said}");
    for name in ["coordinator", "one", "two"] {
        let log = cluster.log(name);
        assert!(log.contains("WARN") && log.contains("own.pem ends in 2 days"), "{name}: {log}");
    }
    let expiry = "ziggurat_coordinator_certificate_expiry_timestamp_seconds{file=\"own.pem\"}";
    let before = cluster.metric(expiry);

    // A certificate without its key is not taken.
    let broken = fs::read(old.path().join("own.pem")).unwrap();
    fs::write(cluster.directory.path().join("own.pem"), &broken[..broken.len() / 2]).unwrap();
    let started = Instant::now();
    while !cluster.log("one").contains("the old stays in use") {
        assert!(started.elapsed() < PATIENCE, "{}", cluster.log("one"));
        thread::sleep(Duration::from_millis(200));
    }
    cluster.wait_until(old.path(), true);

    // Those of another authority take the place of all.
    write_certificates(cluster.directory.path(), 365 * 24 * 60 * 60);
    let new = cluster.directory.path().to_owned();
    cluster.wait_until(&new, true);
    cluster.wait_until(old.path(), false);
    for name in ["one", "two"] {
        let started = Instant::now();
        while !cluster.log(name).contains("were renewed") {
            assert!(started.elapsed() < PATIENCE, "{}", cluster.log(name));
            thread::sleep(Duration::from_millis(200));
        }
    }
    assert_ne!(cluster.metric(expiry), before);
    cluster.solves();
    // Workers come back to a coordinator that was started anew, with the certificates that they have taken up.
    cluster.kill("coordinator");
    cluster.start_coordinator();
    cluster.wait_until(&new, true);
    cluster.solves();
}

#[test]
fn a_token_is_exchanged_while_a_cluster_runs() {
    let (directory, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = directory.path().join("token");
    fs::write(&file, "the-old-token-of-all\n").unwrap();
    fs::write(new.path().join("token"), "the-new-token-of-all\n").unwrap();
    let mut cluster = Processes::start(directory, &["--token-file", "token"]);
    let own = cluster.directory.path().to_owned();
    cluster.wait_until(&own, true);
    cluster.solves();
    assert!(!cluster.asks(new.path()).0);
    // Both are good for a while.
    fs::write(&file, "the-old-token-of-all\nthe-new-token-of-all\n").unwrap();
    cluster.wait_until(new.path(), true);
    fs::copy(new.path().join("token"), &file).unwrap();
    let old = tempfile::tempdir().unwrap();
    fs::write(old.path().join("token"), "the-old-token-of-all").unwrap();
    cluster.wait_until(old.path(), false);
    // Workers that tell the new one come back to a coordinator that was started anew.
    cluster.kill("coordinator");
    cluster.start_coordinator();
    cluster.wait_until(&own, true);
    cluster.solves();
}

#[test]
fn a_token_is_good_for_its_role_and_events_tell_whose_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let tokens = "worker fleet the-token-of-workers\nsubmit anu the-token-of-anu-1\nread the-token-of-readers\n";
    fs::write(directory.path().join("token"), tokens).unwrap();
    let user = |token: &str| {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("token"), token).unwrap();
        home
    };
    let (anu, reader) = (user("the-token-of-anu-1"), user("read the-token-of-readers"));
    let cluster = Processes::start(directory, &["--token-file", "token"]);
    cluster.wait_until(anu.path(), true);
    cluster.wait_until(reader.path(), true);
    let ask = |home: &tempfile::TempDir, arguments: &[&str]| {
        let more = ["--coordinator", &cluster.address, "--token-file", "token"];
        run(home.path(), &[arguments, &more].concat())
    };
    let submit = ["submit", "finkel", "--pieces", "2", "--wait"];
    let refused = ask(&reader, &submit);
    assert_eq!(refused.status.code(), Some(2));
    let said = stderr(&refused);
    assert!(said.contains("the role `submit`") && said.contains("the role `read`"), "{said}");
    let solved = ask(&anu, &submit);
    assert!(solved.status.success(), "{}", stderr(&solved));
    assert!(ask(&reader, &["export", "1"]).status.success());
    assert_eq!(ask(&reader, &["cancel", "1", "--force"]).status.code(), Some(2));
    let events = String::from_utf8(ask(&reader, &["events", "1", "--json"]).stdout).unwrap();
    assert!(events.contains("anu (127.0.0.1)"), "{events}");
    // A worker takes the role of one.
    let home = reader.path().join("w");
    let worker = ["worker", "--dir", home.to_str().unwrap(), "--name", "three"];
    let refused = ask(&reader, &worker);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("the role `worker`"), "{}", stderr(&refused));

    // Anu's token is changed while all runs; that of workers stays.
    let renewed = user("the-token-of-anu-2");
    assert!(!cluster.asks(renewed.path()).0);
    let file = cluster.directory.path().join("token");
    fs::write(&file, tokens.replace("anu-1", "anu-2")).unwrap();
    cluster.wait_until(renewed.path(), true);
    cluster.wait_until(anu.path(), false);
    let solved = ask(&renewed, &submit);
    assert!(solved.status.success(), "{}", stderr(&solved));
}
