//! A part in an attempt at a step: a thread of its own that prepares itself, carries orders out, and reports.

use std::{
    collections::{BTreeMap, HashMap},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Instant,
};

use tokio::{runtime::Handle, sync::mpsc};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use xxhash_rust::xxh3::xxh3_64;
use ziggurat_encoding::{Encoding, Tier};
use ziggurat_files::size;
use ziggurat_kernel::{
    Arrays, Assignment, Column, Member as Working, MemberIndex, Memory, Order, Outcome, Part,
    ResumeFrom, Settings, Share, SolveError, SolveMemory, SolvedTierCache, Tables, VECTORS,
    base_memory_bytes, plan, shards,
};
use ziggurat_rpc::{
    convert::{
        Answer, Failure, FailureKind, Job, Member, Task, WireError, owners, precision, required,
    },
    proto::{self, Assign, FromWorker, Report, from_worker::Message},
};
use ziggurat_telemetry::{Counted, Gauge};

use super::{
    Worker,
    failure::{Unread, cancelled, unable, wrong},
    halo::{AttemptName, Halo},
    local_checkpoints::SaveName,
    saving::{STORING_MEMORY_BYTES, Saves},
    sources::{CheckpointAt, Saved},
};
use crate::state::lock;

/// What a job is to a worker.
pub struct KnownJob {
    pub spec: proto::JobSpec,
    pub encoding: Encoding,
    pub settings: Settings,
    pub tables: Tables,
    /// The memory of one process that solves it.
    pub memory: SolveMemory,
}

impl KnownJob {
    /// Where the arrays of a worker go that may take so much memory, on so many threads and beside what it stores with,
    /// and whose share of the step takes so many bytes.
    ///
    /// # Errors
    /// If that is not enough even with arrays in files.
    fn arrays(
        &self,
        allowed: Option<u64>,
        threads: usize,
        storing_bytes: u64,
        share_bytes: u64,
    ) -> Result<Arrays, Failure> {
        let base_bytes = base_memory_bytes(threads) + storing_bytes;
        self.memory.arrays_of_member(allowed, base_bytes, share_bytes).ok_or_else(|| {
            let least_bytes = self.memory.least_bytes(base_bytes);
            unable(format!(
                "the job takes at least {} of memory on {threads} threads, and {} is allowed: start the worker again \
                 with --memory {}MiB",
                size(least_bytes),
                allowed.map_or_else(|| "less".to_owned(), size),
                least_bytes.div_ceil(1 << 20)
            ))
        })
    }
}

/// A part in an attempt, from the outside.
pub struct Attempt {
    pub name: AttemptName,
    orders: mpsc::UnboundedSender<(u32, Task, Counted)>,
    orders_waiting: Gauge,
    stop: CancellationToken,
    /// The last checkpoint of the step that counts, as far as the coordinator has said.
    committed: Arc<AtomicU32>,
}

impl Attempt {
    /// Begins to take part. Reports go to `reports`.
    pub fn begin(
        worker: &Arc<Worker>,
        incarnation: u64,
        assign: Assign,
        reports: mpsc::Sender<FromWorker>,
    ) -> Option<Self> {
        let step: Tier = required(assign.step, "assign.step").ok()?;
        let name = AttemptName { incarnation, job: assign.job, step, attempt: assign.attempt };
        let (orders, queue) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        // Others may be ready, and send, long before what this worker was at has ended.
        let team = Team::gather(worker, name, &assign, &stop);
        let orders_waiting = worker.metrics.orders_waiting.clone();
        let committed = Arc::default();
        let saves = Saves::of(
            worker.clone(),
            name.attempt,
            reports.clone(),
            stop.clone(),
            Arc::clone(&committed),
        );
        let part = TakesPart {
            worker: worker.clone(),
            runtime: Handle::current(),
            name,
            reports,
            orders: queue,
            stop: stop.clone(),
            saves,
            at: 0,
        };
        let thread = std::thread::Builder::new().name(format!("step {step}"));
        // A thread that cannot be started shows as an attempt that does not answer.
        thread.spawn(move || part.run(assign, team)).ok()?;
        Some(Self { name, orders, orders_waiting, stop, committed })
    }

