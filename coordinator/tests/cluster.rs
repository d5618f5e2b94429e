//! The coordinator as a process has it, over real connections, with workers that sweep nothing: they report
//! residuals that fall, and proofs that hold.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{sync::mpsc, sync::oneshot, task::JoinHandle, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Streaming};
use ziggurat_coordinator::{Alone, CoordinatorError, Options, run};
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_history::{History, Kind};
use ziggurat_planning::{Growth, Order, Outcome, Precision, Settings, shards};
use ziggurat_rpc::{
    ControlClient, JobsClient, OLDEST_PROTOCOL, PROTOCOL, Security, connect_now, control_client,
    convert::{Answer, Job, Task, identity_text, owners, required},
    jobs_client,
    proto::{
        Assign, CancelRequest, Drain, FromWorker, GreetRequest, Heartbeat, JobRequest, JobState,
        ListRequest, Register, Report, StepRequest, SubmitRequest, ToWorker, WorkerRequest,
        from_worker, to_worker,
    },
};

const PATIENCE: Duration = Duration::from_secs(20);

/// What one process is said to take for a job.
const ALONE: Alone =
    Alone { memory_bytes: 1 << 20, least_memory_bytes: 1 << 19, arrays_bytes: 1 << 20 };

/// A coordinator in this process.
struct Coordinator {
    address: SocketAddr,
    metrics: SocketAddr,
    stop: oneshot::Sender<()>,
    ran: JoinHandle<Result<(), CoordinatorError>>,
}

/// A port that is free.
fn free() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

impl Coordinator {
    async fn start(dir: &Path) -> Self {
        let (address, metrics) = (free(), free());
        let options = Options {
            lease: Duration::from_secs(2),
            metrics: Some(metrics),
            ..Options::new(address, PathBuf::from(dir), |_, _| ALONE)
        };
        let (stop, stopped) = oneshot::channel();
        let ran = tokio::spawn(run(options, async {
            let _ = stopped.await;
        }));
        let coordinator = Self { address, metrics, stop, ran };
        timeout(PATIENCE, async {
            while coordinator.connect().await.is_none() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
        .expect("the coordinator starts");
        coordinator
    }

    async fn connect(&self) -> Option<ziggurat_rpc::Connection> {
        connect_now(&self.address.to_string(), &Security::Open, PATIENCE).await.ok()
    }

    async fn jobs(&self) -> JobsClient {
        jobs_client(self.connect().await.expect("it listens"))
    }

    async fn control(&self) -> ControlClient {
        control_client(self.connect().await.expect("it listens"))
    }

    /// A page of the port for metrics.
    async fn page(&self, path: &str) -> String {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut stream = tokio::net::TcpStream::connect(self.metrics).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).await.unwrap();
        page
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        timeout(PATIENCE, self.ran).await.expect("it stops").unwrap().unwrap();
    }
}

fn encoding() -> Encoding {
    let pieces = Overrides { pieces: Some(2), ..Overrides::default() };
    Encoding::new(&Ruleset::builtin("finkel").unwrap().with(&pieces).unwrap()).unwrap()
}

fn settings() -> Settings {
    Settings { shard_positions: Some(500), ..Settings::new(Precision::F64) }
}

fn submission(key: &str) -> SubmitRequest {
    let job = Job::new(encoding().ruleset().clone(), &settings());
    SubmitRequest {
        spec: Some((&job).into()),
        name: "a small game".to_owned(),
        key: key.to_owned(),
        checkpoint_seconds: 0.05,
        ..SubmitRequest::default()
    }
}

/// A worker that sweeps nothing.
struct Worker {
    to_coordinator: mpsc::Sender<FromWorker>,
    from_coordinator: Streaming<ToWorker>,
    /// Supersteps of each step.
    sweeps: BTreeMap<Tier, i32>,
    /// The ranges of its own shards, in the attempt it is in.
    ranges: Vec<u32>,
    /// Their shards and positions.
    shards: Vec<u64>,
    positions: u64,
}

impl Worker {
    async fn connect(coordinator: &Coordinator, name: &str, identity: u64) -> Self {
        Self::try_connect(coordinator, register(name, identity)).await.unwrap()
    }

