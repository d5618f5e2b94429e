//! A worker of a cluster: the kernel and a store behind gRPC.
//!
//! | module | knows |
//! | --- | --- |
//! | `session` | what the coordinator says, and what to do then |
//! | `attempt` | carrying out the orders of one attempt at a step |
//! | `halo` | payloads on their way between members |
//! | `sources` | where saved values come from: the shelf, other workers, the checkpoint store |
//! | `shelf` | what this worker has saved |
//! | `data` | what others may ask of this worker |
//! | `pieces` | numbers on their way to whoever asked |
//!
//! Sweeps run on a pool of threads of their own, never on the threads that wait for the network.

mod attempt;
mod data;
mod halo;
mod pieces;
mod session;
mod shelf;
mod sources;

use std::{
    collections::HashSet,
    fmt::Display,
    fs, io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::{
        Arc, Mutex, TryLockError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use thiserror::Error;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tracing::{info, warn};
use ziggurat_checkpoints::{CheckpointError, CheckpointStore};
use ziggurat_encoding::Tier;
use ziggurat_kernel::Kept;
use ziggurat_rpc::{
    RpcError, Security, bind,
    convert::{Failure, FailureKind, required},
    data as data_service, new_identity,
    proto::{Commit, Welcome},
    server,
};
use ziggurat_store::{Epoch, StoreError};
use ziggurat_telemetry::{
    BindError, FailureKind as CountedFailure, Health, Registry, WorkerMetrics, raise,
};

pub use self::pieces::{packed, read_out, unpacked};
use self::{
    attempt::KnownJob,
    data::DataService,
    halo::Doors,
    session::Ended,
    shelf::{NotIts, SaveName, Shelf},
};
use crate::job::lock;

/// How a worker is run.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The coordinator: host:port.
    pub coordinator: String,
    /// Where the worker keeps what it saves, made if it is not there.
    pub dir: PathBuf,
    /// Where the Data service listens.
    pub listen: SocketAddr,
    /// How others reach that: host:port; the address it listens at if there is none.
    pub advertise: Option<String>,
    /// The worker's name, unique in the cluster.
    pub name: String,
    /// Threads to sweep with; 0 for one per core.
    pub threads: usize,
    /// Memory the process may take, if not any.
    pub memory_bytes: Option<u64>,
    /// The checkpoint store, if there is one: a directory or a URL.
    pub checkpoints: Option<String>,
    /// Who may speak with it.
    pub security: Security,
    /// Whether it may listen beyond this machine although anybody may speak with it.
    pub insecure: bool,
    /// Where metrics are served, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// Whether they may be beyond this machine, to everybody.
    pub insecure_metrics: bool,
}

/// Why a worker cannot run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Its store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot listen, or the security is not right.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// It cannot listen for those who want metrics.
    #[error(transparent)]
    Metrics(#[from] BindError),
    /// The directory was made by another version.
    #[error(
        "{} was made by another version of ziggurat (format {found}, this one knows {known}); \
         use that version, or another directory", .dir.display()
    )]
    OtherFormat {
        /// The directory.
        dir: PathBuf,
        /// Its format.
        found: u32,
        /// This program's.
        known: u32,
    },
    /// The identity that was written down is none.
    #[error("{} does not say whose it is; use another directory", .dir.display())]
    Identity {
        /// The directory.
        dir: PathBuf,
    },
    /// Nobody could reach it.
    #[error(
        "{address} is no address that others reach this worker at; name one, with --advertise HOST:PORT"
    )]
    Unreachable {
        /// What it would have told others.
        address: String,
    },
    /// The directory has what was saved for another cluster.
    #[error(
        "{} has what was saved for the cluster {found}, and the coordinator at {coordinator} is that of the cluster \
         {cluster}; use another directory, or delete this one if nobody wants its values any more", .dir.display()
    )]
    OtherCluster {
        /// The directory.
        dir: PathBuf,
        /// The cluster that it belongs to.
        found: String,
        /// The coordinator.
        coordinator: String,
        /// The cluster of the coordinator.
        cluster: String,
    },
    /// The coordinator does not want this worker.
    #[error("the coordinator at {coordinator} refuses this worker: {reason}")]
    Refused {
        /// The coordinator.
        coordinator: String,
        /// Why.
        reason: String,
        /// Whether that is for the secret or the certificate that the worker was started with.
        is_bad_input: bool,
    },
    /// There cannot be such a checkpoint store.
    #[error(transparent)]
    Checkpoints(#[from] CheckpointError),
    /// The threads could not be started.
    #[error("could not start the threads of the worker; ask for fewer")]
    Threads(#[source] rayon::ThreadPoolBuildError),
    /// The operating system said no.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried.
        action: String,
        /// What it said.
        source: io::Error,
    },
}

