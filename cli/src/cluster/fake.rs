//! A coordinator and workers that pretend, for tests: they speak the protocol, and have solved a small
//! game.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use futures::{Stream, StreamExt, stream};
use tokio::runtime::{Builder, Runtime};
use tonic::{Request, Response, Status, Streaming, async_trait};
use xxhash_rust::xxh3::xxh3_64;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_game::{Overrides, Ruleset};
use ziggurat_kernel::{Settings, Surroundings, TierStatistics, TierValues, shards, solve};
use ziggurat_rpc::{
    Security, bind,
    proto::{
        CancelRequest, ChecksumsReply, ClusterStatus, ExchangeReply, FetchReply, FetchRequest,
        HaloMessage, HistoryReply, JobRequest, JobSpec, JobStatus, ListReply, ListRequest,
        LocateReply, LocatedStep, Peer, PlanReply, Precision, RemoveReply, Run, Step, StepRequest,
        SubmitReply, SubmitRequest, WorkerReply, WorkerRequest, WorkersReply, WorkersRequest,
        data_server::Data, jobs_server::Jobs,
    },
    server,
};
use ziggurat_worker::cluster::packed;

use super::words;

/// The job there is.
pub const JOB: u64 = 3;

/// Bytes of values in a message: few, so that a range is many.
const MESSAGE_BYTES: usize = 1000;

/// A solved game.
pub struct Solved {
    pub encoding: Encoding,
    pub settings: Settings,
    pub values: BTreeMap<Tier, Vec<f64>>,
    pub statistics: Vec<(Tier, TierStatistics)>,
}

impl Solved {
    /// Finkel with two pieces, cut into many shards.
    pub fn finkel() -> Self {
        let pieces = Overrides { pieces: Some(2), ..Overrides::default() };
        let ruleset = Ruleset::find("finkel").unwrap().with(&pieces).unwrap();
        let encoding = Encoding::new(&ruleset).unwrap();
        let settings = Settings {
            shard_positions: Some(300),
            threads: 1,
            ..Settings::new(ziggurat_kernel::Precision::F64)
        };
        let (mut values, mut statistics) = (BTreeMap::new(), Vec::new());
        let cancelled = false.into();
        solve(
            &encoding,
            &settings,
            Surroundings::in_memory(&cancelled),
            &mut |_| {},
            &mut |tier, made, found| {
                let TierValues::F64(found) = found else { panic!("f64 was asked for") };
                values.insert(tier, found.to_vec());
                statistics.push((tier, made));
                Ok(())
            },
        )
        .unwrap();
        Self { encoding, settings, values, statistics }
    }

    fn spec(&self) -> JobSpec {
        JobSpec {
            ruleset: self.encoding.ruleset().to_toml(),
            precision: Precision::F64.into(),
            tolerance: self.settings.tolerance,
            certified: self.settings.certified,
            shard_positions: self.settings.shard_positions.unwrap(),
        }
    }

    /// What a coordinator says whose workers share the shards.
    pub fn located(&self, addresses: &[String], stored: bool) -> LocateReply {
        let peers = addresses.iter().enumerate().map(|(i, address)| Peer {
            worker: format!("{i:016x}"),
            address: address.clone(),
            name: format!("worker-{i}"),
        });
        let peers: Vec<Peer> = peers.collect();
        let firsts = self.statistics.iter().filter(|(tier, _)| tier.just_moved >= tier.to_move);
        let steps = firsts.map(|&(tier, made)| {
            let shards = shards(&self.encoding, &self.settings, tier).len() as u32;
            let each = shards / peers.len() as u32;
            let mut runs: Vec<Run> =
                (0..peers.len() as u32).map(|peer| Run { count: each, peer }).collect();
            runs[0].count += shards - each * peers.len() as u32;
            runs.retain(|run| run.count > 0);
            LocatedStep {
                step: Some(Step {
                    just_moved: tier.just_moved.into(),
                    to_move: tier.to_move.into(),
                }),
                epoch: 7,
                incarnation: 9,
                peers: peers.clone(),
                runs,
                stored,
                supersteps: made.supersteps,
                supersteps_in_f32: made.supersteps_in_f32,
                residual: made.residual,
                error_estimate: made.error_estimate,
                bound: made.certificate.unwrap().bound,
                sweeps: made.certificate.unwrap().sweeps,
            }
        });
        LocateReply { steps: steps.collect(), spec: Some(self.spec()), encoder: Encoding::VERSION }
    }

