//! The dashboard of a coordinator: what its page is told, in the JSON of `jobs`, `workers` and `status`.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Mutex, PoisonError},
};

use serde_json::{Value, json};
use tonic::{Code, Status};
use ziggurat_coordinator::{Board, JobChange};
use ziggurat_history::{Event, History};
use ziggurat_rpc::proto::{ClusterStatus, ListReply};
use ziggurat_web::{
    dashboard::{Answer, Change, Source},
    server::ApiError,
};

use crate::cluster::{following::Following, words};

/// Jobs whose forecasts are remembered.
const MOST_FOLLOWED: usize = 32;

/// A coordinator as a source of jobs.
pub struct Jobs {
    board: Board,
    address: SocketAddr,
    /// Jobs that somebody looks at, with their forecasts.
    followed: Mutex<BTreeMap<u64, Following>>,
}

impl Jobs {
    /// The jobs of a coordinator that listens at `address`.
    pub fn new(board: Board, address: SocketAddr) -> Self {
        Self { board, address, followed: Mutex::default() }
    }

    /// A job now, with what is to be expected of it.
    fn status(&self, job: u64, status: ClusterStatus) -> Value {
        let has_ended = status.job.as_ref().is_some_and(words::has_ended);
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if followed.len() >= MOST_FOLLOWED && !followed.contains_key(&job) {
            followed.pop_first();
        }
        let new = || Following::new(&self.address.to_string());
        let following = followed.entry(job).or_insert_with(new);
        following.hear(status);
        let told = told(following);
        if has_ended {
            followed.remove(&job);
        }
        told
    }
}

/// A job that is followed, as `status --json` has it, with a forecast.
pub fn told(following: &Following) -> Value {
    let (Some(status), Some(forecast)) = (&following.status, &following.forecast) else {
        return Value::Null;
    };
    let mut told = words::status_json(status);
    for (step, line) in told["steps"].as_array_mut().into_iter().flatten().enumerate() {
        line["fraction"] = forecast.step_fraction(step).into();
    }
    let goes_on = following.goes_on();
    told["forecast"] = json!({
        "fraction": forecast.fraction(),
        "seconds_left": forecast.seconds_left().filter(|_| goes_on),
        "positions_per_second": goes_on.then(|| forecast.speed()),
    });
    told
}

/// A history, as `events --json` and the page have it.
pub fn history_json(history: &History) -> Value {
    let History { events, steps, work, planned_memory_bytes } = history;
    let all: Vec<&Event> = events.iter().collect();
    json!({
        "events": all,
        "left_out": events.left_out(),
        "steps": steps,
        "work": work,
        "planned_memory_bytes": planned_memory_bytes,
    })
}

/// Why there is no answer.
fn refused(status: Status) -> ApiError {
    let problem = status.message();
    match status.code() {
        Code::NotFound => ApiError::not_found(problem),
        Code::FailedPrecondition => ApiError::conflict(problem),
        Code::InvalidArgument => ApiError::bad_request(problem),
        _ => ApiError::unavailable(problem),
    }
}

impl Source for Jobs {
    fn jobs(&self) -> Answer<'_> {
        Box::pin(async {
            let ListReply { jobs, left_out } = self.board.jobs().await.map_err(refused)?;
            let jobs: Vec<Value> = jobs.iter().map(words::job_json).collect();
            Ok(json!({ "jobs": jobs, "left_out": left_out }))
        })
    }

    fn workers(&self) -> Answer<'_> {
        Box::pin(async {
            let workers = self.board.workers().await.map_err(refused)?;
            let workers: Vec<Value> = workers.iter().map(words::worker_json).collect();
            Ok(json!({ "workers": workers }))
        })
    }

    fn job(&self, job: u64) -> Answer<'_> {
        Box::pin(async move {
            let status = self.board.job(job).await.map_err(refused)?;
            Ok(self.status(job, status))
        })
    }

    fn history(&self, job: u64) -> Answer<'_> {
        Box::pin(async move {
            let history = self.board.history(job).await.map_err(refused)?;
            Ok(history_json(&history))
        })
    }

    fn change(&self, job: u64, change: Change, by: String) -> Answer<'_> {
        Box::pin(async move {
            let change = match change {
                Change::Pause => JobChange::Pause,
                Change::Resume => JobChange::Resume,
                Change::Cancel => JobChange::Cancel,
            };
            let job = self.board.change(job, change, by).await.map_err(refused)?;
            Ok(words::job_json(&job))
        })
    }
}