    async fn try_connect(
        coordinator: &Coordinator,
        register: Register,
    ) -> Result<Self, tonic::Status> {
        let (to_coordinator, messages) = mpsc::channel(64);
        let message = Some(from_worker::Message::Register(register));
        to_coordinator.send(FromWorker { message }).await.unwrap();
        let mut control = coordinator.control().await;
        let stream = control.work(ReceiverStream::new(messages)).await?;
        let from_coordinator = stream.into_inner();
        let (sweeps, ranges, shards, positions) = Default::default();
        let mut worker =
            Self { to_coordinator, from_coordinator, sweeps, ranges, shards, positions };
        let first = worker.from_coordinator.message().await?.unwrap().message.unwrap();
        assert!(matches!(first, to_worker::Message::Welcome(_)), "{first:?}");
        Ok(worker)
    }

    async fn say(&self, message: from_worker::Message) {
        let _ = self.to_coordinator.send(FromWorker { message: Some(message) }).await;
    }

    /// Does what it is told until it is told something else, which is returned; `None` when the connection ends.
    async fn work(&mut self) -> Option<to_worker::Message> {
        let mut beats = tokio::time::interval(Duration::from_millis(500));
        loop {
            let message = tokio::select! {
                message = self.from_coordinator.message() => message.ok()??.message?,
                _ = beats.tick() => {
                    self.say(from_worker::Message::Heartbeat(Heartbeat::default())).await;
                    continue;
                }
            };
            match message {
                to_worker::Message::Assign(assign) => self.prepare(assign).await,
                to_worker::Message::Order(order) => self.obey(order).await,
                to_worker::Message::Heard(_)
                | to_worker::Message::Commit(_)
                | to_worker::Message::Abandon(_) => {}
                other => return Some(other),
            }
        }
    }

    async fn prepare(&mut self, assign: Assign) {
        let tier: Tier = required(assign.step, "step").unwrap();
        let shards = shards(&encoding(), &settings(), tier);
        let owners = owners(&assign.shares, shards.len(), assign.members.len()).unwrap();
        let mut place = 0;
        (self.ranges, self.shards, self.positions) = Default::default();
        for (number, (shard, owner)) in (0..).zip(shards.iter().zip(owners)) {
            let ranges = 1 + u32::from(shard.ranges.1.is_some());
            if owner == assign.member {
                self.ranges.extend(place..place + ranges);
                self.shards.push(number);
                self.positions += shard.len();
            }
            place += ranges;
        }
        if assign.checkpoint.is_none() {
            self.sweeps.insert(tier, 0);
        }
        let answer = Answer::Prepared { halo_positions: 7 };
        self.report(assign.job, tier, assign.attempt, 0, answer, Vec::new()).await;
    }

    async fn obey(&mut self, order: ziggurat_rpc::proto::Order) {
        let tier: Tier = required(order.step, "step").unwrap();
        let task = Task::try_from(order.task.unwrap()).unwrap();
        let saves = matches!(task, Task::Save { .. });
        let outcome = match task {
            Task::Order(Order::Sweep { .. }) => {
                let sweeps = self.sweeps.entry(tier).or_default();
                *sweeps += 1;
                Outcome::Swept(0.3_f64.powi(*sweeps))
            }
            Task::Order(Order::Measure) => {
                let products = |i: usize| std::array::from_fn(|j| f64::from(u8::from(i == j)));
                let ranges = self.ranges.iter();
                Outcome::Measured(ranges.map(|&at| (at, std::array::from_fn(products))).collect())
            }
            Task::Order(Order::Sample { .. } | Order::Correct { .. }) => {
                panic!("a step of a small game is not corrected")
            }
            Task::Order(Order::Prove(_)) => Outcome::Proved(Growth { largest: 1, grew: false }),
            Task::Order(Order::Extrapolate { .. } | Order::Widen) | Task::Save { .. } => {
                Outcome::Done
            }
        };
        // Slow enough for checkpoints on the way.
        tokio::time::sleep(Duration::from_millis(5)).await;
        let checksums = self.shards.iter().filter(|_| saves).flat_map(|&shard| [shard, 77]);
        let (checksums, answer) = (checksums.collect(), outcome.into());
        self.report(order.job, tier, order.attempt, order.order, answer, checksums).await;
    }

