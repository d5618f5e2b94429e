//! Making metrics that a registry exports.

use prometheus_client::{
    metrics::histogram::exponential_buckets,
    registry::{Metric, Registry, Unit},
};

use crate::Histogram;

/// Makes metrics whose names begin alike. What they mean is in `docs/METRICS.md` at length.
pub(crate) struct Exporter<'a>(&'a mut Registry);

impl<'a> Exporter<'a> {
    pub(crate) fn new(registry: &'a mut Registry, prefix: &str) -> Self {
        Self(registry.sub_registry_with_prefix(prefix))
    }

    /// A metric that counts, or has no unit.
    pub(crate) fn number<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        let metric = M::default();
        self.0.register(name, help, metric.clone());
        metric
    }

    /// A metric in bytes.
    pub(crate) fn bytes<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        self.with_unit(name, help, Unit::Bytes, M::default())
    }

    /// A metric in seconds.
    pub(crate) fn seconds<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        self.with_unit(name, help, Unit::Seconds, M::default())
    }

    /// A histogram of times from 10 milliseconds to 10 minutes.
    pub(crate) fn times(&mut self, name: &str, help: &str) -> Histogram {
        let buckets = exponential_buckets(0.01, 3.0, 11);
        self.with_unit(name, help, Unit::Seconds, Histogram::new(buckets))
    }

    /// A histogram of times from 1/10 of a millisecond to 20 seconds.
    pub(crate) fn short_times(&mut self, name: &str, help: &str) -> Histogram {
        let buckets = exponential_buckets(0.0001, 3.0, 12);
        self.with_unit(name, help, Unit::Seconds, Histogram::new(buckets))
    }

    fn with_unit<M: Metric + Clone>(&mut self, name: &str, help: &str, unit: Unit, metric: M) -> M {
        self.0.register_with_unit(name, help, unit, metric.clone());
        metric
    }
}
