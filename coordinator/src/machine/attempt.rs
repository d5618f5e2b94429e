//! An attempt at a step, from its first order to its end.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ziggurat_encoding::Tier;
use ziggurat_history::Kind;
use ziggurat_planning::{Order, Outcome, StepController};

use super::{
    Checkpoint, Counters, Epoch, FailureStreak, Machine, Note, Phase, line_of,
    message::{Message, Task},
    names::{SessionId, StepId, Time, WorkerId},
    record::{Checksums, Run},
    storing::{Behind, Complete},
};

/// A worker that moves no bytes may take so long for an order, and [`PATIENCE`] times as long as a superstep is
/// expected to take.
pub(super) const LEAST_PATIENCE: Duration = Duration::from_secs(600);
const PATIENCE: f64 = 20.0;

/// Members work for so many times as long as their last checkpoint took them before they write the next.
pub(super) const WORK_BY_SAVE: u32 = 10;

/// An attempt at a step.
#[derive(Clone, PartialEq, Debug)]
pub struct Attempt {
    /// Its number.
    pub number: u32,
    /// The version of the protocol that its members speak.
    pub(super) protocol: u32,
    /// Who takes part.
    pub members: Vec<Member>,
    /// Which shards they have.
    pub runs: Vec<Run>,
    /// The numbers of the checkpoints that its members were told to read, by step.
    pub(super) reads: BTreeMap<Tier, u32>,
    /// How far the step is.
    pub course: StepController,
    /// What the members are at.
    pub doing: Doing,
    /// The number of the order.
    pub order: u32,
    /// When it was given.
    pub since: Time,
    /// When the members had come as far as the last complete checkpoint, or the attempt began.
    pub saved: Time,
    /// How long it took the members to write their last checkpoint down.
    pub(super) save_took: Duration,
    /// Whether the course is that of the last checkpoint, or the first.
    pub(super) clean: bool,
    /// Whether the attempt is to end at the next checkpoint.
    pub(super) winding_down: bool,
    /// The checkpoint that goes to the checkpoint store while the members sweep on.
    pub behind: Option<Behind>,
    /// Whether the members are to wait for the store at the next checkpoint: the last one did not get there.
    pub(super) waits_for_store: bool,
    /// What the members have reported so far, together.
    pub(super) outcome: Option<Outcome>,
    /// The checksums of what the members have written of the checkpoint under way, by shard.
    pub(super) checksums: BTreeMap<u32, Checksums>,
    /// What was done since the last checkpoint.
    pub counters: Counters,
}

/// What the members of an attempt are at.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Doing {
    /// They get ready.
    Preparing,
    /// They carry out the order of the course.
    Carrying,
    /// They write a checkpoint.
    Saving {
        /// Its number.
        epoch: u32,
        /// The checkpoint store to which all of it goes, too.
        stored: Option<u64>,
        /// Whether that may be after the members have answered.
        behind: bool,
    },
}

/// A worker that takes part in an attempt.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    /// Who it is.
    pub worker: WorkerId,
    /// Its connection.
    pub session: SessionId,
    /// Shards that it has.
    pub shards: u32,
    /// Their positions.
    pub positions: u64,
    /// Positions of others that it keeps copies of.
    pub halo_positions: u64,
    /// Whether it has answered the order.
    pub reported: bool,
}

impl Attempt {
    /// The place of a worker among the members.
    pub fn place_of(&self, worker: WorkerId) -> Option<usize> {
        self.members.iter().position(|member| member.worker == worker)
    }

    /// The shards of the member at a place.
    fn shards_of(&self, place: usize) -> impl Iterator<Item = u32> + use<'_> {
        let owners = self.runs.iter().flat_map(|run| (0..run.count).map(|_| run.owner as usize));
        (0..).zip(owners).filter(move |&(_, owner)| owner == place).map(|(shard, _)| shard)
    }

    /// The member at a place has written its shards, which have these checksums, if it tells any.
    pub(super) fn has_written(&mut self, place: usize, checksums: Vec<Checksums>) {
        let shards: Vec<u32> = self.shards_of(place).collect();
        self.checksums.extend(shards.into_iter().zip(checksums));
    }

    /// The members that have not yet answered.
    pub fn awaited(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.reported)
    }
}

