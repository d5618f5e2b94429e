//! What the world knows, held against what the machine decides and says.

use super::{
    super::{
        Assignment, Attempt, BACKOFF, Checkpoint, Checksums, Epoch, Failure, JobId, Limits,
        Message, Peer, Phase, Scheduling, StepId, Task, Time, WorkerId, attempt::LEAST_PATIENCE,
        begin::reads,
    },
    values::Value,
    worker::shards_of,
    world::{Makings, World},
};

impl World {
    /// What is saved and intact is never given up without proof or an operator.
    pub fn check_kept(&self, step: StepId) {
        let records = self.machine.as_ref().expect("it runs").records();
        let before = self.written.steps.get(&step).and_then(|record| record.checkpoint.as_ref());
        let Some(before) = before else { return };
        let after = records.steps.get(&step).and_then(|record| record.checkpoint.as_ref());
        let is_later = after.is_some_and(|after| after.epoch != before.epoch);
        let job = records.jobs.get(&step.job);
        if is_later || job.is_none_or(|job| job.phase == Phase::Cancelled) {
            return;
        }
        let key = (step, before.epoch);
        let is_other = before.course.order().is_some() && self.goes_on_otherwise(step, before);
        if before.stored.is_some()
            && after.is_none_or(|after| after.stored.is_none())
            && !(is_other && after.is_none())
        {
            let is_missed = self.missed.contains(&(step, before.epoch, None));
            assert!(is_missed, "{key:?} is in the store, and given up");
        }
        let owners: Vec<(u32, WorkerId)> = (0..).zip(before.owners.iter().copied()).collect();
        let may_lose = |&(place, id): &(u32, WorkerId)| {
            !shards_of(&before.runs, place).is_empty()
                && (!before.is_with(id)
                    || self.given_up.contains(&id)
                    || self.missed.contains(&(step, before.epoch, Some(id)))
                    || self.may_be_given_up(id, before))
        };
        match after {
            Some(after) => {
                let new = owners.iter().filter(|&&(_, id)| !after.is_with(id));
                new.for_each(|owner| assert!(may_lose(owner), "{owner:?} has {key:?}"));
            }
            None => {
                let is_lost = is_other || owners.iter().any(may_lose);
                assert!(is_lost, "{key:?} is there, and given up");
            }
        }
    }

    /// Whether an attempt at a step is of members of another version than those that wrote a checkpoint.
    fn goes_on_otherwise(&self, step: StepId, before: &Checkpoint) -> bool {
        let machine = self.machine.as_ref().expect("it runs");
        let attempt = machine.attempts().get(&step);
        attempt.is_some_and(|attempt| attempt.protocol != before.protocol)
    }

    /// Whether time may have given up what a worker has of a checkpoint.
    fn may_be_given_up(&self, id: WorkerId, of: &Checkpoint) -> bool {
        let machine = self.machine.as_ref().expect("it runs");
        let is_solution = of.course.order().is_none();
        let Limits { lost_after, solved_lost_after, .. } = self.limits;
        let patience = if is_solution { solved_lost_after } else { Some(lost_after) };
        let silent = self.now - machine.heard(id);
        machine.connection(id).is_none() && patience.is_some_and(|patience| silent > patience)
    }

    /// Time ends an attempt when a member has neither answered nor moved anything for long, and no other.
    pub fn check_time(&self, before: Vec<(StepId, Attempt)>) {
        let machine = self.machine.as_ref().expect("it runs");
        for (step, attempt) in before {
            let now = machine.attempts().get(&step).filter(|now| now.number == attempt.number);
            if let Some(now) = now {
                let mut awaited = now.awaited();
                let is_late = awaited.any(|member| machine.late_at(now, member) < self.now);
                assert!(!is_late, "somebody at {step:?} is waited for for ever");
                continue;
            }
            let is_here = attempt.members.iter().all(|it| machine.is_connected(it.session));
            if !is_here || !machine.is_active(step.job) {
                continue;
            }
            let moved = |worker| self.moved_at.get(worker).copied().unwrap_or(Time::ZERO);
            let mut stood = attempt.awaited().map(|it| attempt.since.max(moved(&it.worker)));
            let is_late = stood.any(|since| self.now > since + LEAST_PATIENCE);
            assert!(is_late, "the attempt at {step:?} goes on, and is ended");
        }
    }

    /// Takes note of an attempt that has failed, if that did not count.
    pub fn note_failure(&mut self, failing: Option<(StepId, u32, Makings, Failure)>) {
        let machine = self.machine.as_ref().expect("it runs");
        let Some((step, number, makings, failure)) = failing else { return };
        let now = machine.attempts().get(&step).map(|attempt| attempt.number);
        if now != Some(number) && !machine.has_counted(step) {
            self.uncounted.insert(step, (self.now, makings, failure));
        }
    }

    /// Nothing is tried again as it was, unless that counts; after a minute workers that were kept apart are.
    fn check_again(&mut self, step: StepId) {
        let machine = self.machine.as_ref().expect("it runs");
        if let Some((ended, makings, failure)) = self.uncounted.remove(&step) {
            let is_same = makings == Makings::of(machine, step);
            let waited = self.now - ended;
            assert!(!is_same || waited >= BACKOFF, "{step:?} again, {waited:?} after {failure:?}");
        }
    }

