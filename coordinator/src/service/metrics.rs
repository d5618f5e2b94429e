//! What is counted: told from the machine before and after every event.

use std::collections::BTreeMap;

use ziggurat_planning::Order;
use ziggurat_rpc::proto::JobState as State;
use ziggurat_telemetry::{CoordinatorMetrics, FailureKind as Failed, JobState, raise};

use super::status;
use crate::machine::{
    Answer, Counters, Doing, Event, FailureKind, JobId, Machine, Phase, Refusal, StepId, Time,
};

/// Keeps the metrics up to date.
pub struct Meter {
    metrics: CoordinatorMetrics,
    /// Supersteps of the attempts under way, as they were last seen.
    seen: BTreeMap<StepId, u32>,
    /// Counters of jobs when they were first seen.
    bases: BTreeMap<JobId, Counters>,
    /// Workers that have metrics, by name, and when they were last heard of.
    workers: BTreeMap<String, Time>,
}

/// What an event is about, before the machine handles it.
pub enum Before {
    /// A report on a step, or on what is stored of it.
    Report {
        step: StepId,
        /// Since when which epoch has been saved.
        saving: Option<(u32, Time)>,
        /// The attempt and the order, if that is an interval sweep.
        sweep: Option<(u32, u32)>,
    },
    /// Time passes.
    Tick,
    /// Anything else.
    Other,
}

impl Meter {
    pub fn new(metrics: CoordinatorMetrics) -> Self {
        let (seen, bases, workers) = Default::default();
        Self { metrics, seen, bases, workers }
    }

    /// Looks at an event before it is handled.
    pub fn before(&self, machine: &Machine, event: &Event) -> Before {
        match event {
            Event::Report(_, report) => {
                if let Answer::Failed(failure) = &report.answer {
                    let kind = match failure.kind {
                        Some(FailureKind::Unreachable(_) | FailureKind::OutOfReach(_)) => {
                            Failed::Unreachable
                        }
                        Some(FailureKind::Damage { .. }) => Failed::Damage,
                        Some(FailureKind::Cancelled) => Failed::Cancelled,
                        Some(FailureKind::Unable) | None => Failed::Unable,
                    };
                    self.metrics.failures.of(kind).inc();
                }
                let step = report.step;
                let Some(attempt) = machine.attempts().get(&step) else {
                    return Before::Report { step, saving: None, sweep: None };
                };
                let saving = match attempt.doing {
                    Doing::Saving { epoch, behind: false, .. } => Some((epoch, attempt.since)),
                    Doing::Saving { .. } | Doing::Preparing | Doing::Carrying => None,
                };
                let sweeps = attempt.doing == Doing::Carrying
                    && matches!(attempt.course.order(), Some(Order::Prove(_)));
                let sweep = sweeps.then_some((attempt.number, attempt.order));
                Before::Report { step, saving, sweep }
            }
            Event::Stored(_, stored) => {
                if stored.failure.is_some() {
                    self.metrics.failures.of(Failed::Unable).inc();
                }
                let step = stored.step;
                let attempt = machine.attempts().get(&step);
                let behind = attempt.and_then(|attempt| attempt.behind.as_ref());
                let saving = behind.map(|it| (it.checkpoint.epoch, it.checkpoint.since));
                Before::Report { step, saving, sweep: None }
            }
            Event::Tick => Before::Tick,
            Event::Disconnect(session) => {
                if machine.is_connected(*session) {
                    self.metrics.failures.of(Failed::Disconnected).inc();
                }
                Before::Other
            }
            _ => Before::Other,
        }
    }

    /// Looks at the machine after an event.
    pub fn after(&mut self, machine: &Machine, before: Before, now: Time) {
        match before {
            Before::Report { step, saving, sweep } => {
                self.count(machine, step, sweep);
                let checkpoint =
                    machine.records().steps.get(&step).and_then(|step| step.checkpoint.as_ref());
                if let Some((epoch, since)) = saving
                    && checkpoint.is_some_and(|checkpoint| checkpoint.epoch.number == epoch)
                {
                    let seconds = now.saturating_sub(since).as_secs_f64();
                    self.metrics.checkpoint.observe(seconds);
                }
            }
            Before::Tick => {
                self.look_at_jobs(machine, now);
                self.look_at_workers(machine);
            }
            Before::Other => {}
        }
    }

    /// The machine ended a connection. That a worker has to wait for another of its name or address to go is no failure.
    pub fn closed(&self, refusal: &Refusal) {
        let kind = match refusal {
            Refusal::Silent => Failed::Lease,
            Refusal::Misbehaved(_) => Failed::Refused,
            _ => return,
        };
        self.metrics.failures.of(kind).inc();
    }