/// How far a course is: supersteps first, then the sweeps of a proof.
fn reach(course: &StepController) -> u32 {
    let sweeps = course.proof().map_or(0, ziggurat_planning::Proof::sweeps);
    course.statistics().supersteps.saturating_mul(100).saturating_add(sweeps)
}

impl Machine {
    /// All members have carried out the order: on to the next.
    pub(super) fn advance(&mut self, step: StepId) {
        let attempt = self.attempts.get_mut(&step).expect("it was just reported to");
        if let Doing::Saving { .. } = attempt.doing {
            attempt.save_took = self.now - attempt.since;
        }
        match attempt.doing {
            Doing::Preparing => {}
            Doing::Carrying => {
                let outcome = attempt.outcome.take().expect("all members have reported");
                attempt.course.apply(outcome);
                attempt.clean = false;
                let reached = reach(&attempt.course);
                if let Some(streak) = self.failure_streak.get_mut(&step)
                    && reached > streak.reached
                {
                    *streak = FailureStreak { reached, ..FailureStreak::default() };
                }
            }
            // It is complete when all of it is in the store.
            Doing::Saving { behind: true, .. } => {}
            Doing::Saving { epoch, stored, behind: false } => {
                attempt.clean = true;
                let (course, now) = (attempt.course.clone(), self.now);
                self.commit(step, Complete { epoch, stored, course, since: now });
            }
        }
        self.go_on(step);
    }

    /// Gives the next order, or ends the attempt.
    fn go_on(&mut self, step: StepId) {
        let attempt = &self.attempts[&step];
        let draining = |member: &Member| self.sessions[&member.session].draining.is_some();
        // Nothing is handed over to those that leave, too.
        let moving = self.must_move(step) && !attempt.members.iter().any(draining);
        let every = self.records.jobs[&step.job].checkpoint_every;
        let every = every.max(WORK_BY_SAVE * attempt.save_took);
        let is_time = attempt.waits_for_store || self.now - attempt.saved >= every;
        let due = is_time && attempt.behind.is_none();
        let Attempt { clean, winding_down, ref course, .. } = *attempt;
        let solved = course.order().is_none();
        if clean && !moving && (solved || winding_down) {
            let why = match (solved, self.records.jobs[&step.job].phase) {
                (true, _) => "the step is solved",
                (false, Phase::Paused) => "the job is paused",
                (false, _) => "it is saved, and is begun anew with those that are here",
            };
            self.end_attempt(step, why);
        } else if (solved || course.can_be_saved())
            && (moving || !clean && (solved || winding_down || due))
        {
            self.save(step, !moving && !solved && !winding_down);
        } else {
            let order = course.order().expect("it is not solved");
            self.give(step, Doing::Carrying, Task::Carry(order));
        }
    }

    /// Has the members write a checkpoint, of a step that goes on after it or not. One that is still on its way to the store
    /// is called off.
    fn save(&mut self, step: StepId, goes_on: bool) {
        let record = self.step_mut(step);
        record.last_epoch += 1;
        let epoch = record.last_epoch;
        let attempt = &self.attempts[&step];
        let store = |member: &Member| self.sessions[&member.session].registration.checkpoint_store;
        // No two that are connected have different ones.
        let stores: Option<Vec<u64>> = attempt.members.iter().map(store).collect();
        let stored = stores.and_then(|stores| stores.first().copied());
        let behind = stored.is_some() && goes_on && self.may_store_behind(step);
        let (course, since) = (attempt.course.clone(), self.now);
        let (vectors, offsets) = (course.vectors() as u32, course.offsets());
        let checkpoint = Complete { epoch, stored, course, since };
        let on_its_way = behind.then(|| Behind::new(checkpoint));
        self.attempts.get_mut(&step).expect("an attempt is under way").behind = on_its_way;
        let task = Task::Save { epoch, vectors, offsets, behind };
        self.give(step, Doing::Saving { epoch, stored, behind }, task);
    }