    /// The bytes of the values of a range.
    fn range(&self, step: Tier, shard: u32, range: u32) -> Option<Vec<u8>> {
        let shards = shards(&self.encoding, &self.settings, step);
        let shard = shards.get(shard as usize)?.clone();
        let two_tiers = step.both().count() == 2;
        let (tier, offsets) = match range {
            0 => (step, shard.ranges.0),
            _ if two_tiers => (step.swap(), shard.ranges.1?),
            _ => (step, shard.ranges.1?),
        };
        let numbers = &self.values[&tier][offsets.start as usize..offsets.end as usize];
        Some(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
    }

    /// The checksums of all ranges, by step, as workers report them.
    pub fn checksums(&self) -> BTreeMap<Tier, Vec<u64>> {
        let steps = self.values.keys().copied().filter(|tier| tier.just_moved >= tier.to_move);
        let of_step = |step: Tier| {
            let shards = shards(&self.encoding, &self.settings, step).len() as u32;
            let ranges = (0..shards).flat_map(|shard| [(shard, 0), (shard, 1)]);
            let checksum =
                |(shard, range)| self.range(step, shard, range).map_or(0, |bytes| xxh3_64(&bytes));
            (step, ranges.map(checksum).collect())
        };
        steps.map(of_step).collect()
    }

    /// The number of ranges that a table consists of.
    pub fn ranges(&self) -> usize {
        let firsts = self.values.keys().filter(|tier| tier.just_moved >= tier.to_move);
        let shards = firsts.flat_map(|&tier| shards(&self.encoding, &self.settings, tier));
        shards.map(|shard| 1 + usize::from(shard.ranges.1.is_some())).sum()
    }
}

/// A worker that has all values.
pub struct Worker {
    pub solved: Arc<Solved>,
    /// Fetches that are still answered; then there are none.
    pub willing: AtomicI64,
    /// Fetches that are still answered with a flipped bit.
    pub lying: AtomicI64,
    /// Whether it has one half everywhere, under the right checksum.
    pub pretending: AtomicBool,
    /// Fetches that came.
    pub asked: AtomicI64,
}

impl Worker {
    pub fn new(solved: &Arc<Solved>) -> Arc<Self> {
        Arc::new(Self {
            solved: Arc::clone(solved),
            willing: AtomicI64::new(i64::MAX),
            lying: AtomicI64::new(0),
            pretending: AtomicBool::new(false),
            asked: AtomicI64::new(0),
        })
    }

    fn range(&self, request: &FetchRequest) -> Option<Vec<u8>> {
        let step = words::tier(request.step.as_ref()?);
        let is_there = (request.job, request.epoch, request.incarnation) == (JOB, 7, 9);
        is_there.then(|| self.solved.range(step, request.shard, request.range))?
    }
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Serves what a worker has.
pub struct Serves(Arc<Worker>);

#[async_trait]
impl Data for Serves {
    type FetchStream = Answers<FetchReply>;

    async fn exchange(
        &self,
        _request: Request<Streaming<HaloMessage>>,
    ) -> Result<Response<ExchangeReply>, Status> {
        Err(Status::unimplemented("a pretender exchanges nothing"))
    }

    async fn fetch(
        &self,
        request: Request<FetchRequest>,
    ) -> Result<Response<Self::FetchStream>, Status> {
        let worker = &self.0;
        worker.asked.fetch_add(1, Ordering::Relaxed);
        if worker.willing.fetch_sub(1, Ordering::Relaxed) <= 0 {
            return Err(Status::unavailable("about to end"));
        }
        let bytes = worker.range(request.get_ref());
        let mut bytes = bytes.ok_or_else(|| Status::not_found("there is no such range"))?;
        if worker.pretending.load(Ordering::Relaxed) {
            bytes.fill(0);
        }
        let checksum = xxh3_64(&bytes);
        if worker.lying.fetch_sub(1, Ordering::Relaxed) > 0 {
            bytes[0] ^= 1;
        }
        let mut replies: Vec<_> =
            bytes.chunks(MESSAGE_BYTES).map(|numbers| packed(numbers, 8, None)).collect();
        replies.last_mut().unwrap().as_mut().unwrap().checksum = Some(checksum);
        // As with a worker, the end comes a moment after the last piece.
        let end = stream::once(tokio::time::sleep(Duration::from_millis(1)));
        let end = end.filter_map(|()| async { None });
        Ok(Response::new(Box::pin(stream::iter(replies).chain(end))))
    }
}

/// A coordinator with one job.
#[derive(Default)]
pub struct Coordinates {
    pub located: Mutex<LocateReply>,
    /// The checksums that were reported of a step, if any were.
    pub checksums: Mutex<BTreeMap<Tier, Vec<u64>>>,
    /// What each call of Watch tells until it breaks.
    pub watched: Mutex<VecDeque<Vec<ClusterStatus>>>,
}

/// Serves it.
pub struct Answering(pub Arc<Coordinates>);

fn job(request: &Request<JobRequest>) -> Result<JobStatus, Status> {
    match request.get_ref().job {
        JOB => Ok(words::samples::under_way().job.unwrap()),
        job => Err(Status::not_found(format!("there is no job {job}"))),
    }
}

#[async_trait]
impl Jobs for Answering {
    type WatchStream = Answers<ClusterStatus>;

