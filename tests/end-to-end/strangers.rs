//! Strangers hold connections, and members do not notice.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use crate::{cluster::Cluster, support::run, support::stderr};

/// More connections than a host is allowed.
const MANY: usize = 300;

#[test]
fn connections_of_strangers_keep_no_member_out() {
    let mut cluster = Cluster::new(0);
    cluster.kill(None);
    fs::write(cluster.path().join("token"), "a-secret-of-enough-letters").unwrap();
    let (address, metrics) = (cluster.address(), Cluster::free_address());
    let arguments = ["coordinator", "--dir", "coordinator", "--listen", &address];
    let more = ["--token-file", "token", "--metrics", &metrics];
    let mut coordinator = cluster.start("coordinator", &[&arguments[..], &more].concat());
    cluster.wait_for("the coordinator", || {
        TcpStream::connect(&address).is_ok() && TcpStream::connect(&metrics).is_ok()
    });
    let hold = |address: &str, said: &[u8]| {
        let connect = |_| {
            let mut stream = TcpStream::connect(address).ok()?;
            let _ = stream.write_all(said); // it may have had to go already
            Some(stream)
        };
        (0..MANY).filter_map(connect).collect::<Vec<_>>()
    };
    let strangers = hold(&address, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let jobs = ["jobs", "--coordinator", &address, "--token-file", "token"];
    for _ in 0..3 {
        let output = run(cluster.path(), &jobs);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let log = cluster.log("coordinator");
    assert!(log.contains("closed a connection: too many connections of strangers"), "{log}");
    // Half of a request for metrics, many times.
    let readers = hold(&metrics, b"GET /metrics HTTP/1.1\r\nhost:");
    let mut stream = TcpStream::connect(&metrics).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200") && page.ends_with("alive\n"), "{page}");
    drop((strangers, readers));
    coordinator.kill().unwrap();
    coordinator.wait().unwrap();
}
