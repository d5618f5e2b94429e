//! A worker's metrics.

use crate::{
    Age, ByCertificate, ByFailure, ByJob, ByStep, ByVersion, Counter, FailureKind, FloatCounter,
    FloatGauge, Gauge, Histogram, Registry, VERSION, export::Exporter,
};

/// A worker's metrics; all are explained in `docs/METRICS.md`. Copies are of the same metrics.
#[derive(Clone, Debug)]
pub struct WorkerMetrics {
    /// The largest change of any of the worker's own values in the last superstep, a probability.
    pub residual: ByStep<FloatGauge>,
    /// Supersteps the worker took part in.
    pub supersteps: ByStep<Counter>,
    /// Interval sweeps the worker took part in.
    pub interval_sweeps: ByStep<Counter>,
    /// Positions the worker swept.
    pub swept_positions: ByStep<Counter>,
    /// Positions of which the worker keeps copies because its shards read them.
    pub halo_positions: ByStep<Gauge>,
    /// Sum over supersteps of positions sent to other workers.
    pub sent_positions: ByJob<Counter>,
    /// Bytes sent to other workers, everything counted.
    pub sent: ByJob<Counter>,
    /// Bytes that came from other workers, everything counted.
    pub received: ByJob<Counter>,
    /// Seconds spent waiting at barriers for other workers.
    pub barrier_wait: ByJob<FloatCounter>,
    /// Seconds spent on packing and unpacking what workers exchange.
    pub exchanging: ByJob<FloatCounter>,
    /// Orders that came and are not answered yet.
    pub orders_waiting: Gauge,
    /// Parts of halo payloads that are to be sent.
    pub halo_parts_to_send: Gauge,
    /// Parts of halo payloads that came and are not applied yet.
    pub halo_parts_to_apply: Gauge,
    /// 1 while the worker is registered with the coordinator, else 0.
    pub connected: Gauge,
    /// Time since the coordinator was heard of.
    pub lease_age: Age,
    /// Memory in use, in bytes.
    pub memory_resident: Gauge,
    /// Memory that may be used, in bytes.
    pub memory_budget: Gauge,
    /// Disk that is free in the worker's directory, in bytes.
    pub disk_free: Gauge,
    /// 1, with the version of the program.
    pub build_info: ByVersion<Gauge>,
    /// Bytes of pages read from the worker's store. See [`raise`](crate::raise).
    pub store_read: Counter,
    /// Bytes of files written to the worker's store.
    pub store_written: Counter,
    /// Bytes read from the checkpoint store.
    pub checkpoint_store_read: Counter,
    /// Bytes written to the checkpoint store.
    pub checkpoint_store_written: Counter,
    /// Time to write the worker's part of a checkpoint down, in seconds.
    pub save: Histogram,
    /// When the certificate ends, if there is one, in seconds since 1970.
    pub certificate_expiry: ByCertificate<Gauge>,
    /// What failed.
    pub failures: ByFailure<Counter>,
}

impl WorkerMetrics {
    /// Metrics that `registry` exports.
    pub fn new(registry: &mut Registry) -> Self {
        let mut e = Exporter::new(registry, "ziggurat_worker");
        let metrics = Self {
            residual: e.number("residual", "Largest change of any own value in the last superstep"),
            supersteps: e.number("supersteps", "Supersteps taken part in"),
            interval_sweeps: e.number("interval_sweeps", "Interval sweeps taken part in"),
            swept_positions: e.number("swept_positions", "Positions swept"),
            halo_positions: e.number("halo_positions", "Positions of others kept as copies"),
            sent_positions: e.number("sent_positions", "Positions sent to other workers"),
            sent: e.bytes("sent", "Sent to other workers"),
            received: e.bytes("received", "Came from other workers"),
            barrier_wait: e.seconds("barrier_wait", "Waited at barriers for other workers"),
            exchanging: e.seconds("exchanging", "Packed and unpacked what workers exchange"),
            orders_waiting: e.number("orders_waiting", "Orders that are not answered yet"),
            halo_parts_to_send: e.number("halo_parts_to_send", "Parts of halos to be sent"),
            halo_parts_to_apply: e.number("halo_parts_to_apply", "Parts of halos to be applied"),
            connected: e.number("connected", "Whether the worker is registered"),
            lease_age: e.seconds("lease_age", "Since the coordinator was heard of"),
            memory_resident: e.bytes("memory_resident", "Memory in use"),
            memory_budget: e.bytes("memory_budget", "Memory that may be used"),
            disk_free: e.bytes("disk_free", "Disk that is free"),
            build_info: e.number("build_info", "The program"),
            store_read: e.bytes("store_read", "Pages read from the store"),
            store_written: e.bytes("store_written", "Files written to the store"),
            checkpoint_store_read: e.bytes("checkpoint_store_read", "Objects read"),
            checkpoint_store_written: e.bytes("checkpoint_store_written", "Objects written"),
            save: e.times("save", "What writing a part of a checkpoint took"),
            certificate_expiry: e
                .seconds("certificate_expiry_timestamp", "When the certificate ends"),
            failures: e.number("failures", "What failed"),
        };
        // What never happened is zero, not missing: alerts compare with it.
        metrics.build_info.of(VERSION).set(1);
        FailureKind::ALL.into_iter().for_each(|kind| drop(metrics.failures.of(kind)));
        metrics
    }

    /// Removes everything about jobs that have ended.
    pub fn forget_jobs(&self, have_ended: impl Fn(u64) -> bool) {
        self.residual.forget_jobs(&have_ended);
        self.supersteps.forget_jobs(&have_ended);
        self.interval_sweeps.forget_jobs(&have_ended);
        self.swept_positions.forget_jobs(&have_ended);
        self.halo_positions.forget_jobs(&have_ended);
        self.sent_positions.forget_jobs(&have_ended);
        self.sent.forget_jobs(&have_ended);
        self.received.forget_jobs(&have_ended);
        self.barrier_wait.forget_jobs(&have_ended);
        self.exchanging.forget_jobs(&have_ended);
    }
}
