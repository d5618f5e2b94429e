//! The remedies of docs/CLUSTER.md, "When something is lost", that no other module shows.

use std::{
    ffi::OsStr,
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use serde_json::Value;

use crate::{
    cluster::{Cluster, expected, saved_below},
    losses::{begin, message},
    support::{files, run, stderr, succeed, ziggurat},
};

/// A step that takes thousands of supersteps: its values are saved while it is under way.
const LONG: &str = r#"
    name = "long"
    path = [[1, 4], [2, 4], [2, 5]]
    dice = { 0 = "3999/4000", 1 = "1/4000" }
    pieces = 1
    safe_rosettes = true
    rosettes_grant_rolls = true
    captures_grant_rolls = false
"#;

/// The texts of a job's events of a kind.
fn events(cluster: &Cluster, job: &str, kind: &str) -> Vec<String> {
    let events: Value = serde_json::from_str(&cluster.ask(&["events", job, "--json"])).unwrap();
    let events = events["events"].as_array().unwrap().iter();
    let events = events.filter(|event| event["kind"] == kind);
    events.map(|event| event["text"].as_str().unwrap().to_owned()).collect()
}

/// A cluster of one worker that shares a directory as its checkpoint store.
fn with_a_store(shared: &Path) -> Cluster {
    Cluster::with(1, &["--checkpoints", shared.to_str().unwrap()])
}

fn lose_disk(cluster: &mut Cluster) {
    cluster.kill(Some(0));
    fs::remove_dir_all(cluster.path().join("worker-0")).unwrap();
}

/// What is saved below a directory: files of values alone.
fn values_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for name in files(directory) {
        let path = directory.join(&name);
        match path.is_dir() {
            true => found.extend(values_below(&path)),
            false => found.push(path),
        }
    }
    found
}

/// Whether a name is that of a step's directory, such as 2-1.
fn names_a_step(name: &OsStr) -> bool {
    let pieces = name.to_str().and_then(|name| name.split_once('-'));
    pieces.is_some_and(|(n, m)| n.parse::<u8>().is_ok() && m.parse::<u8>().is_ok())
}

fn flip_a_bit(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(file, bytes).unwrap();
}

/// Of a worker's directory, the files that have values.
fn local_values(cluster: &Cluster) -> Vec<PathBuf> {
    let all = values_below(&cluster.path().join("worker-0/store/values"));
    all.into_iter().filter(|path| path.extension().is_some_and(|it| it == "sst")).collect()
}

#[test]
fn a_disk_that_is_lost_is_said_with_replace_and_a_solved_job_is_solved_again_on_request() {
    let expected = expected();
    let mut cluster = Cluster::new(1);
    let job = cluster.submit();
    cluster.ends_well(&job, &expected);
    lose_disk(&mut cluster);
    let address = cluster.address();
    let without = ["worker", "--coordinator", &address, "--dir", "worker-0", "--name", "worker-0"];
    let refused = run(cluster.path(), &without);
    let said = stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("--replace worker-0"), "{said}");
    assert_eq!(message(&cluster, &job), "");

    fs::remove_dir_all(cluster.path().join("worker-0")).unwrap();
    cluster.start_again(Some(0));
    let lost = "values are lost: worker worker-0";
    cluster.wait_for("status to say so", || message(&cluster, &job).contains(lost));
    assert_eq!(cluster.state(&job), "solved");
    let status = cluster.status(&job).unwrap();
    for step in status["steps"].as_array().unwrap() {
        assert_eq!(step["workers"], Value::Array(Vec::new()), "they have lost it: {step}");
    }
    cluster.ask(&["resume", &job]);
    cluster.ends_well(&job, &expected);
}

#[test]
fn of_a_disk_that_is_lost_nothing_is_missed_if_all_is_in_the_checkpoint_store() {
    let expected = expected();
    let shared = tempfile::tempdir().unwrap();
    let mut cluster = with_a_store(shared.path());
    let job = begin(&cluster);
    lose_disk(&mut cluster);
    // Without --replace.
    let (address, store) = (cluster.address(), shared.path().to_str().unwrap());
    let again = ["worker", "--coordinator", &address, "--dir", "new", "--name", "worker-0"];
    let mut again = cluster.start("new", &[&again[..], &["--checkpoints", store]].concat());
    cluster.wait_for("the worker", || cluster.log("new").contains("registered"));
    cluster.ask(&["resume", &job]);
    cluster.ends_well(&job, &expected);
    assert_eq!(events(&cluster, &job, "lost"), [""; 0]);
    again.kill().unwrap();
    again.wait().unwrap();
}

