//! The coordinator's metrics.

use crate::{
    Age, ByCertificate, ByFailure, ByJob, ByState, ByStep, ByVersion, ByWorker, Counter,
    FailureKind, FloatGauge, Gauge, Histogram, JobState, Registry, VERSION, export::Exporter,
};

/// The coordinator's metrics; all are explained in `docs/METRICS.md`. Copies are of the same metrics.
#[derive(Clone, Debug)]
pub struct CoordinatorMetrics {
    /// The largest change of any value in the last superstep, a probability.
    pub residual: ByStep<FloatGauge>,
    /// Supersteps done, lost ones too.
    pub supersteps: ByStep<Counter>,
    /// Interval sweeps done, lost ones too.
    pub interval_sweeps: ByStep<Counter>,
    /// Positions swept, as workers report them.
    pub swept_positions: ByJob<Counter>,
    /// Positions of which members of the attempt keep copies.
    pub halo_positions: ByStep<Gauge>,
    /// Sum over supersteps of positions sent between workers.
    pub exchanged_positions: ByJob<Counter>,
    /// Bytes sent between workers, everything counted.
    pub exchanged: ByJob<Counter>,
    /// Jobs in each state.
    pub jobs: ByState<Gauge>,
    /// Orders that were given to workers and not answered yet.
    pub orders_waiting: Gauge,
    /// Workers that are connected.
    pub workers_connected: Gauge,
    /// Time since a connected worker was heard of.
    pub lease_age: ByWorker<Age>,
    /// Memory a worker says it has in use, in bytes.
    pub worker_memory_resident: ByWorker<Gauge>,
    /// Memory a worker may use, in bytes.
    pub worker_memory_budget: ByWorker<Gauge>,
    /// Disk that a worker says is free, in bytes.
    pub worker_disk_free: ByWorker<Gauge>,
    /// Seconds of work that would be lost if all workers of a job were lost now: since its oldest checkpoint under way.
    pub checkpoint_age: ByJob<FloatGauge>,
    /// 1, with the version of the program.
    pub build_info: ByVersion<Gauge>,
    /// Time from the order to save until all members have, in seconds; committed checkpoints only.
    pub checkpoint: Histogram,
    /// When the certificate ends, if there is one, in seconds since 1970.
    pub certificate_expiry: ByCertificate<Gauge>,
    /// What failed.
    pub failures: ByFailure<Counter>,
}

impl CoordinatorMetrics {
    /// Metrics that `registry` exports.
    pub fn new(registry: &mut Registry) -> Self {
        let mut e = Exporter::new(registry, "ziggurat_coordinator");
        let metrics = Self {
            residual: e.number("residual", "Largest change of any value in the last superstep"),
            supersteps: e.number("supersteps", "Supersteps done"),
            interval_sweeps: e.number("interval_sweeps", "Interval sweeps of proofs done"),
            swept_positions: e.number("swept_positions", "Positions swept"),
            halo_positions: e.number("halo_positions", "Positions that workers keep copies of"),
            exchanged_positions: e.number("exchanged_positions", "Positions sent between workers"),
            exchanged: e.bytes("exchanged", "Sent between workers"),
            jobs: e.number("jobs", "Jobs in each state"),
            orders_waiting: e.number("orders_waiting", "Orders given and not answered yet"),
            workers_connected: e.number("workers_connected", "Workers that are connected"),
            lease_age: e.seconds("lease_age", "Since a connected worker was heard of"),
            worker_memory_resident: e.bytes("worker_memory_resident", "What a worker has in use"),
            worker_memory_budget: e.bytes("worker_memory_budget", "What a worker may use"),
            worker_disk_free: e.bytes("worker_disk_free", "What a worker has free on disk"),
            checkpoint_age: e.seconds("checkpoint_age", "Since what is swept now was saved"),
            build_info: e.number("build_info", "The program"),
            checkpoint: e.times("checkpoint", "What committed checkpoints took"),
            certificate_expiry: e
                .seconds("certificate_expiry_timestamp", "When the certificate ends"),
            failures: e.number("failures", "What failed"),
        };
        // What never happened is zero, not missing: alerts compare with it.
        metrics.build_info.of(VERSION).set(1);
        JobState::ALL.into_iter().for_each(|state| drop(metrics.jobs.of(state)));
        FailureKind::ALL.into_iter().for_each(|kind| drop(metrics.failures.of(kind)));
        metrics
    }

    /// Removes everything about a job, which has ended.
    pub fn forget_job(&self, job: u64) {
        let has_ended = |other: u64| other == job;
        self.residual.forget_jobs(has_ended);
        self.supersteps.forget_jobs(has_ended);
        self.interval_sweeps.forget_jobs(has_ended);
        self.swept_positions.forget_jobs(has_ended);
        self.halo_positions.forget_jobs(has_ended);
        self.exchanged_positions.forget_jobs(has_ended);
        self.exchanged.forget_jobs(has_ended);
        self.checkpoint_age.forget_jobs(has_ended);
    }

    /// Removes everything about a worker, which is not connected any more.
    pub fn forget_worker(&self, name: &str) {
        self.lease_age.forget(|labels| labels.worker.0 == name);
        self.worker_memory_resident.forget(|labels| labels.worker.0 == name);
        self.worker_memory_budget.forget(|labels| labels.worker.0 == name);
        self.worker_disk_free.forget(|labels| labels.worker.0 == name);
    }
}
