//! Workers come, live, leave and are lost.

use std::{collections::BTreeSet, time::Duration};

use ziggurat_history::Kind;

use super::{
    HANDING_OVER, JobRecord, Key, Machine, Note, UNREACHABLE_FOR, WorkerRecord,
    availability::Loss,
    line,
    message::{Changed, Command, Message, Refusal, Registration, Resources},
    names::{JobId, SessionId, StepId, Time, WorkerId},
    record::{self, Phase},
};

/// Positions that a core of a worker sweeps in a second, if none was ever measured.
const POSITIONS_PER_SECOND_AND_CORE: f64 = 2e7;

/// The part that a new measurement of a speed has in what is remembered.
const NEW: f64 = 0.2;

/// Workers whose speeds differ by less than this factor are taken to be equally fast: by so much the speeds differ that are
/// measured of the same machine.
const EQUALLY_FAST: f64 = 1.15;

/// A worker that is connected.
#[derive(Clone, PartialEq, Debug)]
pub struct Connected {
    /// What it said of itself.
    pub registration: Registration,
    /// What it uses.
    pub resources: Resources,
    /// When something was last heard of it.
    pub last_heard: Time,
    /// When it last had moved more than before.
    pub moved: Time,
    /// Since when it has wanted to leave.
    pub draining: Option<Time>,
    /// Whether it may.
    pub released: bool,
    /// Positions it sweeps in a second; `None` if it never did.
    pub positions_per_second: Option<f64>,
}

impl Connected {
    /// Takes note of a superstep.
    pub(super) fn measure(&mut self, positions: u64, seconds: f64) {
        let now = positions as f64 / seconds;
        if !now.is_finite() || now <= 0.0 {
            return;
        }
        let before = self.positions_per_second.unwrap_or(now);
        self.positions_per_second = Some(before + NEW * (now - before));
    }
}

impl Machine {
    /// A worker has connected.
    pub(super) fn register(&mut self, session: SessionId, registration: Registration) {
        if let Some(refusal) = self.why_not(&registration) {
            return self.output.commands.push(Command::Close(session, refusal));
        }
        let Registration { worker, ref name, ref replaces, .. } = registration;
        let other = |called: &str| self.called(called).filter(|&other| other != worker);
        let (replaced, namesake) = (other(replaces), other(name));
        if let Some(other) = replaced {
            self.forget(other, Loss::Proven, &format!("worker {name} takes its place"));
        }
        if let Some(other) = namesake {
            self.free_name(other);
        }
        let known = self.records.workers.get(&worker);
        let positions_per_second = known.and_then(|known| known.positions_per_second);
        let (name, address) = (name.clone(), registration.address.clone());
        let record =
            WorkerRecord { name: name.clone(), address, positions_per_second, nameless: false };
        if known != Some(&record) {
            self.records.workers.insert(worker, record);
            self.output.changed.insert(Key::Worker(worker));
        }
        self.note(Note {
            worker: Some(worker),
            ..line(Kind::Worker, format!("worker {name} is here"))
        });
        let connected = Connected {
            registration,
            resources: Resources::default(),
            last_heard: self.now,
            moved: self.now,
            draining: None,
            released: false,
            positions_per_second,
        };
        self.sessions.insert(session, connected);
        self.online.insert(worker, session);
        self.last_heard.remove(&worker);
        self.needs.retain(|&(_, other), _| other != worker); // though it be gone again before the next tick
        self.backoff.retain(|&(_, other), _| other != worker);
        let restored = self.take_back(worker);
        self.welcome(session);
        for (step, solution) in restored {
            // What was saved on the way to another is not needed.
            self.drop_before(step, self.records.steps[&step].last_epoch + 1, Some(solution));
        }
        self.clear_store(session);
    }

    /// A worker that was welcomed deletes what its checkpoint store has of cancelled jobs.
    fn clear_store(&mut self, session: SessionId) {
        let store = self.sessions[&session].registration.checkpoint_store;
        let left = |job: &JobRecord| job.left_in.is_some_and(|left| record::reads(store, left));
        let cleared = self.records.jobs.iter().filter(|(_, job)| left(job));
        for id in cleared.map(|(&id, _)| id).collect::<Vec<_>>() {
            self.job_mut(id).left_in = None;
        }
    }

