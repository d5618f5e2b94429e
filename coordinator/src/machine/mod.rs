//! All decisions of the coordinator, as a pure state machine.
//!
//! [`Machine::handle`] takes an [`Event`] and the time and gives [`Command`]s and the [`Key`]s of the
//! records that changed. It does no I/O and has no clock: the same events give the same commands. What is around it
//! writes the changed records down first and then does what the commands say, so that after a
//! restart from the records nobody was ever told anything that is not written.
//!
//! A step is worked on in *attempts*: its members sweep their shards order by order until it
//! is solved or somebody fails, and then the next attempt goes on from the last checkpoint that all of its
//! members had written. So there is one answer to everything that can go wrong: the attempt is over, begin anew with
//! whoever is there. Numbers of attempts and checkpoints only grow; they are the fence that keeps what is late from
//! doing harm. Records that were restored from a copy have them given out again: so they count together with the *incarnation*, a
//! random number of each start.

mod attempt;
mod availability;
mod begin;
#[cfg(test)]
mod invariants;
mod jobs;
mod message;
mod names;
mod plan;
mod record;
mod reports;
mod schedule;
#[cfg(test)]
mod simulation;
mod split;
mod storing;
#[cfg(test)]
mod tests;
mod waiting;
mod workers;

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc, time::Duration};

use ziggurat_history::Kind;
use ziggurat_planning::placement::TEAM_STEP_POSITIONS;

pub use attempt::{Attempt, Doing};
pub use jobs::ended;
pub use message::{
    Answer, Assignment, Changed, CheckpointAt, Command, Event, Failure, FailureKind, Message, Note,
    Peer, Refusal, Registration, Report, Resources, Stored, Submission, Task,
};
pub use names::{Epoch, JobId, SessionId, StepId, Time, WorkerId};
pub use plan::JobPlan;
#[cfg(test)]
use record::Checksums;
pub use record::{
    ANY_STORE, Checkpoint, Counters, JobRecord, Key, Phase, Records, Run, Scheduling, Spec,
    StepRecord, StepSize, WorkerRecord,
};
#[cfg(test)]
use schedule::PLANNED_JOBS;
pub use split::positions_by_worker;
pub use workers::Connected;

/// How long things may take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// A worker of which nothing was heard for so long is lost.
    pub lease: Duration,
    /// What a worker that is away has of a step under way is given up when a job has waited for it for so long.
    pub lost_after: Duration,
    /// The same for what it has of a solved step; `None` for never.
    pub solved_lost_after: Option<Duration>,
    /// Jobs that have ended are removed after so long; `None` for never.
    pub keep_ended: Option<Duration>,
    /// Steps with fewer positions are one worker's.
    pub whole_step_positions: u64,
}

impl Limits {
    /// With the default size of whole steps: below 2 Mi positions, exchange costs more than it gains.
    pub fn new(lease: Duration, lost_after: Duration) -> Self {
        let (solved_lost_after, keep_ended) = (None, None);
        let whole_step_positions = TEAM_STEP_POSITIONS;
        Self { lease, lost_after, solved_lost_after, keep_ended, whole_step_positions }
    }
}

/// Two workers that could not reach each other are kept apart for so long.
const UNREACHABLE_FOR: Duration = Duration::from_secs(60);
/// A worker that could not take part in a step is not asked again for so long. Other steps are none the worse for it.
const BACKOFF: Duration = Duration::from_secs(60);
/// The same after any other failure.
const SHORT_BACKOFF: Duration = Duration::from_secs(5);
/// A member that has not reported for so long is spoken of.
const SLOW_AFTER: Duration = Duration::from_secs(60);
/// A draining worker hands over what others need for so long: half a minute less than it waits for.
const HANDING_OVER: Duration = Duration::from_secs(570);
/// As many failures without progress, and the job fails. Those within a [`BACKOFF`] count as one: workers meet the same
/// failure one after the other.
const MOST_FAILURES: u32 = 5;

/// From this version of the protocol on, workers can put a checkpoint into the checkpoint store behind their sweeps.
const STORES_BEHIND: u32 = 25;

/// What came of an event.
#[derive(Debug, Default)]
pub struct Output {
    /// Records that changed, or are gone.
    pub changed: BTreeSet<Key>,
    /// What to do, once they are on disk.
    pub commands: Vec<Command>,
}