    /// Gives all members an order.
    fn give(&mut self, step: StepId, doing: Doing, task: Task) {
        let now = self.now;
        let attempt = self.attempts.get_mut(&step).expect("an attempt is under way");
        attempt.order += 1;
        (attempt.doing, attempt.since, attempt.outcome) = (doing, now, None);
        attempt.checksums.clear();
        for member in &mut attempt.members {
            member.reported = false;
        }
        let Attempt { number, order, ref members, .. } = *attempt;
        for session in members.iter().map(|member| member.session).collect::<Vec<_>>() {
            let task = task.clone();
            self.send(session, Message::Order { step, attempt: number, order, task });
        }
    }

    /// All of a checkpoint is where it is to be: this is where others go on from.
    pub(super) fn commit(&mut self, step: StepId, complete: Complete) {
        let Complete { epoch, stored, course, since } = complete;
        let attempt = self.attempts.get_mut(&step).expect("an attempt is under way");
        (attempt.saved, attempt.waits_for_store) = (since, false);
        let solved = course.order().is_none();
        let shards: usize = attempt.runs.iter().map(|run| run.count as usize).sum();
        let checksums = std::mem::take(&mut attempt.checksums);
        let are_all = solved && checksums.len() == shards;
        let checkpoint = Checkpoint {
            epoch: Epoch { number: epoch, incarnation: self.incarnation },
            course,
            protocol: attempt.protocol,
            owners: attempt.members.iter().map(|member| member.worker).collect(),
            runs: attempt.runs.clone(),
            stored,
            lost: BTreeSet::new(),
            given_up: BTreeSet::new(),
            checksums: if are_all { checksums.into_values().collect() } else { Vec::new() },
        };
        let number = attempt.number;
        let record = self.step_mut(step);
        record.checkpoint = Some(checkpoint);
        if solved {
            record.put_aside = None;
        }
        let kept = record.put_aside.as_ref().map(|aside| aside.epoch);
        self.failure_streak.remove(&step);
        self.count(step);
        self.count_time(step.job);
        self.drop_before(step, epoch, kept);
        let (kind, what) = match solved {
            true => (Kind::StepSolved, "is solved"),
            false => (Kind::Saved, "is saved"),
        };
        let text = format!("step {} {what}", step.tier);
        self.note(Note { attempt: number, epoch, ..line_of(kind, step, text) });
        if !solved && self.would_make_way(step) {
            self.attempts.get_mut(&step).expect("it was just there").winding_down = true;
        }
    }

    /// Whether an attempt is better ended where it can be: others could do more with its workers, or it with others.
    pub(super) fn would_make_way(&self, step: StepId) -> bool {
        self.is_outranked(step) || self.would_be_faster_with_others(step)
    }

    /// Ends an attempt at the next place where it can be saved.
    pub(super) fn wind_down(&mut self, step: StepId) {
        let Some(attempt) = self.attempts.get_mut(&step) else { return };
        attempt.winding_down = true;
        if attempt.doing == Doing::Preparing {
            self.end_attempt(step, "it had not begun to sweep");
        }
    }

    /// Ends an attempt, whatever its members are at, and tells why.
    pub(super) fn end_attempt(&mut self, step: StepId, why: &str) {
        self.count(step);
        let Some(attempt) = self.attempts.remove(&step) else { return };
        self.is_news = true;
        for member in &attempt.members {
            self.busy.remove(&member.worker);
        }
        self.count_time(step.job);
        for member in &attempt.members {
            if self.sessions.contains_key(&member.session) {
                self.send(member.session, Message::Abandon { step, attempt: attempt.number });
            }
        }
        let text = format!("attempt {} at step {} is over: {why}", attempt.number, step.tier);
        self.note(Note { attempt: attempt.number, ..line_of(Kind::Over, step, text) });
    }

    /// Writes down what the members of an attempt have done.
    fn count(&mut self, step: StepId) {
        let Some(attempt) = self.attempts.get_mut(&step) else { return };
        let counters = std::mem::take(&mut attempt.counters);
        let sessions: Vec<_> = attempt.members.iter().map(|member| member.session).collect();
        self.job_mut(step.job).counters.add(counters);
        for session in sessions {
            if let Some(connected) = self.sessions.get(&session) {
                let (worker, speed) =
                    (connected.registration.worker, connected.positions_per_second);
                self.remember_speed(worker, speed);
            }
        }
    }