    async fn report(
        &self,
        job: u64,
        tier: Tier,
        attempt: u32,
        order: u32,
        answer: Answer,
        checksums: Vec<u64>,
    ) {
        let report = Report {
            job,
            step: Some(tier.into()),
            attempt,
            order,
            seconds: 0.001,
            positions: self.positions,
            sent_bytes: 3,
            exchanging_seconds: 0.0002,
            waited_seconds: 0.0003,
            outcome: Some(answer.into()),
            checksums,
        };
        self.say(from_worker::Message::Report(report)).await;
    }

    /// Works aside, until the connection ends or it is released.
    fn start(mut self) -> JoinHandle<Option<to_worker::Message>> {
        tokio::spawn(async move { self.work().await })
    }
}

fn register(name: &str, identity: u64) -> Register {
    Register {
        protocol: PROTOCOL,
        encoder: Encoding::VERSION,
        worker: identity_text(identity),
        name: name.to_owned(),
        address: format!("{name}:9"),
        cores: 2,
        memory_bytes: 1 << 30,
        disk_bytes: 1 << 30,
        checkpoint_store: String::new(),
        replaces: String::new(),
    }
}

/// Watches a job until it ends. Returns its last state, and how many messages there were.
async fn watch(coordinator: &Coordinator, job: u64) -> (JobState, usize) {
    let mut jobs = coordinator.jobs().await;
    let mut watch = jobs.watch(JobRequest { job }).await.unwrap().into_inner();
    let (mut state, mut messages) = (JobState::Unspecified, 0);
    while let Some(status) = timeout(PATIENCE, watch.message()).await.unwrap().unwrap() {
        (state, messages) = (status.job.unwrap().state(), messages + 1);
    }
    (state, messages)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_planned_submitted_watched_solved_and_located() {
    let dir = tempfile::tempdir().unwrap();
    let coordinator = Coordinator::start(dir.path()).await;
    let mut jobs = coordinator.jobs().await;
    let plan = jobs.plan(submission("")).await.unwrap().into_inner();
    assert_eq!(plan.positions, encoding().undecided());
    assert_eq!(plan.memory_bytes, ALONE.memory_bytes);
    assert!(plan.missing[0].contains("no worker is connected"), "{:?}", plan.missing);
    let job = jobs.submit(submission("once")).await.unwrap().into_inner().job;
    let again = jobs.submit(submission("once")).await.unwrap().into_inner().job;
    assert_eq!((job, again), (1, 1));
    let status = jobs.status(JobRequest { job }).await.unwrap().into_inner().job.unwrap();
    assert_eq!(status.state(), JobState::Queued);
    assert!(status.message.contains("none has ever connected"), "{}", status.message);
    let refused = jobs.locate(JobRequest { job }).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);

    for (name, identity) in [("one", 1), ("two", 2)] {
        Worker::connect(&coordinator, name, identity).await.start();
    }
    let (state, messages) = watch(&coordinator, job).await;
    assert_eq!(state, JobState::Solved);
    assert!(messages > 1);
    let located = jobs.locate(JobRequest { job }).await.unwrap().into_inner();
    assert_eq!(located.steps.len(), 3);
    assert!(located.steps.iter().all(|step| step.bound > 0.0 && !step.peers.is_empty()));
    for step in &located.steps {
        let request = StepRequest { job, step: step.step };
        let reported = jobs.checksums(request).await.unwrap().into_inner().checksums;
        let tier: Tier = required(step.step, "step").unwrap();
        let shards = shards(&encoding(), &settings(), tier).len() as u64;
        assert_eq!(reported, (0..shards).flat_map(|shard| [shard, 77]).collect::<Vec<_>>());
    }
    let unknown = StepRequest { job: job + 1, step: located.steps[0].step };
    assert_eq!(jobs.checksums(unknown).await.unwrap_err().code(), Code::NotFound);
    // What was computed is only dropped by force.
    let refused = jobs.cancel(CancelRequest { job, force: false }).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("export it first"), "{refused}");
    jobs.locate(JobRequest { job }).await.unwrap();
    let cancelled = jobs.cancel(CancelRequest { job, force: true }).await.unwrap().into_inner();
    assert_eq!(cancelled.state(), JobState::Cancelled);
    let page = coordinator.page("/metrics").await;
    assert!(page.contains("ziggurat_coordinator_workers_connected 2"), "{page}");
    assert!(coordinator.page("/readyz").await.contains("ready"));
    coordinator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_that_are_closed_make_room_for_others_although_nothing_changes() {
    let dir = tempfile::tempdir().unwrap();
    let coordinator = Coordinator::start(dir.path()).await;
    let mut jobs = coordinator.jobs().await;
    let job = jobs.submit(submission("")).await.unwrap().into_inner().job;
    jobs.pause(JobRequest { job }).await.unwrap();
    for _ in 0..256 {
        let mut watch = jobs.watch(JobRequest { job }).await.unwrap().into_inner();
        watch.message().await.unwrap().unwrap();
    }
    timeout(PATIENCE, async {
        while jobs.watch(JobRequest { job }).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("there is room");
    coordinator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_superstep_and_interval_sweep_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let coordinator = Coordinator::start(dir.path()).await;
    let mut jobs = coordinator.jobs().await;
    let job = jobs.submit(submission("")).await.unwrap().into_inner().job;
    Worker::connect(&coordinator, "one", 1).await.start();
    let page = timeout(PATIENCE, async {
        loop {
            let page = coordinator.page("/metrics").await;
            if page.contains("step=\"2-2\"") {
                return page;
            }
        }
    });
    let page = page.await.expect("the last step begins");
    assert_eq!(watch(&coordinator, job).await.0, JobState::Solved);
    let steps = jobs.status(JobRequest { job }).await.unwrap().into_inner().steps;
    for (step, name) in steps.iter().zip(["1-1", "2-1"]) {
        let sweeps = step.sweeps;
        assert!(sweeps > 0, "{step:?}");
        let metric = "ziggurat_coordinator_interval_sweeps_total";
        let line = format!("{metric}{{job=\"{job}\",step=\"{name}\"}} {sweeps}\n");
        assert!(page.contains(&line), "{line} in {page}");
        let (metric, supersteps) = ("ziggurat_coordinator_supersteps_total", step.supersteps);
        let line = format!("{metric}{{job=\"{job}\",step=\"{name}\"}} {supersteps}\n");
        assert!(page.contains(&line), "{line} in {page}");
    }
    let metric = "ziggurat_coordinator_checkpoint_seconds_count ";
    let count = page.lines().find_map(|line| line.strip_prefix(metric)).unwrap();
    assert!(count.parse::<u64>().unwrap() >= 2, "{count}");
    coordinator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_of_jobs_go_when_they_end_however_soon() {
    let dir = tempfile::tempdir().unwrap();
    let coordinator = Coordinator::start(dir.path()).await;
    let mut jobs = coordinator.jobs().await;
    Worker::connect(&coordinator, "one", 1).await.start();
    for _ in 0..5 {
        let mut quick = submission("");
        let spec = quick.spec.as_mut().unwrap();
        (spec.certified, spec.tolerance) = (false, 0.5);
        let job = jobs.submit(quick).await.unwrap().into_inner().job;
        let solved = timeout(PATIENCE, async {
            let mut state = JobState::Queued;
            while state != JobState::Solved {
                let status = jobs.status(JobRequest { job }).await.unwrap().into_inner();
                state = status.job.unwrap().state();
            }
        });
        solved.await.expect("it is solved");
    }
    let gone = timeout(PATIENCE, async {
        while coordinator.page("/metrics").await.contains("{job=") {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    gone.await.expect("nothing is left of any");
    coordinator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_counted_and_workers_that_have_to_wait_are_not() {
    use tokio::io::AsyncWriteExt;
    let dir = tempfile::tempdir().unwrap();
    let coordinator = Coordinator::start(dir.path()).await;
    let _worker = Worker::connect(&coordinator, "one", 1).await;
    let twin = Worker::try_connect(&coordinator, register("one", 1)).await;
    assert_eq!(twin.err().unwrap().code(), Code::AlreadyExists);
    let counted = async |count: u32| {
        let line = format!("ziggurat_coordinator_failures_total{{kind=\"refused\"}} {count}\n");
        coordinator.page("/metrics").await.contains(&line)
    };
    assert!(counted(0).await);
    let mut stream = tokio::net::TcpStream::connect(coordinator.address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
    let noticed = timeout(PATIENCE, async {
        while !counted(1).await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    noticed.await.expect("the stranger is counted");
    coordinator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_become_of_a_job_is_told_after_its_end_and_by_another_coordinator() {
    let dir = tempfile::tempdir().unwrap();
    let coordinator = Coordinator::start(dir.path()).await;
    let mut jobs = coordinator.jobs().await;
    let unknown = jobs.history(JobRequest { job: 1 }).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    let job = jobs.submit(submission("")).await.unwrap().into_inner().job;
    jobs.pause(JobRequest { job }).await.unwrap();
    jobs.resume(JobRequest { job }).await.unwrap();
    // One is lost on the way, and the other goes on.
    let lost = Worker::connect(&coordinator, "lost", 1).await.start();
    timeout(PATIENCE, async {
        let sweeps = |history: History| history.steps.values().any(|curve| !curve.is_empty());
        while !sweeps(jobs.history(JobRequest { job }).await.unwrap().into_inner().into()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("it is swept");
    lost.abort();
    let _ = lost.await;
    Worker::connect(&coordinator, "two", 2).await.start();
    forget(&coordinator, "lost").await;
    assert_eq!(watch(&coordinator, job).await.0, JobState::Solved);
    let told = jobs.history(JobRequest { job }).await.unwrap().into_inner();
    coordinator.stop().await;

    let history = History::from(told.clone());
    let has = |kind: Kind, text: &str| {
        let mut events = history.events.iter();
        events.any(|event| event.kind == kind && event.text.contains(text))
    };
    for (kind, text) in [
        (Kind::Submitted, "job 1 submitted"),
        (Kind::Paused, "paused"),
        (Kind::Resumed, "resumed"),
        (Kind::Begun, "begins with 1 workers"),
        (Kind::Worker, "worker lost is gone"),
        (Kind::Over, "is over: worker lost is gone"),
        (Kind::StepSolved, "step 2-2 is solved"),
        (Kind::Over, "is over: the step is solved"),
        (Kind::Solved, "job 1 solved"),
    ] {
        assert!(has(kind, text), "{kind:?} {text} in {:?}", history.events);
    }
    let asked = history.events.iter().filter(|event| event.by.as_deref() == Some("127.0.0.1"));
    assert!(asked.count() >= 3);
    let times: Vec<f64> = history.events.iter().map(|event| event.at).collect();
    assert!(times.is_sorted() && times[0] > 1.5e9);
    assert_eq!(history.planned_memory_bytes, ALONE.memory_bytes);
    for step in ["1-1", "2-1", "2-2"] {
        let curve = &history.steps[step];
        assert!(curve.f32.points().len() > 1 && !curve.proof.points().is_empty(), "{curve:?}");
    }
    let worked = &history.work.workers["two"];
    let swept: f32 = worked.slices.iter().map(|spent| spent.positions).sum();
    assert!(swept > 0.0 && worked.slices.iter().any(|spent| spent.sweeping > 0.0));

    let coordinator = Coordinator::start(dir.path()).await;
    let mut jobs = coordinator.jobs().await;
    assert_eq!(jobs.history(JobRequest { job }).await.unwrap().into_inner(), told);
    // More is told of it.
    jobs.cancel(CancelRequest { job, force: true }).await.unwrap();
    let more: History = jobs.history(JobRequest { job }).await.unwrap().into_inner().into();
    let last = more.events.iter().last().unwrap();
    assert_eq!((last.kind, last.number), (Kind::Cancelled, told.event_count + 1));
    coordinator.stop().await;
}

/// An operator gives up a worker, once it is gone.
async fn forget(coordinator: &Coordinator, name: &str) {
    let mut jobs = coordinator.jobs().await;
    timeout(PATIENCE, async {
        let name = name.to_owned();
        while jobs.forget_worker(WorkerRequest { name: name.clone() }).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("it is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_that_is_started_again_goes_on_with_its_jobs() {
    let dir = tempfile::tempdir().unwrap();
    let coordinator = Coordinator::start(dir.path()).await;
    let mut jobs = coordinator.jobs().await;
    let job = jobs.submit(submission("")).await.unwrap().into_inner().job;
    let mut worker = Worker::connect(&coordinator, "one", 1).await;
    let _ = timeout(Duration::from_millis(200), worker.work()).await;
    coordinator.stop().await;

    let coordinator = Coordinator::start(dir.path()).await;
    let mut jobs = coordinator.jobs().await;
    let all = jobs.list(ListRequest {}).await.unwrap().into_inner().jobs;
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].job, all[0].state()), (job, JobState::Running));
    let sweeps = worker.sweeps;
    worker = Worker::connect(&coordinator, "one", 1).await;
    worker.sweeps = sweeps;
    worker.start();
    assert_eq!(watch(&coordinator, job).await.0, JobState::Solved);
    coordinator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_that_of_a_directory() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut clusters = Vec::new();
    for dir in [&dirs[0], &dirs[1], &dirs[0]] {
        let coordinator = Coordinator::start(dir.path()).await;
        let mut control = coordinator.control().await;
        let reply = control.greet(GreetRequest { protocol: PROTOCOL }).await.unwrap();
        clusters.push(reply.into_inner().cluster);
        coordinator.stop().await;
    }
    assert!(clusters[0] != clusters[1] && clusters[0] == clusters[2], "{clusters:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_the_version_before_work_beside_those_of_this_one_and_of_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let coordinator = Coordinator::start(dir.path()).await;
    let mut control = coordinator.control().await;
    for protocol in [OLDEST_PROTOCOL - 1, PROTOCOL + 1] {
        let greeted = control.greet(GreetRequest { protocol }).await.unwrap_err();
        let other = Register { protocol, ..register("other", 9) };
        let registered = Worker::try_connect(&coordinator, other).await.err().unwrap();
        for refused in [greeted, registered] {
            assert_eq!(refused.code(), Code::FailedPrecondition);
            let said = refused.message();
            let versions = format!(
                "you have version {protocol} of the protocol, here {OLDEST_PROTOCOL} and {PROTOCOL} are"
            );
            assert!(said.contains(&versions) && said.contains("the coordinator's first"), "{said}");
        }
    }
    let mut jobs = coordinator.jobs().await;
    let mut solved = async |key: &str| {
        let job = jobs.submit(submission(key)).await.unwrap().into_inner().job;
        assert_eq!(watch(&coordinator, job).await.0, JobState::Solved);
    };
    let mut connected = Vec::new();
    for (identity, protocol) in (1..).zip([OLDEST_PROTOCOL, PROTOCOL, OLDEST_PROTOCOL, PROTOCOL]) {
        control.greet(GreetRequest { protocol }).await.unwrap();
        let name = format!("w{identity}");
        let register = Register { protocol, ..register(&name, identity) };
        connected.push(Worker::try_connect(&coordinator, register).await.unwrap());
        if identity == 1 {
            // Alone, it does all of a job.
            let before = connected.pop().unwrap().start();
            solved("alone").await;
            assert!(!before.is_finished());
        }
    }
    connected.into_iter().for_each(|worker| _ = worker.start());
    solved("together").await;
    coordinator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_worker_is_lost_and_one_that_drains_is_released() {
    let dir = tempfile::tempdir().unwrap();
    let coordinator = Coordinator::start(dir.path()).await;
    let mut silent = Worker::connect(&coordinator, "silent", 1).await;
    let twin = Worker::try_connect(&coordinator, register("other", 1)).await;
    assert_eq!(twin.err().unwrap().code(), Code::AlreadyExists);
    let there = Register { address: "silent:9".to_owned(), ..register("other", 2) };
    let refused = Worker::try_connect(&coordinator, there).await.err().unwrap();
    assert_eq!(refused.code(), Code::AlreadyExists);
    assert!(refused.message().contains("worker silent is connected"), "{refused}");
    let ended = timeout(PATIENCE, silent.from_coordinator.message()).await.unwrap();
    assert_eq!(ended.unwrap_err().code(), Code::DeadlineExceeded);

    let mut jobs = coordinator.jobs().await;
    jobs.submit(submission("")).await.unwrap();
    let worker = Worker::connect(&coordinator, "leaving", 2).await;
    let to_coordinator = worker.to_coordinator.clone();
    let working = worker.start();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let message = Some(from_worker::Message::Drain(Drain {}));
    to_coordinator.send(FromWorker { message }).await.unwrap();
    let last = timeout(PATIENCE, working).await.unwrap().unwrap();
    assert!(matches!(last, Some(to_worker::Message::Released(_))), "{last:?}");
    coordinator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_paused_resumed_and_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let coordinator = Coordinator::start(dir.path()).await;
    let mut jobs = coordinator.jobs().await;
    let job = jobs.submit(submission("")).await.unwrap().into_inner().job;
    let request = JobRequest { job };
    let paused = jobs.pause(request).await.unwrap().into_inner();
    assert_eq!(paused.state(), JobState::Paused);
    let resumed = jobs.resume(request).await.unwrap().into_inner();
    assert_ne!(resumed.state(), JobState::Paused);
    let mut worker = Worker::connect(&coordinator, "one", 1).await;
    let cancelled = jobs.cancel(CancelRequest { job, force: false }).await.unwrap().into_inner();
    assert_eq!(cancelled.state(), JobState::Cancelled);
    let told = timeout(PATIENCE, worker.work()).await.unwrap();
    assert!(matches!(told, Some(to_worker::Message::Forget(ref forget)) if forget.job == job));
    let refused = jobs.resume(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let unknown = jobs.status(JobRequest { job: 17 }).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    coordinator.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let coordinator = Coordinator::start(dir.path()).await;
    let other = Register { encoder: Encoding::VERSION + 1, ..register("one", 1) };
    let refused = Worker::try_connect(&coordinator, other).await.err().unwrap();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let mut jobs = coordinator.jobs().await;
    let mut wrong = submission("");
    wrong.spec.as_mut().unwrap().ruleset = "path = 3".to_owned();
    let refused = jobs.submit(wrong).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);

    // Reports on what nobody was asked.
    let mut worker = Worker::connect(&coordinator, "one", 1).await;
    worker.report(1, Tier::new(1, 1), 1, 1, Outcome::Swept(0.0).into(), Vec::new()).await;
    // What is said after them is heard after them.
    worker.say(from_worker::Message::Heartbeat(Heartbeat::default())).await;
    let heard = timeout(PATIENCE, worker.from_coordinator.message()).await.unwrap();
    let heard = heard.unwrap().unwrap().message;
    assert!(matches!(heard, Some(to_worker::Message::Heard(_))), "{heard:?}");
    assert!(jobs.list(ListRequest {}).await.unwrap().into_inner().jobs.is_empty());
    worker.say(from_worker::Message::Register(register("one", 1))).await;
    let ended = timeout(PATIENCE, worker.from_coordinator.message()).await.unwrap();
    assert!(!matches!(ended, Ok(Some(_))), "{ended:?}");
    coordinator.stop().await;
}
