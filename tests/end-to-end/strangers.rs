//! Strangers hold connections, and members do not notice.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    process::Stdio,
    time::Duration,
};

use crate::{
    cluster::Cluster,
    support::{limited, run, stderr},
};

/// More connections than a host is allowed.
const MANY: usize = 300;

/// Makes as many connections, and says the same in each.
fn hold(address: &str, said: &[u8]) -> Vec<TcpStream> {
    let connect = |_| {
        let mut stream = TcpStream::connect(address).ok()?;
        let _ = stream.write_all(said); // it may have had to go already
        Some(stream)
    };
    (0..MANY).filter_map(connect).collect()
}

#[test]
fn connections_of_strangers_keep_no_member_out() {
    let mut cluster = Cluster::new(0);
    cluster.kill(None);
    fs::write(cluster.path().join("token"), "a-secret-of-enough-letters").unwrap();
    let address = cluster.address();
    cluster.coordinator_arguments = ["--token-file", "token"].map(str::to_owned).to_vec();
    cluster.start_again(None);
    cluster.wait_for("the coordinator", || TcpStream::connect(&address).is_ok());
    let strangers = hold(&address, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let jobs = ["jobs", "--coordinator", &address, "--token-file", "token"];
    for _ in 0..3 {
        let output = run(cluster.path(), &jobs);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let log = cluster.log("coordinator");
    assert!(log.contains("closed a connection: too many connections of strangers"), "{log}");
    drop(strangers);
}

#[test]
fn half_requests_at_the_port_for_metrics_leave_its_other_readers_answered() {
    let mut cluster = Cluster::new(0);
    cluster.kill(None);
    let (address, metrics) = (cluster.address(), Cluster::free_address());
    let arguments = ["coordinator", "--dir", "coordinator", "--listen", &address];
    let arguments = [&arguments[..], &["--metrics", &metrics]].concat();
    // It may have fewer files and connections open than there are half requests.
    let mut command = limited(cluster.path(), "ulimit -n 200", &arguments);
    let mut coordinator = command.stderr(Stdio::null()).spawn().unwrap();
    cluster.wait_for("the coordinator", || TcpStream::connect(&metrics).is_ok());
    let readers = hold(&metrics, b"GET /metrics HTTP/1.1\r\nhost:");
    let mut stream = TcpStream::connect(&metrics).unwrap();
    // Half requests are closed after ten seconds, and this one is not to wait for that.
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    let read = stream.read_to_string(&mut page);
    drop(readers);
    coordinator.kill().unwrap();
    coordinator.wait().unwrap();
    assert!(read.is_ok(), "no answer: {read:?}");
    assert!(page.starts_with("HTTP/1.1 200") && page.ends_with("alive\n"), "{page}");
}