    /// Hands an order over.
    pub fn order(&self, number: u32, task: Task) {
        let counted = Counted::by(&self.orders_waiting);
        drop(self.orders.send((number, task, counted))); // an attempt that is over has reported it
    }

    /// A checkpoint of the step counts.
    pub fn commit(&self, epoch: u32) {
        self.committed.fetch_max(epoch, Ordering::Relaxed);
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

struct TakesPart {
    worker: Arc<Worker>,
    runtime: Handle,
    name: AttemptName,
    reports: mpsc::Sender<FromWorker>,
    orders: mpsc::UnboundedReceiver<(u32, Task, Counted)>,
    stop: CancellationToken,
    saves: Saves,
    /// The order that is carried out.
    at: u32,
}

/// What an order took.
#[derive(Default)]
struct Cost {
    seconds: f64,
    exchanging_seconds: f64,
    waited_seconds: f64,
    positions: u64,
    sent_bytes: u64,
    sent_positions: u64,
    /// Of a checkpoint that was written, what its values are known by.
    checksums: Vec<u64>,
}

impl TakesPart {
    fn run(mut self, assign: Assign, team: Result<Team, Failure>) {
        let AttemptName { job, step, attempt, .. } = self.name;
        let span = tracing::info_span!("attempt", job, %step, attempt);
        let _in_span = span.enter();
        let begun = catch_unwind(AssertUnwindSafe(|| self.take_part(assign, team?)));
        let failure = match begun {
            Ok(Ok(())) => return,
            Ok(Err(failure)) => failure,
            Err(_) => Failure { message: "a bug in the worker".to_owned(), kind: None },
        };
        if !self.stop.is_cancelled() {
            warn!(order = self.at, "{}", failure.message);
            self.worker.count_failure(&failure);
        }
        self.report(Answer::Failed(failure), Cost::default());
    }

    fn report(&self, answer: Answer, cost: Cost) {
        let AttemptName { job, step, attempt, .. } = self.name;
        let Cost { seconds, exchanging_seconds, waited_seconds, positions, .. } = cost;
        let Cost { sent_bytes, checksums, .. } = cost;
        let report = Report {
            job,
            step: Some(step.into()),
            attempt,
            order: self.at,
            seconds,
            exchanging_seconds,
            waited_seconds,
            positions,
            sent_bytes,
            outcome: Some(answer.into()),
            checksums,
        };
        let message = FromWorker { message: Some(Message::Report(report)) };
        drop(self.reports.blocking_send(message)); // a session that has ended wants no reports
    }

    fn take_part(&mut self, assign: Assign, team: Team) -> Result<(), Failure> {
        // A worker is at one step at a time; what went before may still be at its last order.
        let worker = self.worker.clone();
        let (whose, kept) = &mut *lock(&worker.busy);
        if self.stop.is_cancelled() {
            return Err(cancelled());
        }
        if *whose != self.name.job {
            (*whose, *kept) = (self.name.job, SolvedTierCache::default());
        }
        let known = worker.know(self.name.job, assign.spec.clone())?;
        let KnownJob { encoding, settings, tables, .. } = &*known;
        let Team { members, me, halo } = team;
        let Assigned { owners, place, saved } = self.understand(assign, &known, members)?;
        if let Some((CheckpointAt { save, .. }, _)) = saved.places.get(&self.name.step) {
            let dropped = worker.local_checkpoints.drop_after(save.job, save.step, save.epoch);
            dropped.map_err(|error| unable(error.to_string()))?;
        }
        let threads = worker.pool.current_num_threads();
        let storing_bytes = worker.checkpoints().map_or(0, |_| STORING_MEMORY_BYTES);
        let assignment = Assignment {
            encoding,
            settings,
            tables,
            tier: self.name.step,
            owners: &owners,
            member: me,
            members,
            exchange: &halo,
            place,
        };
        let share = worker.pool.install(|| Share::new(assignment));
        let share_bytes = share.bytes(kept);
        let allowed = worker.options.memory_bytes;
        let arrays = known.arrays(allowed, threads, storing_bytes, share_bytes)?;
        let memory = Memory::new(arrays, &worker.scratch, threads)
            .map_err(|error| unable(format!("{}: {error}", worker.scratch.display())))?;
        let span = tracing::Span::current();
        let result = worker.pool.install(|| {
            let _in_span = span.enter();
            let mut work = |member: &mut dyn Working| self.carry_out_orders(member, &halo, &saved);
            share.take_part(&memory, &saved, kept, &mut work)
        });
        self.saves.end();
        result.map_err(|error| self.failure(error))
    }

    /// Checks an assignment.
    fn understand(
        &self,
        assign: Assign,
        known: &KnownJob,
        members: usize,
    ) -> Result<Assigned, Failure> {
        let KnownJob { encoding, settings, .. } = known;
        let count = |step: Tier| shards(encoding, settings, step).len();
        let step = self.name.step;
        let shares = owners(&assign.shares, count(step), members).map_err(wrong)?;
        let owners_of_step = shares.into_iter().map(|owner| MemberIndex(owner as usize)).collect();
        let place_of =
            |checkpoint: proto::Checkpoint, step: Tier| -> Result<CheckpointAt, WireError> {
                let proto::Checkpoint { epoch, incarnation, peers, runs, stored } = checkpoint;
                let save = SaveName { job: self.name.job, step, epoch, incarnation };
                let owners = owners(&runs, count(step), peers.len())?;
                let holders = peers.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?;
                Ok(CheckpointAt { save, holders, owners, stored })
            };
        let mut places = HashMap::new();
        for read in assign.reads {
            let step: Tier = required(read.step, "read.step").map_err(wrong)?;
            let checkpoint = read.checkpoint.unwrap_or_default();
            places.insert(step, (place_of(checkpoint, step).map_err(wrong)?, read.bound));
        }
        let mut place = None;
        if let Some(checkpoint) = assign.checkpoint {
            places.insert(step, (place_of(checkpoint, step).map_err(wrong)?, 0.0));
            let precision = precision(assign.precision).map_err(wrong)?;
            let vectors = assign.vectors.min(VECTORS as u32 - 1) as usize;
            place = Some(ResumeFrom { precision, vectors, offsets: assign.offsets });
        }
        let saved = Saved {
            worker: self.worker.clone(),
            runtime: self.runtime.clone(),
            places,
            connections: Mutex::default(),
            out_of_reach: Mutex::default(),
            fetched_bytes: Default::default(),
            stop: self.stop.clone(),
        };
        Ok(Assigned { owners: owners_of_step, place, saved })
    }

    fn carry_out_orders(
        &mut self,
        member: &mut dyn Working,
        halo: &Halo,
        saved: &Saved,
    ) -> Result<Option<u32>, SolveError> {
        let halo_positions = member.halo_positions();
        let AttemptName { incarnation, job, step, .. } = self.name;
        let labels = (job, step.into());
        let metrics = self.worker.metrics.clone();
        metrics.halo_positions.of(labels).set(halo_positions as i64);
        let mut sent = (0, 0);
        let fetched = saved.fetched_bytes.load(Ordering::Relaxed);
        info!(
            positions = member.own_positions(),
            halo_positions,
            fetched_bytes = fetched,
            "prepared"
        );
        let cost = Cost { sent_bytes: fetched, ..Cost::default() };
        self.report(Answer::Prepared { halo_positions }, cost);
        let stop = self.stop.clone();
        // If nothing comes after a save, it was that of the solution.
        let mut solution = None;
        loop {
            let next = self.runtime.block_on(async {
                tokio::select! {
                    () = stop.cancelled() => None,
                    order = self.orders.recv() => order,
                }
            });
            let Some((number, task, _counted)) = next else { return Ok(solution) };
            self.at = number;
            let (started, waited, packed) = (Instant::now(), halo.waited(), halo.packed());
            let mut checksums = Vec::new();
            let outcome = match &task {
                Task::Order(order) => {
                    solution = None;
                    member.carry_out(order)?
                }
                Task::Save { epoch, vectors, offsets, behind } => {
                    let parts = member.parts(*vectors, *offsets);
                    checksums = checksums_of(&parts);
                    let name = SaveName { job, step, epoch: *epoch, incarnation };
                    self.saves.save(name, parts, *behind)?;
                    metrics.save.observe(started.elapsed().as_secs_f64());
                    solution = Some(*epoch);
                    Outcome::Done
                }
            };
            let positions = match &task {
                Task::Order(Order::Sweep { .. }) => member.own_positions(),
                _ => 0,
            };
            let now = (halo.sent_bytes(), member.sent_positions());
            let waited = halo.waited() - waited;
            let cost = Cost {
                seconds: started.elapsed().saturating_sub(waited).as_secs_f64(),
                exchanging_seconds: (halo.packed() - packed).as_secs_f64(),
                waited_seconds: waited.as_secs_f64(),
                positions,
                sent_bytes: now.0 - sent.0,
                sent_positions: now.1 - sent.1,
                checksums,
            };
            sent = now;
            metrics.sent.of(job).inc_by(cost.sent_bytes);
            metrics.sent_positions.of(job).inc_by(cost.sent_positions);
            metrics.barrier_wait.of(job).inc_by(cost.waited_seconds);
            metrics.exchanging.of(job).inc_by(cost.exchanging_seconds);
            match (&task, &outcome) {
                (Task::Order(Order::Sweep { .. }), Outcome::Swept(residual)) => {
                    metrics.residual.of(labels).set(*residual);
                    metrics.supersteps.of(labels).inc();
                    metrics.swept_positions.of(labels).inc_by(positions);
                }
                (Task::Order(Order::Prove(_)), _) => drop(metrics.interval_sweeps.of(labels).inc()),
                _ => {}
            }
            tracing::debug!(order = number, ?outcome, seconds = cost.seconds, "carried out");
            self.report(outcome.into(), cost);
        }
    }

    /// What is to be reported of an error.
    fn failure(&self, error: SolveError) -> Failure {
        if self.stop.is_cancelled() {
            return cancelled();
        }
        let message = error.to_string();
        match error {
            SolveError::Exchange(error) => {
                let member = error.member.0 as u32;
                Failure { message, kind: Some(FailureKind::Unreachable { member }) }
            }
            SolveError::Memory(error) => unable(format!("{error}: {}", error.source)),
            SolveError::StepStore(error) => match error.source.downcast::<Unread>() {
                Ok(unread) => unread.0,
                Err(_) => unable(message),
            },
            SolveError::Cancelled => cancelled(),
            _ => Failure { message, kind: None },
        }
    }
}

/// Checksums of the values of both ranges of each shard, one shard after the other; 0 for a range that there is not.
fn checksums_of(parts: &[Part<'_>]) -> Vec<u64> {
    let mut of_shards: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.column == Column::Values) {
        let ranges = of_shards.entry(part.shard).or_default();
        ranges[usize::from(part.range)] = xxh3_64(part.data.bytes());
    }
    of_shards.into_values().flatten().collect()
}

/// Who takes part.
struct Team {
    members: usize,
    me: MemberIndex,
    halo: Halo,
}

impl Team {
    /// Opens the inboxes of the other members.
    fn gather(
        worker: &Worker,
        name: AttemptName,
        assign: &Assign,
        stop: &CancellationToken,
    ) -> Result<Self, Failure> {
        let members = assign.members.iter().cloned().map(TryInto::try_into);
        let members: Vec<Member> = members.collect::<Result<_, WireError>>().map_err(wrong)?;
        let me = MemberIndex(assign.member as usize);
        if me.0 >= members.len() {
            return Err(wrong(WireError::new("assign.member", "is none of the members")));
        }
        let halo = Halo::open(name, &members, me, worker.ports(), stop.child_token());
        Ok(Self { members: members.len(), me, halo })
    }
}

struct Assigned {
    owners: Vec<MemberIndex>,
    place: Option<ResumeFrom>,
    saved: Saved,
}

impl Worker {
    /// What a job is: worked out when it is first met.
    fn know(&self, job: u64, spec: Option<proto::JobSpec>) -> Result<Arc<KnownJob>, Failure> {
        let wrong = |message: String| Failure { message, kind: None };
        let spec = spec.ok_or_else(|| wrong("an assignment without a job".to_owned()))?;
        let mut known = lock(&self.known);
        if let Some((_, known)) =
            known.as_ref().filter(|(id, known)| *id == job && known.spec == spec)
        {
            return Ok(known.clone());
        }
        let job_of_spec = Job::try_from(spec.clone()).map_err(|error| wrong(error.to_string()))?;
        let encoding =
            Encoding::new(&job_of_spec.ruleset).map_err(|error| wrong(error.to_string()))?;
        let threads = self.pool.current_num_threads();
        let settings = Settings { threads, ..job_of_spec.settings() };
        let tables = self.pool.install(|| Tables::new(&encoding));
        let memory = plan(&encoding, &settings).memory;
        let new = KnownJob { spec, encoding, settings, tables, memory };
        let new = Arc::new(new);
        *known = Some((job, new.clone()));
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::idle_worker, *};

    #[tokio::test(flavor = "multi_thread")]
    async fn the_inboxes_are_open_while_a_worker_still_ends_what_it_did() {
        let dir = tempfile::tempdir().unwrap();
        let worker = idle_worker(dir.path());
        let before = worker.clone();
        let (ends, ended) = std::sync::mpsc::channel::<()>();
        let (begins, begun) = std::sync::mpsc::channel();
        let busy = std::thread::spawn(move || {
            let _busy = lock(&before.busy);
            begins.send(()).unwrap();
            ended.recv()
        });
        begun.recv().unwrap();
        let step = Tier::new(2, 1);
        let name = AttemptName { incarnation: 5, job: 1, step, attempt: 1 };
        let member = |worker: u64| proto::Peer {
            worker: format!("{worker:016x}"),
            address: "127.0.0.1:1".to_owned(),
            name: String::new(),
        };
        let assign = Assign {
            job: 1,
            step: Some(step.into()),
            attempt: 1,
            members: vec![member(1), member(2)],
            ..Assign::default()
        };
        let attempt = Attempt::begin(&worker, 5, assign, mpsc::channel(1).0).unwrap();
        let soon = std::time::Duration::from_secs(5);
        assert!(worker.inboxes.enter(name, 1, soon).await.is_ok());
        drop(attempt);
        drop(ends);
        busy.join().unwrap().unwrap_err();
        // The attempt's thread must not have the store open any more when the process ends.
        while Arc::strong_count(&worker) > 1 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }

    #[test]
    fn a_job_that_takes_more_than_is_allowed_even_in_files_is_refused_with_what_it_takes() {
        let ruleset = ziggurat_game::Ruleset::builtin("finkel").unwrap();
        let encoding = Encoding::new(&ruleset).unwrap();
        let [peak_bytes, sparing_bytes, scratch_bytes] = [9 << 30, 3 << 30, 1 << 30];
        let known = KnownJob {
            spec: proto::JobSpec::default(),
            settings: Settings::new(ziggurat_kernel::Precision::F64),
            tables: Tables::new(&encoding),
            encoding,
            memory: SolveMemory { peak_bytes, sparing_bytes, scratch_bytes },
        };
        let (base, storing) = (base_memory_bytes(2), 5);
        let least = known.memory.least_bytes(base + storing);
        let arrays = |allowed, share_bytes| {
            let arrays = known.arrays(allowed, 2, storing, share_bytes);
            arrays.map_err(|failure| failure.message)
        };
        assert_eq!(arrays(None, 2 << 30), Ok(Arrays::InMemory));
        assert_eq!(arrays(Some(least), 2 << 30), Ok(Arrays::InFiles { budget: least }));
        let refused = arrays(Some(least - 1), 2 << 30).unwrap_err();
        assert!(refused.contains(&format!("--memory {}MiB", least.div_ceil(1 << 20))), "{refused}");
    }
}
