//! The thread that owns the machine. Everything that happens comes to it through one bounded channel; what the
//! machine changes is on disk before what it wants is done.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::{Instant, SystemTime},
};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use ziggurat_history::History;
use ziggurat_rpc::{Repeats, convert::cut, new_identity, proto::ToWorker};
use ziggurat_telemetry::CoordinatorMetrics;

use super::{
    CoordinatorError, MemoryAlone, convert, history::Historian, metrics::Meter, planning::Planner,
    records::Saved,
};
use crate::machine::{
    Changed, Command, Event, JobId, Limits, Machine, Message, Note, Output, Records, Refusal,
    SessionId, Time,
};

/// Events that wait for their turn; whoever has more waits with them.
const WAITING: usize = 256;

/// A worker's end of a connection.
pub struct Line {
    /// What it is to be told. A worker that leaves it full does not read, and is dropped.
    pub to_worker: mpsc::Sender<Result<ToWorker, Status>>,
    /// Ends the reading of what it says.
    pub ended: CancellationToken,
    /// What the worker calls itself.
    pub name: String,
    /// Whose token it told, and from where.
    pub by: String,
}

/// A look at the machine.
type Look = Box<dyn FnOnce(&Machine, Time) + Send>;

/// What the actor is asked.
enum Request {
    /// Something happened.
    Event(Event),
    /// A worker has connected.
    Connect(SessionId, Line, Event),
    /// Somebody, who is named, wants something and waits for the answer.
    Ask(Event, String, oneshot::Sender<Result<Changed, Refusal>>),
    /// Somebody wants to look at the machine.
    Look(Look),
    /// Somebody wants to know what has become of a job.
    History(JobId, oneshot::Sender<Option<History>>),
    /// A worker has seen that another coordinator of this incarnation has the checkpoint store, and what is known of it.
    Fenced(SessionId, u64, String),
    /// The coordinator ends.
    Stop,
}

/// How others reach the actor.
#[derive(Clone)]
pub struct Handle {
    requests: mpsc::Sender<Request>,
    pub planner: Planner,
}

/// Owns the machine.
pub struct Actor {
    machine: Machine,
    saved: Saved,
    requests: mpsc::Receiver<Request>,
    handle: mpsc::WeakSender<Request>,
    planner: Planner,
    lines: BTreeMap<SessionId, Line>,
    meter: Meter,
    historian: Historian,
    clock: Clock,
    first: Option<Output>,
    /// Which workers were disconnected lately, and why: one that is refused tries again every few seconds.
    disconnected: Repeats<(String, String)>,
}

/// Time that never goes back, from the system's clock at the beginning.
struct Clock {
    started: Instant,
    at: Time,
}

impl Clock {
    fn now(&self) -> Time {
        self.at + self.started.elapsed()
    }
}

impl Handle {
    /// Something happened. Waits while the actor has much to do.
    pub async fn tell(&self, event: Event) {
        // Nobody listens only when the coordinator has ended.
        let _ = self.requests.send(Request::Event(event)).await;
    }

    /// Time has passed; if the actor has much to do, it sees for itself.
    pub fn tick(&self) {
        let _ = self.requests.try_send(Request::Event(Event::Tick));
    }

    /// A worker has connected, and registers.
    pub async fn connect(&self, session: SessionId, line: Line, register: Event) {
        let _ = self.requests.send(Request::Connect(session, line, register)).await;
    }

    /// Asks for something, in the name of somebody.
    pub async fn ask(&self, event: Event, by: String) -> Result<Changed, Status> {
        let (answer, answered) = oneshot::channel();
        let _ = self.requests.send(Request::Ask(event, by, answer)).await;
        let answer = answered.await.map_err(|_| ending())?;
        answer.map_err(|refusal| convert::status(&refusal))
    }

