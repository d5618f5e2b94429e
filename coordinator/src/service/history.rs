//! What is written down of each job for people: told from the machine before and after every event, as metrics are.
//!
//! Histories of jobs that are worked on are in memory, others on disk alone. They are written with the records that change,
//! but not at every change: of a coordinator that is killed, the last second may be missing.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ziggurat_history::{Event as Told, History, Kind, Phase as Values, Spent};
use ziggurat_planning::{Order, Outcome, Precision, StepController};

use super::records::Saved;
use crate::machine::{
    Answer, Command, Doing, Event, JobId, Machine, Note, Output, Phase, Report, StepId, Time,
    WorkerId,
};

/// A history that changes all the time is written so often, with the records of its job.
const EVERY: Duration = Duration::from_secs(1);

/// If these do not change, it is written so often by itself.
const EVERY_ANYWAY: Duration = Duration::from_secs(30);

/// At most so many jobs are told of a worker that comes or goes.
const MOST_TOLD: usize = 16;

/// Keeps histories.
#[derive(Default)]
pub struct Historian {
    kept: BTreeMap<JobId, Kept>,
    /// Of attempts, what members have reported of the order under way.
    orders: BTreeMap<StepId, Reported>,
}

/// A history in memory.
#[derive(Default)]
struct Kept {
    history: History,
    /// When it was written last.
    written: Time,
    /// Whether it has changed since, and whether by something that is not to be forgotten.
    changed: bool,
    urgent: bool,
}

/// Reports on an order.
#[derive(Default)]
struct Reported {
    /// Who has reported, and when.
    at: Vec<(WorkerId, Time)>,
    /// The largest offset of an interval sweep.
    largest: u16,
}

/// What an event is about, before the machine handles it.
pub struct Before {
    /// Jobs that are worked on, if something is told of workers.
    jobs: BTreeSet<JobId>,
    /// The memory that a submitted job is planned to take.
    planned_memory_bytes: u64,
    report: Option<Awaited>,
}

/// A report that is awaited.
struct Awaited {
    step: StepId,
    worker: WorkerId,
    attempt: u32,
    order: u32,
    since: Time,
    course: StepController,
    is_carrying: bool,
    spent: Option<Spent>,
    largest: u16,
}

impl Historian {
    /// Looks at an event before it is handled.
    pub fn before(&self, machine: &Machine, event: &Event, now: Time) -> Before {
        let mut before = Before { jobs: BTreeSet::new(), planned_memory_bytes: 0, report: None };
        match event {
            Event::Report(session, report) => {
                before.jobs.insert(report.step.job);
                let worker = machine.worker_of(*session);
                before.report = worker.and_then(|worker| awaited(machine, worker, report, now));
            }
            Event::Heartbeat(..) => {}
            Event::Submit(submission) => before.planned_memory_bytes = submission.memory_bytes,
            _ => before.jobs = machine.attempts().keys().map(|step| step.job).collect(),
        }
        before
    }

    /// Looks at what came of it; `by` asked for it, if somebody did.
    pub fn after(
        &mut self,
        machine: &Machine,
        before: Before,
        output: &Output,
        (now, by): (Time, Option<&str>),
        saved: &Saved,
    ) {
        if let Some(awaited) = before.report {
            self.reported(machine, awaited, now, saved);
        }
        for command in &output.commands {
            let Command::Note(note) = command else { continue };
            let jobs = match note.job {
                Some(job) => BTreeSet::from([job]),
                // Who comes or goes is told to those that are worked on, and to those that wait for workers to go on.
                None => before.jobs.iter().copied().chain(under_way(machine)).collect(),
            };
            let told = told(machine, note, now, by);
            for job in jobs {
                if !machine.records().jobs.contains_key(&job) {
                    self.kept.remove(&job); // it is removed
                    continue;
                }
                let kept = self.kept(job, saved);
                (kept.changed, kept.urgent) = (true, kept.urgent || !told.kind.is_routine());
                kept.history.tell(told.clone());
                if told.kind == Kind::Submitted {
                    kept.history.planned_memory_bytes = before.planned_memory_bytes;
                }
            }
        }
    }

    /// A worker that is at a step uses so much memory.
    pub fn resides(&mut self, machine: &Machine, worker: WorkerId) {
        let Some(step) = machine.step_of(worker) else { return };
        let (Some(kept), Some(here)) = (self.kept.get_mut(&step.job), machine.connection(worker))
        else {
            return;
        };
        let (resident, may) = (here.resources.resident_bytes, here.registration.memory_bytes);
        kept.history.work.resides(&here.registration.name, resident, may);
        kept.changed = true;
    }

    /// The histories that are to be written now. If `others` are written as well, those of jobs that have changed often
    /// enough go with them.
    pub fn due(&mut self, machine: &Machine, others: bool, now: Time) -> Vec<(JobId, &History)> {
        let working: BTreeSet<JobId> = machine.attempts().keys().map(|step| step.job).collect();
        let is_due = |job: &JobId, kept: &Kept| {
            let rests = !working.contains(job);
            let past = now.saturating_sub(kept.written);
            let soon = others && (kept.urgent || past >= EVERY);
            kept.changed && (soon || rests || past >= EVERY_ANYWAY)
        };
        let due = self.kept.iter_mut().filter(|(job, kept)| is_due(job, kept));
        let written = due.map(|(&job, kept)| {
            (kept.written, kept.changed, kept.urgent) = (now, false, false);
            (job, &kept.history)
        });
        written.collect()
    }

    /// All that is not written yet.
    pub fn unwritten(&self) -> Vec<(JobId, &History)> {
        let changed = self.kept.iter().filter(|(_, kept)| kept.changed);
        changed.map(|(&job, kept)| (job, &kept.history)).collect()
    }

