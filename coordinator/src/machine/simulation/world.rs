//! The world of the simulation: workers, the messages between them and the machine, and time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use ziggurat_encoding::Tier;
use ziggurat_planning::{Outcome, Precision, placement::positions_of};

use super::{
    super::{
        Answer, Assignment, Attempt, CheckpointAt, Command, Epoch, Event, Failure, FailureKind,
        JobId, JobPlan, Key, Limits, Machine, Message, Output, Phase, Records, Refusal,
        Registration, Report, Resources, STORES_BEHIND, Scheduling, SessionId, Spec, StepId,
        Stored, Submission, Task, Time, WorkerId,
    },
    chance::Chance,
    values::Value,
    worker::{Disk, Part, Worker, shards_of},
};

/// Something that is to happen.
enum Due {
    /// The machine hears something, if the connection is there.
    ToMachine(SessionId, Event),
    /// A worker hears something.
    ToWorker(SessionId, Message),
    /// A worker is done with an order.
    Answer(SessionId, Report),
    /// A worker is done with storing what it saved, or has given up.
    Stored(SessionId, Stored),
    /// A worker's end of a connection is closed; for good, or it may try again.
    Closed(SessionId, bool),
    /// The machine gets a plan.
    Planned(JobId),
    /// Everything that happens by the clock.
    Tick,
}

/// The world.
pub struct World {
    pub chance: Chance,
    pub now: Time,
    pub machine: Option<Machine>,
    /// When the coordinator starts again, if it does not run.
    pub restarts: Time,
    /// What the coordinator has written down.
    pub written: Records,
    /// What somebody has put aside of that.
    copy: Option<Records>,
    incarnations: u64,
    pub limits: Limits,
    pub workers: Vec<Worker>,
    pub store: Disk,
    due: BTreeMap<(Time, u64), Due>,
    sequence: u64,
    sessions: u64,
    identities: u64,
    plan: Arc<JobPlan>,
    pub solutions: Arc<BTreeMap<Tier, Vec<Value>>>,
    /// Which workers cannot reach which, and until when.
    pub unreachable_pairs: BTreeMap<(WorkerId, WorkerId), Time>,
    /// Which workers cannot reach the coordinator, and until when.
    pub cut_off: BTreeMap<WorkerId, Time>,
    /// What some worker has ever written, to check commits with.
    pub ever_saved: BTreeSet<(StepId, Epoch, WorkerId, u32)>,
    /// The same of the store.
    pub ever_stored: BTreeSet<(StepId, Epoch, u32)>,
    /// Checkpoints that were stored behind sweeps, and of them those that were not, or not in time.
    pub behind: (u64, u64),
    pub attempts: BTreeMap<StepId, u32>,
    pub epochs: BTreeMap<StepId, u32>,
    /// Some messages of the past, to be sent again.
    past: Vec<Report>,
    pub faults: bool,
    pub events: u64,
    /// Attempts that ended with a failure that does not count, and when.
    pub uncounted: BTreeMap<StepId, (Time, Makings, Failure)>,
    /// When workers last told that they had moved something.
    pub moved_at: BTreeMap<WorkerId, Time>,
    /// Checkpoints of which something was damaged: nobody may have noticed.
    pub damaged: BTreeSet<(StepId, Epoch)>,
    /// Checkpoints of which a worker found nothing or something else, and where: at this worker, or in the store.
    pub missed: BTreeSet<(StepId, Epoch, Option<WorkerId>)>,
    /// Workers whose disks are gone, or that will never come back.
    pub gone: BTreeSet<WorkerId>,
    /// Workers of which an operator has said that what they have is given up.
    pub given_up: BTreeSet<WorkerId>,
    /// Jobs that were solved at some time, that somebody has removed, and that are to go on without the one before them.
    pub ever_solved: BTreeSet<JobId>,
    removed: BTreeSet<JobId>,
    pub goes_on_alone: BTreeSet<JobId>,
}

const MILLISECOND: Duration = Duration::from_millis(1);

