//! What a service manager and a collector of metrics are told of services while they run.

use std::{
    collections::HashMap,
    io::{Read, Write},
    iter,
    net::TcpStream,
    os::unix::net::UnixDatagram,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{cluster::Cluster, support::ziggurat};

/// A service that tells nothing for so long is not going to.
const PATIENCE: Duration = Duration::from_secs(20);

/// What systemd calls `WatchdogSec=`.
const WATCHDOG: Duration = Duration::from_millis(600);

/// A process that goes with the test.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_service_manager_is_told_of_the_start_the_life_and_the_end_of_a_service() {
    let directory = tempfile::tempdir().unwrap();
    let address = Cluster::free_address();
    let coordinator = ["coordinator", "--dir", "coordinator", "--listen", &address];
    let worker = ["worker", "--dir", "worker", "--name", "one", "--coordinator", &address];
    for arguments in [&coordinator[..], &worker] {
        let what = arguments[0];
        let path = directory.path().join(format!("{what}.socket"));
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let told = || {
            let mut state = [0; 64];
            let length = socket.recv(&mut state).expect("nothing is told");
            String::from_utf8(state[..length].to_vec()).unwrap()
        };
        let mut command = ziggurat(directory.path(), arguments);
        command.env("NOTIFY_SOCKET", &path).stdout(Stdio::null()).stderr(Stdio::null());
        command.env("WATCHDOG_USEC", WATCHDOG.as_micros().to_string()).env_remove("WATCHDOG_PID");
        let mut service = Service(command.spawn().unwrap());
        assert_eq!(told(), "READY=1", "{what}");
        // It is told at once, and then twice in the time that the manager waits.
        let started = Instant::now();
        for _ in 0..4 {
            assert_eq!(told(), "WATCHDOG=1", "{what}");
        }
        assert!(started.elapsed() < 3 * WATCHDOG, "{what}: {:?}", started.elapsed());
        kill_process(Pid::from_child(&service.0), Signal::TERM).unwrap();
        let last = iter::repeat_with(told).find(|state| state != "WATCHDOG=1");
        assert_eq!(last.as_deref(), Some("STOPPING=1"), "{what}");
        assert_eq!(service.0.wait().unwrap().code(), Some(0), "{what}");
    }
}

/// The values of all metrics at an address, by name and labels.
fn values(address: &str) -> HashMap<String, f64> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    let metric = |line: &str| {
        let (name, value) = line.rsplit_once(' ')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    page.lines().filter_map(metric).collect()
}

#[test]
fn disks_checkpoints_and_the_time_of_workers_are_seen_while_a_job_runs() {
    let mut cluster = Cluster::new(0);
    cluster.kill(None);
    let [coordinator, one, two] = [(); 3].map(|()| Cluster::free_address());
    cluster.coordinator_arguments = ["--metrics", &coordinator].map(str::to_owned).to_vec();
    cluster.start_again(None);
    let address = cluster.address();
    let _workers = [("one", &one), ("two", &two)].map(|(name, metrics)| {
        let own = ["worker", "--coordinator", &address, "--dir", name, "--name", name];
        Service(cluster.start(name, &[&own[..], &["--metrics", metrics]].concat()))
    });
    let is_here = |name| cluster.log("coordinator").contains(&format!("worker {name} is here"));
    cluster.wait_for("the workers", || is_here("one") && is_here("two"));
    let submit = ["submit", "finkel", "--pieces", "5", "--checkpoint-every", "300ms"];
    let job = cluster.ask(&submit).trim().to_owned();
    let of_job = |name: &str| format!("{name}{{job=\"{job}\"}}");
    let of_worker =
        |name| format!("ziggurat_coordinator_worker_disk_free_bytes{{worker=\"{name}\"}}");
    let age = of_job("ziggurat_coordinator_checkpoint_age_seconds");
    let at_coordinator = [age, of_worker("one"), of_worker("two")];
    let at_worker = [
        "ziggurat_worker_disk_free_bytes".to_owned(),
        of_job("ziggurat_worker_barrier_wait_seconds_total"),
        of_job("ziggurat_worker_exchanging_seconds_total"),
    ];
    let mut missing: Vec<String> = Vec::new();
    for (address, names) in
        [(&coordinator, &at_coordinator), (&one, &at_worker), (&two, &at_worker)]
    {
        missing.extend(names.iter().map(|name| format!("{address} {name}")));
    }
    cluster.wait_for("values", || {
        missing.retain(|metric| {
            let (address, name) = metric.split_once(' ').unwrap();
            let value = values(address).get(name).copied();
            value.is_none_or(|value| value <= 0.0)
        });
        assert!(missing.is_empty() || cluster.state(&job) != "solved", "{missing:?}");
        missing.is_empty()
    });
}
