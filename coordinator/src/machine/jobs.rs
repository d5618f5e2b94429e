//! Jobs: submitted, paused, resumed, cancelled, ended, removed.

use std::sync::Arc;

use ziggurat_encoding::Tier;
use ziggurat_history::Kind;

use super::{
    Counters, JobRecord, Key, Machine, Note, Phase, line,
    message::{Changed, Command, Message, Refusal, Submission},
    names::{JobId, StepId},
    plan::JobPlan,
};

impl Machine {
    /// Adds a job to the queue, unless the same submission did before, whatever has become of that job. Another submission with its
    /// key is refused, and one that is to come after a job that is never solved.
    pub(super) fn submit(&mut self, submission: Submission) {
        let Submission { name, key, spec, checkpoint_every, scheduling, plan, memory_bytes: _ } =
            submission;
        let known = self.records.jobs.iter().find(|(_, job)| !key.is_empty() && job.key == key);
        if let Some((&id, job)) = known {
            let is_same = (&job.name, &job.spec, job.checkpoint_every, job.scheduling)
                == (&name, &spec, checkpoint_every, scheduling);
            let answer =
                if is_same { Ok(Changed::Job(id)) } else { Err(Refusal::OtherSubmission(id)) };
            return self.answer(answer);
        }
        let waits = match scheduling.after.map(|before| (before, self.phase(before))) {
            None | Some((_, Ok(Phase::Solved))) => false,
            Some((before, Ok(Phase::Cancelled))) => {
                return self.refuse(Refusal::WrongPhase(format!(
                    "job {before} is cancelled, so it is never solved; submit without --after {before}"
                )));
            }
            Some((_, Ok(_))) => true,
            Some((_, Err(refusal))) => return self.refuse(refusal),
        };
        self.records.last_job += 1;
        let id = JobId(self.records.last_job);
        let job = JobRecord {
            name,
            key,
            spec,
            checkpoint_every,
            phase: Phase::Active,
            again: false,
            scheduling,
            waits,
            left_in: None,
            message: String::new(),
            submitted: self.now,
            ended: None,
            steps: plan.order.clone(),
            counters: Counters::default(),
        };
        self.records.jobs.insert(id, job);
        self.output.changed.insert(Key::Job(id));
        self.plans.insert(id, plan);
        self.answer(Ok(Changed::Job(id)));
        self.tell(id, Kind::Submitted, "submitted");
    }

    /// Gives a job's workers free, once they have saved.
    pub(super) fn pause(&mut self, id: JobId) {
        match self.phase(id) {
            Ok(Phase::Active) => {
                self.job_mut(id).phase = Phase::Paused;
                for step in self.attempted(id) {
                    self.wind_down(step);
                }
                self.tell(id, Kind::Paused, "paused");
            }
            Ok(Phase::Paused) => {}
            Ok(phase) => return self.refuse(ended(id, phase)),
            Err(refusal) => return self.refuse(refusal),
        }
        self.answer(Ok(Changed::Job(id)));
    }

    /// Goes on with a job that is paused, that failed, that was solved and has lost values since, or that waits for a job which
    /// is not solved by itself any more.
    pub(super) fn resume(&mut self, id: JobId) {
        match self.phase(id) {
            Ok(Phase::Active) => {
                if let Some(before) = self.waits_for(id).filter(|&before| self.is_stuck(before)) {
                    self.job_mut(id).waits = false;
                    self.tell(id, Kind::Resumed, &format!("goes on without job {before}"));
                }
            }
            Ok(Phase::Paused | Phase::Failed) => {
                self.reopen(id);
                self.tell(id, Kind::Resumed, "resumed");
            }
            Ok(Phase::Solved) if self.missing(id).is_some() => {
                self.job_mut(id).again = true;
                self.reopen(id);
                self.tell(id, Kind::Resumed, "is solved again where its values are lost");
                let steps = self.records.steps_of(id).map(|(step, _)| step);
                for step in steps.collect::<Vec<_>>() {
                    self.give_up_unless_whole(step);
                }
            }
            Ok(phase) => return self.refuse(ended(id, phase)),
            Err(refusal) => return self.refuse(refusal),
        }
        self.answer(Ok(Changed::Job(id)));
    }