impl World {
    pub fn new(
        seed: u64,
        plan: Arc<JobPlan>,
        solutions: Arc<BTreeMap<Tier, Vec<Value>>>,
        limits: Limits,
    ) -> Self {
        let now = Duration::from_secs(1_000_000);
        let (machine, _) = Machine::new(Records::default(), 1, limits, now);
        let mut world = Self {
            chance: Chance(seed),
            now,
            machine: Some(machine),
            restarts: now,
            written: Records::default(),
            copy: None,
            incarnations: 1,
            limits,
            workers: Vec::new(),
            store: Disk::new(),
            due: BTreeMap::new(),
            sequence: 0,
            sessions: 0,
            identities: 0,
            plan,
            solutions,
            unreachable_pairs: BTreeMap::new(),
            cut_off: BTreeMap::new(),
            ever_saved: BTreeSet::new(),
            ever_stored: BTreeSet::new(),
            behind: (0, 0),
            attempts: BTreeMap::new(),
            epochs: BTreeMap::new(),
            past: Vec::new(),
            faults: true,
            events: 0,
            uncounted: BTreeMap::new(),
            moved_at: BTreeMap::new(),
            damaged: BTreeSet::new(),
            missed: BTreeSet::new(),
            gone: BTreeSet::new(),
            given_up: BTreeSet::new(),
            ever_solved: BTreeSet::new(),
            removed: BTreeSet::new(),
            goes_on_alone: BTreeSet::new(),
        };
        world.later(MILLISECOND, Due::Tick);
        world
    }

    /// Adds a worker.
    pub fn join(&mut self, store: bool) {
        let id = self.new_identity();
        let name = format!("w{}", self.workers.len());
        let protocol = STORES_BEHIND - self.chance.below(3) as u32;
        self.workers.push(Worker { protocol, ..Worker::new(id, name, store, self.now) });
    }

    /// Adds a worker with the name of another.
    pub fn join_twin(&mut self, place: usize) {
        let id = self.new_identity();
        let Worker { ref name, store, .. } = self.workers[place];
        let twin = Worker::new(id, name.clone(), store, self.now);
        self.workers.push(twin);
    }

    /// An operator deals with a worker that was refused for good.
    pub fn start_refused(&mut self, place: usize) {
        if !self.workers[place].refused {
            return;
        }
        let name = self.workers[place].name.clone();
        match self.chance.below(3) {
            0 => self.workers[place].replaces = true,
            1 => self.forget(&name),
            _ => self.rename(place),
        }
        let worker = &mut self.workers[place];
        (worker.refused, worker.up) = (false, true);
    }

    /// A worker has a name that no other ever had.
    pub fn rename(&mut self, place: usize) {
        let id = self.new_identity();
        self.workers[place].name = format!("n{id}");
    }

    /// An operator has those that were refused for good start under names of their own.
    pub fn rename_refused(&mut self) {
        for place in 0..self.workers.len() {
            if self.workers[place].refused {
                self.rename(place);
                let worker = &mut self.workers[place];
                (worker.refused, worker.up) = (false, true);
            }
        }
    }

    /// An operator gives up the worker of a name or an identity.
    pub fn forget(&mut self, name: &str) {
        let Some(machine) = &self.machine else { return };
        let mut workers = machine.records().workers.keys();
        let id =
            machine.called(name).or_else(|| workers.find(|id| id.to_string() == name).copied());
        let id = id.filter(|&id| machine.connection(id).is_none());
        self.given_up.extend(id);
        self.tell(Event::ForgetWorker(name.to_owned()));
    }

    /// Whether the coordinator takes some checkpoint for stored.
    pub fn anything_is_stored(&self) -> bool {
        let mut checkpoints =
            self.written.steps.values().filter_map(|record| record.checkpoint.as_ref());
        checkpoints.any(|checkpoint| checkpoint.stored.is_some())
    }

    /// An operator gives up the workers that are gone, once the machine knows.
    pub fn forget_gone(&mut self) {
        for id in self.gone.clone() {
            let Some(machine) = &self.machine else { return };
            if machine.connection(id).is_none() {
                self.forget(&id.to_string());
                self.gone.remove(&id);
            }
        }
    }

    pub fn new_identity(&mut self) -> u64 {
        self.identities += 1;
        self.identities
    }

    /// Submits a job.
    pub fn submit(&mut self, key: &str, scheduling: Scheduling) {
        let spec = Spec {
            ruleset: "simulated".to_owned(),
            precision: Precision::F64,
            tolerance: 1e-12,
            certified: true,
            shard_positions: None,
        };
        let submission = Submission {
            name: key.to_owned(),
            key: key.to_owned(),
            spec,
            checkpoint_every: Duration::from_millis(300),
            scheduling,
            plan: self.plan.clone(),
            memory_bytes: 0,
        };
        self.tell(Event::Submit(submission));
    }