#[test]
fn what_a_worker_that_is_gone_had_of_a_step_under_way_is_computed_again_after_a_time() {
    let mut cluster = Cluster::new(1);
    fs::write(cluster.path().join("long.toml"), LONG).unwrap();
    let game = ["--ruleset", "long.toml", "--uncertified"];
    succeed(cluster.path(), &[&["solve"], &game[..], &["--out", "expected.zgt"]].concat());
    cluster.wait_for("the coordinator", || TcpStream::connect(cluster.address()).is_ok());
    let submit = [&["submit"], &game[..], &["--checkpoint-every", "100ms"]].concat();
    let job = cluster.ask(&submit).trim().to_owned();
    cluster.wait_for("a checkpoint", || {
        assert_ne!(cluster.state(&job), "solved");
        !events(&cluster, &job, "saved").is_empty()
    });
    lose_disk(&mut cluster);
    cluster.start_another_worker();
    let until = "that is given up, and computed again by those that are here";
    cluster.wait_for("the job to say so", || message(&cluster, &job).contains(until));
    let table = fs::read(cluster.path().join("expected.zgt")).unwrap();
    cluster.ends_well(&job, &table);
    let lost = events(&cluster, &job, "lost");
    assert!(lost[0].contains("it was waited for for 6 s"), "{lost:?}");
}

/// What a worker that is gone for good alone had of solved steps is given up in a way, and computed again.
fn is_given_up(by: impl FnOnce(&mut Cluster)) {
    let expected = expected();
    let mut cluster = Cluster::new(1);
    let job = begin(&cluster);
    lose_disk(&mut cluster);
    cluster.start_another_worker();
    cluster.ask(&["resume", &job]);
    let waits = "`ziggurat worker forget worker-0`";
    cluster.wait_for("the job to say so", || message(&cluster, &job).contains(waits));
    by(&mut cluster);
    cluster.ends_well(&job, &expected);
    let log = cluster.log("coordinator");
    let twice = log.lines().filter(|line| line.contains("step 1-1 is solved")).count();
    assert_eq!(twice, 2, "{log}");
}

#[test]
fn what_a_worker_that_is_gone_had_of_solved_steps_is_given_up_by_an_operator() {
    is_given_up(|cluster| {
        cluster.ask(&["worker", "forget", "worker-0"]);
    });
}

#[test]
fn what_a_worker_that_is_gone_had_of_solved_steps_is_given_up_after_a_time_if_that_is_wanted() {
    is_given_up(|cluster| {
        cluster.kill(None);
        cluster.coordinator_arguments = vec!["--solved-lost-after".to_owned(), "2s".to_owned()];
        cluster.start_again(None);
    });
}

#[test]
fn what_is_damaged_or_missing_in_the_checkpoint_store_is_computed_again() {
    let expected = expected();
    let shared = tempfile::tempdir().unwrap();
    let mut cluster = with_a_store(shared.path());
    let job = begin(&cluster);
    lose_disk(&mut cluster);
    // All steps, however many there are by then: what is solved again reads those before it.
    let is_of = |path: &PathBuf, step: &str| path.iter().any(|part| part == step);
    let mut saved = values_below(shared.path());
    saved.retain(|path| path.iter().any(names_a_step));
    let is_there = |step| saved.iter().any(|path| is_of(path, step));
    assert!(is_there("1-1") && is_there("2-1"), "{saved:?}");
    for file in &saved {
        match is_of(file, "2-1") {
            true => fs::remove_file(file).unwrap(),
            false => flip_a_bit(file),
        }
    }
    cluster.start_again(Some(0));
    cluster.ask(&["resume", &job]);
    cluster.ends_well(&job, &expected);
    let lost = events(&cluster, &job, "lost");
    for step in ["1-1", "2-1"] {
        let is_said = |text: &String| text.contains(&format!("of step {step} are lost"));
        assert!(lost.iter().any(is_said), "{lost:?}");
    }
}

#[test]
fn what_a_copy_of_the_coordinator_does_not_know_leaves_the_store_with_the_job_of_its_number() {
    let shared = tempfile::tempdir().unwrap();
    let mut cluster = with_a_store(shared.path());
    cluster.wait_for("the worker", || cluster.log("worker-0").contains("registered"));
    cluster.kill(None);
    let copies = ["-r", "coordinator", "copy"];
    let copied = Command::new("cp").args(copies).current_dir(cluster.path()).status().unwrap();
    assert!(copied.success());
    cluster.start_again(None);
    let job = begin(&cluster);
    cluster.kill(None);
    let rename = |from: &str, to: &str| {
        fs::rename(cluster.path().join(from), cluster.path().join(to)).unwrap();
    };
    rename("coordinator", "later");
    rename("copy", "coordinator");
    cluster.start_again(None);
    cluster.wait_for("the worker", || {
        let log = cluster.log("coordinator");
        log.matches("worker worker-0 is here").count() >= 3
    });
    // The worker drops it.
    cluster.wait_for("the worker's disk", || local_values(&cluster).is_empty());
    assert!(saved_below(shared.path()) > 0);
    assert_eq!(cluster.submit(), job);
    cluster.ask(&["cancel", &job]);
    cluster.wait_for("the store", || saved_below(shared.path()) == 0);
}

/// Passes connections on to a server, while it is open.
fn link(to: SocketAddr) -> (SocketAddr, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (at, is_open) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(true)));
    let open = is_open.clone();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(to) else { continue };
            let both = [(&stream, &server), (&server, &stream)];
            for (from, into) in both.map(|(a, b)| (a.try_clone().unwrap(), b.try_clone().unwrap()))
            {
                let open = open.clone();
                thread::spawn(move || pass(from, into, &open));
            }
        }
    });
    (at, is_open)
}