    /// Looks at the machine.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Machine, Time) -> T + Send + 'static,
    ) -> Result<T, Status> {
        let (answer, answered) = oneshot::channel();
        let look = Box::new(move |machine: &Machine, now| {
            // Whoever asked may have gone.
            let _ = answer.send(look(machine, now));
        });
        let _ = self.requests.send(Request::Look(look)).await;
        answered.await.map_err(|_| ending())
    }

    /// What has become of a job; `None` if there is none.
    pub async fn history(&self, job: JobId) -> Result<Option<History>, Status> {
        let (answer, answered) = oneshot::channel();
        let _ = self.requests.send(Request::History(job, answer)).await;
        answered.await.map_err(|_| ending())
    }

    /// A worker has seen that another coordinator has the checkpoint store.
    pub async fn fenced(&self, session: SessionId, incarnation: u64, coordinator: &str) {
        // Others are told of it on one line.
        let shown = |c: char| if c.is_control() { ' ' } else { c };
        let coordinator = cut(coordinator).chars().map(shown).collect();
        let _ = self.requests.send(Request::Fenced(session, incarnation, coordinator)).await;
    }

    /// Ends the actor, after what was asked before.
    pub async fn stop(&self) {
        let _ = self.requests.send(Request::Stop).await;
    }
}

fn ending() -> Status {
    Status::unavailable("the coordinator is shutting down")
}

impl Actor {
    /// An actor that goes on from some records, and how to reach it.
    pub fn new(
        saved: Saved,
        records: Records,
        limits: Limits,
        memory_alone: MemoryAlone,
        metrics: CoordinatorMetrics,
    ) -> (Self, Handle) {
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let clock = Clock { started: Instant::now(), at };
        let (machine, first) = Machine::new(records, new_identity(), limits, at);
        let (sender, requests) = mpsc::channel(WAITING);
        let planner = Planner::new(memory_alone);
        let actor = Self {
            machine,
            saved,
            requests,
            handle: sender.downgrade(),
            planner: planner.clone(),
            lines: BTreeMap::new(),
            meter: Meter::new(metrics),
            historian: Historian::default(),
            clock,
            first: Some(first),
            disconnected: Repeats::default(),
        };
        (actor, Handle { requests: sender, planner })
    }

    /// Acts until it is told to stop.
    ///
    /// # Errors
    /// If records cannot be written: going on would be to forget.
    pub fn run(mut self) -> Result<(), CoordinatorError> {
        if let Some(first) = self.first.take() {
            self.carry_out(first, &mut VecDeque::new());
        }
        while let Some(request) = self.requests.blocking_recv() {
            let event = match request {
                Request::Stop => break,
                Request::Look(look) => {
                    look(&self.machine, self.clock.now());
                    continue;
                }
                Request::History(job, answer) => {
                    let there = self.machine.records().jobs.contains_key(&job);
                    let history = there.then(|| self.history_of(job));
                    // Whoever asked may have gone.
                    let _ = answer.send(history);
                    continue;
                }
                Request::Fenced(session, incarnation, coordinator) => {
                    let worker = self.machine.worker_of(session);
                    let Some(worker) = worker.filter(|_| incarnation != self.machine.incarnation())
                    else {
                        continue;
                    };
                    let worker = self.machine.name_of(worker);
                    return Err(CoordinatorError::Fenced { coordinator, worker });
                }
                Request::Event(event) => event,
                Request::Connect(session, line, event) => {
                    let by = line.by.clone();
                    self.lines.insert(session, line);
                    self.handle(event, Some(&by))?;
                    continue;
                }
                Request::Ask(event, by, answer) => {
                    let answered = self.handle(event, Some(&by))?;
                    // Whoever asked may have gone.
                    let _ = answer.send(answered.expect("requests are answered"));
                    continue;
                }
            };
            self.handle(event, None)?;
        }
        let unwritten = self.historian.unwritten();
        Ok(self.saved.write(&BTreeSet::new(), self.machine.records(), &unwritten)?)
    }

    /// What has become of a job.
    fn history_of(&self, job: JobId) -> History {
        let kept = self.historian.of(job).cloned();
        kept.or_else(|| self.saved.history(job)).unwrap_or_default()
    }