    /// The machine hears something at once.
    pub fn tell(&mut self, event: Event) {
        let Some(machine) = &mut self.machine else { return };
        self.events += 1;
        let is_request = matches!(
            event,
            Event::Submit(_)
                | Event::Pause(_)
                | Event::Resume(_)
                | Event::Cancel { .. }
                | Event::Remove(_)
                | Event::DrainWorker(_)
                | Event::ForgetWorker(_)
        );
        match event {
            Event::Resume(job) => {
                let records = machine.records();
                let before = records.jobs.get(&job).and_then(|job| job.scheduling.after);
                let phase = before.map(|before| records.jobs.get(&before).map(|job| job.phase));
                let is_stuck =
                    |phase| matches!(phase, None | Some(Phase::Failed | Phase::Cancelled));
                self.goes_on_alone.extend(phase.is_some_and(is_stuck).then_some(job));
            }
            Event::Remove(job) => _ = self.removed.insert(job),
            _ => {}
        }
        if let Event::Heartbeat(session, resources) = &event
            && let Some(worker) = machine.worker_of(*session)
            && let Some(here) = machine.connection(worker)
            && here.resources.moved_bytes < resources.moved_bytes
        {
            self.moved_at.insert(worker, self.now);
        }
        let pretended = pretended(machine, &event);
        let (timed, failing) = (timed(machine, &event), failing(machine, &event));
        let output = machine.handle(event, self.now);
        if let Some((step, number)) = pretended {
            let goes_on = machine.attempts().get(&step).is_some_and(|it| it.number == number);
            assert!(!goes_on, "attempt {number} at {step:?} goes on with what nobody swept");
        }
        let answers = output.commands.iter().filter(|c| matches!(c, Command::Answer(_)));
        assert_eq!(answers.count(), usize::from(is_request), "requests are answered once");
        if let Err(what) = machine.check() {
            panic!("{what}");
        }
        self.check_time(timed);
        self.note_failure(failing);
        self.write(&output);
        // The coordinator may be killed between writing and sending.
        if self.faults && self.chance.once_in(20_000) {
            return self.restart();
        }
        for command in output.commands {
            self.execute(command);
        }
    }

    /// Writes down what changed, and nothing else.
    fn write(&mut self, output: &Output) {
        let records = self.machine.as_ref().expect("it runs").records();
        self.written.last_job = records.last_job;
        for &key in &output.changed {
            if let Key::Step(step) = key {
                self.check_kept(step);
            }
            match key {
                Key::Job(job) => {
                    let after = records.jobs.get(&job);
                    assert!(after.is_some() || self.removed.contains(&job), "{job} is gone");
                    self.ever_solved
                        .extend(after.filter(|job| job.phase == Phase::Solved).map(|_| job));
                    copy(&records.jobs, &mut self.written.jobs, job);
                }
                Key::Step(step) => copy(&records.steps, &mut self.written.steps, step),
                Key::Worker(worker) => copy(&records.workers, &mut self.written.workers, worker),
            }
        }
        if self.events.is_multiple_of(16) {
            assert!(self.written == *records, "something changed that was not written");
        }
    }

    /// Kills the coordinator; it starts again after a while.
    pub fn restart(&mut self) {
        self.machine = None;
        self.uncounted.clear(); // it does not know any more who could not reach whom
        self.restarts = self.now + self.chance.below(15_000) as u32 * MILLISECOND;
        for worker in &mut self.workers {
            worker.disconnected();
        }
    }

    /// Puts a copy of the records aside, or has the coordinator go on from the one there is.
    pub fn copy_or_go_back(&mut self) {
        let Some(copy) = self.copy.take() else {
            self.copy = Some(self.written.clone());
            return;
        };
        self.written = copy;
        // All numbers come again.
        self.attempts.clear();
        self.epochs.clear();
        self.past.clear();
        self.restart();
    }