/// The state.
pub struct Machine {
    /// Drawn at random whenever the coordinator starts.
    incarnation: u64,
    limits: Limits,
    now: Time,
    started: Time,
    records: Records,
    plans: BTreeMap<JobId, Arc<JobPlan>>,
    sessions: BTreeMap<SessionId, Connected>,
    online: BTreeMap<WorkerId, SessionId>,
    attempts: BTreeMap<StepId, Attempt>,
    /// What the members of attempts are at.
    busy: BTreeMap<WorkerId, StepId>,
    /// Connected workers that want to leave.
    leaving: BTreeSet<WorkerId>,
    /// Jobs whose plans were asked for.
    planning: BTreeSet<JobId>,
    /// Whether something happened since workers were last given work that may make a difference to that.
    is_news: bool,
    /// When they were.
    scheduled: Time,
    /// When workers that are away were last heard of.
    last_heard: BTreeMap<WorkerId, Time>,
    /// Checkpoints that active jobs wait for, workers that are away and have a part of them, and since when.
    needs: BTreeMap<(StepId, WorkerId), Time>,
    /// Workers that could not reach each other, the smaller identity first, and until when they are
    /// kept apart.
    unreachable_pairs: BTreeMap<(WorkerId, WorkerId), Time>,
    /// Connected workers that could not reach each other when they last tried, the smaller identity first, and when that
    /// was.
    unreached: BTreeMap<(WorkerId, WorkerId), Time>,
    /// Workers that take no part in a step, until when, and why.
    backoff: BTreeMap<(StepId, WorkerId), (Time, String)>,
    /// Failures of steps since they last got further.
    failure_streak: BTreeMap<StepId, FailureStreak>,
    /// Since when jobs have been worked on, as far as it is not in their counters.
    busy_since: BTreeMap<JobId, Time>,
    output: Output,
}

/// The failures of a step since it last got further.
#[derive(Clone, Debug, Default)]
struct FailureStreak {
    failures: u32,
    /// When the last of them was counted.
    counted: Option<Time>,
    /// The most supersteps and interval sweeps that were ever reached.
    reached: u32,
    /// Workers that went while they were at it.
    gone: BTreeSet<WorkerId>,
    /// The last failure.
    message: String,
}

impl Machine {
    /// Goes on from what was written down, as an incarnation of its own.
    pub fn new(records: Records, incarnation: u64, limits: Limits, now: Time) -> (Self, Output) {
        let mut machine = Self {
            incarnation,
            limits,
            now,
            started: now,
            records,
            plans: BTreeMap::new(),
            sessions: BTreeMap::new(),
            online: BTreeMap::new(),
            attempts: BTreeMap::new(),
            busy: BTreeMap::new(),
            leaving: BTreeSet::new(),
            planning: BTreeSet::new(),
            is_news: true,
            scheduled: now,
            last_heard: BTreeMap::new(),
            needs: BTreeMap::new(),
            unreachable_pairs: BTreeMap::new(),
            unreached: BTreeMap::new(),
            backoff: BTreeMap::new(),
            failure_streak: BTreeMap::new(),
            busy_since: BTreeMap::new(),
            output: Output::default(),
        };
        let last = machine.records.jobs.last_key_value().map_or(0, |(last, _)| last.0);
        machine.records.last_job = machine.records.last_job.max(last);
        machine.schedule();
        let output = std::mem::take(&mut machine.output);
        (machine, output)
    }

    /// Takes note of an event. Time never goes back; what says so is taken for no time.
    ///
    /// What workers say while they live, and answer while others have not, changes nothing for those that have no work. So these
    /// events are not followed by a look at all jobs.
    pub fn handle(&mut self, event: Event, now: Time) -> Output {
        self.now = self.now.max(now);
        self.is_news |=
            !matches!(event, Event::Heartbeat(..) | Event::Report(..) | Event::Stored(..));
        match event {
            Event::Submit(submission) => self.submit(submission),
            Event::Pause(job) => self.pause(job),
            Event::Resume(job) => self.resume(job),
            Event::Cancel { job, force } => self.cancel(job, force),
            Event::Remove(job) => self.remove(job),
            Event::Planned(job, plan) => self.planned(job, plan),
            Event::Register(session, registration) => self.register(session, registration),
            Event::Heartbeat(session, resources) => self.heartbeat(session, resources),
            Event::Report(session, report) => self.report(session, report),
            Event::Stored(session, stored) => self.stored(session, stored),
            Event::Drain(session) => self.drain(session),
            Event::DrainWorker(name) => self.drain_worker(&name),
            Event::ForgetWorker(name) => self.forget_worker(&name),
            Event::Disconnect(session) => self.disconnect(session),
            Event::Tick => self.tick(),
        }
        if std::mem::take(&mut self.is_news) {
            self.schedule();
        }
        std::mem::take(&mut self.output)
    }

