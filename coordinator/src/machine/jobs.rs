//! Jobs: submitted, paused, resumed, cancelled, ended.

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
    /// key is refused.
    pub(super) fn submit(&mut self, submission: Submission) {
        let Submission { name, key, spec, checkpoint_every, plan, memory_bytes: _ } = submission;
        let known = self.records.jobs.iter().find(|(_, job)| !key.is_empty() && job.key == key);
        if let Some((&id, job)) = known {
            let is_same =
                (&job.name, &job.spec, job.checkpoint_every) == (&name, &spec, checkpoint_every);
            let answer =
                if is_same { Ok(Changed::Job(id)) } else { Err(Refusal::OtherSubmission(id)) };
            return self.answer(answer);
        }
        let id = JobId(self.records.jobs.last_key_value().map_or(1, |(last, _)| last.0 + 1));
        let job = JobRecord {
            name,
            key,
            spec,
            checkpoint_every,
            phase: Phase::Active,
            again: false,
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

    /// Goes on with a job that is paused, that failed, or that was solved and has lost values since.
    pub(super) fn resume(&mut self, id: JobId) {
        match self.phase(id) {
            Ok(Phase::Active) => {}
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
                let steps = self.records.steps_of(id).map(|(step, _)| step);
                for step in steps.collect::<Vec<_>>() {
                    self.records.steps.remove(&step);
                    self.output.changed.insert(Key::Step(step));
                }
                self.send_to_all(&Message::Forget(id));
            }
            Err(refusal) => return self.refuse(refusal),
        }
        self.answer(Ok(Changed::Job(id)));
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