    fn start(&mut self) {
        let mut records = Records { last_job: self.written.last_job, ..Records::default() };
        // What is read is what was written, to the last bit.
        for (&id, job) in &self.written.jobs {
            records.jobs.insert(id, through_json(job));
        }
        for (&id, step) in &self.written.steps {
            records.steps.insert(id, through_json(step));
        }
        for (&id, worker) in &self.written.workers {
            records.workers.insert(id, through_json(worker));
        }
        self.incarnations += 1;
        assert!(records == self.written, "a record is not read as it was written");
        let (machine, output) = Machine::new(records, self.incarnations, self.limits, self.now);
        self.machine = Some(machine);
        for command in output.commands {
            self.execute(command);
        }
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::Plan(job) => {
                let delay = self.chance.below(500) as u32 * MILLISECOND;
                self.later(delay, Due::Planned(job));
            }
            Command::Send(session, message) => {
                self.check_message(&message);
                self.deliver(session, Due::ToWorker(session, message));
            }
            Command::Close(session, refusal) => {
                assert!(!format!("{refusal:?}").contains("Misbehaved"), "{refusal:?}");
                let for_good =
                    matches!(refusal, Refusal::NameTaken { .. } | Refusal::StillConnected(_));
                self.deliver(session, Due::Closed(session, for_good));
            }
            Command::Answer(_) | Command::Note(_) => {}
        }
    }

    /// Something happens later, in the order in which it was sent as far as one connection goes.
    fn deliver(&mut self, session: SessionId, due: Due) {
        let delay = 1 + u64::from(self.chance.once_in(50)) * self.chance.below(300);
        let last = self.due.range(..).rev().find_map(|(&(time, _), due)| {
            let same = match (due, &due) {
                (Due::ToWorker(at, _) | Due::Closed(at, _), _) => *at == session,
                _ => false,
            };
            same.then_some(time)
        });
        let when = last.unwrap_or_default().max(self.now + delay as u32 * MILLISECOND);
        self.sequence += 1;
        self.due.insert((when, self.sequence), due);
    }

    fn later(&mut self, delay: Duration, due: Due) {
        self.sequence += 1;
        self.due.insert((self.now + delay, self.sequence), due);
    }

    /// The next thing happens.
    pub fn go_on(&mut self) {
        let ((time, _), due) = self.due.pop_first().expect("the clock always ticks");
        self.now = time;
        match due {
            Due::Tick => {
                self.later(250 * MILLISECOND, Due::Tick);
                self.tick();
            }
            Due::Planned(job) => self.tell(Event::Planned(job, Ok(self.plan.clone()))),
            Due::ToMachine(session, event) => {
                if self.gets_through(session) {
                    self.tell(event);
                }
            }
            Due::Answer(session, report) => self.answer(session, report),
            Due::Stored(session, stored) => self.has_stored(session, stored),
            Due::Closed(session, for_good) => {
                if let Some(place) = self.at(session) {
                    let worker = &mut self.workers[place];
                    worker.disconnected();
                    if for_good {
                        (worker.refused, worker.up, worker.returns) = (true, false, None);
                    }
                }
            }
            Due::ToWorker(session, message) => self.receive(session, message),
        }
    }

    fn tick(&mut self) {
        let now = self.now;
        if self.machine.is_none() && self.restarts <= now {
            self.start();
        }
        self.unreachable_pairs.retain(|_, until| *until > now);
        self.cut_off.retain(|_, until| *until > now);
        self.tell(Event::Tick);
        for place in 0..self.workers.len() {
            let lease = self.limits.lease;
            let worker = &mut self.workers[place];
            if worker.returns.is_some_and(|returns| returns <= now) {
                (worker.up, worker.returns, worker.draining) = (true, None, false);
                // Its program may have been replaced.
                worker.protocol =
                    worker.protocol.max(STORES_BEHIND - u32::from(self.chance.once_in(2)));
            }
            if !worker.up {
                continue;
            }
            if now - worker.heard > lease && worker.session.is_some() {
                let session = worker.session.expect("it was just there");
                worker.disconnected();
                // The coordinator learns of it, or not.
                if self.chance.once_in(2) {
                    self.later(MILLISECOND, Due::ToMachine(session, Event::Disconnect(session)));
                }
            }
            let worker = &self.workers[place];
            match worker.session {
                None => self.connect(place),
                Some(session) if self.chance.once_in(8) => {
                    let worker = &mut self.workers[place];
                    worker.moved_bytes += u64::from(worker.saves_until > now);
                    let moved_bytes = worker.moved_bytes;
                    let resources = Resources { moved_bytes, ..Resources::default() };
                    let beat = Event::Heartbeat(session, resources);
                    self.later(MILLISECOND, Due::ToMachine(session, beat));
                }
                Some(_) => {}
            }
        }
    }

    fn connect(&mut self, place: usize) {
        let Worker { id, ref name, protocol, store, draining, replaces, .. } = self.workers[place];
        let registration = Registration {
            protocol,
            worker: id,
            name: name.clone(),
            address: format!("{name}:1"),
            cores: 1 + place as u32 % 3,
            memory_bytes: 1 << 30,
            disk_bytes: 1 << 30,
            checkpoint_store: store.then_some(1),
            replaces: if replaces { name.clone() } else { String::new() },
        };
        if self.machine.is_none() || self.cut_off.contains_key(&id) {
            return;
        }
        self.sessions += 1;
        let session = SessionId(self.sessions);
        let worker = &mut self.workers[place];
        (worker.session, worker.heard) = (Some(session), self.now);
        let machine = self.machine.as_ref().expect("it runs");
        let replaced = machine.called(&registration.replaces).filter(|&other| other != id);
        let replaced = replaced.filter(|&other| machine.connection(other).is_none());
        self.given_up.extend(replaced);
        self.tell(Event::Register(session, registration));
        if draining {
            self.tell(Event::Drain(session));
        }
    }

    /// The worker of a connection, if it still has it.
    fn at(&self, session: SessionId) -> Option<usize> {
        self.workers.iter().position(|worker| worker.session == Some(session))
    }

    /// Whether messages of a connection get through; a connection that loses one is over.
    fn gets_through(&mut self, session: SessionId) -> bool {
        let Some(place) = self.at(session) else { return true };
        let cut_off = self.cut_off.contains_key(&self.workers[place].id);
        if cut_off {
            self.workers[place].disconnected();
        }
        !cut_off
    }

    /// A worker hears something.
    fn receive(&mut self, session: SessionId, message: Message) {
        if !self.gets_through(session) {
            return;
        }
        let Some(place) = self.at(session) else { return };
        self.workers[place].heard = self.now;
        let is_work = matches!(message, Message::Assign(..) | Message::Order { .. });
        if is_work && self.workers[place].is_stuck {
            return;
        }
        let slow = self.workers[place].slow;
        let mut took = MILLISECOND * (1 + self.chance.below(20) as u32) * slow as u32;
        let mut stores = MILLISECOND * (1 + self.chance.below(300) as u32) * slow as u32;
        let saves = matches!(message, Message::Order { task: Task::Save { .. }, .. });
        let behind =
            matches!(message, Message::Order { task: Task::Save { behind: true, .. }, .. });
        if saves && std::mem::take(&mut self.workers[place].saves_slowly) {
            let slowly = Duration::from_secs(600 + self.chance.below(900));
            *(if behind { &mut stores } else { &mut took }) = slowly;
            self.workers[place].saves_until = self.now + slowly;
        }
        match message {
            Message::Welcome { incarnation, commits, .. } => {
                self.workers[place].incarnation = incarnation;
                self.drop_saved(place, |saved| !commits.contains(saved));
            }
            Message::Assign(assignment, member) => {
                let report = self.prepare(place, &assignment, member);
                self.later(took, Due::Answer(session, report));
            }
            Message::Order { step, attempt, order, task } => {
                let worker = &mut self.workers[place];
                let id = worker.id;
                let report = worker.obey(step, attempt, order, &task, took.as_secs_f64());
                let Some(report) = report else { return };
                self.call_off(place, &task);
                let worker = &mut self.workers[place];
                let is_done = report.answer == Answer::Outcome(Outcome::Done);
                if let (&Task::Save { epoch: number, .. }, true) = (&task, is_done) {
                    let epoch = Epoch { number, incarnation: worker.incarnation };
                    let shards = worker.disk[&(step, epoch)].keys();
                    self.ever_saved.extend(shards.map(|&s| (step, epoch, id, s)));
                    match worker.storing.clone() {
                        Some(stored) => {
                            worker.saved_behind = Some((step, epoch));
                            self.later(stores, Due::Stored(session, stored));
                        }
                        None => self.store(place, step, epoch),
                    }
                }
                self.later(took, Due::Answer(session, report));
            }
            Message::Abandon { step, attempt } => {
                let mine = |part: &mut Part| {
                    (part.assignment.step, part.assignment.attempt) == (step, attempt)
                };
                let worker = &mut self.workers[place];
                worker.part.take_if(mine);
                worker.storing.take_if(|it| (it.step, it.attempt) == (step, attempt));
                worker.saved_behind.take_if(|(saved, _)| *saved == step);
            }
            Message::Commit { step, epoch, kept } => {
                let complete =
                    |&mut (at, saved): &mut (_, Epoch)| (at, saved.number) == (step, epoch);
                self.workers[place].saved_behind.take_if(complete);
                self.drop_saved(place, |&(at, saved)| {
                    at == step && saved.number < epoch && Some(saved) != kept
                });
            }
            Message::Forget(job) => {
                self.drop_saved(place, |(step, _)| step.job == job);
            }
            Message::Released => {
                // It goes, and comes back some day.
                let away = self.chance.below(60_000) as u32 * MILLISECOND;
                self.crash(place, away);
                self.later(MILLISECOND, Due::ToMachine(session, Event::Disconnect(session)));
            }
            Message::Heard => {}
        }
    }

    /// A worker that saves anew drops what it saved before and was to store, unless it has heard that it counts.
    fn call_off(&mut self, place: usize, task: &Task) {
        let worker = &mut self.workers[place];
        let (Task::Save { .. }, Some((step, epoch))) = (task, worker.saved_behind) else { return };
        (worker.saved_behind, _) = (None, worker.disk.remove(&(step, epoch)));
        let machine = self.machine.as_ref();
        let kept = machine.and_then(|it| it.records().steps.get(&step)?.checkpoint.as_ref());
        assert!(kept.is_none_or(|kept| kept.epoch != epoch), "{step:?} {epoch:?} counts");
    }

    /// What a worker has saved is in the store, if it has one.
    fn store(&mut self, place: usize, step: StepId, epoch: Epoch) {
        let Some(shards) = self.workers[place].disk.get(&(step, epoch)) else { return };
        if self.workers[place].store {
            self.ever_stored.extend(shards.keys().map(|&shard| (step, epoch, shard)));
            self.store.entry((step, epoch)).or_default().extend(shards);
        }
    }

    /// A worker has stored what it saved, if it was not called off.
    fn has_stored(&mut self, session: SessionId, mut stored: Stored) {
        let place = self.at(session);
        let place = place.filter(|&place| self.workers[place].storing.as_ref() == Some(&stored));
        self.behind.1 += u64::from(place.is_none());
        let Some(place) = place else { return };
        self.workers[place].storing = None;
        let epoch = Epoch { number: stored.epoch, incarnation: self.workers[place].incarnation };
        // What is damaged is not stored, either.
        let is_there = self.workers[place].disk.contains_key(&(stored.step, epoch));
        if !is_there || self.faults && self.chance.once_in(20) {
            stored.failure = Some("the store is full".to_owned());
            self.behind.1 += 1;
        } else {
            self.store(place, stored.step, epoch);
            self.behind.0 += 1;
        }
        self.later(MILLISECOND, Due::ToMachine(session, Event::Stored(session, stored)));
    }

    /// A worker drops something that it has saved.
    fn drop_saved(&mut self, place: usize, is_dropped: impl Fn(&(StepId, Epoch)) -> bool) {
        let dropped = self.workers[place].disk.extract_if(.., |saved, _| is_dropped(saved));
        // Records that were put aside may still have it.
        let is_missed = self.copy.is_some();
        self.damaged.extend(dropped.map(|(saved, _)| saved).filter(|_| is_missed));
    }

    /// A worker's process ends.
    pub fn crash(&mut self, place: usize, away: Duration) {
        let now = self.now;
        let worker = &mut self.workers[place];
        let session = worker.session;
        worker.disconnected();
        (worker.up, worker.returns) = (false, Some(now + away));
        if let Some(session) = session.filter(|_| self.chance.once_in(2)) {
            self.later(MILLISECOND, Due::ToMachine(session, Event::Disconnect(session)));
        }
    }

    /// A worker's disk is gone for good: it is another worker from now on.
    pub fn lose_disk(&mut self, place: usize) {
        let id = WorkerId(self.new_identity());
        let worker = &mut self.workers[place];
        self.gone.insert(worker.id);
        worker.id = id;
        worker.disk.clear();
    }

    /// The step of which a worker is about to say that another has not what it should have.
    pub fn about_to_miss(&self, place: usize, owner: WorkerId) -> Option<StepId> {
        let session = self.workers[place].session?;
        self.due.values().find_map(|due| {
            let Due::Answer(of, Report { step, answer: Answer::Failed(failure), .. }) = due else {
                return None;
            };
            let Some(FailureKind::Damage { tier, worker, .. }) = failure.kind else { return None };
            let is_it = *of == session && worker == Some(owner);
            is_it.then_some(StepId { tier, ..*step })
        })
    }

    /// A worker gets ready for an attempt.
    fn prepare(&mut self, place: usize, assignment: &Arc<Assignment>, member: u32) -> Report {
        let step = assignment.step;
        let claim = self.workers[place].claim.clone();
        let loaded = claim.map_or_else(|| self.load(place, assignment, member), Err);
        let answer = match loaded {
            Ok((values, finals)) => {
                let plan = &self.plan.steps[&step.tier];
                let (ranges, assignment) = (plan.ranges, assignment.clone());
                let positions =
                    values.keys().map(|&shard| positions_of(&plan.shards[shard as usize])).sum();
                let part = Part { assignment, values, finals, ranges, positions };
                self.workers[place].part = Some(part);
                Answer::Ready { halo_positions: 100 }
            }
            Err(failure) => {
                self.workers[place].part = None;
                self.missed.extend(missed(assignment, &failure));
                Answer::Failed(failure)
            }
        };
        let attempt = assignment.attempt;
        let (seconds, exchanging_seconds, waited_seconds) = (0.0, 0.0, 0.0);
        Report {
            step,
            attempt,
            order: 0,
            seconds,
            exchanging_seconds,
            waited_seconds,
            positions: 0,
            sent_bytes: 0,
            answer,
            checksums: Vec::new(),
        }
    }

    fn load(
        &self,
        place: usize,
        assignment: &Assignment,
        member: u32,
    ) -> Result<(BTreeMap<u32, Value>, u64), Failure> {
        let Assignment { step, ref members, ref shares, .. } = *assignment;
        let me = self.workers[place].id;
        for (other, peer) in (0..).zip(members) {
            if self.are_apart(me, peer.worker) {
                let kind = Some(FailureKind::Unreachable(other));
                return Err(Failure { message: "no route".to_owned(), kind });
            }
        }
        let mut finals = Vec::new();
        for (tier, at, _) in &assignment.reads {
            let read = StepId { tier: *tier, ..step };
            for shard in 0..at.runs.iter().map(|run| run.count).sum() {
                finals.push(self.fetch(place, read, at, shard)?);
            }
        }
        let mut values = BTreeMap::new();
        for shard in shards_of(shares, member) {
            let value = match &assignment.checkpoint {
                Some(at) => self.fetch(place, step, at, shard)?,
                None => Value::first(step.tier, shard),
            };
            values.insert(shard, value);
        }
        Ok((values, Value::digest(finals.into_iter())))
    }

    /// The value of a shard from whoever has it.
    pub fn fetch(
        &self,
        to: usize,
        step: StepId,
        at: &CheckpointAt,
        shard: u32,
    ) -> Result<Value, Failure> {
        let me = &self.workers[to];
        let key = (step, at.epoch);
        let of = |disk: &Disk| disk.get(&key).and_then(|shards| shards.get(&shard)).copied();
        let owner = (0..).zip(&at.peers).find(|&(i, _)| shards_of(&at.runs, i).contains(&shard));
        let peer = owner.expect("every shard has an owner").1;
        let there = self.workers.iter().find(|worker| worker.id == peer.worker);
        let there = there.filter(|worker| worker.up && !self.are_apart(me.id, worker.id));
        let fail = |message: &str, kind| {
            Err(Failure { message: format!("{message} of {step:?} {shard}"), kind: Some(kind) })
        };
        let damage =
            |worker| FailureKind::Damage { tier: step.tier, epoch: at.epoch.number, worker };
        // Its own disk is asked first, whoever should have it.
        if let Some(value) = of(&me.disk).or_else(|| of(&there?.disk)) {
            return Ok(value);
        }
        if at.stored && me.store {
            return match of(&self.store) {
                Some(value) => Ok(value),
                None => fail("not in the store", damage(None)),
            };
        }
        match there {
            Some(worker) => fail("not there", damage(Some(worker.id))),
            None => fail("no route", FailureKind::OutOfReach(peer.worker)),
        }
    }

    fn are_apart(&self, one: WorkerId, other: WorkerId) -> bool {
        self.unreachable_pairs.contains_key(&(one.min(other), one.max(other)))
    }

    /// A worker's answer is on its way; perhaps twice, perhaps with one of long ago.
    fn answer(&mut self, session: SessionId, report: Report) {
        if self.at(session).is_none() {
            return;
        }
        let copies = if self.faults && self.chance.once_in(30) { 2 } else { 1 };
        for _ in 0..copies {
            let event = Event::Report(session, report.clone());
            self.later(MILLISECOND, Due::ToMachine(session, event));
        }
        if self.faults && self.chance.once_in(30) && !self.past.is_empty() {
            let old = self.past[self.chance.below(self.past.len() as u64) as usize].clone();
            if self.is_over(&old) {
                self.later(MILLISECOND, Due::ToMachine(session, Event::Report(session, old)));
            }
        }
        if self.past.len() < 100 {
            self.past.push(report);
        } else if self.chance.once_in(20) {
            let place = self.chance.below(100) as usize;
            self.past[place] = report;
        }
    }

    /// Whether nobody waits for a report any more: others may come any time, but a lie would be one.
    fn is_over(&self, report: &Report) -> bool {
        let Some(machine) = &self.machine else { return false };
        let attempt = machine.attempts().get(&report.step);
        attempt
            .is_none_or(|attempt| (attempt.number, attempt.order) > (report.attempt, report.order))
    }

    /// Whether all jobs have ended, and nothing more will be heard of what was lost.
    pub fn is_over_for_all(&self) -> bool {
        let Some(machine) = &self.machine else { return false };
        let is_known =
            |worker: &Worker| worker.session.is_some_and(|session| machine.is_connected(session));
        let count = machine.connected().count();
        if !self.workers.iter().all(is_known) || count != self.workers.len() {
            return false;
        }
        let ended = |phase| matches!(phase, Phase::Solved | Phase::Failed | Phase::Cancelled);
        machine.records().jobs.values().all(|job| ended(job.phase))
    }
}

