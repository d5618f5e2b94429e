//! Starting a worker.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, atomic::AtomicU64},
};

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use ziggurat_checkpoints::{CheckpointError, CheckpointPlace, CheckpointStore};
use ziggurat_rpc::{Security, bind, data as data_service, is_any_address, is_loopback, server};
use ziggurat_telemetry::{FailureKind as CountedFailure, Health, Registry, WorkerMetrics, systemd};

use super::{ServeError, Worker, data::DataService, local_checkpoints::LocalCheckpoints};

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
    /// The worker that it takes the place of, whose disk is lost.
    pub replaces: Option<String>,
    /// Threads to sweep with; 0 for one per core.
    pub threads: usize,
    /// Memory the process may take, in bytes; `None` for no limit.
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
    tokio::pin!(shutdown);
    // What is wrong with the store for good is said at once, and not when there is something to keep.
    let place = match &options.checkpoints {
        None => None,
        Some(url) => {
            let opened = tokio::select! {
                opened = open_place(url) => opened,
                () = &mut shutdown => return Ok(()),
            };
            match opened {
                Err(error) if error.lasts() => return Err(error.into()),
                opened => opened.inspect_err(|error| warn!("{error}; tries again")).ok(),
            }
        }
    };
    let io = |action: String| move |source| ServeError::Io { action, source };
    let scratch = options.dir.join("scratch");
    fs::create_dir_all(&scratch).map_err(io(format!("create {}", scratch.display())))?;
    let local_checkpoints = Arc::new(LocalCheckpoints::open(&options.dir)?);
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
        local_checkpoints,
        scratch,
        pool,
        inboxes: Arc::default(),
        moved: Default::default(),
        metrics,
        health: health.clone(),
        busy: Mutex::default(),
        welcomes: AtomicU64::default(),
        place: Mutex::new(place),
        joined: Mutex::default(),
        tenure: Mutex::default(),
        tidying: Mutex::default(),
        known: Mutex::default(),
        options,
    });
    let ended = CancellationToken::new();
    let _end = ended.clone().drop_guard();
    if let Some(pages) = pages {
        let page = ziggurat_telemetry::serve(pages, registry, health.clone());
        tokio::spawn(ended.clone().run_until_cancelled_owned(page));
    }
    let expiry = worker.metrics.certificate_expiry.clone();
    let renewal = worker.metrics.failures.of(CountedFailure::Renewal);
    let renewing = worker.options.security.clone().keep_renewed(
        move |news| {
            news.log();
            renewal.inc_by(news.is_failure().into());
        },
        move |certificate| {
            expiry.of(certificate.file.as_path()).set(certificate.until_unix_seconds());
        },
    );
    tokio::spawn(ended.clone().run_until_cancelled_owned(renewing));
    let told = ended.clone();
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
    systemd::notify(systemd::READY);
    tokio::spawn(told.run_until_cancelled_owned(async move { systemd::keep_told(&health).await }));
    let left = worker.work(shutdown).await;
    systemd::notify(systemd::STOPPING);
    left
}

/// Opens the place for checkpoints, and says what it cannot do.
pub(super) async fn open_place(url: &str) -> Result<CheckpointPlace, CheckpointError> {
    let place = CheckpointPlace::open(url).await?;
    if let Some(shortcoming) = place.shortcoming() {
        warn!("{shortcoming}");
    }
    Ok(place)
}
