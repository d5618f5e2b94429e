//! Cutting rulesets into steps and shards: seconds of work for large ones, so it is done off the async runtime,
//! one at a time, and the last result is kept, since people look at a plan before they submit it.

use std::sync::{Arc, Mutex, PoisonError};

use tonic::Status;
use ziggurat_encoding::Encoding;
use ziggurat_game::Ruleset;
use ziggurat_kernel::plan;

use crate::machine::{JobPlan, Spec};

/// A job's plan, and what one process would need for it.
#[derive(Clone, Debug)]
pub struct Planned {
    pub plan: Arc<JobPlan>,
    pub positions: u64,
    pub memory_bytes: u64,
}

/// Makes plans.
#[derive(Clone, Default)]
pub struct Planner(Arc<Mutex<Option<(Spec, Planned)>>>);

impl Planner {
    /// The plan of a job.
    ///
    /// # Errors
    /// INVALID_ARGUMENT if the ruleset is none, or has too many positions.
    pub async fn plan(&self, spec: Spec) -> Result<Planned, Status> {
        let planner = self.clone();
        let made = tokio::task::spawn_blocking(move || planner.plan_now(&spec)).await;
        made.map_err(|error| Status::internal(error.to_string()))?.map_err(Status::invalid_argument)
    }

    /// The same, in this thread; the error is for people.
    pub fn plan_now(&self, spec: &Spec) -> Result<Planned, String> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, planned)) = last.as_ref().filter(|(known, _)| known == spec) {
            return Ok(planned.clone());
        }
        let ruleset =
            Ruleset::from_toml(&spec.ruleset, "ruleset").map_err(|error| error.to_string())?;
        let encoding = Encoding::new(&ruleset).map_err(|error| error.to_string())?;
        let needs = plan(&encoding, &spec.settings());
        let planned = Planned {
            positions: needs.positions,
            memory_bytes: needs.peak_memory_bytes,
            plan: Arc::new(JobPlan::new(encoding, spec.settings())),
        };
        *last = Some((spec.clone(), planned.clone()));
        Ok(planned)
    }
}