/// The attempts under way, if time may end some.
fn timed(machine: &Machine, event: &Event) -> Vec<(StepId, Attempt)> {
    let is_tick = matches!(event, Event::Tick);
    let attempts = machine.attempts().iter().filter(|_| is_tick);
    attempts.map(|(&step, attempt)| (step, attempt.clone())).collect()
}

/// What an attempt is made of.
#[derive(Clone, PartialEq, Debug)]
pub struct Makings {
    members: Vec<WorkerId>,
    /// The numbers of checkpoints that it was told to read.
    told: BTreeMap<Tier, u32>,
    reads: Vec<Read>,
}

/// A checkpoint that it reads: who is away or has lost it, and the store that has it.
#[derive(Clone, PartialEq, Debug)]
struct Read {
    tier: Tier,
    away: Vec<WorkerId>,
    lost: BTreeSet<WorkerId>,
    stored: Option<u64>,
}

impl Makings {
    /// Those of the attempt at a step.
    pub fn of(machine: &Machine, step: StepId) -> Self {
        let attempt = &machine.attempts()[&step];
        let members = attempt.members.iter().map(|member| member.worker);
        let reads = machine.needed(step).map(|(tier, it)| Read {
            tier,
            away: machine.away(it).collect(),
            lost: it.lost.clone(),
            stored: it.stored,
        });
        let told = attempt.reads.clone();
        Self { members: members.collect(), told, reads: reads.collect() }
    }
}

