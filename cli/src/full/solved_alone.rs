//! A solve on this machine alone, as the dashboard and reports have it: the same as a job of a cluster with one worker.

use std::{
    fs,
    io::ErrorKind,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use tokio::{runtime::Builder, sync::oneshot};
use ziggurat_encoding::Tier;
use ziggurat_game::Ruleset;
use ziggurat_history::{Event as Told, History, Kind, Phase, Spent};
use ziggurat_kernel::{Event, Precision, TierStatistics, resident_bytes};
use ziggurat_rpc::proto::{
    self, ClusterStatus, JobSpec, JobState, JobStatus, StepState, StepStatus, WorkerStatus,
};
use ziggurat_web::{
    dashboard::{self, Answer, Change, Source},
    server::{self, ApiError, Options},
};
use ziggurat_worker::{is_running, progress_of};

use super::{
    dashboard::{history_json, told},
    directory::holds_no_solve,
};
use crate::{
    cluster::{following::Following, words},
    exhausted::no_threads,
    failure::{Exit, Explain, Failure},
    output::{note, table_name},
    resources::free_bytes,
    solving::{Solving, Witness},
};

/// The number of the only job.
const JOB: u64 = 1;

/// What this machine is called.
const HERE: &str = "this machine";

/// The history, in the directory of a solve, and its name while it is written.
const FILE: &str = "history.json";
const UNFINISHED: &str = ".history.json.new";

/// It is written so often at the most.
const EVERY: Duration = Duration::from_secs(1);

/// For so long a page can hear of the end.
const GOODBYE: Duration = Duration::from_millis(2500);

/// Supersteps in `f32` end at about this residual, 16 units of its precision.
const END_OF_F32: f64 = 4.8e-7;

/// Looks at a solve: writes its history into its directory, and serves the dashboard, as far as either is wanted.
///
/// # Errors
/// If the page cannot be served.
pub fn watch(
    solving: &Solving<'_>,
    dir: Option<&Path>,
    http: Option<SocketAddr>,
) -> Result<Option<Box<dyn Witness>>, Failure> {
    if dir.is_none() && http.is_none() {
        return Ok(None);
    }
    let state = State::new(solving, dir);
    let state = Arc::new(Mutex::new(state));
    let server = http.map(|at| serve(at, state.clone())).transpose()?;
    Ok(Some(Box::new(Watched { state, server })))
}

/// A solve that is looked at.
struct Watched {
    state: Arc<Mutex<State>>,
    /// Ends the server of the page when it is dropped.
    server: Option<oneshot::Sender<()>>,
}

/// What is known of it.
struct State {
    status: ClusterStatus,
    following: Following,
    history: History,
    tiers: Vec<Tier>,
    is_f32: bool,
    began: Instant,
    /// Until when its time is accounted for, in seconds since 1970, and the positions that were swept until then.
    told_until: f64,
    swept: u64,
    dir: Option<PathBuf>,
    written: Option<Instant>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl Witness for Watched {
    fn sees(&self, event: &Event) {
        lock(&self.state).see(event);
    }

    fn saved(&self, tier: Tier, since: Instant) {
        let mut state = lock(&self.state);
        state.spend(since.elapsed().as_secs_f64());
        state.tell(Kind::Saved, Some(tier), format!("step {tier} is saved"));
        state.write(false);
    }

    fn solved(&self, tier: Tier, made: &TierStatistics) {
        let mut state = lock(&self.state);
        let tier = tier.first_of_step();
        state.history.widened(&tier.to_string(), made.supersteps_in_f32);
        let place = state.tiers.iter().position(|&other| other == tier);
        if let Some(place) = place {
            let step = std::mem::take(&mut state.status.steps[place]);
            state.status.steps[place] = step.with_statistics(made);
        }
    }

    fn ended(&self, failure: Option<&Failure>) {
        let mut state = lock(&self.state);
        let (kind, phase) = match failure {
            None => (Kind::Solved, JobState::Solved),
            Some(failure) if failure.exit == Exit::Interrupted => (Kind::Paused, JobState::Paused),
            Some(_) => (Kind::Failed, JobState::Failed),
        };
        let message = failure.map(Failure::message).unwrap_or_default();
        let text = if message.is_empty() { "solved".to_owned() } else { message.clone() };
        state.tell(kind, None, text);
        let (at, seconds) = (now(), state.began.elapsed().as_secs_f64());
        if let Some(job) = &mut state.status.job {
            job.message = message;
            (job.ended, job.seconds) = (at, seconds);
            job.set_state(phase);
        }
        state.write(true);
        drop(state);
        if self.server.is_some() {
            std::thread::sleep(GOODBYE);
        }
    }
}

impl State {
    fn new(solving: &Solving<'_>, dir: Option<&Path>) -> Self {
        let Solving { encoding, settings, needs, allowed, .. } = *solving;
        let steps = needs.plan.steps.iter().map(|step| StepStatus {
            step: Some(step.tier.into()),
            state: StepState::Waiting.into(),
            positions: step.positions,
            shards: step.shards as u32,
            ..StepStatus::default()
        });
        let ruleset = encoding.ruleset();
        let job = JobStatus {
            job: JOB,
            name: table_name(ruleset),
            state: JobState::Running.into(),
            spec: Some(JobSpec {
                precision: precision(settings.precision).into(),
                tolerance: settings.tolerance,
                certified: settings.certified,
                ..JobSpec::default()
            }),
            positions: needs.plan.positions,
            steps: needs.plan.steps.len() as u32,
            submitted: now(),
            ..JobStatus::default()
        };
        let worker = WorkerStatus {
            name: HERE.to_owned(),
            connected: true,
            cores: settings.thread_count() as u32,
            memory_bytes: allowed.unwrap_or(0),
            job: JOB,
            ..WorkerStatus::default()
        };
        let mut state = Self {
            status: ClusterStatus {
                job: Some(job),
                steps: steps.collect(),
                workers: vec![worker],
                unreached: Vec::new(),
            },
            following: Following::new(HERE),
            history: dir.map(read_history).unwrap_or_default(),
            tiers: needs.plan.steps.iter().map(|step| step.tier).collect(),
            is_f32: settings.precision == Precision::F32,
            began: Instant::now(),
            told_until: now(),
            swept: 0,
            dir: dir.map(Path::to_owned),
            written: None,
        };
        state.history.planned_memory_bytes = needs.memory_bytes;
        let goes_on = state.history.events.count() > 0;
        let (kind, what) = match goes_on {
            true => (Kind::Resumed, "goes on"),
            false => (Kind::Submitted, "begins"),
        };
        state.tell(kind, None, format!("the solve {what}"));
        state
    }

    fn tell(&mut self, kind: Kind, tier: Option<Tier>, text: String) {
        let step = tier.map(|tier| tier.to_string());
        self.history.tell(Told { step, ..Told::new(now(), kind, text) });
    }

    /// Accounts for the time since that was done last, so much of which went into saving.
    fn spend(&mut self, saving: f64) {
        let (from, to) = (self.told_until, now().max(self.told_until));
        let swept = self.status.job.as_ref().map_or(0, |job| job.swept_positions);
        let spent = Spent {
            sweeping: (to - from - saving).max(0.0) as f32,
            saving: saving.min(to - from) as f32,
            positions: swept.saturating_sub(self.swept) as f32,
            ..Spent::default()
        };
        self.history.spend(HERE, from, to, spent);
        (self.told_until, self.swept) = (to, swept);
    }

    fn see(&mut self, event: &Event) {
        let (Event::StepStarted { step }
        | Event::StepResumed { step, .. }
        | Event::StepFound { step, .. }
        | Event::Superstep { step, .. }
        | Event::Certifying { step, .. }
        | Event::StepFinished { step }) = *event;
        let tier = self.tiers[step];
        let status = &mut self.status.steps[step];
        match *event {
            Event::StepStarted { .. } => {
                status.set_state(StepState::Running);
                self.tell(Kind::Begun, Some(tier), format!("step {tier} begins"));
            }
            Event::StepResumed { supersteps, .. } => {
                status.set_state(StepState::Running);
                status.supersteps = supersteps;
                self.tell(Kind::Begun, Some(tier), format!("step {tier} goes on"));
            }
            Event::StepFound { supersteps, .. } => {
                status.set_state(StepState::Solved);
                status.supersteps = supersteps;
            }
            Event::Superstep { superstep, residual, swept_positions, .. } => {
                (status.supersteps, status.residual) = (superstep, residual);
                status.interval_sweeps = 0;
                let name = tier.to_string();
                let curve = self.history.steps.get(&name);
                let was_fine = curve.is_some_and(|curve| {
                    let last = curve.f64.points().last().or(curve.f32.points().last());
                    last.is_some_and(|&(at, last)| at < superstep && f64::from(last) < END_OF_F32)
                });
                let phase = if was_fine && !self.is_f32 { Phase::F64 } else { Phase::F32 };
                self.history.superstep(&name, phase, superstep, residual);
                if let Some(job) = &mut self.status.job {
                    job.swept_positions = swept_positions;
                }
                self.spend(0.0);
            }
            Event::Certifying { sweep, distance, .. } => {
                status.interval_sweeps = sweep;
                if sweep > 0 {
                    self.history.interval_sweep(&tier.to_string(), sweep, distance);
                }
                self.spend(0.0);
            }
            Event::StepFinished { .. } => {
                status.set_state(StepState::Solved);
                self.tell(Kind::StepSolved, Some(tier), format!("step {tier} is solved"));
                self.write(false);
            }
        }
    }

    /// How it is now.
    fn now(&mut self) -> Value {
        let solved = self.status.steps.iter().filter(|step| step.state() == StepState::Solved);
        let (steps, positions) =
            solved.fold((0, 0), |(steps, sum), step| (steps + 1, sum + step.positions));
        let running = |step: &&StepStatus| step.state() == StepState::Running;
        let at = self.status.steps.iter().rfind(running).and_then(|step| step.step);
        let seconds = self.began.elapsed().as_secs_f64();
        if let Some(job) = &mut self.status.job {
            (job.solved_steps, job.solved_positions) = (steps, positions);
            if !words::has_ended(job) {
                job.seconds = seconds;
            }
        }
        let speed = self.following.forecast.as_ref().map_or(0.0, |forecast| forecast.speed());
        let resident = resident_bytes().unwrap_or(0);
        if let Some(worker) = self.status.workers.first_mut() {
            (worker.step, worker.positions_per_second) = (at, speed);
            worker.resident_bytes = resident;
            worker.free_disk_bytes = self.dir.as_deref().and_then(free_bytes).unwrap_or(0);
            self.history.work.resides(HERE, resident, worker.memory_bytes);
        }
        self.following.hear(self.status.clone());
        told(&self.following)
    }

    /// Writes the history down, if it was not a moment ago. That it cannot be written is no reason to stop.
    fn write(&mut self, at_once: bool) {
        let Some(dir) = &self.dir else { return };
        if !at_once && self.written.is_some_and(|written| written.elapsed() < EVERY) {
            return;
        }
        self.written = Some(Instant::now());
        let write = || -> Option<()> {
            let text = serde_json::to_vec(&self.history).ok()?;
            fs::write(dir.join(UNFINISHED), text).ok()?;
            fs::rename(dir.join(UNFINISHED), dir.join(FILE)).ok()
        };
        let _ = write();
    }
}

fn precision(precision: Precision) -> proto::Precision {
    match precision {
        Precision::F32 => proto::Precision::F32,
        Precision::F64 => proto::Precision::F64,
    }
}

/// The history in a directory; an empty one if there is none that can be read.
fn read_history(dir: &Path) -> History {
    let text = fs::read(dir.join(FILE)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// The solve in a directory as it was written down last: its status, and its history.
///
/// # Errors
/// If there is none, or it cannot be read.
pub fn in_directory(dir: &Path) -> Result<(Value, History), Failure> {
    let progress = match progress_of(dir) {
        Ok(Some(progress)) => progress,
        Ok(None) => return Err(holds_no_solve(dir)),
        Err(error) if error.kind() == ErrorKind::InvalidData => return Err(holds_no_solve(dir)),
        Err(error) => {
            return Err(error).context(format!("cannot read the progress of {}", dir.display()));
        }
    };
    let history = read_history(dir);
    let ruleset = Ruleset::from_toml(&progress.job.ruleset, "progress.json")?;
    let running = is_running(dir).unwrap_or(false);
    let solved = progress.steps.iter().filter(|step| step.solved).count();
    let is_solved = solved == progress.steps.len();
    let tier = |text: &str| {
        let (more, fewer) = text.split_once('-')?;
        Some(Tier::new(more.parse().ok()?, fewer.parse().ok()?).into())
    };
    let steps = progress.steps.iter().map(|step| {
        let state = match step.statistics {
            _ if step.solved => StepState::Solved,
            Some(_) if running => StepState::Running,
            _ => StepState::Waiting,
        };
        let status = StepStatus {
            step: tier(&step.tier),
            state: state.into(),
            positions: step.positions,
            shards: step.shards as u32,
            ..StepStatus::default()
        };
        step.statistics.map_or(status.clone(), |made| status.with_statistics(&made))
    });
    let first = history.events.iter().next().map_or(0.0, |event| event.at);
    let slices = history.work.workers.values().flat_map(|worked| &worked.slices);
    let (seconds, swept) = slices.fold((0.0, 0.0), |(seconds, swept), spent| {
        let each = spent.sweeping + spent.saving + spent.exchanging + spent.waiting;
        (seconds + f64::from(each), swept + f64::from(spent.positions))
    });
    let state = match (is_solved, running) {
        (true, _) => JobState::Solved,
        (false, true) => JobState::Running,
        (false, false) => JobState::Paused,
    };
    let job = JobStatus {
        job: JOB,
        name: table_name(&ruleset),
        state: state.into(),
        spec: Some(JobSpec {
            precision: precision(progress.job.precision).into(),
            tolerance: progress.job.tolerance,
            certified: progress.job.certified,
            ..JobSpec::default()
        }),
        positions: progress.positions,
        solved_positions: progress.positions_solved,
        steps: progress.steps.len() as u32,
        solved_steps: solved as u32,
        submitted: first,
        ended: if is_solved { progress.written as f64 } else { 0.0 },
        seconds,
        swept_positions: swept as u64,
        ..JobStatus::default()
    };
    let mut following = Following::new(HERE);
    let steps = steps.collect();
    following.hear(ClusterStatus { job: Some(job), steps, ..ClusterStatus::default() });
    Ok((told(&following), history))
}

/// Serves the page of a solve aside, until what is returned is dropped.
fn serve(at: SocketAddr, state: Arc<Mutex<State>>) -> Result<oneshot::Sender<()>, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(no_threads)?;
    let options = Options::default();
    let bound = runtime.block_on(server::bind(at, &options)).or_bad_input()?;
    note!("The dashboard is at http://{}/", bound.address());
    let pages = dashboard::pages(Arc::new(Alone(state)));
    let (end, ended) = oneshot::channel();
    let serve = move || {
        runtime.block_on(server::serve(bound, pages, options, async {
            let _ = ended.await; // whether it is told to end or left alone
        }));
    };
    std::thread::Builder::new().name("dashboard".to_owned()).spawn(serve).map_err(no_threads)?;
    Ok(end)
}

/// A solve as a source of one job.
struct Alone(Arc<Mutex<State>>);

impl Alone {
    fn status(&self, job: u64) -> Result<Value, ApiError> {
        match job {
            JOB => Ok(lock(&self.0).now()),
            _ => Err(ApiError::not_found(format!("there is no job {job}, only job {JOB}"))),
        }
    }
}

impl Source for Alone {
    fn jobs(&self) -> Answer<'_> {
        Box::pin(async {
            let status = self.status(JOB)?;
            Ok(json!({"jobs": [status["job"]], "left_out": 0}))
        })
    }

    fn workers(&self) -> Answer<'_> {
        Box::pin(async { Ok(json!({"workers": self.status(JOB)?["workers"]})) })
    }

    fn job(&self, job: u64) -> Answer<'_> {
        Box::pin(async move { self.status(job) })
    }

    fn history(&self, job: u64) -> Answer<'_> {
        Box::pin(async move {
            self.status(job)?;
            Ok(history_json(&lock(&self.0).history))
        })
    }

    fn change(&self, _: u64, _: Change, _: String) -> Answer<'_> {
        Box::pin(async {
            Err(ApiError::conflict("a solve on one machine takes no orders; Ctrl-C interrupts it"))
        })
    }
}