fn pass(mut from: TcpStream, mut into: TcpStream, is_open: &AtomicBool) -> io::Result<()> {
    let mut some = [0; 1 << 16];
    while is_open.load(Ordering::Relaxed) {
        let length = from.read(&mut some)?;
        if length == 0 {
            break;
        }
        into.write_all(&some[..length])?;
    }
    from.shutdown(Shutdown::Both)?;
    into.shutdown(Shutdown::Both)
}

#[test]
fn workers_that_cannot_reach_each_other_are_named_and_others_go_on() {
    let expected = expected();
    let shared = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::with(2, &["--checkpoints", shared.path().to_str().unwrap()]);
    let listens = Cluster::free_address();
    let (at, is_open) = link(listens.parse().unwrap());
    let (address, at) = (cluster.address(), at.to_string());
    let own = ["worker", "--coordinator", &address, "--dir", "far", "--name", "far"];
    let link = ["--listen", &listens, "--advertise", &at];
    let store = ["--checkpoints", shared.path().to_str().unwrap()];
    let mut far = cluster.start("far", &[&own[..], &link, &store].concat());
    cluster.wait_for("the workers", || {
        (0..2).all(|worker| cluster.log(&format!("worker-{worker}")).contains("registered"))
            && cluster.log("far").contains("registered")
    });
    is_open.store(false, Ordering::Relaxed);
    // A worker that is far faster than the others may do all of a job alone.
    let statuses = std::iter::repeat_with(|| {
        let job = cluster.submit();
        cluster.ends_well(&job, &expected);
        cluster.status(&job).unwrap()
    });
    let tells = |status: &Value| !status["unreached"].as_array().unwrap().is_empty();
    let status = statuses.take(10).find(tells).expect("a job that they share");
    let pairs = status["unreached"].as_array().unwrap();
    let names_far = |pair: &Value| pair["workers"].as_array().unwrap().contains(&"far".into());
    assert!(pairs.iter().all(names_far), "{status}");
    assert_eq!(status["job"]["message"], "");
    far.kill().unwrap();
    far.wait().unwrap();
    cluster.kill(Some(0));
}

#[test]
fn a_job_without_workers_says_so_to_all_who_ask_and_goes_on_with_the_first() {
    let expected = expected();
    let mut cluster = Cluster::new(2);
    let job = cluster.submit();
    cluster.wait_for("work", || cluster.state(&job) == "running");
    (0..2).for_each(|worker| cluster.kill(Some(worker)));
    let why = "waiting for workers: none is connected";
    cluster.wait_for("status to say so", || message(&cluster, &job) == why);
    assert!(cluster.ask(&["jobs"]).contains(why), "{}", cluster.ask(&["jobs"]));
    let watch = ["watch", &job, "--coordinator", &cluster.address()];
    let mut command = ziggurat(cluster.path(), &watch);
    let mut watch = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let says_why = lines.map_while(Result::ok).any(|line| line.contains(why));
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(says_why);
    cluster.start_again(Some(0));
    cluster.start_again(Some(1));
    cluster.ends_well(&job, &expected);
}

#[test]
fn damaged_values_of_a_job_under_way_are_computed_again() {
    let expected = expected();
    let mut cluster = Cluster::new(1);
    let job = begin(&cluster);
    cluster.kill(Some(0));
    let damaged = local_values(&cluster);
    assert!(!damaged.is_empty());
    damaged.iter().for_each(|file| flip_a_bit(file));
    cluster.start_again(Some(0));
    cluster.ask(&["resume", &job]);
    cluster.ends_well(&job, &expected);
    let lost = events(&cluster, &job, "lost");
    assert!(lost.iter().any(|text| text.contains("are lost: it is solved again")), "{lost:?}");
}

#[test]
fn damaged_values_of_a_solved_job_are_missed_by_an_export_and_solved_again_on_request() {
    let expected = expected();
    let mut cluster = Cluster::new(1);
    let job = cluster.submit();
    cluster.ends_well(&job, &expected);
    cluster.kill(Some(0));
    local_values(&cluster).iter().for_each(|file| flip_a_bit(file));
    cluster.start_again(Some(0));
    cluster.wait_for("the worker", || cluster.log("worker-0").matches("registered").count() == 2);
    let export = ["export", &job, "--out", "damaged.zgt", "--coordinator", &cluster.address()];
    let output = run(cluster.path(), &export);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("--replace") && said.contains("`ziggurat resume`"), "{said}");
    assert!(!cluster.path().join("damaged.zgt").exists());
    lose_disk(&mut cluster);
    cluster.start_again(Some(0));
    let lost = "values are lost: worker worker-0";
    cluster.wait_for("status to say so", || message(&cluster, &job).contains(lost));
    cluster.ask(&["resume", &job]);
    cluster.ends_well(&job, &expected);
}