    /// Counts what was done for a step. An interval sweep is done when another order is given.
    fn count(&mut self, machine: &Machine, step: StepId, sweep: Option<(u32, u32)>) {
        let Some(attempt) = machine.attempts().get(&step) else {
            self.seen.remove(&step);
            return;
        };
        // What has metrics is known, and forgotten when it ends, which it may do before time passes.
        self.bases.entry(step.job).or_insert_with(|| status::counters(machine, step.job));
        let labels = (step.job.0, step.tier.into());
        let statistics = attempt.course.statistics();
        let now = statistics.supersteps;
        let seen = self.seen.insert(step, now).unwrap_or(now);
        self.metrics.supersteps.of(labels).inc_by(now.saturating_sub(seen).into());
        let swept = |(number, order)| attempt.number == number && attempt.order > order;
        self.metrics.interval_sweeps.of(labels).inc_by(sweep.is_some_and(swept).into());
        self.metrics.residual.of(labels).set(statistics.residual);
        let halos = attempt.members.iter().map(|member| member.halo_positions);
        let halo = halos.fold(0, u64::saturating_add);
        self.metrics.halo_positions.of(labels).set(halo as i64);
    }

    fn look_at_jobs(&mut self, machine: &Machine, now: Time) {
        let mut ages = BTreeMap::new();
        for (step, attempt) in machine.attempts() {
            let age = now.saturating_sub(attempt.saved);
            let oldest = ages.entry(step.job).or_insert(age);
            *oldest = age.max(*oldest);
        }
        let mut counts = BTreeMap::from(JobState::ALL.map(|state| (state as u8, (state, 0))));
        for (&id, job) in &machine.records().jobs {
            let state = match status::state(machine, id) {
                State::Queued | State::Unspecified => JobState::Queued,
                State::Running => JobState::Running,
                State::Paused => JobState::Paused,
                State::Solved => JobState::Solved,
                State::Failed => JobState::Failed,
                State::Cancelled => JobState::Cancelled,
            };
            counts.entry(state as u8).or_insert((state, 0)).1 += 1;
            if matches!(job.phase, Phase::Active | Phase::Paused) {
                let done = status::counters(machine, id);
                let base = *self.bases.entry(id).or_insert(done);
                let metrics = &self.metrics;
                let age = ages.get(&id).copied().unwrap_or_default();
                metrics.checkpoint_age.of(id.0).set(age.as_secs_f64());
                raise(
                    &metrics.swept_positions.of(id.0),
                    done.swept_positions - base.swept_positions,
                );
                raise(&metrics.exchanged.of(id.0), done.exchanged_bytes - base.exchanged_bytes);
                raise(
                    &metrics.exchanged_positions.of(id.0),
                    done.exchanged_positions - base.exchanged_positions,
                );
            } else if self.bases.remove(&id).is_some() {
                self.metrics.forget_job(id.0);
                self.seen.retain(|step, _| step.job != id);
            }
        }
        for (id, _) in self.bases.extract_if(.., |id, _| !machine.records().jobs.contains_key(id)) {
            self.metrics.forget_job(id.0);
            self.seen.retain(|step, _| step.job != id);
        }
        for (state, count) in counts.into_values() {
            self.metrics.jobs.of(state).set(count);
        }
        let waiting = machine.attempts().values().map(|attempt| attempt.awaited().count());
        self.metrics.orders_waiting.set(waiting.sum::<usize>() as i64);
    }

    fn look_at_workers(&mut self, machine: &Machine) {
        let mut here = BTreeMap::new();
        for connected in machine.connected() {
            let name = connected.registration.name.as_str();
            let (budget, resident) =
                (connected.registration.memory_bytes, connected.resources.resident_bytes);
            self.metrics.worker_memory_budget.of(name).set(budget as i64);
            self.metrics.worker_memory_resident.of(name).set(resident as i64);
            let free = connected.resources.free_disk_bytes;
            self.metrics.worker_disk_free.of(name).set(free as i64);
            if self.workers.get(name) != Some(&connected.last_heard) {
                self.metrics.lease_age.of(name).renew();
            }
            here.insert(name.to_owned(), connected.last_heard);
        }
        for gone in self.workers.keys().filter(|name| !here.contains_key(*name)) {
            self.metrics.forget_worker(gone);
        }
        self.metrics.workers_connected.set(here.len() as i64);
        self.workers = here;
    }
}
