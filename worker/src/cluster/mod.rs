//! A worker of a cluster: the kernel and a store behind gRPC.
//!
//! | module | knows |
//! | --- | --- |
//! | `serve` | how a worker is started |
//! | `failure` | why a worker may not run, or cannot carry an order out |
//! | `session` | what the coordinator says, and what to do then |
//! | `attempt` | carrying out the orders of one attempt at a step |
//! | `saving` | writing a checkpoint down, here and in the checkpoint store |
//! | `moved` | how many bytes the worker has moved |
//! | `halo` | payloads on their way between members |
//! | `tenure` | whether the checkpoint store may be written to |
//! | `sources` | where saved values come from: local checkpoints, other workers, the checkpoint store |
//! | `local_checkpoints` | the checkpoints that this worker has saved |
//! | `data` | what others may ask of this worker |
//! | `pieces` | numbers on their way to whoever asked |
//!
//! Sweeps run on a pool of threads of their own, never on the threads that wait for the network.

mod attempt;
mod data;
mod failure;
mod halo;
mod local_checkpoints;
mod moved;
mod pieces;
mod saving;
mod serve;
mod session;
mod sources;
mod tenure;

use std::{
    collections::HashSet,
    fmt::Display,
    path::PathBuf,
    sync::{
        Arc, Mutex, TryLockError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tracing::warn;
use ziggurat_checkpoints::{CheckpointError, CheckpointPlace, CheckpointStore, Holder, Standing};
use ziggurat_encoding::Tier;
use ziggurat_kernel::SolvedTierCache;
use ziggurat_rpc::{
    convert::{Failure, FailureKind, required},
    new_identity,
    proto::{Commit, Welcome},
};
use ziggurat_store::{Epoch, StoreError};
use ziggurat_telemetry::{FailureKind as CountedFailure, Health, WorkerMetrics, raise};

use self::{
    attempt::KnownJob,
    halo::{Inboxes, Ports},
    local_checkpoints::{LocalCheckpoints, NotIts, SaveName},
    moved::Moved,
    session::Ended,
    tenure::{Tenure, held},
};
pub use self::{
    failure::ServeError,
    pieces::{packed, receive},
    saving::STORING_MEMORY_BYTES,
    serve::{ServeOptions, serve},
};
use crate::state::lock;

/// A worker at work.
pub(crate) struct Worker {
    options: ServeOptions,
    /// How others reach it.
    address: String,
    local_checkpoints: Arc<LocalCheckpoints>,
    scratch: PathBuf,
    pool: rayon::ThreadPool,
    inboxes: Arc<Inboxes>,
    /// What it has moved for attempts, beside what goes out to the checkpoint store.
    moved: Moved,
    metrics: WorkerMetrics,
    health: Arc<Health>,
    /// Held by whoever works on a step: its job, and what is still at hand of that job's solved steps, since the last
    /// registration.
    busy: Mutex<(u64, SolvedTierCache)>,
    /// How often a coordinator has let it in.
    welcomes: AtomicU64,
    /// Where checkpoints are kept, once that could be opened.
    place: Mutex<Option<CheckpointPlace>>,
    /// The cluster that it is of, once the coordinator has said which.
    joined: Mutex<Joined>,
    /// The holding of the checkpoint store, while the coordinator lets it in.
    tenure: Mutex<Option<Tenure>>,
    /// The dropping of what is not needed in the checkpoint store, since the last welcome.
    tidying: Mutex<Option<JoinHandle<()>>>,
    /// The last job.
    known: Mutex<Option<(u64, Arc<KnownJob>)>>,
}

/// A cluster, as a worker of it knows it.
#[derive(Default)]
struct Joined {
    /// Its identity; empty for none yet.
    cluster: String,
    /// Its part of the checkpoint store, if there is one, and what that is known by.
    checkpoints: Option<(CheckpointStore, u64)>,
}

/// The longest time between two tries to reach the coordinator.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a worker that is to end waits to be released.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(600);

/// Drops from the checkpoint store what came before some checkpoints, and all of some jobs: whoever should have may not
/// have been connected. What cannot be dropped takes space, and does no harm otherwise.
async fn tidy(store: CheckpointStore, commits: HashSet<SaveName>, cancelled: Vec<u64>) {
    let dropped = async {
        for job in cancelled {
            store.delete_job(job).await?;
        }
        for SaveName { job, step, epoch, .. } in commits {
            store.delete_epochs(job, step.into(), Epoch(epoch)).await?;
        }
        Ok::<_, CheckpointError>(())
    };
    if let Err(error) = dropped.await {
        warn!("cannot drop from the checkpoint store what is not needed: {error}");
    }
}

impl Worker {
    async fn work(
        self: &Arc<Self>,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let drain = CancellationToken::new();
        let sessions = async {
            let mut pause = LONGEST_PAUSE / 32;
            let mut told = String::new();
            loop {
                let began = tokio::time::Instant::now();
                let (reason, coordinator) = match session::run(self, &drain).await {
                    Ended::Released => return Ok(()),
                    Ended::Unfit(error) => return Err(error),
                    // Tokens are not changed everywhere at once: one that was good is about to be again.
                    Ended::Refused(status)
                        if status.code() == Code::Unauthenticated
                            && self.welcomes.load(Ordering::Relaxed) > 0 =>
                    {
                        (status.message().to_owned(), Some(&self.options.coordinator))
                    }
                    Ended::Refused(status) => {
                        let coordinator = self.options.coordinator.clone();
                        let reason = status.message().to_owned();
                        let is_bad_input =
                            matches!(status.code(), Code::Unauthenticated | Code::PermissionDenied);
                        return Err(ServeError::Refused { coordinator, reason, is_bad_input });
                    }
                    Ended::Broken(reason) => (reason, Some(&self.options.coordinator)),
                    Ended::NoStore(error) => (format!("the checkpoint store: {error}"), None),
                };
                if drain.is_cancelled() {
                    return Ok(());
                }
                if reason != told || began.elapsed() > LONGEST_PAUSE {
                    warn!(coordinator, "{reason}; tries again");
                }
                told = reason;
                pause = match began.elapsed() > LONGEST_PAUSE {
                    true => LONGEST_PAUSE / 32,
                    false => (pause * 2).min(LONGEST_PAUSE),
                };
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = drain.cancelled() => return Ok(()),
                }
            }
        };
        tokio::pin!(sessions, shutdown);
        tokio::select! {
            result = &mut sessions => return result,
            () = &mut shutdown => drain.cancel(),
        }
        match tokio::time::timeout(DRAIN_TIMEOUT, sessions).await {
            Ok(result) => result,
            Err(_) => {
                warn!("was not released in time; leaves");
                Ok(())
            }
        }
    }

    /// The checkpoint store, if there is one.
    fn checkpoints(&self) -> Option<CheckpointStore> {
        lock(&self.joined).checkpoints.as_ref().map(|(store, _)| store.clone())
    }

    /// How it stands with writing there, while the coordinator lets it in.
    fn standing(&self) -> Option<watch::Receiver<Standing>> {
        lock(&self.tenure).as_ref().map(Tenure::standing)
    }

    /// What that is known by.
    fn store_identity(&self) -> Option<u64> {
        lock(&self.joined).checkpoints.as_ref().map(|&(_, identity)| identity)
    }

    /// The cluster that it is of.
    fn cluster(&self) -> String {
        lock(&self.joined).cluster.clone()
    }

    /// Becomes a worker of the coordinator's cluster.
    async fn join(&self, cluster: &str) -> Result<(), Ended> {
        if self.cluster() == cluster {
            return Ok(());
        }
        // What is still being saved would be taken for what is saved for this cluster.
        if matches!(self.busy.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(Ended::Broken("still ends what it did before".to_owned()));
        }
        self.local_checkpoints.belong_to(cluster).map_err(|not_its| match not_its {
            NotIts::Failed(error) => Ended::Unfit(error.into()),
            NotIts::Other(found) => Ended::Unfit(ServeError::OtherCluster {
                dir: self.options.dir.clone(),
                found,
                coordinator: self.options.coordinator.clone(),
                cluster: cluster.to_owned(),
            }),
        })?;
        let checkpoints = match &self.options.checkpoints {
            Some(url) => Some(self.open_store(url, cluster).await.map_err(|error| {
                if error.lasts() { Ended::Unfit(error.into()) } else { Ended::NoStore(error) }
            })?),
            None => None,
        };
        *lock(&self.joined) = Joined { cluster: cluster.to_owned(), checkpoints };
        Ok(())
    }

    /// The part of the checkpoint store that is a cluster's, and what that is known by.
    async fn open_store(
        &self,
        url: &str,
        cluster: &str,
    ) -> Result<(CheckpointStore, u64), CheckpointError> {
        let known = lock(&self.place).clone();
        let place = match known {
            Some(place) => place,
            None => {
                let place = serve::open_place(url).await?;
                lock(&self.place).insert(place).clone()
            }
        };
        let store = place.store(cluster)?;
        let identity = store.identity(new_identity()).await?;
        Ok((store, identity))
    }

    /// The coordinator has let the worker in.
    async fn welcomed(self: &Arc<Self>, welcome: &Welcome) -> Result<(), String> {
        if welcome.cluster != self.cluster() {
            return Err("another coordinator answers now".to_owned());
        }
        let mut commits = HashSet::new();
        for &Commit { job, step, epoch, incarnation, .. } in &welcome.commits {
            let step: Tier =
                required(step, "welcome.commits.step").map_err(|error| error.to_string())?;
            commits.insert(SaveName { job, step, epoch, incarnation });
        }
        let (worker, wanted) = (self.clone(), commits.clone());
        let welcomes = self.welcomes.fetch_add(1, Ordering::Relaxed) + 1;
        let retain = move || {
            // Should the connection break meanwhile, nothing is saved before this has ended.
            let mut busy = lock(&worker.busy);
            if worker.welcomes.load(Ordering::Relaxed) != welcomes {
                return Ok(()); // what a later welcome wanted was done before this one's turn came
            }
            // The coordinator may be another one, or not know any more what was done for it.
            *busy = Default::default();
            worker.local_checkpoints.retain(|save| wanted.contains(&save))
        };
        let retained = tokio::task::spawn_blocking(retain).await;
        retained.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        if let Some(store) = self.checkpoints() {
            let (incarnation, coordinator) =
                (welcome.incarnation, self.options.coordinator.clone());
            let holder = Holder { incarnation, coordinator };
            let lease = Duration::from_millis(welcome.lease_ms.max(100).into());
            *lock(&self.tenure) = Some(Tenure::begin(store.clone(), holder, lease));
            let (standing, cancelled) = (self.standing(), welcome.cancelled.clone());
            let tidying = tokio::spawn(async move {
                if held(standing).await {
                    tidy(store, commits, cancelled).await;
                }
            });
            // What an earlier welcome said may not be true any more.
            if let Some(before) = lock(&self.tidying).replace(tidying) {
                before.abort();
            }
        }
        Ok(())
    }

    /// A checkpoint is complete: earlier ones are not needed any more, but for one of an incarnation.
    fn drop_before(self: &Arc<Self>, job: u64, step: Tier, epoch: u32, kept: Option<(u32, u64)>) {
        let of_step = step.into();
        self.dispose(
            format!("the checkpoints of step {step} of job {job} before {epoch}"),
            move |checkpoints| checkpoints.drop_before(job, step, epoch, kept),
            move |store: CheckpointStore| async move {
                store.delete_epochs(job, of_step, Epoch(epoch)).await
            },
        );
    }

    /// A job has ended for good.
    fn forget(self: &Arc<Self>, job: u64) {
        self.metrics.forget_jobs(|other| other == job);
        let worker = self.clone();
        // Whoever is at its last order for the job ends that first.
        tokio::task::spawn_blocking(move || {
            let mut busy = lock(&worker.busy);
            if busy.0 == job {
                *busy = Default::default();
            }
        });
        self.dispose(
            format!("job {job}"),
            move |checkpoints| checkpoints.retain(|save| save.job != job),
            move |store: CheckpointStore| async move { store.delete_job(job).await },
        );
    }

    /// Drops something here and in the checkpoint store, meanwhile. What cannot be dropped takes space, and
    /// does no harm otherwise.
    fn dispose<E: Display, D: Future<Output = Result<(), E>> + Send + 'static>(
        self: &Arc<Self>,
        what: String,
        here: impl FnOnce(&LocalCheckpoints) -> Result<(), StoreError> + Send + 'static,
        stored: impl FnOnce(CheckpointStore) -> D,
    ) {
        if let Some(store) = self.checkpoints() {
            let (what, dropped, standing) = (what.clone(), stored(store), self.standing());
            tokio::spawn(async move {
                // What stays, the next welcome has dropped.
                if !held(standing).await {
                    return;
                }
                if let Err(error) = dropped.await {
                    warn!("cannot drop {what} from the checkpoint store: {error}");
                }
            });
        }
        let checkpoints = self.local_checkpoints.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = here(&checkpoints) {
                warn!("cannot drop {what}: {error}");
            }
        });
    }

    /// What the halos of all attempts have in common.
    fn ports(&self) -> Ports<'_> {
        let Self { options, inboxes, metrics, moved, .. } = self;
        Ports { security: &options.security, inboxes, metrics, moved }
    }

    /// Bytes that it has moved for attempts: saved values that it read or fetched, halos, and what it saves. As long
    /// as this grows, it is not stuck.
    fn moved_bytes(&self) -> u64 {
        self.moved.bytes() + self.checkpoints().map_or(0, |store| store.sent_bytes())
    }

    fn count_failure(&self, failure: &Failure) {
        let kind = match failure.kind {
            Some(FailureKind::Unreachable { .. } | FailureKind::OutOfReach { .. }) => {
                CountedFailure::Unreachable
            }
            Some(FailureKind::Damage { .. }) => CountedFailure::Damage,
            Some(FailureKind::Cancelled) => CountedFailure::Cancelled,
            Some(FailureKind::Unable) | None => CountedFailure::Unable,
        };
        self.metrics.failures.of(kind).inc();
    }

    /// What the stores have read and written.
    fn count_traffic(&self) {
        raise(&self.metrics.store_read, self.local_checkpoints.read_bytes());
        raise(&self.metrics.store_written, self.local_checkpoints.written_bytes());
        if let Some(store) = self.checkpoints() {
            raise(&self.metrics.checkpoint_store_read, store.read_bytes());
            raise(&self.metrics.checkpoint_store_written, store.written_bytes());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use ziggurat_kernel::{Column, Data, Part};
    use ziggurat_rpc::Security;
    use ziggurat_telemetry::Registry;

    use super::*;

    /// A worker that nobody has told anything.
    pub fn idle_worker(dir: &Path) -> Arc<Worker> {
        let options = ServeOptions {
            coordinator: "127.0.0.1:1".to_owned(),
            dir: dir.to_owned(),
            listen: "127.0.0.1:0".parse().unwrap(),
            advertise: None,
            name: "idle".to_owned(),
            replaces: None,
            threads: 1,
            memory_bytes: None,
            checkpoints: None,
            security: Security::Open,
            insecure: false,
            metrics: None,
            insecure_metrics: false,
        };
        Arc::new(Worker {
            address: "127.0.0.1:1".to_owned(),
            local_checkpoints: Arc::new(LocalCheckpoints::open(dir).unwrap()),
            scratch: dir.join("scratch"),
            pool: rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap(),
            inboxes: Arc::default(),
            moved: Moved::default(),
            metrics: WorkerMetrics::new(&mut Registry::default()),
            health: Arc::new(Health::starting("not registered")),
            busy: Mutex::default(),
            welcomes: AtomicU64::default(),
            place: Mutex::default(),
            joined: Mutex::default(),
            tenure: Mutex::default(),
            tidying: Mutex::default(),
            known: Mutex::default(),
            options,
        })
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_a_worker_does_ends_before_it_is_let_in_again() {
        let dir = tempfile::tempdir().unwrap();
        let worker = idle_worker(dir.path());
        let save = SaveName { job: 7, step: Tier::new(2, 1), epoch: 1, incarnation: 5 };
        let data = Data::F64(&mut [0.25; 3]);
        let part = Part { column: Column::Values, shard: 0, range: 0, data };
        worker.local_checkpoints.save(save, vec![part], |_| {}).unwrap();
        let at_work = worker.clone();
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let work = std::thread::spawn(move || {
            let mut busy = lock(&at_work.busy);
            busy.0 = 7;
            is_done.recv().unwrap();
        });
        while worker.busy.try_lock().is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let welcomed = |commits| {
            let (worker, welcome) = (worker.clone(), Welcome { commits, ..Welcome::default() });
            tokio::spawn(async move { worker.welcomed(&welcome).await })
        };
        let counted = async |welcomes| {
            while worker.welcomes.load(Ordering::Relaxed) < welcomes {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        // A connection that broke had wanted nothing of what is saved; the one after it wants it.
        let broken = welcomed(vec![]);
        counted(1).await;
        let step = Some(save.step.into());
        let commit = Commit { job: 7, step, epoch: 1, incarnation: 5, ..Commit::default() };
        let now = welcomed(vec![commit]);
        counted(2).await;
        assert!(!now.is_finished());
        done.send(()).unwrap();
        work.join().unwrap();
        assert_eq!((broken.await.unwrap(), now.await.unwrap()), (Ok(()), Ok(())));
        assert_eq!(lock(&worker.busy).0, 0);
        assert!(worker.local_checkpoints.find(save, Column::Values, (0, 0)).is_some());
    }
}
