//! A worker that computes nothing, and says all that is expected of one: its job is solved, and no table comes of it.

use std::{collections::BTreeMap, fs, pin::Pin, time::Duration};

use futures::{Stream, stream};
use tokio::{runtime::Builder, sync::mpsc};
use tonic::{Request, Response, Status, Streaming, async_trait};
use xxhash_rust::xxh3::xxh3_64;
use ziggurat_encoding::{Encoding, Shard, Tier};
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_kernel::{Growth, Order, Outcome, Precision, Settings, shards};
use ziggurat_rpc::{
    PROTOCOL, Security, bind, connect, control_client,
    convert::{Answer, Job, Task, identity_text, required},
    data,
    proto::{
        ExchangeReply, FetchReply, FetchRequest, FromWorker, GreetRequest, HaloMessage, Heartbeat,
        JobSpec, Register, Report, data_server::Data, from_worker::Message,
        to_worker::Message as Told,
    },
    server,
};
use ziggurat_worker::cluster::packed;

use crate::{
    cluster::Cluster,
    support::{files, run, stderr, succeed},
};

const SOON: Duration = Duration::from_secs(10);

/// The shards of a step of the job.
fn shards_of(spec: JobSpec, step: Tier) -> Vec<Shard> {
    let job = Job::try_from(spec).unwrap();
    shards(&Encoding::new(&job.ruleset).unwrap(), &job.settings(), step)
}

/// The positions of both ranges of a shard.
fn lengths(shard: &Shard) -> [u64; 2] {
    let (first, second) = &shard.ranges;
    [first.end - first.start, second.as_ref().map_or(0, |range| range.end - range.start)]
}

/// What a chance of one half everywhere is saved as.
fn halves(positions: u64) -> Vec<u8> {
    vec![0; 8 * positions as usize]
}

/// Serves one half everywhere.
struct Halves(JobSpec);

#[async_trait]
impl Data for Halves {
    type FetchStream = Pin<Box<dyn Stream<Item = Result<FetchReply, Status>> + Send>>;

    async fn exchange(
        &self,
        _: Request<Streaming<HaloMessage>>,
    ) -> Result<Response<ExchangeReply>, Status> {
        Err(Status::unimplemented("there is nobody to exchange with"))
    }

    async fn fetch(
        &self,
        request: Request<FetchRequest>,
    ) -> Result<Response<Self::FetchStream>, Status> {
        let FetchRequest { step, shard, range, .. } = request.into_inner();
        let shards = shards_of(self.0.clone(), required(step, "step")?);
        let numbers = halves(lengths(&shards[shard as usize])[range as usize]);
        let reply = packed(&numbers, 8, Some(xxh3_64(&numbers)));
        Ok(Response::new(Box::pin(stream::iter([reply]))))
    }
}

