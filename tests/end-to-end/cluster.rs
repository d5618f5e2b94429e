//! A cluster of real processes on one machine ends in the bytes of a solve in one process, whatever happens
//! to its workers and its coordinator.

use std::{
    env, fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::{
    Random, files, last_json, run, stderr, succeed, succeed_with_json, ziggurat,
    ziggurat_ignoring_hang_ups,
};

/// What is solved: steps of which the larger are split over all workers.
const GAME: [&str; 3] = ["finkel", "--pieces", "3"];

/// No test waits longer for a job.
const PATIENCE: Duration = Duration::from_secs(300);

/// A coordinator and workers, all with short leases.
pub struct Cluster {
    directory: tempfile::TempDir,
    port: u16,
    coordinator: Option<Child>,
    workers: Vec<Option<Child>>,
    /// Further arguments of all workers.
    arguments: Vec<String>,
    /// Variables of all processes.
    variables: Vec<(String, String)>,
    /// Further arguments of the coordinator.
    pub coordinator_arguments: Vec<String>,
    /// Whether processes are started as by `nohup`.
    pub ignores_hang_ups: bool,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.workers.iter_mut().chain([&mut self.coordinator]).for_each(kill);
        if thread::panicking() {
            eprintln!("{}", self.logs());
        }
    }
}

/// Kills a process.
pub fn kill(process: &mut Option<Child>) {
    if let Some(mut process) = process.take() {
        signal(&process, "CONT"); // a stopped process dies only then
        process.kill().unwrap();
        process.wait().unwrap();
    }
}

fn is_running(process: &mut Child) -> bool {
    process.try_wait().unwrap().is_none()
}

/// Sends a process a signal, by its name without SIG.
pub fn signal(process: &Child, name: &str) {
    let pid = process.id().to_string();
    let killed = Command::new("kill").args(["-s", name, &pid]).stderr(Stdio::null()).status();
    killed.expect("kill is there");
}

