//! Time since something happened.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use prometheus_client::{
    encoding::{EncodeMetric, MetricEncoder},
    metrics::{MetricType, TypedMetric},
};

/// Seconds since something happened last, worked out whenever somebody looks.
#[derive(Clone, Debug)]
pub struct Age(Arc<Mutex<Instant>>);

impl Age {
    /// It happened now.
    pub fn renew(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Seconds since then.
    pub fn seconds(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).elapsed().as_secs_f64()
    }
}

impl Default for Age {
    /// It happens now.
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }
}

impl TypedMetric for Age {
    const TYPE: MetricType = MetricType::Gauge;
}

impl EncodeMetric for Age {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&self.seconds())
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}