/// A worker at work.
pub(crate) struct Worker {
    options: ServeOptions,
    /// How others reach it.
    address: String,
    shelf: Arc<Shelf>,
    scratch: PathBuf,
    pool: rayon::ThreadPool,
    doors: Arc<Doors>,
    metrics: WorkerMetrics,
    health: Arc<Health>,
    /// Held by whoever works on a step: its job, and what is still at hand of that job's solved steps, since the last
    /// registration.
    busy: Mutex<(u64, Kept)>,
    /// How often a coordinator has let it in.
    welcomes: AtomicU64,
    /// The cluster that it is of, once the coordinator has said which.
    joined: Mutex<Joined>,
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

/// Runs a worker until `shutdown`, upon which it finishes what it is at, saves, hands over and leaves.
/// While the coordinator cannot be reached it keeps trying.
///
/// # Errors
/// If its directory, addresses or checkpoint store cannot be used, or the coordinator refuses it.
pub async fn serve(
    options: ServeOptions,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    let advertised = options.advertise.clone().unwrap_or_else(|| options.listen.to_string());
    if is_any_address(&advertised) {
        return Err(ServeError::Unreachable { address: advertised });
    }
    options.checkpoints.as_deref().map_or(Ok(()), CheckpointStore::check_url)?;
    let io = |action: String| move |source| ServeError::Io { action, source };
    let scratch = options.dir.join("scratch");
    fs::create_dir_all(&scratch).map_err(io(format!("create {}", scratch.display())))?;
    let shelf = Arc::new(Shelf::open(&options.dir)?);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.threads)
        .thread_name(|i| format!("sweep {i}"))
        .build()
        .map_err(ServeError::Threads)?;
    let bound = bind(options.listen, &options.security, options.insecure)?;
    let address = options.advertise.clone().unwrap_or_else(|| bound.address().to_string());
    let mut registry = Registry::default();
    let metrics = WorkerMetrics::new(&mut registry);
    metrics.memory_budget.set(options.memory_bytes.unwrap_or(0) as i64);
    let health = Arc::new(Health::starting("not registered with the coordinator"));
    let pages = match options.metrics {
        None => None,
        Some(at) => Some(ziggurat_telemetry::bind(at, options.insecure_metrics).await?),
    };
    let worker = Arc::new(Worker {
        address,
        shelf,
        scratch,
        pool,
        doors: Arc::default(),
        metrics,
        health: health.clone(),
        busy: Mutex::default(),
        welcomes: AtomicU64::default(),
        joined: Mutex::default(),
        tidying: Mutex::default(),
        known: Mutex::default(),
        options,
    });
    let ended = CancellationToken::new();
    let _end = ended.clone().drop_guard();
    if let Some(pages) = pages {
        let page = ziggurat_telemetry::serve(pages, registry, health);
        tokio::spawn(ended.clone().run_until_cancelled_owned(page));
    }
    let refused = worker.metrics.failures.of(CountedFailure::Refused);
    let incoming = bound.incoming_watched(move || {
        refused.inc();
    });
    let incoming = incoming.map_err(io("listen".to_owned()))?;
    let router =
        server(&worker.options.security).add_service(data_service(DataService(worker.clone())));
    tokio::spawn(ended.run_until_cancelled_owned(router.serve_with_incoming(incoming)));
    info!(name = worker.options.name, address = worker.address, "listening");
    if is_loopback(&worker.address) && !is_loopback(&worker.options.coordinator) {
        warn!(
            "workers on other machines cannot reach this one at {}; if there are any: --listen ADDRESS:PORT",
            worker.address
        );
    }
    worker.work(shutdown).await
}

/// Whether an address stands for all of a machine: one can listen there, but not be reached.
fn is_any_address(address: &str) -> bool {
    ip_of(address).is_some_and(|ip| ip.is_unspecified())
}

/// Whether an address is reached from its own machine only.
fn is_loopback(address: &str) -> bool {
    host_of(address) == "localhost" || ip_of(address).is_some_and(|ip| ip.is_loopback())
}

/// The IP address in HOST:PORT, if the host is one.
fn ip_of(address: &str) -> Option<IpAddr> {
    host_of(address).trim_matches(['[', ']']).parse().ok().map(|ip: IpAddr| ip.to_canonical())
}