    /// Has the machine handle an event, and what follows from it. Returns the answer, if there is one.
    fn handle(
        &mut self,
        event: Event,
        by: Option<&str>,
    ) -> Result<Option<Result<Changed, Refusal>>, CoordinatorError> {
        let mut events = VecDeque::from([event]);
        let mut answer = None;
        while let Some(event) = events.pop_front() {
            if let Event::Disconnect(session) = event {
                self.hang_up(session, None);
            }
            let now = self.clock.now();
            let before = self.meter.before(&self.machine, &event);
            let told_before = self.historian.before(&self.machine, &event, now);
            let is_tick = matches!(event, Event::Tick);
            let lives = match event {
                Event::Heartbeat(session, _) => self.machine.worker_of(session),
                _ => None,
            };
            let output = self.machine.handle(event, now);
            let (machine, historian) = (&self.machine, &mut self.historian);
            historian.after(machine, told_before, &output, (now, by), &self.saved);
            if let Some(worker) = lives {
                historian.resides(machine, worker);
            }
            if is_tick || !output.changed.is_empty() {
                let due = historian.due(machine, !output.changed.is_empty(), now);
                self.saved.write(&output.changed, machine.records(), &due)?;
                historian.forget_those_at_rest(machine);
            }
            self.meter.after(&self.machine, before, now);
            answer = answer.or(self.carry_out(output, &mut events));
        }
        Ok(answer)
    }

    /// Does what the machine wants. What that leads to is added to the events.
    fn carry_out(
        &mut self,
        output: Output,
        events: &mut VecDeque<Event>,
    ) -> Option<Result<Changed, Refusal>> {
        let mut answer = None;
        for command in output.commands {
            match command {
                Command::Answer(given) => answer = Some(given),
                Command::Plan(job) => self.plan(job),
                Command::Send(session, message) => {
                    if !self.send(session, &message) {
                        let why = Status::resource_exhausted("the worker does not read");
                        self.hang_up(session, Some(why));
                        events.push_back(Event::Disconnect(session));
                    }
                }
                Command::Close(session, refusal) => {
                    self.meter.closed(&refusal);
                    self.hang_up(session, Some(convert::status(&refusal)));
                }
                Command::Note(note) => log(&note),
            }
        }
        answer
    }

    /// Sends a worker a message. Whether there was room for it.
    fn send(&self, session: SessionId, message: &Message) -> bool {
        let Some(line) = self.lines.get(&session) else { return true };
        let messages = convert::messages(message, &self.machine, self.saved.cluster());
        messages.into_iter().all(|message| line.to_worker.try_send(Ok(message)).is_ok())
    }

    /// Ends a connection, and says why if there is something to say.
    fn hang_up(&mut self, session: SessionId, why: Option<Status>) {
        let Some(line) = self.lines.remove(&session) else { return };
        line.ended.cancel();
        if let Some(why) = why {
            let (session, name, why_not) = (session.0, &line.name, why.message());
            match self.disconnected.happens((name.clone(), why_not.to_owned()), Instant::now()) {
                Some(0) => tracing::warn!(session, name, "disconnected a worker: {why_not}"),
                Some(times) => {
                    tracing::warn!(
                        session,
                        name,
                        times,
                        "disconnected a worker again and again: {why_not}"
                    )
                }
                None => tracing::debug!(session, name, "disconnected a worker: {why_not}"),
            }
            // If there is no room, the end of the stream has to say it.
            let _ = line.to_worker.try_send(Err(why));
        }
    }

    /// Works out the plan of a job, aside.
    fn plan(&self, job: JobId) {
        let Some(record) = self.machine.records().jobs.get(&job) else { return };
        let (spec, planner, handle) =
            (record.spec.clone(), self.planner.clone(), self.handle.clone());
        tokio::task::spawn_blocking(move || {
            let planned =
                planner.plan_now(&spec, &CancellationToken::new()).map(|planned| planned.plan);
            if let Some(handle) = handle.upgrade() {
                // Nobody listens only when the coordinator has ended.
                let _ = handle.blocking_send(Request::Event(Event::Planned(job, planned)));
            }
        });
    }
}

/// Writes a line to the log.
fn log(note: &Note) {
    let Note { text, kind: _, job, tier, attempt, epoch, worker } = note;
    let job = job.map(|job| job.0);
    let step = tier.map(tracing::field::display);
    let worker = worker.map(tracing::field::display);
    let attempt = (*attempt > 0).then_some(*attempt);
    let epoch = (*epoch > 0).then_some(*epoch);
    tracing::info!(job, step, attempt, epoch, worker, "{text}");
}