    /// What a worker is told must be true.
    pub fn check_message(&mut self, message: &Message) {
        let machine = self.machine.as_ref().expect("it runs");
        match message {
            Message::Assign(assignment, place) => {
                let Assignment { step, attempt, reads: read, .. } = &**assignment;
                self.check_order(*step, assignment.members.len());
                let speaks = |peer: &Peer| {
                    machine.connection(peer.worker).map(|it| it.registration.protocol)
                };
                let first = assignment.members.first().and_then(speaks);
                let is_one = assignment.members.iter().all(|member| speaks(member) == first);
                assert!(is_one, "members of {step:?} are of several versions");
                if *place == 0 {
                    self.check_again(*step);
                }
                let machine = self.machine.as_ref().expect("it runs");
                let last = self.attempts.entry(*step).or_default();
                assert!(attempt > last || (*place > 0 && attempt == last), "attempts go back");
                *last = *attempt;
                assert!(read.iter().map(|&(tier, ..)| tier).eq(reads(step.tier)));
                for (tier, place, _) in read {
                    let record = &machine.records().steps[&StepId { tier: *tier, ..*step }];
                    let solution = record.solution().expect("it reads what is final");
                    assert_eq!(solution.epoch, place.epoch);
                    assert!(machine.is_there(solution), "{place:?} is not there");
                }
                let checkpoint = machine.records().steps[step].checkpoint.as_ref();
                assert!(checkpoint.is_none_or(|checkpoint| machine.is_there(checkpoint)));
                let begins_at = assignment.checkpoint.as_ref().map(|place| place.epoch);
                assert_eq!(begins_at, checkpoint.map(|checkpoint| checkpoint.epoch));
            }
            Message::Order { step, task: Task::Save { epoch, .. }, attempt, .. } => {
                assert_eq!(self.attempts[step], *attempt);
                let last = self.epochs.entry(*step).or_default();
                assert!(epoch >= last, "epochs go back");
                *last = *epoch;
            }
            &Message::Commit { step, epoch: number, kept } => {
                let incarnation = machine.incarnation();
                let checkpoint = machine.records().steps[&step].checkpoint.as_ref();
                // A solution is back, and what came after it is not needed.
                let is_back = checkpoint.is_some_and(|checkpoint| Some(checkpoint.epoch) == kept);
                let complete = Some(Epoch { number, incarnation }).filter(|_| !is_back);
                let all = complete.into_iter().chain(kept);
                all.for_each(|epoch| self.check_commit(step, epoch));
            }
            Message::Welcome { commits, .. } => {
                commits.iter().for_each(|&(step, epoch)| self.check_commit(step, epoch));
            }
            _ => {}
        }
    }

    /// A job is begun when that is solved which it comes after, with no more workers than it may have.
    fn check_order(&self, step: StepId, members: usize) {
        let machine = self.machine.as_ref().expect("it runs");
        let Scheduling { max_workers, after, .. } = machine.records().jobs[&step.job].scheduling;
        let is_free = |before: JobId| {
            self.ever_solved.contains(&before) || self.goes_on_alone.contains(&step.job)
        };
        assert!(after.is_none_or(is_free), "{step:?} is begun before {after:?} is solved");
        let is_allowed = max_workers.is_none_or(|most| members <= most as usize);
        assert!(is_allowed, "{members} are at {step:?}");
    }

    fn check_commit(&self, step: StepId, epoch: Epoch) {
        let machine = self.machine.as_ref().expect("it runs");
        let mut kept = machine.records().steps[&step].kept();
        let Some(checkpoint) = kept.find(|checkpoint| checkpoint.epoch == epoch) else {
            // Members of another version may have begun the step anew since.
            let is_begun_anew = machine.attempts().contains_key(&step);
            return assert!(is_begun_anew, "what is committed of {step:?} is not there");
        };
        for (owner, &worker) in (0..).zip(&checkpoint.owners) {
            for shard in shards_of(&checkpoint.runs, owner) {
                let saved = (step, epoch, worker, shard);
                assert!(self.ever_saved.contains(&saved), "{saved:?} was never saved");
                let stored = (step, epoch, shard);
                let is_stored = checkpoint.stored.is_none() || self.ever_stored.contains(&stored);
                assert!(is_stored, "{stored:?} was never stored");
            }
        }
    }

    /// Checks that what the solved jobs left behind is what one process would have.
    pub fn check_solutions(&self) {
        let machine = self.machine.as_ref().expect("it runs");
        for (&job, record) in &machine.records().jobs {
            if record.phase == Phase::Cancelled {
                continue;
            }
            assert_eq!(record.phase, Phase::Solved, "job {job}: {}", record.message);
            for (&tier, solution) in &*self.solutions {
                let step = StepId { job, tier };
                let found = machine.records().steps[&step].solution().expect("it is solved");
                self.check_solution(step, found, solution);
            }
        }
    }

    fn check_solution(&self, step: StepId, found: &Checkpoint, solution: &[Value]) {
        let machine = self.machine.as_ref().expect("it runs");
        let checksums: Vec<Checksums> = solution.iter().map(|value| value.checksums()).collect();
        assert_eq!(found.checksums, checksums, "{step:?}");
        let at = machine.place(found);
        // What is lost after the job was solved is missed by whoever exports it, and not before.
        if self.damaged.contains(&(step, at.epoch)) || !machine.is_there(found) {
            return;
        }
        let reader =
            self.workers.iter().position(|worker| worker.up && (worker.store || !at.stored));
        let Some(reader) = reader else { return };
        for (shard, value) in (0..).zip(solution) {
            let has = self.fetch(reader, step, &at, shard);
            assert_eq!(has.as_ref(), Ok(value), "shard {shard} of {step:?}");
        }
    }
}