/// Registers, and answers every order at once, until the connection ends.
async fn pretend(coordinator: String, spec: JobSpec) {
    let bound = bind("127.0.0.1:0".parse().unwrap(), &Security::Open, false).unwrap();
    let address = bound.address().to_string();
    let router = server(&Security::Open).add_service(data(Halves(spec.clone())));
    tokio::spawn(router.serve_with_incoming(bound.incoming().unwrap()));
    let mut client = control_client(connect(&coordinator, &Security::Open, SOON).unwrap());
    client.greet(GreetRequest { protocol: PROTOCOL }).await.unwrap();
    let (to_coordinator, queue) = mpsc::channel(64);
    let messages = stream::unfold(queue, |mut queue| async move {
        queue.recv().await.map(|message| (message, queue))
    });
    let say = async |message| {
        let message = FromWorker { message: Some(message) };
        to_coordinator.send(message).await.unwrap();
    };
    let register = Register {
        protocol: PROTOCOL,
        encoder: Encoding::VERSION,
        worker: identity_text(77),
        name: "liar".to_owned(),
        address,
        cores: 2,
        memory_bytes: 1 << 30,
        disk_bytes: 1 << 30,
        ..Register::default()
    };
    say(Message::Register(register)).await;
    let mut told = client.work(messages).await.unwrap().into_inner();
    let mut sweeps: BTreeMap<Tier, i32> = BTreeMap::new();
    let mut beats = tokio::time::interval(Duration::from_millis(500));
    loop {
        let message = tokio::select! {
            message = told.message() => message,
            _ = beats.tick() => {
                say(Message::Heartbeat(Heartbeat::default())).await;
                continue;
            }
        };
        let Ok(Some(message)) = message else { return };
        let (job, step, attempt, order, task) = match message.message.unwrap() {
            Told::Assign(assign) => (assign.job, assign.step, assign.attempt, 0, None),
            Told::Order(order) => (order.job, order.step, order.attempt, order.order, order.task),
            _ => continue,
        };
        let tier: Tier = required(step, "step").unwrap();
        let shards = shards_of(spec.clone(), tier);
        let (mut positions, mut checksums) = (0, Vec::new());
        let answer = match task.map(|task| Task::try_from(task).unwrap()) {
            None => Answer::Prepared { halo_positions: 0 },
            Some(Task::Order(Order::Sweep { .. })) => {
                positions = shards.iter().map(Shard::len).sum();
                let sweeps = sweeps.entry(tier).or_default();
                *sweeps += 1;
                Outcome::Swept(0.3_f64.powi(*sweeps)).into()
            }
            Some(Task::Order(Order::Measure)) => {
                let ranges: u32 =
                    shards.iter().map(|it| 1 + u32::from(it.ranges.1.is_some())).sum();
                let square = |i: usize| std::array::from_fn(|j| f64::from(u8::from(i == j)));
                let all = (0..ranges).map(|range| (range, std::array::from_fn(square)));
                Outcome::Measured(all.collect()).into()
            }
            Some(Task::Order(Order::Sample { .. } | Order::Correct { .. })) => {
                panic!("a step of a small game is not corrected")
            }
            Some(Task::Order(Order::Prove(_))) => {
                Outcome::Proved(Growth { largest: 1, grew: false }).into()
            }
            Some(Task::Save { .. }) => {
                let known = |positions| if positions > 0 { xxh3_64(&halves(positions)) } else { 0 };
                checksums = shards.iter().flat_map(|shard| lengths(shard).map(known)).collect();
                Outcome::Done.into()
            }
            Some(Task::Order(Order::Extrapolate { .. } | Order::Widen)) => Outcome::Done.into(),
        };
        let outcome = Some(answer.into());
        let report = Report {
            job,
            step,
            attempt,
            order,
            positions,
            outcome,
            checksums,
            ..Report::default()
        };
        say(Message::Report(report)).await;
    }
}

#[test]
fn what_nobody_has_computed_is_not_exported_and_the_worker_is_named() {
    let mut cluster = Cluster::new(0);
    cluster.wait_for("the coordinator", || std::net::TcpStream::connect(cluster.address()).is_ok());
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let pieces = Overrides { pieces: Some(2), ..Overrides::default() };
    let ruleset = Ruleset::find("finkel").unwrap().with(&pieces).unwrap();
    let spec = JobSpec::from(&Job::new(ruleset, &Settings::new(Precision::F64)));
    runtime.spawn(pretend(cluster.address(), spec));
    let job = cluster.ask(&["submit", "finkel", "--pieces", "2", "--wait"]);
    assert_eq!(cluster.state("1"), "solved", "{job}");

    let address = cluster.address();
    let export = |more: &[&str]| {
        let all = [&["export", "1", "--coordinator", &address], more].concat();
        run(cluster.path(), &all)
    };
    for more in [&[][..], &["--verify", "all"]] {
        let refused = export(more);
        let said = stderr(&refused);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("values are wrong") && said.contains("worker liar"), "{said}");
    }
    let left = files(cluster.path());
    assert!(!left.iter().any(|name| name.starts_with("finkel-2")), "{left:?}");
    // Who wants it all the same is told that nothing was looked at.
    let exported = export(&["--verify", "none"]);
    assert!(exported.status.success(), "{}", stderr(&exported));
    assert!(stderr(&exported).contains("nothing was verified"), "{}", stderr(&exported));
    let verified = run(cluster.path(), &["table", "verify", "finkel-2.zgt"]);
    assert_eq!(verified.status.code(), Some(1));

    // Once the worker is kept away, another solves the game.
    runtime.shutdown_background();
    cluster.ask(&["cancel", "1", "--force"]);
    cluster.start_another_worker();
    let again = cluster.ask(&["submit", "finkel", "--pieces", "2"]);
    succeed(cluster.path(), &["solve", "finkel", "--pieces", "2", "--out", "honest.zgt"]);
    let honest = fs::read(cluster.path().join("honest.zgt")).unwrap();
    cluster.ends_well(again.trim(), &honest);
}