    /// Tells a worker what of the things that it has is still wanted.
    fn welcome(&mut self, session: SessionId) {
        let cancelled = self.records.jobs.iter().filter(|(_, job)| job.phase == Phase::Cancelled);
        let cancelled = cancelled.map(|(&id, _)| id).collect();
        let steps = self.records.steps.iter();
        let commits =
            steps.flat_map(|(&step, record)| record.kept().map(move |kept| (step, kept.epoch)));
        let commits = commits.collect();
        let incarnation = self.incarnation;
        self.send(session, Message::Welcome { incarnation, commits, cancelled });
    }

    /// Why a worker that registers is not let in, if it is not.
    fn why_not(&self, registration: &Registration) -> Option<Refusal> {
        let Registration { worker, ref name, ref replaces, .. } = *registration;
        if self.online.contains_key(&worker) {
            return Some(Refusal::Connected(name.clone()));
        }
        let other = |called: &str| self.called(called).filter(|&other| other != worker);
        if let Some(other) = other(name) {
            let is_connected = self.online.contains_key(&other);
            if is_connected || self.alone_has_values(other) && replaces != name {
                return Some(Refusal::NameTaken { name: name.clone(), is_connected });
            }
        }
        if other(replaces).is_some_and(|other| self.online.contains_key(&other)) {
            return Some(Refusal::StillConnected(replaces.clone()));
        }
        let mut others = self.sessions.values().map(|connected| &connected.registration);
        if let Some(other) = others.clone().find(|other| other.address == registration.address) {
            return Some(Refusal::SameAddress(other.name.clone()));
        }
        // What one has saved in the store, all are to find there.
        let has_another = |other: &&Registration| {
            let stores = [other.checkpoint_store, registration.checkpoint_store];
            matches!(stores, [Some(its), Some(this)] if its != this)
        };
        others.find(has_another).map(|other| Refusal::OtherStore(other.name.clone()))
    }

    /// The worker that has a name.
    pub(super) fn called(&self, name: &str) -> Option<WorkerId> {
        let mut workers = self.records.workers.iter();
        let has_it = |(_, other): &(_, &WorkerRecord)| !other.nameless && other.name == name;
        workers.find(has_it).map(|(&id, _)| id)
    }

    /// Whether a worker has saved values that are neither in the checkpoint store nor with another.
    fn alone_has_values(&self, worker: WorkerId) -> bool {
        let mut checkpoints =
            self.records.steps.values().filter_map(|step| step.checkpoint.as_ref());
        checkpoints.any(|checkpoint| checkpoint.stored.is_none() && checkpoint.is_with(worker))
    }

    /// Gives up all that a worker has, and its name.
    fn forget(&mut self, worker: WorkerId, loss: Loss, why: &str) {
        let text = format!("worker {} is given up: {why}", self.name_of(worker));
        self.note(Note { worker: Some(worker), ..line(Kind::Lost, text) });
        for step in self.records.steps.keys().copied().collect::<Vec<_>>() {
            self.lose(step, worker, loss);
        }
        self.free_name(worker);
    }

    /// Lets others have the name of a worker. What it has stays its own, under its identity.
    fn free_name(&mut self, worker: WorkerId) {
        let record = self.records.workers.get_mut(&worker).expect("it is known");
        record.nameless = true;
        self.output.changed.insert(Key::Worker(worker));
    }

    /// An operator gives up all that a worker has, which must be away. It is named by its name or its identity.
    pub(super) fn forget_worker(&mut self, name: &str) {
        let identity = || self.records.workers.keys().copied().find(|id| id.to_string() == name);
        let Some(worker) = self.called(name).or_else(identity) else {
            return self.answer(Err(Refusal::NoSuchWorker(name.to_owned())));
        };
        if self.online.contains_key(&worker) {
            return self.answer(Err(Refusal::StillConnected(name.to_owned())));
        }
        self.forget(worker, Loss::GivenUp, "an operator said so");
        self.answer(Ok(Changed::Worker(worker)));
    }

    /// An operator has a worker leave.
    pub(super) fn drain_worker(&mut self, name: &str) {
        let worker = self.called(name);
        let session = worker.and_then(|worker| self.online.get(&worker).copied());
        let (Some(worker), Some(session)) = (worker, session) else {
            return self.answer(Err(Refusal::NoSuchWorker(name.to_owned())));
        };
        self.ask_to_leave(session);
        self.answer(Ok(Changed::Worker(worker)));
    }

    /// A worker lives.
    pub(super) fn heartbeat(&mut self, session: SessionId, resources: Resources) {
        let now = self.now;
        if let Some(connected) = self.sessions.get_mut(&session) {
            if resources.moved_bytes > connected.resources.moved_bytes {
                connected.moved = now;
            }
            (connected.last_heard, connected.resources) = (now, resources);
            self.send(session, Message::Heard);
        }
    }

