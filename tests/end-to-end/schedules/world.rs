//! The processes of one cluster, what is done to them, and what must hold all the while.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::schedule::{Fault, Process, Schedule, Way, When};
use crate::{
    cluster::{kill, signal},
    support::{files, program, run, stderr},
};

/// What is solved: steps of which the larger are split over all workers.
pub const GAME: [&str; 3] = ["finkel", "--pieces", "3"];

/// How long a schedule waits for a step to be solved before it goes on all the same.
const PROGRESS: Duration = Duration::from_secs(2);

/// How long a process that was asked to leave may take, until it is asked again.
const LEAVING: Duration = Duration::from_secs(4);

/// How long a process may take to do what takes no time.
const AT_ONCE: Duration = Duration::from_secs(30);

/// Once nothing is wrong any more, the job has its table so long after at the latest. Workers that could not reach each other
/// are kept apart for a minute.
const END: Duration = Duration::from_secs(150);

/// When programs are replaced one after the other, so long after the one before.
const BETWEEN: Duration = Duration::from_millis(300);

/// How often the job is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// A worker.
struct Node {
    name: String,
    directory: String,
    has_store: bool,
    threads: usize,
    process: Option<Child>,
    is_held: bool,
    /// Whether it is to run.
    is_wanted: bool,
    /// Whether it was asked to leave.
    is_leaving: bool,
    /// Whether another has had its name, so that it says `--replace`.
    replaces: bool,
    /// Where its disk is that was lost.
    lost: Option<String>,
}

/// A cluster that a schedule is done to.
pub struct World<'a> {
    schedule: &'a Schedule,
    root: &'a Path,
    port: u16,
    /// The program that processes are started with.
    program: PathBuf,
    coordinator: Option<Child>,
    coordinator_is_held: bool,
    nodes: Vec<Node>,
    job: String,
    /// Steps that were solved when the job was last looked at.
    solved: u64,
    /// Whether an operator has said that something is lost.
    is_given_up: bool,
    /// Counts directories.
    directories: usize,
    looked: Instant,
    /// Twins that were refused.
    pub refused_twins: u32,
}

impl Drop for World<'_> {
    fn drop(&mut self) {
        let workers = self.nodes.iter_mut().map(|node| &mut node.process);
        workers.chain([&mut self.coordinator]).for_each(kill);
    }
}