/// A port that nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Cluster {
    pub fn new(workers: usize) -> Self {
        Self::with(workers, &[])
    }

    /// With further arguments of all workers.
    pub fn with(workers: usize, arguments: &[&str]) -> Self {
        Self::with_variables(workers, arguments, Vec::new())
    }

    /// With variables of all processes, too.
    pub fn with_variables(
        workers: usize,
        arguments: &[&str],
        variables: Vec<(String, String)>,
    ) -> Self {
        let mut cluster = Self {
            directory: tempfile::tempdir().unwrap(),
            port: free_port(),
            coordinator: None,
            workers: (0..workers).map(|_| None).collect(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            variables,
            coordinator_arguments: Vec::new(),
            ignores_hang_ups: false,
        };
        cluster.start_coordinator();
        (0..workers).for_each(|worker| cluster.start_worker(worker));
        cluster
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn start(&self, name: &str, arguments: &[&str]) -> Child {
        let log = self.path().join(format!("{name}.log"));
        let log = fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let mut command = match self.ignores_hang_ups {
            false => ziggurat(self.path(), arguments),
            true => ziggurat_ignoring_hang_ups(self.path(), arguments),
        };
        command.envs(self.variables.iter().cloned());
        command.stdout(Stdio::null()).stderr(log).spawn().expect("the binary starts")
    }

    /// An address that nobody listens at.
    pub fn free_address() -> String {
        format!("127.0.0.1:{}", free_port())
    }

    fn start_coordinator(&mut self) {
        let arguments = ["coordinator", "--dir", "coordinator", "--listen", &self.address()];
        let short = ["--lease", "2s", "--lost-after", "6s", "--split-above", "50000"];
        let more: Vec<&str> = self.coordinator_arguments.iter().map(String::as_str).collect();
        let all = [&arguments[..], &short, &more].concat();
        self.coordinator = Some(self.start("coordinator", &all));
    }

    fn start_worker(&mut self, worker: usize) {
        let name = format!("worker-{worker}");
        let address = self.address();
        let threads = (1 + worker % 2).to_string();
        let own = ["worker", "--coordinator", &address, "--dir", &name, "--name", &name];
        let more: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        // Where its disk was lost, it says so.
        let is_new = !self.path().join(&name).exists();
        let replaces: &[&str] = if is_new { &["--replace", &name] } else { &[] };
        let all = [&own[..], &["--threads", &threads], replaces, &more].concat();
        self.workers[worker] = Some(self.start(&name, &all));
    }

    /// Starts a worker more.
    pub fn start_another_worker(&mut self) {
        self.workers.push(None);
        self.start_worker(self.workers.len() - 1);
    }

    /// The process of a worker, or of the coordinator, which is the caller's from now on.
    pub fn take(&mut self, worker: Option<usize>) -> Child {
        let process = worker.map_or(&mut self.coordinator, |worker| &mut self.workers[worker]);
        process.take().expect("it is running")
    }

    /// Kills a worker, or the coordinator.
    pub fn kill(&mut self, worker: Option<usize>) {
        kill(worker.map_or(&mut self.coordinator, |worker| &mut self.workers[worker]));
    }

    /// Starts a worker, or the coordinator, on its directory.
    pub fn start_again(&mut self, worker: Option<usize>) {
        match worker {
            Some(worker) => self.start_worker(worker),
            None => self.start_coordinator(),
        }
    }

    /// The ends of all logs.
    pub fn logs(&self) -> String {
        let mut text = String::new();
        for name in files(self.path()).iter().filter_map(|name| name.strip_suffix(".log")) {
            let log = self.log(name);
            let lines: Vec<&str> = log.lines().collect();
            let last = &lines[lines.len().saturating_sub(40)..];
            text += &format!("== {name}\n{}\n", last.join("\n"));
        }
        text
    }

    /// Runs a command of the cluster's user.
    pub fn ask(&self, arguments: &[&str]) -> String {
        let address = self.address();
        let all = [arguments, &["--coordinator", &address]].concat();
        succeed(self.path(), &all)
    }

    /// Submits the game, once the coordinator is there.
    pub fn submit(&self) -> String {
        self.submit_game(GAME, "300ms")
    }

    /// Submits a game that is saved as often.
    pub fn submit_game(&self, game: [&str; 3], checkpoint_every: &str) -> String {
        self.wait_for("the coordinator", || TcpStream::connect(self.address()).is_ok());
        let arguments =
            [&["submit"], &game[..], &["--checkpoint-every", checkpoint_every]].concat();
        self.ask(&arguments).trim().to_owned()
    }

    pub fn status(&self, job: &str) -> Option<Value> {
        let address = self.address();
        let output = run(self.path(), &["status", job, "--json", "--coordinator", &address]);
        output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
    }

    pub fn state(&self, job: &str) -> String {
        let status = self.status(job).unwrap_or_default();
        status["job"]["state"].as_str().unwrap_or("away").to_owned()
    }

    /// Positions swept so far.
    fn swept(&self, job: &str) -> u64 {
        self.status(job).unwrap_or_default()["job"]["swept_positions"].as_u64().unwrap_or(0)
    }

    /// What the log of a process has.
    pub fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(format!("{name}.log"))).unwrap_or_default()
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path().join(from), self.path().join(to)).unwrap();
    }

    pub fn wait_for(&self, what: &str, mut is_there: impl FnMut() -> bool) {
        let started = Instant::now();
        while !is_there() {
            assert!(started.elapsed() < PATIENCE, "waits for {what}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the job has begun to sweep.
    fn wait_for_work(&self, job: &str) {
        self.wait_for("work to begin", || self.swept(job) > 100_000);
    }

    /// Waits for the end, and compares the table. A job whose values are lost after all is asked to be solved again.
    pub fn ends_well(&self, job: &str, expected: &[u8]) {
        let address = self.address();
        let export = ["export", job, "--format", "zgt", "-o", "table.zgt", "--force"];
        let export = [&export[..], &["--coordinator", &address]].concat();
        self.wait_for("the table", || {
            let state = self.state(job);
            assert!(state != "failed" && state != "cancelled", "{:?}", self.status(job));
            if state != "solved" {
                return false;
            }
            let output = run(self.path(), &export);
            let said = stderr(&output);
            let lost = said.contains("are lost, of a worker that is given up");
            if lost {
                self.ask(&["resume", job]);
            }
            assert!(output.status.success() || lost || said.contains("is not solved"), "{said}");
            output.status.success()
        });
        let table = fs::read(self.path().join("table.zgt")).unwrap();
        assert!(table == expected, "other bytes");
    }
}

/// What a solve in one process writes.
pub fn expected() -> Vec<u8> {
    expected_of(GAME)
}

/// The same of a game.
pub fn expected_of(game: [&str; 3]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    succeed(directory.path(), &[&["solve"], &game[..], &["--out", "t.zgt"]].concat());
    fs::read(directory.path().join("t.zgt")).unwrap()
}

#[test]
fn any_number_of_workers_gives_the_bytes_of_a_solve() {
    let expected = expected();
    for workers in [1, 2, 3] {
        let cluster = Cluster::with(workers, &["--memory", "400MiB"]);
        let job = cluster.submit();
        cluster.ends_well(&job, &expected);
        let status = cluster.status(&job).unwrap();
        let exchanged = status["job"]["exchanged_bytes"].as_u64().unwrap();
        assert_eq!(exchanged > 0, workers > 1, "{status}");
        // What is said of a job names it. A worker that registers late may have no part in it.
        let log: String = (0..workers).map(|it| cluster.log(&format!("worker-{it}"))).collect();
        let said =
            || log.lines().filter(|line| line.contains(": prepared ") || line.contains(": saved "));
        assert!(
            said().count() > 1 && said().all(|line| line.contains(&format!("{{job={job} "))),
            "{log}"
        );
    }
}

#[test]
fn what_dies_comes_back_or_not() {
    let expected = expected();
    let mut cluster = Cluster::new(2);
    let job = cluster.submit();
    cluster.wait_for_work(&job);
    // A worker that comes back with its disk.
    kill(&mut cluster.workers[0]);
    cluster.start_worker(0);
    // The coordinator.
    kill(&mut cluster.coordinator);
    thread::sleep(Duration::from_millis(500));
    cluster.start_coordinator();
    // A worker that comes back without its disk.
    kill(&mut cluster.workers[1]);
    fs::remove_dir_all(cluster.path().join("worker-1")).unwrap();
    cluster.start_worker(1);
    // Everything.
    thread::sleep(Duration::from_secs(1));
    cluster.workers.iter_mut().for_each(kill);
    kill(&mut cluster.coordinator);
    cluster.start_coordinator();
    cluster.start_worker(0);
    cluster.start_worker(1);
    cluster.ends_well(&job, &expected);
}

#[test]
fn a_worker_that_is_asked_to_leave_hands_over_and_another_joins() {
    let expected = expected();
    let mut cluster = Cluster::new(2);
    let job = cluster.submit();
    cluster.wait_for_work(&job);
    let leaving = cluster.workers[0].take().unwrap();
    signal(&leaving, "TERM");
    let left = leaving.wait_with_output().unwrap();
    assert!(left.status.success(), "{left:?}");
    cluster.workers.push(None);
    cluster.start_worker(2);
    // What the first had saved is still only there.
    cluster.start_worker(0);
    cluster.ends_well(&job, &expected);
}

#[test]
fn what_a_worker_has_saved_stays_with_its_cluster() {
    let expected = expected();
    let mut cluster = Cluster::new(1);
    let job = cluster.submit();
    cluster.ends_well(&job, &expected);
    // Another coordinator at the same place: its first job has the same number.
    kill(&mut cluster.coordinator);
    cluster.rename("coordinator", "first");
    cluster.start_coordinator();
    let mut worker = cluster.workers[0].take().unwrap();
    cluster.wait_for("the worker to end", || !is_running(&mut worker));
    assert_eq!(worker.wait().unwrap().code(), Some(2));
    let said = cluster.log("worker-0");
    assert!(said.contains("error: worker-0 has what was saved for the cluster"), "{said}");
    cluster.workers.push(None);
    cluster.start_worker(1);
    assert_eq!(cluster.submit(), job);
    cluster.ends_well(&job, &expected);
    // Nothing of the first cluster is lost.
    kill(&mut cluster.workers[1]);
    kill(&mut cluster.coordinator);
    cluster.rename("coordinator", "second");
    cluster.rename("first", "coordinator");
    cluster.start_coordinator();
    cluster.start_worker(0);
    cluster.ends_well(&job, &expected);
}

#[test]
fn a_solved_job_is_cancelled_by_force_only() {
    let expected = expected();
    let cluster = Cluster::new(1);
    let job = cluster.submit();
    cluster.ends_well(&job, &expected);
    let refused = run(cluster.path(), &["cancel", &job, "--coordinator", &cluster.address()]);
    let said = stderr(&refused);
    assert!(!refused.status.success() && said.contains("export it first"), "{said}");
    cluster.ends_well(&job, &expected);
    cluster.ask(&["cancel", &job, "--force"]);
    assert_eq!(cluster.state(&job), "cancelled");
}

#[test]
fn a_worker_that_nobody_could_reach_does_not_start() {
    let directory = tempfile::tempdir().unwrap();
    let listen = ["worker", "--dir", "w", "--listen", "0.0.0.0:0", "--insecure"];
    for more in [&[][..], &["--advertise", "0.0.0.0:7410"]] {
        let output = run(directory.path(), &[&listen[..], more].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("--advertise HOST:PORT"), "{}", stderr(&output));
    }
    assert!(files(directory.path()).is_empty());
}

#[test]
fn a_worker_that_has_saved_nothing_follows_a_new_coordinator() {
    let expected = expected();
    let shared = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::with(1, &["--checkpoints", shared.path().to_str().unwrap()]);
    cluster.wait_for("the worker", || cluster.log("worker-0").contains("registered"));
    kill(&mut cluster.coordinator);
    fs::remove_dir_all(cluster.path().join("coordinator")).unwrap();
    cluster.start_coordinator();
    let job = cluster.submit();
    cluster.ends_well(&job, &expected);
    // A process that never knew the first cluster keeps its checkpoints in the same place.
    kill(&mut cluster.workers[0]);
    cluster.start_worker(0);
    let job = cluster.submit();
    cluster.ends_well(&job, &expected);
    let clusters = files(shared.path());
    let used = clusters.iter().filter(|cluster| saved_below(&shared.path().join(cluster)) > 0);
    assert_eq!(used.count(), 1, "{clusters:?}");
}

#[test]
fn with_a_checkpoint_store_workers_can_be_lost_for_good() {
    let shared = tempfile::tempdir().unwrap();
    lose_a_worker_for_good(shared.path().to_str().unwrap());
}

#[test]
#[ignore = "needs a server: run tests/s3.sh or tests/clouds.sh"]
fn with_a_bucket_workers_can_be_lost_for_good() {
    let bucket = env::var("ZIGGURAT_TEST_STORE").expect("ZIGGURAT_TEST_STORE is set");
    lose_a_worker_for_good(&format!("{bucket}/lost-for-good/{}", std::process::id()));
}

/// A worker and its disk vanish; others go on with what the checkpoint store has.
fn lose_a_worker_for_good(store: &str) {
    let expected = expected();
    let mut cluster = Cluster::with(2, &["--checkpoints", store]);
    let job = cluster.submit();
    cluster.wait_for_work(&job);
    kill(&mut cluster.workers[0]);
    fs::remove_dir_all(cluster.path().join("worker-0")).unwrap();
    cluster.ends_well(&job, &expected);
    let said = cluster.log("coordinator");
    assert!(!said.contains("are lost: it is solved again"), "{said}");
}

#[test]
fn a_job_of_other_settings_is_waited_for_and_gives_the_bytes_of_its_solve() {
    const OTHER: [&str; 9] = [
        "finkel",
        "--pieces",
        "3",
        "--precision",
        "f32",
        "--tolerance",
        "1e-4",
        "--shard-positions",
        "9000",
    ];
    let cluster = Cluster::new(2);
    succeed(cluster.path(), &[&["solve"], &OTHER[..], &["--out", "expected.zgt"]].concat());
    let expected = fs::read(cluster.path().join("expected.zgt")).unwrap();
    cluster.wait_for("the coordinator", || TcpStream::connect(cluster.address()).is_ok());
    let told = cluster.ask(&[&["submit"], &OTHER[..], &["--wait", "--json"]].concat());
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!([&told[0]["event"], &told[1]["event"]], ["planned", "submitted"]);
    let job = told[1]["job"].to_string();
    assert_eq!(told.last().unwrap()["job"]["state"], "solved");
    assert_eq!(last_json(&cluster.ask(&["watch", &job, "--json"]))["job"]["state"], "solved");
    cluster.ends_well(&job, &expected);
    cluster.ask(&["cancel", &job, "--force"]);
    let watch = ["watch", &job, "--json", "--coordinator", &cluster.address()];
    assert_eq!(run(cluster.path(), &watch).status.code(), Some(1));
}

/// Files in a checkpoint store, but for those that it is known by, and what there is of one while it is written.
pub fn saved_below(directory: &Path) -> usize {
    // Which store it is, and which coordinator may write there.
    let describes = |name: &str| name.starts_with("store") || name == "coordinator";
    let entries = fs::read_dir(directory).into_iter().flatten().map(Result::unwrap);
    let of = |entry: fs::DirEntry| match entry.path().is_dir() {
        true => saved_below(&entry.path()),
        false => usize::from(!describes(&entry.file_name().to_string_lossy())),
    };
    entries.map(of).sum()
}

#[test]
fn a_job_that_is_cancelled_while_its_worker_is_away_leaves_nothing() {
    let shared = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::with(1, &["--checkpoints", shared.path().to_str().unwrap()]);
    let job = cluster.submit();
    cluster.wait_for("a checkpoint", || saved_below(shared.path()) > 0);
    kill(&mut cluster.workers[0]);
    cluster.ask(&["cancel", &job]);
    cluster.start_worker(0);
    cluster.wait_for("nothing to be left", || saved_below(shared.path()) == 0);
}

#[test]
fn a_coordinator_goes_on_from_a_copy_of_its_directory() {
    let expected = expected();
    let mut cluster = Cluster::new(2);
    let job = cluster.submit();
    cluster.wait_for_work(&job);
    kill(&mut cluster.coordinator);
    let copy = ["-r", "coordinator", "copy"];
    assert!(Command::new("cp").args(copy).current_dir(cluster.path()).status().unwrap().success());
    cluster.start_coordinator();
    cluster.ends_well(&job, &expected);
    // The workers have checkpoints whose numbers it gives out again.
    kill(&mut cluster.coordinator);
    cluster.rename("coordinator", "later");
    cluster.rename("copy", "coordinator");
    cluster.start_coordinator();
    cluster.wait_for("the coordinator", || cluster.state(&job) != "away");
    assert_ne!(cluster.state(&job), "solved");
    cluster.ends_well(&job, &expected);
}

/// A worker has solved steps of another job, which the copy that the coordinator goes on from does not know, when
/// it meets a job of the same number; its process goes on meanwhile or ends.
fn comes_back_to_another_job(its_process_goes_on: bool) {
    let expected = expected();
    let mut cluster = Cluster::new(0);
    cluster.workers.resize_with(2, || None);
    // Then it has written down which cluster it is.
    cluster.wait_for("the coordinator", || cluster.log("coordinator").contains("listens"));
    kill(&mut cluster.coordinator);
    let copy = ["-r", "coordinator", "copy"];
    assert!(Command::new("cp").args(copy).current_dir(cluster.path()).status().unwrap().success());
    let has_solved = |cluster: &Cluster, steps: u64| {
        let status = cluster.status("1").unwrap_or_default();
        status["job"]["solved_steps"].as_u64().unwrap_or(0) >= steps
    };
    cluster.start_coordinator();
    cluster.start_worker(1);
    cluster.wait_for("the coordinator", || TcpStream::connect(cluster.address()).is_ok());
    cluster.ask(&[&["submit"], &GAME[..], &["--dice", "d4"]].concat());
    cluster.wait_for("steps of one job", || has_solved(&cluster, 4));
    kill(&mut cluster.coordinator);
    if its_process_goes_on {
        signal(cluster.workers[1].as_ref().unwrap(), "STOP");
    } else {
        kill(&mut cluster.workers[1]);
    }

    cluster.rename("coordinator", "later");
    cluster.rename("copy", "coordinator");
    cluster.start_coordinator();
    cluster.start_worker(0);
    assert_eq!(cluster.submit(), "1");
    cluster.wait_for("steps of the other", || has_solved(&cluster, 2));
    cluster.ask(&["pause", "1"]);
    if its_process_goes_on {
        signal(cluster.workers[1].as_ref().unwrap(), "CONT");
    } else {
        cluster.start_worker(1);
    }
    cluster.wait_for("both workers", || {
        let status = cluster.status("1").unwrap_or_default();
        let workers = status["workers"].as_array().cloned().unwrap_or_default();
        workers.iter().filter(|worker| worker["connected"] == true).count() == 2
    });
    cluster.ask(&["resume", "1"]);
    cluster.ends_well("1", &expected);
}

#[test]
fn what_a_coordinator_has_forgotten_is_not_taken_for_what_has_its_number_now() {
    comes_back_to_another_job(false);
}

#[test]
fn what_a_worker_has_in_memory_ends_with_its_registration() {
    comes_back_to_another_job(true);
}

#[test]
fn a_job_can_be_paused_and_cancelled() {
    let cluster = Cluster::new(1);
    let job = cluster.submit();
    cluster.wait_for_work(&job);
    cluster.ask(&["pause", &job]);
    cluster.wait_for("the pause", || cluster.state(&job) == "paused");
    cluster.wait_for("the worker to stop", || {
        let before = cluster.swept(&job);
        thread::sleep(Duration::from_millis(700));
        before == cluster.swept(&job)
    });
    cluster.ask(&["resume", &job]);
    cluster.wait_for("more work", || cluster.state(&job) == "running");
    cluster.ask(&["cancel", &job]);
    assert_eq!(cluster.state(&job), "cancelled");
    let jobs =
        succeed_with_json(cluster.path(), &["jobs", "--json", "--coordinator", &cluster.address()]);
    assert!(jobs.to_string().contains("cancelled"), "{jobs}");
}

#[test]
fn strangers_change_nothing() {
    let expected = expected();
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    fs::write(&token, "a secret of enough letters\n".replace(' ', "-")).unwrap();
    let mut cluster = Cluster::with(0, &[]);
    kill(&mut cluster.coordinator);
    let (address, token) = (cluster.address(), token.to_str().unwrap().to_owned());
    let arguments =
        ["coordinator", "--dir", "coordinator", "--listen", &address, "--token-file", &token];
    cluster.coordinator = Some(cluster.start("coordinator", &arguments));
    let data: Vec<u16> = (0..2).map(|_| free_port()).collect();
    for (i, port) in data.iter().enumerate() {
        let (name, listen) = (format!("worker-{i}"), format!("127.0.0.1:{port}"));
        let arguments = [
            "worker",
            "--coordinator",
            &address,
            "--dir",
            &name,
            "--name",
            &name,
            "--listen",
            &listen,
            "--token-file",
            &token,
        ];
        cluster.workers.push(Some(cluster.start(&name, &arguments)));
    }
    cluster.wait_for("the coordinator", || TcpStream::connect(&address).is_ok());
    // Who does not know the token is refused.
    let refused = run(cluster.path(), &["jobs", "--coordinator", &address]);
    assert!(
        !refused.status.success() && stderr(&refused).contains("token"),
        "{}",
        stderr(&refused)
    );
    let submit = [&["submit"], &GAME[..], &["--token-file", &token]].concat();
    let job = cluster.ask(&submit).trim().to_owned();
    // Meanwhile, anything is said to every port.
    let mut random = Random::new();
    for _ in 0..60 {
        let port = [cluster.port, data[0], data[1]][random.below(3) as usize];
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { continue };
        let preface: &[u8] =
            if random.below(2) == 0 { b"" } else { b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" };
        let length = random.below(1 << 16) as usize;
        let garbage: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        let _ = stream.write_all(preface).and_then(|()| stream.write_all(&garbage));
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let _ = stream.read(&mut [0; 256]);
    }
    let state = || {
        let output = run(
            cluster.path(),
            &["status", &job, "--json", "--coordinator", &address, "--token-file", &token],
        );
        let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        status["job"]["state"].as_str().unwrap_or("away").to_owned()
    };
    cluster.wait_for("the end", || state() == "solved");
    cluster.ask(&["export", &job, "--format", "zgt", "--out", "table.zgt", "--token-file", &token]);
    assert!(fs::read(cluster.path().join("table.zgt")).unwrap() == expected, "other bytes");
}

#[test]
fn what_does_not_become_right_by_starting_again_ends_with_exit_code_2() {
    let cluster = Cluster::with(0, &[]);
    fs::write(cluster.path().join("token"), "a-secret-of-enough-letters").unwrap();
    let (address, port) = (free_port(), free_port());
    let (here, all) = (format!("127.0.0.1:{address}"), format!("0.0.0.0:{port}"));
    let (here, all) = (here.as_str(), all.as_str());
    let coordinator = ["coordinator", "--dir", "c", "--listen"];
    let worker = ["worker", "--coordinator", here, "--dir", "w"];
    for (command, arguments, part) in [
        (&coordinator[..], &[all][..], "--token-file"),
        (&coordinator, &[here, "--metrics", all], "--insecure-metrics"),
        // Neither stands for the other.
        (&coordinator, &[here, "--metrics", all, "--insecure"], "--insecure-metrics"),
        (&coordinator, &[all, "--insecure-metrics"], "--token-file"),
        (&worker, &["--listen", all, "--advertise", "here:1"], "--token-file"),
        (&worker, &["--metrics", all], "--insecure-metrics"),
        (&worker, &["--checkpoints", "ftp://x"], "az://CONTAINER"),
    ] {
        let arguments = [command, arguments].concat();
        let output = run(cluster.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
    }
    // A coordinator that asks for another token.
    fs::write(cluster.path().join("another"), "another-secret-of-enough-letters").unwrap();
    let arguments = [&coordinator[..], &[here, "--token-file", "token"]].concat();
    let mut refusing = Some(cluster.start("refusing", &arguments));
    let output = run(cluster.path(), &[&worker[..], &["--token-file", "another"]].concat());
    kill(&mut refusing);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("the token is not that of the server"), "{}", stderr(&output));
}

#[test]
fn what_is_typed_goes_before_a_token_or_certificates_of_the_environment() {
    let directory = tempfile::tempdir().unwrap();
    let said_with = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = ziggurat(directory.path(), arguments);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        stderr(&output)
    };
    let said = |arguments: &[&str]| said_with(&[("ZIGGURAT_TOKEN_FILE", "a-token")], arguments);
    let certificates =
        ["--tls-ca", "an-authority", "--tls-cert", "a-certificate", "--tls-key", "a-key"];
    let with = [&["jobs"], &certificates[..]].concat();
    assert!(said(&with).contains("an-authority"), "{}", said(&with));
    assert!(said(&["jobs"]).contains("a-token"), "{}", said(&["jobs"]));
    let both = [&with[..], &["--token-file", "another"]].concat();
    assert!(said(&both).contains("cannot be used with"), "{}", said(&both));
    let tls = [("ZIGGURAT_TLS_CA", "ca"), ("ZIGGURAT_TLS_CERT", "c"), ("ZIGGURAT_TLS_KEY", "k")];
    assert!(
        said_with(&tls, &["jobs"]).contains("cannot read ca"),
        "{}",
        said_with(&tls, &["jobs"])
    );
    let with_token = said_with(&tls, &["jobs", "--token-file", "typed"]);
    assert!(with_token.contains("typed"), "{with_token}");
    let two_of_three = said_with(&tls[..2], &["jobs"]);
    assert!(two_of_three.contains("or all of ZIGGURAT_TLS_CA, "), "{two_of_three}");
}

#[test]
fn a_worker_that_is_refused_is_spoken_of_once() {
    let mut cluster = Cluster::new(1);
    cluster.wait_for("the first worker", || cluster.log("worker-0").contains("registered"));
    let address = cluster.address();
    let log = cluster.log("worker-0");
    let place = log.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
    let place = place.trim_matches('"');
    let twin = ["worker", "--coordinator", &address, "--dir", "twin", "--name", "twin"];
    let twin = cluster.start("twin", &[&twin[..], &["--advertise", place]].concat());
    cluster.workers.push(Some(twin));
    cluster.wait_for("the second worker", || cluster.log("twin").contains("tries again"));
    // It does so at once, and soon every five seconds.
    thread::sleep(Duration::from_secs(12));
    let log = cluster.log("coordinator");
    let said: Vec<&str> = log.lines().filter(|line| line.contains("disconnected a")).collect();
    assert_eq!(said.len(), 1, "{log}");
    assert!(said[0].contains("worker worker-0 is connected and has the same address"), "{log}");
}