    /// A worker wants to leave.
    pub(super) fn drain(&mut self, session: SessionId) {
        let now = self.now;
        let Some(connected) = self.sessions.get_mut(&session) else { return };
        connected.last_heard = now;
        self.ask_to_leave(session);
    }

    /// Has a worker leave once what it is at is saved.
    fn ask_to_leave(&mut self, session: SessionId) {
        let now = self.now;
        let Some(connected) = self.sessions.get_mut(&session) else { return };
        if connected.draining.is_some() {
            return;
        }
        connected.draining = Some(now);
        let Registration { worker, ref name, .. } = connected.registration;
        self.leaving.insert(worker);
        let text = format!("worker {name} wants to leave");
        self.note(Note { worker: Some(worker), ..line(Kind::Worker, text) });
        if let Some(step) = self.step_of(worker) {
            self.wind_down(step);
        }
    }

    /// A connection is over.
    pub(super) fn disconnect(&mut self, session: SessionId) {
        let Some(connected) = self.sessions.remove(&session) else { return };
        let Registration { worker, name, .. } = connected.registration;
        self.is_news = true;
        self.online.remove(&worker);
        self.leaving.remove(&worker);
        self.last_heard.insert(worker, connected.last_heard);
        self.remember_speed(worker, connected.positions_per_second);
        let text = format!("worker {name} is gone");
        self.note(Note { worker: Some(worker), ..line(Kind::Worker, text.clone()) });
        if let Some(step) = self.step_of(worker) {
            self.count_gone(step, worker);
            self.end_attempt(step, &text);
        }
    }

    /// Ends the connections of which nothing was heard for a whole lease.
    pub(super) fn end_leases(&mut self) {
        let silent = |connected: &Connected| self.now - connected.last_heard > self.limits.lease;
        let silent = self.sessions.iter().filter(|(_, connected)| silent(connected));
        for session in silent.map(|(&session, _)| session).collect::<Vec<_>>() {
            self.close(session, Refusal::Silent);
        }
    }

    /// Ends a connection.
    pub(super) fn close(&mut self, session: SessionId, why: Refusal) {
        self.output.commands.push(Command::Close(session, why));
        self.disconnect(session);
    }

    /// Lets those go that want to leave and have nothing left to do.
    pub(super) fn release(&mut self) {
        let ready = |connected: &Connected| {
            let worker = connected.registration.worker;
            connected.draining.is_some()
                && !connected.released
                && self.step_of(worker).is_none()
                && !self.has_to_hand_over(connected)
        };
        let ready = self.sessions.iter().filter(|(_, connected)| ready(connected));
        for session in ready.map(|(&session, _)| session).collect::<Vec<_>>() {
            let connected = self.sessions.get_mut(&session).expect("it was just there");
            connected.released = true;
            let (worker, name) =
                (connected.registration.worker, connected.registration.name.clone());
            let has = |&step: &StepId| {
                self.checkpoint(step).is_some_and(|checkpoint| {
                    checkpoint.stored.is_none() && checkpoint.owners.contains(&worker)
                })
            };
            let steps = self.records.steps.keys().copied().filter(has);
            let left: BTreeSet<JobId> = steps.map(|step| step.job).collect();
            for job in left.into_iter().filter(|&job| self.is_active(job)).collect::<Vec<_>>() {
                let text = format!("worker {name} leaves with values that nobody else has");
                let note = line(Kind::Worker, text);
                self.note(Note { job: Some(job), worker: Some(worker), ..note });
            }
            self.send(session, Message::Released);
        }
    }

    /// Whether others need what a draining worker has, and there is somebody to take it.
    fn has_to_hand_over(&self, connected: &Connected) -> bool {
        let stays = |step: StepId, other: &Connected| {
            other.draining.is_none() && !self.rests(step, other.registration.worker)
        };
        self.hands_over(connected)
            && self.records.steps.keys().any(|&step| {
                let has = |checkpoint: &super::Checkpoint| {
                    checkpoint.owners.contains(&connected.registration.worker)
                };
                self.must_move(step)
                    && self.checkpoint(step).is_some_and(has)
                    && self.sessions.values().any(|other| stays(step, other))
            })
    }

    /// A worker takes no part in a step for a while.
    pub(super) fn back_off(&mut self, step: StepId, worker: WorkerId, time: Duration, why: &str) {
        self.backoff.insert((step, worker), (self.now + time, why.to_owned()));
    }