    /// Counts a failure of a step; too many without getting further, and the job fails.
    pub(super) fn count_failure(&mut self, step: StepId, message: String) {
        let reached = self.attempts.get(&step).map_or(0, |attempt| reach(&attempt.course));
        let now = self.now;
        let streak = self.failure_streak.entry(step).or_default();
        streak.reached = streak.reached.max(reached);
        streak.message = message;
        if streak.counted.is_some_and(|counted| now - counted < super::BACKOFF) {
            return;
        }
        streak.counted = Some(now);
        streak.failures += 1;
        if streak.failures >= super::MOST_FAILURES {
            let message = format!(
                "step {} failed {} times in a row without getting further: {}; \
                 resume the job once that is mended",
                step.tier, streak.failures, streak.message
            );
            self.end_job(step.job, Phase::Failed, &message);
        }
    }

    /// A member of an attempt is gone. Workers may go at any time; but one that goes again while it is at the same
    /// step, which has not got further since, may be killed by it: that is a failure.
    pub(super) fn count_gone(&mut self, step: StepId, worker: WorkerId) {
        let reached = self.attempts.get(&step).map_or(0, |attempt| reach(&attempt.course));
        let streak = self.failure_streak.entry(step).or_default();
        streak.reached = streak.reached.max(reached);
        if !streak.gone.insert(worker) {
            let name = self.name_of(worker);
            let message = format!("worker {name} was gone again and again while it was at it");
            self.note(Note { worker: Some(worker), ..line_of(Kind::Failure, step, &message) });
            self.count_failure(step, message);
        }
    }

    /// When a member of an attempt is late with its answer, if it moves nothing until then: what it fetches,
    /// exchanges or saves may take any time, as long as there is more of it from one heartbeat to the next.
    pub(super) fn late_at(&self, attempt: &Attempt, member: &Member) -> Time {
        let moved = self.sessions.get(&member.session).map_or(attempt.since, |here| here.moved);
        let expected = member.positions as f64 / self.speeds(&[member.worker])[0];
        let patience = LEAST_PATIENCE + Duration::from_secs_f64(PATIENCE * expected);
        attempt.since.max(moved) + patience
    }

    /// Ends attempts of which a member is late.
    pub(super) fn end_late_attempts(&mut self) {
        let mut late = Vec::new();
        for (&step, attempt) in &self.attempts {
            let waited = self.now - attempt.since;
            if waited <= LEAST_PATIENCE {
                continue;
            }
            let is_late = |member: &&Member| self.now > self.late_at(attempt, member);
            let silent = attempt.awaited().filter(is_late).map(|member| member.worker);
            let silent: Vec<WorkerId> = silent.collect();
            if !silent.is_empty() {
                // Where nobody has answered, all may wait for one of them. Who that is shows in the next attempt, which
                // it does not get ready for.
                let others = attempt.awaited().count() < attempt.members.len();
                let culprits = others || attempt.members.len() == 1;
                late.push((step, attempt.order, silent, culprits, waited.as_secs()));
            }
        }
        for (step, order, silent, culprits, seconds) in late {
            let names: Vec<String> = silent.iter().map(|&worker| self.name_of(worker)).collect();
            let who = match &names[..] {
                [name] => format!("worker {name} has"),
                names => format!("workers {} have", names.join(", ")),
            };
            let message = format!(
                "{who} not answered order {order} of step {} for {seconds} s, and moves nothing",
                step.tier
            );
            for worker in silent.into_iter().filter(|_| culprits) {
                self.back_off(step, worker, super::BACKOFF, &message);
            }
            let failure = line_of(Kind::Failure, step, message.clone());
            self.note(Note { attempt: self.attempts[&step].number, ..failure });
            self.count_failure(step, message.clone());
            self.end_attempt(step, &message);
        }
    }

    /// What the members of an attempt are asked to do, for people.
    pub(super) fn task_of(attempt: &Attempt) -> &'static str {
        match (attempt.doing, attempt.course.order()) {
            (Doing::Preparing, _) => "getting ready",
            (Doing::Saving { .. }, _) => "saving",
            (Doing::Carrying, Some(Order::Sweep { .. })) => "a superstep",
            (Doing::Carrying, Some(Order::Prove(_))) => "an interval sweep",
            (Doing::Carrying, _) => "an extrapolation",
        }
    }
}
