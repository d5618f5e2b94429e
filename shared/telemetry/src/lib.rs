//! Logs, metrics and health, as those who run services look at them.
//!
//! A service starts its [`logs`], makes its metrics ([`CoordinatorMetrics`] or [`WorkerMetrics`]) in a
//! [`Registry`], counts as it goes, says in [`Health`] when it is ready, and [serves](serve()) all that on a
//! port that can only be read:
//!
//! ```
//! use std::sync::Arc;
//! use ziggurat_telemetry::{CoordinatorMetrics, Health, JobState, Registry, bind, serve};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let mut registry = Registry::default();
//! let metrics = CoordinatorMetrics::new(&mut registry);
//! let health = Arc::new(Health::starting("the jobs are being read"));
//! let listener = bind("127.0.0.1:0".parse()?, false).await?;
//! tokio::spawn(serve(listener, registry, Arc::clone(&health)));
//!
//! health.ready();
//! metrics.jobs.of(JobState::Running).set(1);
//! let (job, step) = (17, (5, 4));
//! metrics.supersteps.of((job, step)).inc();
//! metrics.residual.of((job, step)).set(1e-9);
//! metrics.forget_job(job);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! Every metric is explained in `docs/METRICS.md`. What has labels is a [`Labelled`], from which those of jobs
//! that ended can be removed.
//!
//! | module | knows |
//! | --- | --- |
//! | `logs` | where lines go, and in which form |
//! | `labels`, `age` | metrics with labels, and time since something happened |
//! | `coordinator`, `worker`, `explorer`, `export` | which metrics there are |
//! | `health` | whether a service is alive, and ready |
//! | `connections` | HTTP within limits |
//! | `systemd` | telling that to a service manager |
//! | `serve`, `accept`, `text` | all of it over HTTP, in the format that is asked for |

mod accept;
mod age;
mod connections;
mod coordinator;
mod explorer;
mod export;
mod health;
mod labels;
pub mod logs;
mod serve;
pub mod systemd;
mod text;
mod worker;

pub use age::Age;
pub use connections::{Limits, serve_connections};
pub use coordinator::CoordinatorMetrics;
pub use explorer::{ExplorerMetrics, RequestLabels, Route};
pub use health::Health;
pub use labels::{
    ByCertificate, ByFailure, ByJob, ByState, ByStep, ByVersion, ByWorker, CertificateLabels,
    FailureKind, FailureLabels, JobLabels, JobState, Labelled, Name, StateLabels, StepLabels,
    StepName, VersionLabels, WorkerLabels,
};
pub use prometheus_client::{
    metrics::{counter::Counter, histogram::Histogram},
    registry::Registry,
};
pub use serve::{BindError, bind, health_pages, metrics_page, serve};
pub use worker::WorkerMetrics;

/// A whole number that goes up and down.
pub type Gauge = prometheus_client::metrics::gauge::Gauge;

/// A number that goes up and down.
pub type FloatGauge = prometheus_client::metrics::gauge::Gauge<f64, std::sync::atomic::AtomicU64>;

/// A number that only goes up.
pub type FloatCounter =
    prometheus_client::metrics::counter::Counter<f64, std::sync::atomic::AtomicU64>;

/// The version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Something that a gauge counts as long as it is there.
#[derive(Debug)]
pub struct Counted(Gauge);

impl Counted {
    /// One more.
    pub fn by(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Brings a counter up to a total that is counted elsewhere. Smaller totals change nothing.
pub fn raise(counter: &Counter, total: u64) {
    counter.inner().fetch_max(total, std::sync::atomic::Ordering::Relaxed);
}
