//! Signals in pairs, at random moments and distances: what was begun ends in an exit code that is documented, and what it leaves can
//! be gone on with.
//!
//! `ZIGGURAT_SIGNAL_PAIRS` says how many pairs each command gets, `ZIGGURAT_SIGNAL_SEED` where the random numbers begin.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    net::TcpStream,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    cluster::{Cluster, expected},
    support::{Random, files, run, succeed, ziggurat},
};

/// Signals of which the first asks for a clean end.
const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// A process that has not ended so long after its signals hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// After a second another signal is a wish of its own. The process may notice one of the two later than the other.
const OTHER_WISH: Duration = Duration::from_millis(500);

/// A seed, and how many pairs of signals each command gets.
fn pairs() -> (u64, u64) {
    let number = |name: &str| env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let seed = number("ZIGGURAT_SIGNAL_SEED").unwrap_or(1);
    (seed, number("ZIGGURAT_SIGNAL_PAIRS").unwrap_or(4))
}

/// What became of a process that got a pair of signals.
struct Ended {
    status: ExitStatus,
    /// Whether the second signal was a wish of its own, to end at once.
    was_hurried: bool,
    said: String,
}

/// Whether the process is listening to all these signals, which it begins to one after another.
fn listens(process: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
    SIGNALS.iter().all(|signal| caught >> (signal.as_raw() - 1) & 1 == 1)
}

/// Sends a process a pair of signals, at a random moment within `begin`, and waits for its end.
fn signalled(mut process: Child, random: &mut Random, begin: Duration) -> Ended {
    let below = |random: &mut Random, time: Duration| {
        Duration::from_micros(random.below(time.as_micros() as u64))
    };
    thread::sleep(below(random, begin));
    let longest = [500, 500, 500, 5_000, 50_000, 1_500_000][random.below(6) as usize];
    let distance = below(random, Duration::from_micros(longest));
    let pid = Pid::from_child(&process);
    let mut send = |process: &mut Child| {
        let signal = SIGNALS[random.below(3) as usize];
        if process.try_wait().unwrap().is_none() {
            kill_process(pid, signal).unwrap();
        }
        (Instant::now(), signal)
    };
    let (first, _) = send(&mut process);
    thread::sleep(distance);
    let (second, signal) = send(&mut process);
    let mut was_hurried = signal != Signal::HUP && second - first >= OTHER_WISH;
    let said = process.stderr.take().map(|said| {
        thread::spawn(move || {
            let lines = BufReader::new(said).lines().map_while(Result::ok);
            lines.collect::<Vec<_>>().join("\n")
        })
    });
    let status = loop {
        if let Some(status) = process.try_wait().unwrap() {
            break status;
        }
        // Whoever does not want to wait for what it hands over.
        if !was_hurried && first.elapsed() > Duration::from_secs(3) {
            kill_process(pid, Signal::TERM).unwrap();
            was_hurried = true;
        }
        if first.elapsed() > PATIENCE {
            process.kill().unwrap();
            panic!("still there {PATIENCE:?} after {SIGNALS:?}");
        }
        thread::sleep(Duration::from_millis(2));
    };
    let said = said.map_or_else(String::new, |said| said.join().unwrap());
    Ended { status, was_hurried, said }
}

impl Ended {
    /// It was interrupted, as scripts are told.
    fn is_interrupted(&self) {
        let Self { status, said, .. } = self;
        assert_eq!(status.code(), Some(130), "{status}: {said}");
    }

    /// It ended cleanly, as a service does, or at once if that was asked for.
    fn has_left(&self) {
        let Self { status, was_hurried, said } = self;
        let code = status.code();
        assert!(code == Some(0) || *was_hurried && code == Some(130), "{status}: {said}");
    }
}

/// Starts a command that listens to signals when this returns.
fn start(directory: &Path, arguments: &[&str]) -> Child {
    let mut command = ziggurat(directory, arguments);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !listens(&process) && process.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < PATIENCE, "{arguments:?} does not listen to signals");
        thread::sleep(Duration::from_micros(200));
    }
    process
}

/// Gives a command its pairs of signals, and looks at what they leave.
fn each_pair(
    seed: u64,
    begin: Duration,
    directory: &Path,
    arguments: &[&str],
    look: impl Fn(Ended),
) {
    let (first, pairs) = pairs();
    println!("seed {first}, {pairs} pairs: {arguments:?}");
    let mut random = Random::seeded(first.wrapping_mul(1000) + seed);
    for _ in 0..pairs {
        look(signalled(start(directory, arguments), &mut random, begin));
    }
}

const SOON: Duration = Duration::from_millis(400);

#[test]
fn a_solve_in_memory_is_interrupted_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    each_pair(1, SOON, directory.path(), &["solve", "finkel", "--json"], |ended| {
        ended.is_interrupted();
        assert_eq!(files(directory.path()), [""; 0]);
    });
}