/// A port that no cluster of this process has had, and that the system gives to no connection: a coordinator that is down
/// gets it back.
fn own_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = (std::process::id() % 20_000) as u16;
    loop {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + (first.wrapping_add(next)) % 20_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// What a process said when it ended, and its exit code, that is right though nobody asked it to.
const ENDS: [(i32, &str); 3] =
    [(1, "only when it is gone"), (2, "another worker called"), (2, "another worker is called")];

impl<'a> World<'a> {
    /// A cluster at work on a job, in an empty directory.
    pub fn begin(schedule: &'a Schedule, root: &'a Path) -> Self {
        let before = std::env::var_os("ZIGGURAT_BEFORE").filter(|_| schedule.has_upgrade());
        let mut world = Self {
            schedule,
            root,
            port: own_port(),
            program: before.map_or_else(|| program().to_owned(), PathBuf::from),
            coordinator: None,
            coordinator_is_held: false,
            nodes: Vec::new(),
            job: String::new(),
            solved: 0,
            is_given_up: false,
            directories: 0,
            looked: Instant::now(),
            refused_twins: 0,
        };
        world.start(Process::Coordinator);
        for (place, &has_store) in schedule.stores.iter().enumerate() {
            world.join(&format!("worker-{place}"), has_store);
        }
        world.wait_for_coordinator();
        let submit = [&["submit"], &GAME[..], &["--checkpoint-every", "100ms"]].concat();
        let output = world.ask(&submit);
        assert!(output.status.success(), "{}", stderr(&output));
        world.job = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        world
    }

    /// Does all that the schedule says.
    pub fn suffer(&mut self) {
        for &(when, fault) in &self.schedule.happenings {
            match when {
                When::After(milliseconds) => {
                    let moment = Instant::now() + Duration::from_millis(milliseconds);
                    self.watch_until(|_| Instant::now() >= moment);
                }
                When::Solved(steps) => {
                    let latest = Instant::now() + PROGRESS;
                    self.watch_until(|world| world.solved >= steps || Instant::now() >= latest);
                }
            }
            self.apply(fault);
        }
    }

    /// Mends all that is wrong, waits for the table, and returns it.
    pub fn heal(&mut self) -> Vec<u8> {
        for place in 0..self.nodes.len() {
            self.return_disk(place);
        }
        let workers = (0..self.nodes.len()).map(Process::Worker);
        for process in [Process::Coordinator].into_iter().chain(workers) {
            self.proceed(process);
            self.start(process);
        }
        self.wait_for_coordinator();
        self.resume();
        let latest = Instant::now() + END;
        let mut table = None;
        self.watch_until(|world| {
            assert!(Instant::now() < latest, "the job does not end");
            table = world.table();
            table.is_some()
        });
        self.looks_back();
        table.expect("it was waited for")
    }

    fn table(&mut self) -> Option<Vec<u8>> {
        // What one has that is about to leave is there again once it is.
        if self.state() != "solved" || self.is_anyone_leaving() {
            return None;
        }
        let export = ["export", &self.job, "--format", "zgt", "--out", "table.zgt"];
        let output = self.ask(&export);
        let said = stderr(&output);
        if output.status.success() {
            return Some(fs::read(self.root.join("table.zgt")).unwrap());
        }
        assert!(said.contains("are lost, of a worker that is given up"), "export: {said}");
        assert!(self.may_lose(), "nobody gave anything up, but export: {said}");
        self.resume();
        None
    }

    /// Nothing was lost but by an operator's word, or by the time that an operator has set.
    fn looks_back(&self) {
        let events = self.ask(&["events", &self.job, "--json"]);
        let events: Value = serde_json::from_slice(&events.stdout).unwrap();
        let events = events["events"].as_array().unwrap().clone();
        let lost = events.iter().filter(|event| event["kind"] == "lost");
        let lost: Vec<&str> = lost.map(|event| event["text"].as_str().unwrap()).collect();
        // That a worker is given up is not yet a loss.
        let lost = lost.iter().filter(|text| !text.contains("is given up: "));
        let lost: Vec<_> = lost.collect();
        let may_lose = self.may_lose() || self.schedule.gives_up_soon;
        assert!(lost.is_empty() || may_lose, "{lost:?}");
    }

    /// Whether an operator has had something given up that no checkpoint store has.
    fn may_lose(&self) -> bool {
        self.is_given_up && !self.nodes.iter().all(|node| node.has_store)
    }

    fn resume(&mut self) {
        let job = self.job.clone();
        self.operate(&["resume", &job], &[(1, "is active"), (1, "is solved already")]);
    }

    fn apply(&mut self, fault: Fault) {
        let job = self.job.clone();
        match fault {
            Fault::Kill(process) => self.kill(process),
            Fault::Hold(process) => self.hold(process),
            Fault::Continue(process) => self.proceed(process),
            Fault::Leave(process) => self.leave(process),
            Fault::Drain(place) => {
                let name = self.nodes[place].name.clone();
                (self.nodes[place].is_leaving, self.nodes[place].is_wanted) = (true, false);
                self.operate(&["worker", "drain", &name], &[(2, "there is no worker")]);
            }
            Fault::Start(process) => self.start(process),
            Fault::Pause => {
                self.operate(&["pause", &job], &[(1, "is paused"), (1, "is solved already")]);
            }
            Fault::Resume => self.resume(),
            Fault::Twin(place) => self.twin(place),
            Fault::TakeDisk(place) => {
                self.kill(Process::Worker(place));
                self.rename(&self.nodes[place].directory, &Self::away(place));
                let name = format!("stand-in-{}", self.nodes.len());
                self.join(&name, self.nodes[place].has_store);
            }
            Fault::ReturnDisk(place) => {
                self.return_disk(place);
                self.start(Process::Worker(place));
            }
            Fault::LoseDisk(place) => {
                self.kill(Process::Worker(place));
                self.directories += 1;
                let lost = format!("lost-{}", self.directories);
                self.rename(&self.nodes[place].directory, &lost);
                let node = &mut self.nodes[place];
                (node.lost, node.replaces) = (Some(lost), true);
                self.start(Process::Worker(place));
            }
            Fault::FindDisk(place) => {
                let name = format!("found-{}", self.nodes.len());
                let Some(lost) = self.nodes[place].lost.take() else { return };
                self.rename(&lost, &name);
                self.join(&name, self.nodes[place].has_store);
            }
            Fault::Join(has_store) => {
                self.join(&format!("worker-{}", self.nodes.len()), has_store);
            }
            Fault::KillReaders => {
                for place in 0..self.nodes.len() {
                    if self.nodes[place].has_store {
                        self.kill(Process::Worker(place));
                    }
                }
            }
            Fault::Forget(place) => {
                let name = self.nodes[place].name.clone();
                let refusals = [(2, "there is no worker"), (1, "only when it is gone")];
                self.is_given_up |= self.operate(&["worker", "forget", &name], &refusals);
            }
            Fault::KillAll => {
                (0..self.nodes.len()).for_each(|place| self.kill(Process::Worker(place)));
                self.kill(Process::Coordinator);
            }
            Fault::Upgrade(way) => {
                let workers = (0..self.nodes.len()).map(Process::Worker);
                let all = || [Process::Coordinator].into_iter().chain(workers.clone());
                if way == Way::AtOnce {
                    all().rev().for_each(|process| self.leave(process));
                }
                self.program = program().to_owned();
                for process in all() {
                    self.leave(process);
                    self.start(process);
                    if way == Way::OneByOne {
                        let moment = Instant::now() + BETWEEN;
                        self.watch_until(|_| Instant::now() >= moment);
                    }
                }
            }
        }
    }

    fn away(place: usize) -> String {
        format!("away-{place}")
    }

    fn return_disk(&mut self, place: usize) {
        let away = Self::away(place);
        if self.root.join(&away).exists() {
            self.rename(&away, &self.nodes[place].directory);
        }
    }

    fn rename(&self, from: &str, to: &str) {
        // One that was killed at once has made none yet.
        if self.root.join(from).exists() {
            fs::rename(self.root.join(from), self.root.join(to)).unwrap();
        }
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn spawn(&self, name: &str, arguments: &[&str]) -> Child {
        let log = self.root.join(format!("{name}.log"));
        let log = fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.root).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(log).spawn().expect("the program starts")
    }

    fn join(&mut self, name: &str, has_store: bool) {
        self.nodes.push(Node {
            name: name.to_owned(),
            directory: name.to_owned(),
            has_store,
            threads: 1 + self.nodes.len() % 2,
            process: None,
            is_held: false,
            is_wanted: true,
            is_leaving: false,
            replaces: false,
            lost: None,
        });
        self.start(Process::Worker(self.nodes.len() - 1));
    }

    /// Starts a process that does not run, if it has its disk.
    fn start(&mut self, process: Process) {
        let address = self.address();
        match process {
            Process::Coordinator if self.coordinator.is_none() => {
                let lost_after = if self.schedule.gives_up_soon { "2s" } else { "10min" };
                let own = ["coordinator", "--dir", "coordinator", "--listen", &address];
                let limits =
                    ["--lease", "1s", "--lost-after", lost_after, "--split-above", "20000"];
                self.coordinator = Some(self.spawn("coordinator", &[&own[..], &limits].concat()));
            }
            // One that is about to leave is started again then.
            Process::Worker(place) if self.nodes[place].process.is_some() => {
                self.nodes[place].is_wanted = true;
            }
            Process::Worker(place) => {
                if self.root.join(Self::away(place)).exists() {
                    return;
                }
                let Node { name, directory, has_store, threads, replaces, .. } = &self.nodes[place];
                let threads = threads.to_string();
                let own = ["worker", "--coordinator", &address, "--dir", directory, "--name", name];
                let mut arguments = [&own[..], &["--threads", &threads]].concat();
                arguments.extend(has_store.then_some(["--checkpoints", "store"]).iter().flatten());
                let replaced = ["--replace", name];
                arguments.extend(replaces.then_some(replaced).iter().flatten());
                let child = self.spawn(name, &arguments);
                let node = &mut self.nodes[place];
                (node.process, node.is_wanted, node.is_leaving) = (Some(child), true, false);
                self.is_given_up |= node.replaces;
            }
            Process::Coordinator => {}
        }
    }

    fn kill(&mut self, process: Process) {
        match process {
            Process::Coordinator => {
                kill(&mut self.coordinator);
                self.coordinator_is_held = false;
            }
            Process::Worker(place) => {
                let node = &mut self.nodes[place];
                kill(&mut node.process);
                (node.is_held, node.is_wanted) = (false, false);
            }
        }
    }

    fn child(&mut self, process: Process) -> (&mut Option<Child>, &mut bool) {
        match process {
            Process::Coordinator => (&mut self.coordinator, &mut self.coordinator_is_held),
            Process::Worker(place) => {
                let node = &mut self.nodes[place];
                (&mut node.process, &mut node.is_held)
            }
        }
    }

    fn hold(&mut self, process: Process) {
        if let (Some(child), is_held) = self.child(process) {
            signal(child, "STOP");
            *is_held = true;
        }
    }

    fn proceed(&mut self, process: Process) {
        if let (Some(child), is_held) = self.child(process) {
            signal(child, "CONT");
            *is_held = false;
        }
    }

    /// Asks a process to leave, and again if that takes long.
    fn leave(&mut self, process: Process) {
        self.proceed(process);
        if let Process::Worker(place) = process {
            (self.nodes[place].is_leaving, self.nodes[place].is_wanted) = (true, false);
        }
        let Some(child) = self.child(process).0 else { return };
        signal(child, "TERM");
        let asked = Instant::now();
        let mut is_hurried = false;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if asked.elapsed() > LEAVING && !is_hurried {
                signal(child, "TERM");
                is_hurried = true;
            }
            assert!(asked.elapsed() < LEAVING + AT_ONCE, "{process:?} does not end");
            thread::sleep(Duration::from_millis(10));
        };
        // One that has just been started ends by the signal.
        let code = status.code();
        let is_right = code.is_none() || code == Some(0) || is_hurried && code == Some(130);
        assert!(is_right || self.may_end(process, code), "{process:?} was to leave: {status}");
        *self.child(process).0 = None;
    }

    /// Whether a worker may have ended so by itself.
    fn may_end(&self, process: Process, code: Option<i32>) -> bool {
        let Process::Worker(place) = process else { return false };
        let said = self.log(&self.nodes[place].name);
        let last = said.lines().rev().take(3).collect::<Vec<_>>().join("\n");
        self.nodes[place].is_leaving && code == Some(0)
            || self.nodes[place].replaces
                && ENDS.iter().any(|&(end, part)| code == Some(end) && last.contains(part))
    }

    /// Starts those again that have ended and were to run. They must have had a reason.
    fn supervise(&mut self) {
        if let Some(status) = self.coordinator.as_mut().and_then(|it| it.try_wait().unwrap()) {
            panic!("the coordinator has ended: {status}");
        }
        for place in 0..self.nodes.len() {
            let child = self.nodes[place].process.as_mut();
            let Some(status) = child.and_then(|it| it.try_wait().unwrap()) else { continue };
            let is_right = self.may_end(Process::Worker(place), status.code());
            assert!(is_right, "worker {} has ended: {status}", self.nodes[place].name);
            self.nodes[place].process = None;
            if self.nodes[place].is_wanted {
                self.start(Process::Worker(place));
            }
        }
    }

    /// A second worker under a name that is somebody's has to end.
    fn twin(&mut self, place: usize) {
        self.wait_for_coordinator();
        let name = self.nodes[place].name.clone();
        let alone = self.alone_has_solved(&name);
        if !alone && !self.is_connected(&name) {
            return;
        }
        self.directories += 1;
        let (address, directory) = (self.address(), format!("twin-{}", self.directories));
        let arguments = ["worker", "--coordinator", &address, "--dir", &directory, "--name", &name];
        let mut twin = Some(self.spawn(&directory, &arguments));
        let latest = Instant::now() + AT_ONCE;
        let status = loop {
            let status = twin.as_mut().and_then(|twin| twin.try_wait().unwrap());
            if status.is_some() || self.log(&directory).contains("registered") {
                break status;
            }
            if Instant::now() > latest {
                kill(&mut twin);
                panic!("a second worker called {name} neither ends nor is let in");
            }
            thread::sleep(Duration::from_millis(20));
        };
        kill(&mut twin);
        match status {
            Some(status) => {
                let said = self.log(&directory);
                assert!(status.code() == Some(2) && said.contains("another worker"), "{said}");
                self.refused_twins += 1;
            }
            // It was connected, and is not; and nothing of it would be missed.
            None => {
                assert!(!alone, "a second worker called {name} was let in");
                self.nodes[place].replaces = true;
                self.is_given_up = true;
            }
        }
    }

    /// Whether a worker alone has values of a solved step.
    fn alone_has_solved(&self, name: &str) -> bool {
        let status = self.status().unwrap_or_default();
        let steps = status["steps"].as_array().cloned().unwrap_or_default();
        steps.iter().any(|step| {
            let owners = step["workers"].as_array().cloned().unwrap_or_default();
            step["state"] == "solved" && step["store"].is_null() && owners.contains(&name.into())
        })
    }

    fn is_connected(&self, name: &str) -> bool {
        let status = self.status().unwrap_or_default();
        let workers = status["workers"].as_array().cloned().unwrap_or_default();
        workers.iter().any(|worker| worker["name"] == name && worker["connected"] == true)
    }

    fn is_anyone_leaving(&self) -> bool {
        let status = self.status().unwrap_or_default();
        let workers = status["workers"].as_array().cloned().unwrap_or_default();
        workers.iter().any(|worker| worker["draining"] == true)
    }

    fn answers(&self) -> bool {
        self.coordinator.is_some() && !self.coordinator_is_held
    }

    fn wait_for_coordinator(&mut self) {
        let latest = Instant::now() + AT_ONCE;
        while TcpStream::connect(self.address()).is_err() {
            assert!(Instant::now() < latest, "the coordinator does not listen");
            self.supervise();
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        run(self.root, &[arguments, &["--coordinator", &self.address()]].concat())
    }

    /// Says something to the coordinator, which does it, or refuses it in one of these ways.
    /// Tells which.
    fn operate(&mut self, arguments: &[&str], refusals: &[(i32, &str)]) -> bool {
        self.wait_for_coordinator();
        let output = self.ask(arguments);
        let (code, said) = (output.status.code(), stderr(&output));
        let is_known = |&(known, part): &(i32, &str)| code == Some(known) && said.contains(part);
        let is_right = output.status.success() || refusals.iter().any(is_known);
        assert!(is_right, "{arguments:?} ends with {code:?}: {said}");
        output.status.success()
    }

    fn status(&self) -> Option<Value> {
        let output = self.ask(&["status", &self.job, "--json"]);
        output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
    }

    fn state(&self) -> String {
        let status = self.status().unwrap_or_default();
        status["job"]["state"].as_str().unwrap_or("away").to_owned()
    }

    /// Looks at processes and job until something is there.
    fn watch_until(&mut self, mut is_there: impl FnMut(&mut Self) -> bool) {
        loop {
            self.supervise();
            if self.looked.elapsed() >= LOOK {
                self.look();
                self.looked = Instant::now();
            }
            if is_there(self) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// What is said of a job that goes on, or says why it does not.
    fn look(&mut self) {
        if !self.answers() || TcpStream::connect(self.address()).is_err() {
            return;
        }
        let Some(status) = self.status() else { return };
        let job = &status["job"];
        let state = job["state"].as_str().unwrap();
        assert!(["queued", "running", "paused", "solved"].contains(&state), "{job}");
        // A step that is solved is worked on, too: where it is handed over.
        let mut workers = status["workers"].as_array().unwrap().iter();
        let is_worked_on = workers.any(|worker| worker["job"] == job["job"]);
        let says_why = !job["message"].as_str().unwrap().is_empty();
        let rests = matches!(state, "paused" | "solved");
        assert!(is_worked_on || says_why || rests, "it does not say why it waits: {status}");
        let solved = job["solved_steps"].as_u64().unwrap();
        assert!(solved >= self.solved || self.may_lose(), "a solved step is lost: {status}");
        self.solved = solved;
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(format!("{name}.log"))).unwrap_or_default()
    }
}

/// The ends of all logs in a directory.
pub fn logs(root: &Path) -> String {
    let mut text = String::new();
    for name in files(root).iter().filter(|name| name.ends_with(".log")) {
        let log = fs::read_to_string(root.join(name)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(25)..];
        text += &format!("== {name}\n{}\n", last.join("\n"));
    }
    text
}
