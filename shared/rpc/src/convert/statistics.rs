//! How the solution of a step came about.

use ziggurat_planning::{Certificate, TierStatistics};

use super::{WireError, magnitude};
use crate::proto::{LocatedStep, StepStatus};

/// Both messages have the same fields for the same numbers.
macro_rules! with_statistics {
    ($message:ty) => {
        impl $message {
            /// The message with these numbers.
            #[must_use]
            pub fn with_statistics(self, statistics: &TierStatistics) -> Self {
                let TierStatistics { certificate, .. } = *statistics;
                Self {
                    supersteps: statistics.supersteps,
                    supersteps_in_f32: statistics.supersteps_in_f32,
                    residual: statistics.residual,
                    error_estimate: statistics.error_estimate,
                    bound: certificate.map_or(0.0, |certificate| certificate.bound),
                    sweeps: certificate.map_or(0, |certificate| certificate.sweeps),
                    ..self
                }
            }

            /// The numbers.
            ///
            /// # Errors
            /// If some of them cannot be.
            pub fn statistics(&self) -> Result<TierStatistics, WireError> {
                let bound = magnitude(self.bound, "bound")?;
                let sweeps = self.sweeps;
                Ok(TierStatistics {
                    supersteps: self.supersteps,
                    supersteps_in_f32: self.supersteps_in_f32,
                    residual: magnitude(self.residual, "residual")?,
                    error_estimate: magnitude(self.error_estimate, "error_estimate")?,
                    certificate: (bound > 0.0).then_some(Certificate { bound, sweeps }),
                })
            }
        }
    };
}

with_statistics!(StepStatus);
with_statistics!(LocatedStep);
