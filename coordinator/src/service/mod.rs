//! The coordinator as a process: the machine, its records, its two services and its metrics.

mod actor;
mod board;
mod control;
mod convert;
mod history;
mod jobs;
mod metrics;
mod migration;
mod needs;
mod planning;
mod records;
mod status;

use std::{
    future::Future, io, net::SocketAddr, ops::RangeInclusive, path::PathBuf, sync::Arc,
    time::Duration,
};

use thiserror::Error;
use tokio_util::sync::CancellationToken;
use ziggurat_encoding::Encoding;
use ziggurat_planning::Settings;
use ziggurat_rpc::{RpcError, Security};
use ziggurat_store::StoreError;
use ziggurat_telemetry::{BindError, CoordinatorMetrics, FailureKind, Health, Registry, systemd};

pub use self::board::{Board, JobChange};
use self::{actor::Actor, control::ControlService, jobs::JobsService, records::Saved};
use crate::machine::Limits;

/// Memory of one process that does a job alone: a matter of the kernel, which a coordinator has not.
pub type MemoryAlone = fn(&Encoding, &Settings) -> Alone;

/// What one process takes that does a job alone, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alone {
    /// Memory, with all arrays there.
    pub memory_bytes: u64,
    /// Memory at the least, with arrays in files.
    pub least_memory_bytes: u64,
    /// These arrays: of a step and what it reads.
    pub arrays_bytes: u64,
}

/// How a coordinator runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The directory of its records; made if there is none.
    pub dir: PathBuf,
    /// Who may speak with it.
    pub security: Security,
    /// Whether it may be reached by others without that.
    pub insecure: bool,
    /// A worker of which nothing was heard for so long is lost.
    pub lease: Duration,
    /// What a lost worker alone had of a step under way is computed again when a job has waited for it for so long.
    pub lost_after: Duration,
    /// The same for what it had of a solved step; `None` for never.
    pub solved_lost_after: Option<Duration>,
    /// Jobs that have ended are removed after so long; `None` for never.
    pub keep_ended: Option<Duration>,
    /// Steps with fewer positions are one worker's.
    pub whole_step_positions: u64,
    /// Where metrics are served, if anywhere.
    pub metrics: Option<SocketAddr>,
    /// Whether they may be beyond this machine, to everybody.
    pub insecure_metrics: bool,
    /// What is said of jobs that are planned.
    pub memory_alone: MemoryAlone,
}

impl Options {
    /// With leases of ten seconds, ten minutes of patience, no security and no metrics.
    pub fn new(listen: SocketAddr, dir: PathBuf, memory_alone: MemoryAlone) -> Self {
        let (lease, lost_after) = (Duration::from_secs(10), Duration::from_secs(600));
        let Limits { solved_lost_after, keep_ended, whole_step_positions, .. } =
            Limits::new(lease, lost_after);
        Self {
            listen,
            dir,
            security: Security::Open,
            insecure: false,
            lease,
            lost_after,
            solved_lost_after,
            keep_ended,
            whole_step_positions,
            metrics: None,
            insecure_metrics: false,
            memory_alone,
        }
    }
}