    async fn plan(&self, _request: Request<SubmitRequest>) -> Result<Response<PlanReply>, Status> {
        Ok(Response::new(PlanReply::default()))
    }

    async fn submit(&self, _: Request<SubmitRequest>) -> Result<Response<SubmitReply>, Status> {
        Ok(Response::new(SubmitReply { job: JOB }))
    }

    async fn list(&self, _: Request<ListRequest>) -> Result<Response<ListReply>, Status> {
        let jobs = words::samples::under_way().job.into_iter().collect();
        Ok(Response::new(ListReply { jobs, left_out: 0 }))
    }

    async fn status(
        &self,
        request: Request<JobRequest>,
    ) -> Result<Response<ClusterStatus>, Status> {
        job(&request).map(|_| Response::new(words::samples::under_way()))
    }

    async fn watch(
        &self,
        request: Request<JobRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        job(&request)?;
        let told = self.0.watched.lock().unwrap().pop_front();
        let told = told.ok_or_else(|| Status::unavailable("about to end"))?;
        Ok(Response::new(Box::pin(stream::iter(told.into_iter().map(Ok)))))
    }

    async fn pause(&self, request: Request<JobRequest>) -> Result<Response<JobStatus>, Status> {
        job(&request).map(Response::new)
    }

    async fn resume(&self, request: Request<JobRequest>) -> Result<Response<JobStatus>, Status> {
        job(&request).map(Response::new)
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<JobStatus>, Status> {
        let request = request.map(|CancelRequest { job, .. }| JobRequest { job });
        job(&request).map(Response::new)
    }

    async fn remove(&self, request: Request<JobRequest>) -> Result<Response<RemoveReply>, Status> {
        job(&request).map(|_| Response::new(RemoveReply {}))
    }

    async fn locate(&self, request: Request<JobRequest>) -> Result<Response<LocateReply>, Status> {
        job(&request)?;
        Ok(Response::new(self.0.located.lock().unwrap().clone()))
    }

    async fn checksums(
        &self,
        request: Request<StepRequest>,
    ) -> Result<Response<ChecksumsReply>, Status> {
        let StepRequest { job: number, step } = request.into_inner();
        job(&Request::new(JobRequest { job: number }))?;
        let step = step.as_ref().map(words::tier);
        let known = self.0.checksums.lock().unwrap();
        let checksums = step.and_then(|step| known.get(&step).cloned()).unwrap_or_default();
        Ok(Response::new(ChecksumsReply { checksums }))
    }

    async fn history(
        &self,
        request: Request<JobRequest>,
    ) -> Result<Response<HistoryReply>, Status> {
        job(&request).map(|_| Response::new(HistoryReply::default()))
    }

    async fn workers(&self, _: Request<WorkersRequest>) -> Result<Response<WorkersReply>, Status> {
        Err(Status::unimplemented("workers"))
    }

    async fn drain_worker(
        &self,
        _: Request<WorkerRequest>,
    ) -> Result<Response<WorkerReply>, Status> {
        Err(Status::unimplemented("drain_worker"))
    }

    async fn forget_worker(
        &self,
        _: Request<WorkerRequest>,
    ) -> Result<Response<WorkerReply>, Status> {
        Err(Status::unimplemented("forget_worker"))
    }
}

/// What pretends, as long as this lives.
pub struct Cluster {
    runtime: Runtime,
    pub coordinates: Arc<Coordinates>,
    pub address: String,
}

impl Cluster {
    /// A coordinator without workers.
    pub fn start() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let coordinates = Arc::new(Coordinates::default());
        let service = ziggurat_rpc::jobs(Answering(Arc::clone(&coordinates)));
        let inside = runtime.enter();
        let bound = bind("127.0.0.1:0".parse().unwrap(), &Security::Open, false).unwrap();
        let address = bound.address().to_string();
        let incoming = bound.incoming().unwrap();
        runtime.spawn(server(&Security::Open).add_service(service).serve_with_incoming(incoming));
        drop(inside);
        Self { runtime, coordinates, address }
    }

    /// Starts a worker. Returns its address.
    pub fn add(&self, worker: &Arc<Worker>) -> String {
        let service = ziggurat_rpc::data(Serves(Arc::clone(worker)));
        let _inside = self.runtime.enter();
        let bound = bind("127.0.0.1:0".parse().unwrap(), &Security::Open, false).unwrap();
        let address = bound.address().to_string();
        let incoming = bound.incoming().unwrap();
        self.runtime
            .spawn(server(&Security::Open).add_service(service).serve_with_incoming(incoming));
        address
    }
}