    /// Whether it takes none now.
    pub(super) fn rests(&self, step: StepId, worker: WorkerId) -> bool {
        self.backoff.get(&(step, worker)).is_some_and(|&(until, _)| until > self.now)
    }

    /// Whether a worker wants to leave, and there is time to take over what it has.
    pub(super) fn hands_over(&self, connected: &Connected) -> bool {
        let in_time = |since: Time| self.now - since < HANDING_OVER;
        !connected.released && connected.draining.is_some_and(in_time)
    }

    /// Whether a job needs workers and a step's checkpoint is with one that wants to leave.
    pub(super) fn must_move(&self, step: StepId) -> bool {
        let Some(checkpoint) = self.checkpoint(step) else { return false };
        self.is_active(step.job)
            && checkpoint.stored.is_none()
            && self.leaving.iter().any(|&owner| {
                let here = self.connection(owner);
                checkpoint.owners.contains(&owner) && here.is_some_and(|here| self.hands_over(here))
            })
    }

    /// Keeps two workers out of one attempt for a while.
    pub(super) fn keep_apart(&mut self, one: WorkerId, other: WorkerId) {
        let pair = (one.min(other), one.max(other));
        self.unreachable_pairs.insert(pair, self.now + UNREACHABLE_FOR);
        self.unreached.insert(pair, self.now);
    }

    /// The members of an attempt have exchanged what each needs of the others.
    pub(super) fn have_reached(&mut self, members: &BTreeSet<WorkerId>) {
        self.unreached
            .retain(|(one, other), _| !(members.contains(one) && members.contains(other)));
    }

    /// Whether two workers could not reach each other.
    pub(super) fn are_apart(&self, one: WorkerId, other: WorkerId) -> bool {
        let until = self.unreachable_pairs.get(&(one.min(other), one.max(other)));
        until.is_some_and(|&until| until > self.now)
    }

    /// Whether a job is to be worked on.
    pub(super) fn is_active(&self, job: JobId) -> bool {
        self.records.jobs.get(&job).is_some_and(|job| job.phase == Phase::Active)
    }

    /// A worker that is connected.
    pub fn connection(&self, worker: WorkerId) -> Option<&Connected> {
        self.sessions.get(self.online.get(&worker)?)
    }

    /// The worker at the other end of a connection.
    pub fn worker_of(&self, session: SessionId) -> Option<WorkerId> {
        self.sessions.get(&session).map(|connected| connected.registration.worker)
    }

    /// What a worker is at.
    pub fn step_of(&self, worker: WorkerId) -> Option<StepId> {
        self.busy.get(&worker).copied()
    }

    /// How fast workers are thought to be, in positions per second.
    pub fn speeds(&self, workers: &[WorkerId]) -> Vec<f64> {
        let measured = self.sessions.values().filter_map(|connected| {
            let cores = f64::from(connected.registration.cores.max(1));
            connected.positions_per_second.map(|speed| speed / cores)
        });
        let (sum, count) = measured.fold((0.0, 0), |(sum, count), speed| (sum + speed, count + 1));
        let usual = match count {
            0 => POSITIONS_PER_SECOND_AND_CORE,
            _ => sum / f64::from(count),
        };
        let speed = |&worker: &WorkerId| {
            let Some(connected) = self.connection(worker) else { return usual };
            let cores = f64::from(connected.registration.cores.max(1));
            connected.positions_per_second.unwrap_or(usual * cores).max(1.0)
        };
        evened(&workers.iter().map(speed).collect::<Vec<_>>())
    }

    /// Writes down how fast a worker is.
    pub(super) fn remember_speed(&mut self, worker: WorkerId, speed: Option<f64>) {
        let Some(record) = self.records.workers.get_mut(&worker) else { return };
        if speed.is_some() && record.positions_per_second != speed {
            record.positions_per_second = speed;
            self.output.changed.insert(Key::Worker(worker));
        }
    }
}

/// Speeds without small differences: those that are [equal](EQUALLY_FAST) become the least of them.
fn evened(speeds: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..speeds.len()).collect();
    order.sort_by(|&a, &b| speeds[a].total_cmp(&speeds[b]));
    let (mut evened, mut least) = (speeds.to_vec(), 0.0);
    for worker in order {
        if speeds[worker] >= least * EQUALLY_FAST {
            least = speeds[worker];
        }
        evened[worker] = least;
    }
    evened
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_differences_of_speed_are_not_noticed() {
        assert_eq!(evened(&[2.2, 1.0, 1.1, 2.0, 1.2]), [2.0, 1.0, 1.0, 2.0, 1.2]);
    }
}