    /// Forgets those that are written, of jobs that nobody works on.
    pub fn forget_those_at_rest(&mut self, machine: &Machine) {
        if self.kept.values().all(|kept| kept.changed) {
            return;
        }
        let working: BTreeSet<JobId> = machine.attempts().keys().map(|step| step.job).collect();
        self.kept.retain(|job, kept| kept.changed || working.contains(job));
        self.orders.retain(|step, _| machine.attempts().contains_key(step));
    }

    /// The history of a job, if it is in memory.
    pub fn of(&self, job: JobId) -> Option<&History> {
        self.kept.get(&job).map(|kept| &kept.history)
    }

    fn kept(&mut self, job: JobId, saved: &Saved) -> &mut Kept {
        self.kept.entry(job).or_insert_with(|| {
            let history = saved.history(job).unwrap_or_default();
            Kept { history, ..Kept::default() }
        })
    }

    /// Takes note of a report, and if it was the last one of what came of the order.
    fn reported(&mut self, machine: &Machine, awaited: Awaited, now: Time, saved: &Saved) {
        let Awaited { step, worker, attempt, order, since, ref course, is_carrying, .. } = awaited;
        let reported = self.orders.entry(step).or_default();
        reported.at.push((worker, now));
        reported.largest = reported.largest.max(awaited.largest);
        let under_way = machine.attempts().get(&step);
        let goes_on = under_way.filter(|under_way| under_way.number == attempt);
        let is_last = goes_on.is_none_or(|under_way| under_way.order != order);
        let all = if is_last {
            self.orders.remove(&step).unwrap_or_default()
        } else {
            Reported::default()
        };
        let kept = self.kept(step.job, saved);
        kept.changed = true;
        let history = &mut kept.history;
        if let Some(spent) = awaited.spent {
            let name = machine.name_of(worker);
            history.spend(&name, since.as_secs_f64(), now.as_secs_f64(), spent);
        }
        for (worker, at) in all.at {
            let waiting = now.saturating_sub(at).as_secs_f32();
            let spent = Spent { waiting, ..Spent::default() };
            let name = machine.name_of(worker);
            history.spend(&name, at.as_secs_f64(), now.as_secs_f64(), spent);
        }
        let Some(goes_on) = goes_on.filter(|_| is_last && is_carrying) else { return };
        let tier = step.tier.to_string();
        let statistics = goes_on.course.statistics();
        match course.order() {
            Some(Order::Sweep { .. }) => {
                let values = match course.precision() {
                    Precision::F32 => Values::F32,
                    Precision::F64 => Values::F64,
                };
                history.superstep(&tier, values, statistics.supersteps, statistics.residual);
            }
            Some(Order::Prove(proof)) => {
                history.interval_sweep(&tier, proof.sweeps() + 1, proof.distance(all.largest));
            }
            _ => {}
        }
    }
}

/// The first jobs that have begun and not ended.
fn under_way(machine: &Machine) -> impl Iterator<Item = JobId> {
    let records = machine.records();
    let has_begun = |id: JobId| records.steps_of(id).next().is_some();
    let active = records.jobs.iter().filter(|(_, job)| job.phase == Phase::Active);
    active.map(|(&id, _)| id).filter(move |&id| has_begun(id)).take(MOST_TOLD)
}

/// What a report is about, if somebody waits for it.
fn awaited(machine: &Machine, worker: WorkerId, report: &Report, now: Time) -> Option<Awaited> {
    let attempt = machine.attempts().get(&report.step)?;
    let member = &attempt.members[attempt.place_of(worker)?];
    if (attempt.number, attempt.order) != (report.attempt, report.order) || member.reported {
        return None;
    }
    let took = now.saturating_sub(attempt.since).as_secs_f64();
    // Workers may say anything: nobody worked for longer than there was time.
    let seconds = report.seconds.max(0.0).min(took);
    let exchanging = report.exchanging_seconds.max(0.0).min(seconds);
    let waiting = (took - seconds) as f32;
    let spent = match attempt.doing {
        Doing::Preparing => Spent { sweeping: took as f32, ..Spent::default() },
        Doing::Saving { .. } => Spent { saving: seconds as f32, waiting, ..Spent::default() },
        Doing::Carrying => Spent {
            sweeping: (seconds - exchanging) as f32,
            exchanging: exchanging as f32,
            waiting,
            positions: report.positions as f32,
            ..Spent::default()
        },
    };
    let failed = matches!(report.answer, Answer::Failed(_));
    let largest = match &report.answer {
        Answer::Outcome(Outcome::Proved(growth)) => growth.largest,
        _ => 0,
    };
    Some(Awaited {
        step: report.step,
        worker,
        attempt: attempt.number,
        order: attempt.order,
        since: attempt.since,
        course: attempt.course.clone(),
        is_carrying: attempt.doing == Doing::Carrying,
        spent: (!failed).then_some(Spent { bytes: report.sent_bytes as f32, ..spent }),
        largest,
    })
}

/// A line of the log as an event.
fn told(machine: &Machine, note: &Note, now: Time, by: Option<&str>) -> Told {
    let Note { text, kind, job: _, tier, attempt, epoch, worker } = note;
    let is_asked = matches!(kind, Kind::Submitted | Kind::Paused | Kind::Resumed | Kind::Cancelled)
        || matches!(kind, Kind::Worker | Kind::Lost);
    Told {
        step: tier.map(|tier| tier.to_string()),
        attempt: *attempt,
        epoch: *epoch,
        worker: worker.map(|worker| machine.name_of(worker)),
        by: by.filter(|_| is_asked).map(str::to_owned),
        ..Told::new(now.as_secs_f64(), *kind, text.as_str())
    }
}