    /// Drops a job, and all that was saved of it; one that is solved only by force.
    pub(super) fn cancel(&mut self, id: JobId, force: bool) {
        match self.phase(id) {
            Ok(Phase::Cancelled) => {}
            Ok(Phase::Solved) if !force => {
                return self.refuse(Refusal::WrongPhase(format!(
                    "job {id} is solved, and to cancel it deletes its values on all workers; export \
                     it first, or cancel it with --force if nobody wants them"
                )));
            }
            Ok(_) => {
                self.end_job(id, Phase::Cancelled, "");
                self.job_mut(id).left_in = self.left_in(id);
                self.drop_steps(id);
            }
            Err(refusal) => return self.refuse(refusal),
        }
        self.answer(Ok(Changed::Job(id)));
    }

    /// Drops all that was saved of a job, everywhere.
    fn drop_steps(&mut self, id: JobId) {
        let steps = self.records.steps_of(id).map(|(step, _)| step);
        for step in steps.collect::<Vec<_>>() {
            self.records.steps.remove(&step);
            self.output.changed.insert(Key::Step(step));
        }
        self.send_to_all(&Message::Forget(id));
    }

    /// Removes a job that has ended, and all that was saved of it. Done once, it stays done: the request may be sent again.
    pub(super) fn remove(&mut self, id: JobId) {
        match self.phase(id) {
            Ok(_) => match self.why_kept(id) {
                Some(why) => return self.refuse(Refusal::WrongPhase(why)),
                None => self.drop_job(id, "removed"),
            },
            Err(_) if (1..=self.records.last_job).contains(&id.0) => {}
            Err(refusal) => return self.refuse(refusal),
        }
        self.answer(Ok(Changed::Job(id)));
    }

    /// Removes the jobs that have ended too long ago, as far as nothing needs them.
    pub(super) fn remove_old_jobs(&mut self) {
        let Some(keep) = self.limits.keep_ended else { return };
        let is_old =
            |job: &JobRecord| job.ended.is_some_and(|ended| self.now.saturating_sub(ended) > keep);
        let old = self.records.jobs.iter().filter(|(_, job)| is_old(job));
        for id in old.map(|(&id, _)| id).collect::<Vec<_>>() {
            if self.why_kept(id).is_none() {
                self.drop_job(id, "removed: it ended long ago");
            }
        }
    }

    /// Why a job is not removed, if it is not.
    fn why_kept(&self, id: JobId) -> Option<String> {
        match self.records.jobs[&id].phase {
            Phase::Active => {
                return Some(format!("job {id} is active; `ziggurat cancel {id}` ends it"));
            }
            Phase::Paused => {
                return Some(format!("job {id} is paused; `ziggurat cancel {id}` ends it"));
            }
            Phase::Solved | Phase::Failed | Phase::Cancelled => {}
        }
        if let Some(next) = self.those_after(id).first() {
            return Some(format!(
                "job {next} waits for job {id}; cancel it first, or see what `ziggurat status {next}` says"
            ));
        }
        self.left_in(id)?;
        Some(format!(
            "a checkpoint store has values of job {id}, and no worker is connected that reads it; start one that does \
             (--checkpoints), so that they are deleted there, too"
        ))
    }

    /// The checkpoint store that has checkpoints of a job, if no worker that is connected reads it.
    fn left_in(&self, id: JobId) -> Option<u64> {
        let steps = self.records.steps_of(id);
        let stored = steps.filter_map(|(_, step)| step.checkpoint.as_ref()?.stored);
        stored.chain(self.records.jobs[&id].left_in).find(|&store| !self.is_read(store))
    }

    fn drop_job(&mut self, id: JobId, how: &str) {
        if self.records.jobs[&id].phase != Phase::Cancelled {
            self.drop_steps(id);
        }
        self.records.jobs.remove(&id);
        self.output.changed.insert(Key::Job(id));
        self.plans.remove(&id);
        self.backoff.retain(|(step, _), _| step.job != id);
        self.needs.retain(|(step, _), _| step.job != id);
        self.tell(id, Kind::Cancelled, how);
    }

    /// The job that a job waits for, before it is begun.
    pub(super) fn waits_for(&self, id: JobId) -> Option<JobId> {
        let job = self.records.jobs.get(&id).filter(|job| job.waits)?;
        job.scheduling.after
    }

    /// Whether a job is not solved unless somebody does something.
    fn is_stuck(&self, id: JobId) -> bool {
        !matches!(self.phase(id), Ok(Phase::Active | Phase::Paused | Phase::Solved))
    }

    /// The jobs that wait for a job.
    fn those_after(&self, id: JobId) -> Vec<JobId> {
        let waits = |job: &JobRecord| {
            job.waits && job.scheduling.after == Some(id) && job.phase != Phase::Cancelled
        };
        let jobs = self.records.jobs.iter().filter(|(_, job)| waits(job));
        jobs.map(|(&id, _)| id).collect()
    }