fn host_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

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
        self.shelf.belong_to(cluster).map_err(|not_its| match not_its {
            NotIts::Failed(error) => Ended::Unfit(error.into()),
            NotIts::Other(found) => Ended::Unfit(ServeError::OtherCluster {
                dir: self.options.dir.clone(),
                found,
                coordinator: self.options.coordinator.clone(),
                cluster: cluster.to_owned(),
            }),
        })?;
        let open = async |url| {
            let store = CheckpointStore::open(url, cluster).await?;
            let identity = store.identity(new_identity()).await?;
            Ok((store, identity))
        };
        let checkpoints = match &self.options.checkpoints {
            Some(url) => Some(open(url).await.map_err(Ended::NoStore)?),
            None => None,
        };
        *lock(&self.joined) = Joined { cluster: cluster.to_owned(), checkpoints };
        Ok(())
    }

    /// The coordinator has let the worker in.
    async fn welcomed(self: &Arc<Self>, welcome: &Welcome) -> Result<(), String> {
        if welcome.cluster != self.cluster() {
            return Err("another coordinator answers now".to_owned());
        }
        let mut commits = HashSet::new();
        for &Commit { job, step, epoch, incarnation } in &welcome.commits {
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
            worker.shelf.retain(|save| wanted.contains(&save))
        };
        let retained = tokio::task::spawn_blocking(retain).await;
        retained.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        if let Some(store) = self.checkpoints() {
            let tidying = tokio::spawn(tidy(store, commits, welcome.cancelled.clone()));
            // What an earlier welcome said may not be true any more.
            if let Some(before) = lock(&self.tidying).replace(tidying) {
                before.abort();
            }
        }
        Ok(())
    }

    /// A checkpoint is complete: earlier ones are not needed any more.
    fn drop_before(self: &Arc<Self>, job: u64, step: Tier, epoch: u32) {
        let of_step = step.into();
        self.dispose(
            format!("the checkpoints of step {step} of job {job} before {epoch}"),
            move |shelf| shelf.drop_before(job, step, epoch),
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
            move |shelf| shelf.retain(|save| save.job != job),
            move |store: CheckpointStore| async move { store.delete_job(job).await },
        );
    }

    /// Drops something here and in the checkpoint store, meanwhile. What cannot be dropped takes space, and
    /// does no harm otherwise.
    fn dispose<E: Display, D: Future<Output = Result<(), E>> + Send + 'static>(
        self: &Arc<Self>,
        what: String,
        here: impl FnOnce(&Shelf) -> Result<(), StoreError> + Send + 'static,
        stored: impl FnOnce(CheckpointStore) -> D,
    ) {
        if let Some(store) = self.checkpoints() {
            let (what, dropped) = (what.clone(), stored(store));
            tokio::spawn(async move {
                if let Err(error) = dropped.await {
                    warn!("cannot drop {what} from the checkpoint store: {error}");
                }
            });
        }
        let shelf = self.shelf.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = here(&shelf) {
                warn!("cannot drop {what}: {error}");
            }
        });
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
        raise(&self.metrics.store_read, self.shelf.read_bytes());
        raise(&self.metrics.store_written, self.shelf.written_bytes());
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

    use super::*;

    /// A worker that nobody has told anything.
    pub fn idle_worker(dir: &Path) -> Arc<Worker> {
        let options = ServeOptions {
            coordinator: "127.0.0.1:1".to_owned(),
            dir: dir.to_owned(),
            listen: "127.0.0.1:0".parse().unwrap(),
            advertise: None,
            name: "idle".to_owned(),
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
            shelf: Arc::new(Shelf::open(dir).unwrap()),
            scratch: dir.join("scratch"),
            pool: rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap(),
            doors: Arc::default(),
            metrics: WorkerMetrics::new(&mut Registry::default()),
            health: Arc::new(Health::starting("not registered")),
            busy: Mutex::default(),
            welcomes: AtomicU64::default(),
            joined: Mutex::default(),
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
        worker.shelf.save(save, vec![part]).unwrap();
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
        let commit = Commit { job: 7, step: Some(save.step.into()), epoch: 1, incarnation: 5 };
        let now = welcomed(vec![commit]);
        counted(2).await;
        assert!(!now.is_finished());
        done.send(()).unwrap();
        work.join().unwrap();
        assert_eq!((broken.await.unwrap(), now.await.unwrap()), (Ok(()), Ok(())));
        assert_eq!(lock(&worker.busy).0, 0);
        assert!(worker.shelf.find(save, Column::Values, (0, 0)).is_some());
    }

    #[test]
    fn an_address_to_listen_at_is_not_one_to_be_reached_at() {
        for any in ["0.0.0.0:7410", "[::]:7410", "[::ffff:0.0.0.0]:1"] {
            assert!(is_any_address(any), "{any}");
        }
        for one in ["127.0.0.1:7410", "[::1]:7410", "node-1:7410"] {
            assert!(!is_any_address(one), "{one}");
        }
    }

    #[test]
    fn a_loopback_address_is_of_one_machine() {
        for own in
            ["127.0.0.1:7410", "127.3.0.1:1", "[::1]:7410", "[::ffff:127.0.0.1]:1", "localhost:1"]
        {
            assert!(is_loopback(own), "{own}");
        }
        for other in ["10.0.0.1:7410", "[fe80::1]:7410", "node-1:7410", "0.0.0.0:1"] {
            assert!(!is_loopback(other), "{other}");
        }
    }
}