    /// What is written down.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Which incarnation of the coordinator this is.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// How long things may take.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether a connection is that of a worker.
    pub fn is_connected(&self, session: SessionId) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Time in which a job has been worked on that is not in its counters yet.
    pub fn working_seconds(&self, job: JobId) -> f64 {
        let since = self.busy_since.get(&job);
        since.map_or(0.0, |&since| self.now.saturating_sub(since).as_secs_f64())
    }

    /// The attempts under way.
    pub fn attempts(&self) -> &BTreeMap<StepId, Attempt> {
        &self.attempts
    }

    /// Connected workers that could not reach each other when they last tried, and when that was.
    pub fn unreached(&self) -> impl Iterator<Item = (WorkerId, WorkerId, Time)> {
        self.unreached.iter().map(|(&(one, other), &at)| (one, other, at))
    }

    /// The connected workers.
    pub fn connected(&self) -> impl Iterator<Item = &Connected> {
        self.sessions.values()
    }

    /// Time passes: leases end, and what is long gone is given up.
    fn tick(&mut self) {
        self.end_leases();
        self.end_late_attempts();
        self.give_up_what_is_lost();
        self.remove_old_jobs();
        let now = self.now;
        self.unreachable_pairs.retain(|_, until| *until > now);
        let online = &self.online;
        self.unreached
            .retain(|(one, other), _| online.contains_key(one) && online.contains_key(other));
        self.backoff.retain(|_, (until, _)| *until > now);
    }

    /// The record of a step, to be changed.
    fn step_mut(&mut self, step: StepId) -> &mut StepRecord {
        self.output.changed.insert(Key::Step(step));
        self.records.steps.entry(step).or_default()
    }

    /// The record of a job, to be changed.
    ///
    /// # Panics
    /// If there is none.
    fn job_mut(&mut self, job: JobId) -> &mut JobRecord {
        self.output.changed.insert(Key::Job(job));
        self.records.jobs.get_mut(&job).expect("the job is there")
    }

    /// The committed checkpoint of a step.
    fn checkpoint(&self, step: StepId) -> Option<&Checkpoint> {
        self.records.steps.get(&step)?.checkpoint.as_ref()
    }

    /// The committed checkpoint of a step that is solved.
    fn solution(&self, step: StepId) -> Option<&Checkpoint> {
        self.records.steps.get(&step)?.solution()
    }

    fn send(&mut self, session: SessionId, message: Message) {
        self.output.commands.push(Command::Send(session, message));
    }

    /// Has workers drop the checkpoints of a step before one, but for another.
    fn drop_before(&mut self, step: StepId, epoch: u32, kept: Option<Epoch>) {
        self.send_to_all(&Message::Commit { step, epoch, kept });
    }

    /// Sends a message to all workers.
    fn send_to_all(&mut self, message: &Message) {
        for session in self.sessions.keys().copied().collect::<Vec<_>>() {
            self.send(session, message.clone());
        }
    }

    fn note(&mut self, note: Note) {
        self.output.commands.push(Command::Note(note));
    }

    /// What a worker is called.
    pub fn name_of(&self, worker: WorkerId) -> String {
        self.records.workers.get(&worker).map_or_else(|| worker.to_string(), |w| w.name.clone())
    }
}

/// A line about nothing in particular.
fn line(kind: Kind, text: impl Into<String>) -> Note {
    Note { text: text.into(), kind, job: None, tier: None, attempt: 0, epoch: 0, worker: None }
}

/// A line about a step.
fn line_of(kind: Kind, step: StepId, text: impl Into<String>) -> Note {
    Note { job: Some(step.job), tier: Some(step.tier), ..line(kind, text) }
}