#[test]
fn a_solve_in_a_directory_is_interrupted_and_goes_on_to_the_same_bytes() {
    let game = ["finkel", "--pieces", "4", "--out", "table.zgt"];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    succeed(path, &["solve", "finkel", "--pieces", "4", "--out", "expected.zgt"]);
    let expected = fs::read(path.join("expected.zgt")).unwrap();
    let solve = [&["solve"], &game[..], &["--dir", "d", "--checkpoint-every", "100ms"]].concat();
    let (seed, pairs) = pairs();
    let mut random = Random::seeded(seed.wrapping_mul(1000) + 2);
    // One that was interrupted before there was anything to go on with is begun anew. Just before its progress is written for the
    // first time, there is a solve of which `status` knows nothing yet, and `solve` says so.
    let mut is_begun = false;
    for _ in 0..pairs {
        let holds = is_begun || run(path, &["status", "d"]).status.success();
        let resume = ["resume", "d", "--checkpoint-every", "100ms"];
        let command = if holds { &resume[..] } else { &solve };
        let begin = [SOON, 4 * SOON][random.below(2) as usize];
        let ended = signalled(start(path, command), &mut random, begin);
        if ended.status.success() {
            assert!(fs::read(path.join("table.zgt")).unwrap() == expected, "other bytes");
            fs::remove_file(path.join("table.zgt")).unwrap();
            fs::remove_dir_all(path.join("d")).unwrap();
            is_begun = false;
        } else {
            is_begun = !holds && ended.said.contains("d holds a solve already");
            if !is_begun {
                ended.is_interrupted();
            }
            let left: Vec<_> = files(path).into_iter().filter(|name| name != "d").collect();
            assert_eq!(left, ["expected.zgt"]);
        }
    }
    if !run(path, &["resume", "d"]).status.success() {
        succeed(path, &solve);
    }
    assert!(fs::read(path.join("table.zgt")).unwrap() == expected, "other bytes");
}

#[test]
fn an_export_is_interrupted_or_done_and_leaves_nothing_half() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    succeed(path, &["solve", "finkel", "--pieces", "4", "--out", "table.zgt", "--uncertified"]);
    let whole = |arguments: &[&str]| {
        succeed(path, arguments);
        let bytes = fs::read(path.join("out")).unwrap();
        fs::remove_file(path.join("out")).unwrap();
        bytes
    };
    for (seed, format) in [(3, "zgt"), (4, "parquet"), (5, "rgu")] {
        let export = ["export", "table.zgt", "--format", format, "--out", "out"];
        let expected = whole(&export);
        each_pair(seed, Duration::from_millis(150), path, &export, |ended| {
            let is_there = path.join("out").exists();
            if is_there {
                assert!(fs::read(path.join("out")).unwrap() == expected, "other bytes");
                fs::remove_file(path.join("out")).unwrap();
            }
            if ended.status.success() {
                assert!(is_there);
            } else {
                ended.is_interrupted();
            }
            assert_eq!(files(path), ["table.zgt"]);
        });
    }
}

#[test]
fn a_bench_is_interrupted() {
    let directory = tempfile::tempdir().unwrap();
    each_pair(6, SOON, directory.path(), &["bench", "finkel"], |ended| ended.is_interrupted());
}

#[test]
fn a_verification_ends_by_the_signal_or_is_done() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    succeed(path, &["solve", "finkel", "--pieces", "4", "--out", "table.zgt"]);
    let (seed, pairs) = pairs();
    let mut random = Random::seeded(seed.wrapping_mul(1000) + 7);
    for _ in 0..pairs {
        let verify = ["table", "verify", "table.zgt", "--certificate"];
        let process = ziggurat(path, &verify).stdout(Stdio::null()).spawn().unwrap();
        let Ended { status, .. } = signalled(process, &mut random, Duration::from_millis(150));
        let by = status.signal().map(|signal| SIGNALS.iter().any(|one| one.as_raw() == signal));
        assert!(status.success() || by == Some(true), "{status}");
    }
}

#[test]
fn those_who_follow_a_job_are_interrupted_and_the_job_goes_on() {
    let mut cluster = Cluster::new(0);
    let job = cluster.submit();
    let address = cluster.address();
    let at = ["--coordinator", &address];
    for (seed, command) in [
        (8, &["watch", &job][..]),
        (9, &["watch", &job, "--json"]),
        (10, &["submit", "finkel", "--pieces", "3", "--wait", "--key", "a-key"]),
    ] {
        let command = [command, &at].concat();
        each_pair(seed, SOON, cluster.path(), &command, |ended| {
            ended.is_interrupted();
            assert!(ended.was_hurried || ended.said.contains("interrupted"), "{}", ended.said);
        });
    }
    // All submissions with one key were one job, and none of them ended it.
    let jobs = cluster.ask(&["jobs", "--json"]);
    assert!(jobs.matches("\"state\":\"queued\"").count() <= 2, "{jobs}");
    cluster.start_another_worker();
    cluster.ends_well(&job, &expected());
}