    /// Has those go on that waited for a job to be solved, or says that it has come to nothing.
    fn tell_those_after(&mut self, id: JobId, phase: Phase) {
        for next in self.those_after(id) {
            if phase == Phase::Solved {
                self.job_mut(next).waits = false;
                self.tell(next, Kind::After, &format!("waits no longer: job {id} is solved"));
            } else {
                let why = self.why_after(next, id);
                self.tell(next, Kind::After, &format!("is {why}"));
            }
        }
    }

    /// The plan that was asked for is there, or there can be none.
    pub(super) fn planned(&mut self, id: JobId, plan: Result<Arc<JobPlan>, String>) {
        self.planning.remove(&id);
        match (self.phase(id), plan) {
            (Ok(Phase::Active | Phase::Paused), Ok(plan)) => {
                self.plans.insert(id, plan);
            }
            (Ok(Phase::Active | Phase::Paused), Err(message)) => {
                self.end_job(id, Phase::Failed, &message);
            }
            // It has ended meanwhile.
            _ => {}
        }
    }

    /// Makes a job active again.
    pub(super) fn reopen(&mut self, id: JobId) {
        let job = self.job_mut(id);
        (job.phase, job.ended) = (Phase::Active, None);
        job.message.clear();
        self.failure_streak.retain(|step, _| step.job != id);
    }

    /// Ends a job, and the attempts at its steps.
    pub(super) fn end_job(&mut self, id: JobId, phase: Phase, message: &str) {
        let (kind, what) = match phase {
            Phase::Solved => (Kind::Solved, "solved"),
            Phase::Failed => (Kind::Failed, "failed"),
            Phase::Cancelled => (Kind::Cancelled, "cancelled"),
            Phase::Active | Phase::Paused => unreachable!("these are no ends"),
        };
        for step in self.attempted(id) {
            self.end_attempt(step, &format!("the job is {what}"));
        }
        let now = self.now;
        let job = self.job_mut(id);
        (job.phase, job.ended, job.message) = (phase, Some(now), message.to_owned());
        self.plans.remove(&id);
        self.failure_streak.retain(|step, _| step.job != id);
        let because = if message.is_empty() { String::new() } else { format!(": {message}") };
        self.tell(id, kind, &format!("{what}{because}"));
        self.tell_those_after(id, phase);
    }

    /// Ends a job if all its steps are solved and their values are there.
    pub(super) fn end_if_solved(&mut self, id: JobId) {
        let job = &self.records.jobs[&id];
        let there = |tier| {
            let solution = self.solution(StepId { job: id, tier });
            solution.is_some_and(|solution| self.is_there(solution))
        };
        if job.phase == Phase::Active && job.steps.iter().all(|step| there(step.tier)) {
            self.end_job(id, Phase::Solved, "");
        }
    }

    /// The steps of a job that there are attempts at.
    pub(super) fn attempted(&self, id: JobId) -> Vec<StepId> {
        let [first, last] =
            [0, u8::MAX].map(|pieces| StepId { job: id, tier: Tier::new(pieces, pieces) });
        self.attempts.range(first..=last).map(|(&step, _)| step).collect()
    }

    /// Adds to the counters of a job the time in which it was worked on.
    pub(super) fn count_time(&mut self, id: JobId) {
        let worked = !self.attempted(id).is_empty();
        let since = match worked {
            true => self.busy_since.insert(id, self.now),
            false => self.busy_since.remove(&id),
        };
        if let Some(since) = since {
            let seconds = (self.now - since).as_secs_f64();
            self.job_mut(id).counters.seconds += seconds;
        }
    }

    fn phase(&self, id: JobId) -> Result<Phase, Refusal> {
        self.records.jobs.get(&id).map(|job| job.phase).ok_or(Refusal::NoSuchJob(id))
    }

    pub(super) fn answer(&mut self, answer: Result<Changed, Refusal>) {
        self.output.commands.push(Command::Answer(answer));
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.answer(Err(refusal));
    }

    fn tell(&mut self, id: JobId, kind: Kind, what: &str) {
        self.note(Note { job: Some(id), ..line(kind, format!("job {id} {what}")) });
    }
}

/// Why nothing is done about a job that is in this phase.
pub fn ended(id: JobId, phase: Phase) -> Refusal {
    let how = match phase {
        Phase::Solved => "is solved already",
        Phase::Failed => "has failed; resume it to try again",
        Phase::Cancelled => "is cancelled, and its values are gone; submit it again",
        Phase::Active => "is active",
        Phase::Paused => "is paused",
    };
    Refusal::WrongPhase(format!("job {id} {how}"))
}