/// The attempt of which a worker says that it has failed, and what it is made of.
fn failing(machine: &Machine, event: &Event) -> Option<(StepId, u32, Makings, Failure)> {
    let Event::Report(session, Report { step, answer: Answer::Failed(failure), .. }) = event else {
        return None;
    };
    let attempt = machine.attempts().get(step)?;
    attempt.place_of(machine.worker_of(*session)?)?;
    Some((*step, attempt.number, Makings::of(machine, *step), failure.clone()))
}

/// The attempt to which a worker reports work that it has not done.
fn pretended(machine: &Machine, event: &Event) -> Option<(StepId, u32)> {
    let Event::Report(session, report) = event else { return None };
    let attempt = machine.attempts().get(&report.step)?;
    let member = &attempt.members[attempt.place_of(machine.worker_of(*session)?)?];
    let is_awaited = (attempt.number, attempt.order) == (report.attempt, report.order);
    let is_sweep = matches!(report.answer, Answer::Outcome(Outcome::Swept(_)));
    let pretends = is_sweep && report.positions != member.positions;
    (is_awaited && !member.reported && pretends).then_some((report.step, report.attempt))
}

/// The checkpoint that a worker did not find, and where, if that is why it could not get ready.
fn missed(assignment: &Assignment, failure: &Failure) -> Option<(StepId, Epoch, Option<WorkerId>)> {
    let Some(FailureKind::Damage { tier, worker, .. }) = failure.kind else { return None };
    let read = assignment.reads.iter().find(|(read, ..)| *read == tier).map(|(_, at, _)| at);
    let at = read.or(assignment.checkpoint.as_ref())?;
    Some((StepId { tier, ..assignment.step }, at.epoch, worker))
}

fn copy<K: Ord, V: Clone>(from: &BTreeMap<K, V>, to: &mut BTreeMap<K, V>, key: K) {
    match from.get(&key) {
        Some(value) => to.insert(key, value.clone()),
        None => to.remove(&key),
    };
}

fn through_json<T: serde::Serialize + serde::de::DeserializeOwned>(record: &T) -> T {
    let text = serde_json::to_string(record).expect("records are JSON");
    serde_json::from_str(&text).expect("records are JSON")
}