/// Why a coordinator does not start, or stops.
#[derive(Debug, Error)]
pub enum CoordinatorError {
    /// It cannot listen.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// It cannot serve metrics.
    #[error(transparent)]
    Metrics(#[from] BindError),
    /// Its records cannot be read or written.
    #[error("the coordinator's records: {0}")]
    Store(#[from] StoreError),
    /// Its records are of another version.
    #[error(
        "{} was written by another version (format {found}, ranking {encoder}), and this one reads formats {} to {} of \
         ranking {}; use that version of ziggurat, or another directory",
        .dir.display(), .known.start(), .known.end(), Encoding::VERSION
    )]
    OtherVersion {
        /// The directory.
        dir: PathBuf,
        /// The version of its records.
        found: u32,
        /// The version of its ranking of positions.
        encoder: u32,
        /// The versions of records that are read.
        known: RangeInclusive<u32>,
    },
    /// Another coordinator of the cluster runs.
    #[error(
        "another coordinator of this cluster runs, which its workers reach at {coordinator}: they write to the checkpoint \
         store of worker {worker}, and this one must not; stop the other one first, or start this one with another \
         directory, and its workers, too"
    )]
    Fenced {
        /// The address of the other one.
        coordinator: String,
        /// The worker that has seen it.
        worker: String,
    },
    /// Connections end.
    #[error("the coordinator cannot serve: {0}")]
    Serve(#[from] tonic::transport::Error),
    /// Connections cannot be waited for.
    #[error("the coordinator cannot wait for connections: {0}")]
    Listen(#[from] io::Error),
    /// A part of it stopped.
    #[error("the coordinator stopped: {0}; this is a bug, please report it")]
    Stopped(String),
}

/// Between two looks at the clock.
const TICK: Duration = Duration::from_millis(250);

/// How long open calls may go on when the coordinator ends.
const GOODBYE: Duration = Duration::from_millis(500);

/// Runs a coordinator until `shutdown`. Its workers then wait for it to come back.
///
/// # Errors
/// If it cannot listen, or its records cannot be read or written.
pub async fn run(
    options: Options,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), CoordinatorError> {
    run_watched(options, |_| {}, shutdown).await
}

/// The same, and hands a [`Board`] to who wants to look on, once it listens.
///
/// # Errors
/// As [`run`].
pub async fn run_watched(
    options: Options,
    watch: impl FnOnce(Board) + Send,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), CoordinatorError> {
    let bound = ziggurat_rpc::bind(options.listen, &options.security, options.insecure)?;
    let mut registry = Registry::default();
    let metrics = CoordinatorMetrics::new(&mut registry);
    let health = Arc::new(Health::starting("the records are being read"));
    let ended = CancellationToken::new();
    let _end = ended.clone().drop_guard();
    if let Some(address) = options.metrics {
        let listener = ziggurat_telemetry::bind(address, options.insecure_metrics).await?;
        let serve = ziggurat_telemetry::serve(listener, registry, health.clone());
        tokio::spawn(ended.clone().run_until_cancelled_owned(serve));
    }
    let dir = options.dir.clone();
    let (saved, records) = off_the_runtime(move || Saved::open(&dir)).await??;
    let Options { lease, lost_after, solved_lost_after, keep_ended, .. } = options;
    let Options { whole_step_positions, memory_alone, .. } = options;
    let limits = Limits { lease, lost_after, solved_lost_after, keep_ended, whole_step_positions };
    let cluster = saved.cluster();
    let refused = metrics.failures.of(FailureKind::Refused);
    let (expiry, renewal) =
        (metrics.certificate_expiry.clone(), metrics.failures.of(FailureKind::Renewal));
    let renewing = options.security.clone().keep_renewed(
        move |news| {
            news.log();
            renewal.inc_by(news.is_failure().into());
        },
        move |certificate| {
            expiry.of(certificate.file.as_path()).set(certificate.until_unix_seconds());
        },
    );
    tokio::spawn(ended.clone().run_until_cancelled_owned(renewing));
    let (actor, handle) = Actor::new(saved, records, limits, memory_alone, metrics);
    let mut acting = tokio::task::spawn_blocking(move || actor.run());
    let ticks = handle.clone();
    tokio::spawn(ended.clone().run_until_cancelled_owned(async move {
        let mut interval = tokio::time::interval(TICK);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            ticks.tick();
        }
    }));
    let asked = handle.clone();
    health.ask_by(move || {
        let asked = asked.clone();
        async move { asked.look(|_, _| ()).await.is_ok() }
    });
    let address = bound.address();
    let control = ControlService::new(handle.clone(), cluster, options.lease, ended.clone());
    let jobs = JobsService::new(handle.clone(), ended.clone());
    let incoming = bound.incoming_watched(move || {
        refused.inc();
    })?;
    let serving = ziggurat_rpc::server(&options.security)
        .add_service(ziggurat_rpc::control(control))
        .add_service(ziggurat_rpc::jobs(jobs))
        .serve_with_incoming_shutdown(incoming, ended.clone().cancelled_owned());
    let mut serving = tokio::spawn(serving);
    watch(Board::new(handle.clone()));
    health.ready();
    systemd::notify(systemd::READY);
    let told = health.clone();
    tokio::spawn(
        ended.clone().run_until_cancelled_owned(async move { systemd::keep_told(&told).await }),
    );
    tracing::info!(%address, dir = %options.dir.display(), "the coordinator listens");
    let stopped = |what: tokio::task::JoinError| CoordinatorError::Stopped(what.to_string());
    tokio::select! {
        () = shutdown => {}
        acted = &mut acting => return acted.map_err(stopped)?,
        served = &mut serving => served.map_err(stopped)??,
    }
    health.not_ready("it is shutting down");
    systemd::notify(systemd::STOPPING);
    ended.cancel();
    if tokio::time::timeout(GOODBYE, &mut serving).await.is_err() {
        serving.abort();
    }
    handle.stop().await;
    drop(handle);
    acting.await.map_err(stopped)?
}

/// Does work that would hold the async runtime up.
async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CoordinatorError> {
    let stopped = |what: tokio::task::JoinError| CoordinatorError::Stopped(what.to_string());
    tokio::task::spawn_blocking(work).await.map_err(stopped)
}
