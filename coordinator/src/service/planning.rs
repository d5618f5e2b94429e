//! Cutting rulesets into steps and shards: seconds of work for large ones, so it is done off the async runtime,
//! one at a time, and the last result is kept, since people look at a plan before they submit it.

use std::sync::{Arc, Mutex, PoisonError};

use tonic::Status;
use ziggurat_encoding::Encoding;
use ziggurat_game::Ruleset;
use ziggurat_planning::Settings;
use ziggurat_rpc::convert::cut;

use super::MemoryAlone;
use crate::machine::{JobPlan, Spec};

/// Steps have at most so many shards: dealing them out takes longer than they do good, and what is reported of
/// them has to fit a message.
const MOST_SHARDS: usize = 4096;

/// A job's plan, and what one process would need for it.
#[derive(Clone, Debug)]
pub struct Planned {
    pub plan: Arc<JobPlan>,
    pub positions: u64,
    pub memory_bytes: u64,
}

/// Makes plans.
#[derive(Clone)]
pub struct Planner {
    last: Arc<Mutex<Option<(Spec, Planned)>>>,
    memory_alone: MemoryAlone,
}

impl Planner {
    /// One that says of jobs what one process would take for them.
    pub fn new(memory_alone: MemoryAlone) -> Self {
        Self { last: Arc::default(), memory_alone }
    }

    /// The plan of a job.
    ///
    /// # Errors
    /// INVALID_ARGUMENT if the ruleset is none, or has too many positions or shards.
    pub async fn plan(&self, spec: Spec) -> Result<Planned, Status> {
        let planner = self.clone();
        let made = tokio::task::spawn_blocking(move || planner.plan_now(&spec)).await;
        made.map_err(|error| Status::internal(error.to_string()))?
            .map_err(|why| Status::invalid_argument(cut(&why)))
    }

    /// The same, in this thread; the error is for people.
    pub fn plan_now(&self, spec: &Spec) -> Result<Planned, String> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, planned)) = last.as_ref().filter(|(known, _)| known == spec) {
            return Ok(planned.clone());
        }
        let ruleset =
            Ruleset::from_toml(&spec.ruleset, "ruleset").map_err(|error| error.to_string())?;
        let encoding = Encoding::new(&ruleset).map_err(|error| error.to_string())?;
        check_shards(&encoding, &spec.settings())?;
        let planned = Planned {
            positions: encoding.undecided(),
            memory_bytes: (self.memory_alone)(&encoding, &spec.settings()),
            plan: Arc::new(JobPlan::new(encoding, spec.settings())),
        };
        *last = Some((spec.clone(), planned.clone()));
        Ok(planned)
    }
}

/// Refuses shards of which a step has too many, and says which will do. The limit comes down to them by halves, so that
/// a step is never cut into far too many.
fn check_shards(encoding: &Encoding, settings: &Settings) -> Result<(), String> {
    let mut will_do = None;
    for tier in encoding.tiers() {
        let default = || encoding.default_shard_positions(tier);
        let wanted = settings.shard_positions.unwrap_or_else(default);
        let mut limit = encoding.step_len(tier);
        while limit > wanted {
            let smaller = wanted.max(limit / 2);
            if encoding.shards(tier, smaller).len() > MOST_SHARDS {
                will_do = will_do.max(Some(limit));
                break;
            }
            limit = smaller;
        }
    }
    let Some(will_do) = will_do else { return Ok(()) };
    let of = match settings.shard_positions {
        Some(wanted) => format!("of {wanted} positions"),
        None => "of the default size".to_owned(),
    };
    Err(format!(
        "with shards {of}, a step has more than the {MOST_SHARDS} that a cluster shares out; \
         --shard-positions {will_do} will do"
    ))
}

#[cfg(test)]
mod tests {
    use ziggurat_game::{Overrides, Ruleset};
    use ziggurat_planning::Precision;

    use super::*;

    #[test]
    fn too_many_shards_are_refused_and_the_size_that_is_named_will_do() {
        let pieces = Overrides { pieces: Some(4), ..Overrides::default() };
        let masters = Ruleset::builtin("masters").unwrap().with(&pieces).unwrap();
        let encoding = Encoding::new(&masters).unwrap();
        let checked = |shard_positions| {
            let settings = Settings { shard_positions, ..Settings::new(Precision::F64) };
            check_shards(&encoding, &settings)
        };
        checked(None).unwrap();
        let refused = checked(Some(1)).unwrap_err();
        let (_, rest) = refused.split_once("--shard-positions ").unwrap();
        let named: u64 = rest.split(' ').next().unwrap().parse().unwrap();
        checked(Some(named)).unwrap();
        assert!(named < 10_000, "{refused}");
    }
}