#[test]
fn coordinators_workers_and_exports_of_jobs_end_cleanly_and_go_on() {
    let expected = expected();
    let (seed, pairs) = pairs();
    println!("seed {seed}");
    let mut random = Random::seeded(seed.wrapping_mul(1000) + 11);
    let shared = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::with(2, &["--checkpoints", shared.path().to_str().unwrap()]);
    let mut job = cluster.submit();
    for _ in 0..pairs {
        for worker in [None, Some(0), Some(1)] {
            let process = cluster.take(worker);
            // One that has just been started need not listen yet.
            let started = Instant::now();
            while !listens(&process) {
                assert!(started.elapsed() < PATIENCE);
                thread::sleep(Duration::from_millis(1));
            }
            let ended = signalled(process, &mut random, SOON);
            assert!(ended.status.code().is_some(), "{}: {}", ended.status, cluster.logs());
            ended.has_left();
            cluster.start_again(worker);
        }
        cluster.wait_for("the coordinator", || TcpStream::connect(cluster.address()).is_ok());
        if cluster.state(&job) == "solved" {
            cluster.ends_well(&job, &expected);
            let address = cluster.address();
            let export = ["export", &job, "--out", "out.zgt", "--coordinator", &address];
            let ended = signalled(start(cluster.path(), &export), &mut random, SOON);
            if !ended.status.success() {
                ended.is_interrupted();
                succeed(cluster.path(), &export);
            }
            assert!(fs::read(cluster.path().join("out.zgt")).unwrap() == expected, "other bytes");
            fs::remove_file(cluster.path().join("out.zgt")).unwrap();
            cluster.ask(&["cancel", &job, "--force"]);
            job = cluster.submit();
        }
    }
    cluster.ends_well(&job, &expected);
}

#[test]
fn a_hang_up_lets_services_leave_cleanly_unless_it_was_ignored_from_the_start() {
    let mut cluster = Cluster::new(1);
    cluster.wait_for("the worker", || cluster.log("worker-0").contains("registered"));
    for service in [Some(0), None] {
        let mut process = cluster.take(service);
        kill_process(Pid::from_child(&process), Signal::HUP).unwrap();
        let status = process.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{service:?}: {status}: {}", cluster.logs());
    }
    assert!(cluster.log("worker-0").contains("asks to be released"), "{}", cluster.logs());
    // As `nohup` does it.
    cluster.ignores_hang_ups = true;
    cluster.start_again(None);
    cluster.start_again(Some(0));
    cluster.wait_for("the worker", || cluster.log("worker-0").matches("registered").count() > 1);
    for service in [Some(0), None] {
        let mut process = cluster.take(service);
        let pid = Pid::from_child(&process);
        kill_process(pid, Signal::HUP).unwrap();
        thread::sleep(Duration::from_millis(700));
        assert!(process.try_wait().unwrap().is_none(), "{service:?}: {}", cluster.logs());
        kill_process(pid, Signal::TERM).unwrap();
        let status = process.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{service:?}: {status}: {}", cluster.logs());
    }
}

#[test]
fn a_second_wish_ends_a_service_that_waits_at_once() {
    // A worker whose coordinator holds still cannot be released.
    let mut cluster = Cluster::new(1);
    cluster.wait_for("the worker", || cluster.log("worker-0").contains("registered"));
    let coordinator = cluster.take(None);
    kill_process(Pid::from_child(&coordinator), Signal::STOP).unwrap();
    let mut worker = cluster.take(Some(0));
    let pid = Pid::from_child(&worker);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        kill_process(pid, signal).unwrap();
    }
    thread::sleep(Duration::from_millis(1100));
    kill_process(pid, Signal::HUP).unwrap();
    thread::sleep(Duration::from_millis(300));
    assert!(worker.try_wait().unwrap().is_none(), "{}", cluster.logs());
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(worker.wait().unwrap().code(), Some(130), "{}", cluster.logs());
    let mut coordinator = coordinator;
    kill_process(Pid::from_child(&coordinator), Signal::KILL).unwrap();
    coordinator.wait().unwrap();
    assert!(cluster.log("worker-0").contains("asked to a second time"));
}

#[test]
fn last_words_that_nobody_reads_are_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    // Its standard error is full before it says anything.
    let (reader, writer) = std::io::pipe().unwrap();
    fill(&writer);
    let mut command = ziggurat(directory.path(), &["bench", "finkel"]);
    let mut bench = command.stdout(Stdio::null()).stderr(writer).spawn().unwrap();
    drop(command);
    let started = Instant::now();
    while !listens(&bench) {
        assert!(started.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_child(&bench), Signal::TERM).unwrap();
    let started = Instant::now();
    while bench.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < PATIENCE, "waits for a reader");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(bench.wait().unwrap().code(), Some(130));
    drop(reader);
}

/// Fills a pipe that nobody reads.
fn fill(pipe: &std::io::PipeWriter) {
    use std::io::Write;
    let flags = rustix::fs::fcntl_getfl(pipe).unwrap();
    rustix::fs::fcntl_setfl(pipe, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
    while (&mut &*pipe).write(&[b'x'; 4096]).is_ok() {}
    while (&mut &*pipe).write(b"x").is_ok() {}
    rustix::fs::fcntl_setfl(pipe, flags).unwrap();
}
