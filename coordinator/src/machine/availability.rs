//! Whether the values of checkpoints can be had, and giving up those that cannot.

use std::{collections::BTreeSet, time::Duration};

use ziggurat_encoding::Tier;
use ziggurat_history::Kind;

use super::{
    Checkpoint, Machine, Note, line_of,
    names::{Epoch, JobId, StepId, Time, WorkerId},
    record::Phase,
};

/// How it is known that a worker has not any more what it had saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Loss {
    /// Somebody did not find it, or an operator has seen that the disk is gone.
    Proven,
    /// It is not: the worker is away.
    GivenUp,
}

impl Machine {
    /// Whether all of a checkpoint can be had.
    pub(super) fn is_there(&self, checkpoint: &Checkpoint) -> bool {
        checkpoint.stored.is_some() || self.away(checkpoint).next().is_none()
    }

    /// The owners of a checkpoint that are away, or whose parts are missed.
    pub(super) fn away<'a>(
        &'a self,
        checkpoint: &'a Checkpoint,
    ) -> impl Iterator<Item = WorkerId> + 'a {
        let owners = checkpoint.owners.iter().copied();
        owners.filter(|&owner| !self.online.contains_key(&owner) || !checkpoint.is_with(owner))
    }

    /// What a worker had of a step's checkpoint is lost, or given up.
    pub(super) fn lose(&mut self, step: StepId, worker: WorkerId, loss: Loss) {
        let is_owner = |checkpoint: &Checkpoint| checkpoint.owners.contains(&worker);
        let aside = self.records.steps.get(&step).and_then(|record| record.put_aside.as_ref());
        if loss == Loss::Proven && aside.is_some_and(is_owner) {
            self.step_mut(step).put_aside = None;
        }
        let is_new = |checkpoint: &Checkpoint| match loss {
            Loss::Proven => is_owner(checkpoint) && !checkpoint.lost.contains(&worker),
            Loss::GivenUp => checkpoint.is_with(worker),
        };
        if !self.checkpoint(step).is_some_and(is_new) {
            return;
        }
        let checkpoint = self.step_mut(step).checkpoint.as_mut().expect("it was just there");
        checkpoint.given_up.remove(&worker);
        match loss {
            Loss::Proven => checkpoint.lost.insert(worker),
            Loss::GivenUp => checkpoint.given_up.insert(worker),
        };
        self.give_up_unless_whole(step);
    }

    /// A worker is back. What was given up of what it has counts again, unless the step was solved again meanwhile.
    /// If it has lost it after all, that shows when it is read. Returns the solutions that count again.
    pub(super) fn take_back(&mut self, worker: WorkerId) -> Vec<(StepId, Epoch)> {
        let (name, mut back) = (self.name_of(worker), Vec::new());
        for step in self.records.steps.keys().copied().collect::<Vec<_>>() {
            let record = &self.records.steps[&step];
            if record.checkpoint.as_ref().is_some_and(|it| it.given_up.contains(&worker)) {
                let checkpoint = self.step_mut(step).checkpoint.as_mut();
                checkpoint.expect("it was just there").given_up.remove(&worker);
                let text = format!("what worker {name} has of step {} counts again", step.tier);
                let note = line_of(Kind::Worker, step, text);
                self.note(Note { worker: Some(worker), ..note });
            }
            back.extend(self.take_solution_back(step).map(|epoch| (step, epoch)));
        }
        back
    }

    /// Goes back to a solution that was put aside, once all of it is there.
    fn take_solution_back(&mut self, step: StepId) -> Option<Epoch> {
        let record = &self.records.steps[&step];
        let is_here = |owner: &WorkerId| self.online.contains_key(owner);
        let aside = record.put_aside.as_ref().filter(|aside| aside.owners.iter().all(is_here))?;
        let epoch = aside.epoch;
        let text = format!("the solution of step {} is back", step.tier);
        self.end_attempt(step, &text);
        let record = self.step_mut(step);
        record.checkpoint = record.put_aside.take();
        record.checkpoint.iter_mut().for_each(|back| back.given_up.clear());
        self.note(Note { epoch: epoch.number, ..line_of(Kind::Worker, step, text) });
        Some(epoch)
    }

    /// It is proven that the checkpoint store has lost a step's checkpoint.
    pub(super) fn lose_stored(&mut self, step: StepId) {
        let checkpoint = self.step_mut(step).checkpoint.as_mut();
        if let Some(checkpoint) = checkpoint {
            checkpoint.stored = None;
            self.give_up_unless_whole(step);
        }
    }

    /// Gives up a checkpoint of which a part is nowhere: the step starts again. That of a solved job stays until somebody
    /// wants the job to be solved again.
    pub(super) fn give_up_unless_whole(&mut self, step: StepId) {
        let Some(checkpoint) = self.checkpoint(step).filter(|checkpoint| !checkpoint.is_whole())
        else {
            return;
        };
        let epoch = checkpoint.epoch.number;
        let (is_solution, is_lost) =
            (checkpoint.course.order().is_none(), !checkpoint.lost.is_empty());
        if self.records.jobs[&step.job].phase == Phase::Solved {
            let text = format!(
                "parts of checkpoint {epoch} of step {} are lost; resume job {} to solve it again",
                step.tier, step.job
            );
            return self.note(Note { epoch, ..line_of(Kind::Lost, step, text) });
        }
        let record = self.step_mut(step);
        let given_up = record.checkpoint.take();
        if is_solution {
            record.put_aside = given_up.filter(|_| !is_lost);
        }
        let text = format!(
            "parts of checkpoint {epoch} of step {} are lost: it is solved again",
            step.tier
        );
        self.note(Note { epoch, ..line_of(Kind::Lost, step, text) });
    }

    /// A step of a solved job of which values are missed, and a worker that had them.
    pub fn missing(&self, job: JobId) -> Option<(WorkerId, Tier)> {
        let mut steps = self.records.jobs.get(&job)?.steps.iter();
        steps.find_map(|size| {
            let solution = self.solution(StepId { job, tier: size.tier })?;
            let missed = solution.missed().next().filter(|_| !solution.is_whole())?;
            Some((missed, size.tier))
        })
    }

    /// Gives up what workers have that jobs have waited for too long. What a checkpoint store has is never given up by time.
    pub(super) fn give_up_what_is_lost(&mut self) {
        let unmet = self.unmet();
        self.needs.retain(|need, _| unmet.contains(need));
        for need in unmet {
            self.needs.entry(need).or_insert(self.now);
        }
        let late = |&(&(step, _), &since): &(&(StepId, WorkerId), &Time)| {
            self.patience(step).is_some_and(|patience| self.now - since > patience)
        };
        let late: Vec<_> = self.needs.iter().filter(late).map(|(&need, _)| need).collect();
        for (step, worker) in late {
            let waited =
                self.needs.get(&(step, worker)).map_or(self.now, |&since| self.now - since);
            let text = format!(
                "what worker {} alone has of step {} is given up: it was waited for for {} s",
                self.name_of(worker),
                step.tier,
                waited.as_secs()
            );
            self.note(Note { worker: Some(worker), ..line_of(Kind::Lost, step, text) });
            self.lose(step, worker, Loss::GivenUp);
        }
    }

    /// The checkpoints that active jobs cannot go on without, and workers that are away and have a part of them, which is
    /// nowhere else.
    fn unmet(&self) -> BTreeSet<(StepId, WorkerId)> {
        let mut unmet = BTreeSet::new();
        let known = self.records.workers.len();
        if self.sessions.is_empty() || self.online.len() == known {
            return unmet; // nobody waits, or nobody is away
        }
        let has_begun = |job: &JobId| self.records.steps_of(*job).next().is_some();
        for job in self.queue().into_iter().filter(has_begun) {
            let mut add = |tier, checkpoint: &Checkpoint| {
                let away = self.away(checkpoint).filter(|_| checkpoint.stored.is_none());
                unmet.extend(away.map(|worker| (StepId { job, tier }, worker)));
            };
            let to_do = self.steps_to_do(job);
            for &step in &to_do {
                self.needed(step).for_each(|(tier, checkpoint)| add(tier, checkpoint));
            }
            if to_do.is_empty() && self.attempted(job).is_empty() {
                // It is solved, but for values that are away.
                for size in &self.records.jobs[&job].steps {
                    let solution = self.solution(StepId { job, tier: size.tier });
                    solution.into_iter().for_each(|solution| add(size.tier, solution));
                }
            }
        }
        unmet
    }

    /// How long a job waits for what a worker has of a step; `None` for ever.
    fn patience(&self, step: StepId) -> Option<Duration> {
        match self.solution(step) {
            Some(_) => self.limits.solved_lost_after,
            None => Some(self.limits.lost_after),
        }
    }

    /// In how long what a worker has of a step is given up; `None` if never.
    pub(super) fn given_up_in(&self, step: StepId, worker: WorkerId) -> Option<Duration> {
        let since = self.needs.get(&(step, worker)).copied().unwrap_or(self.now);
        self.patience(step).map(|patience| (since + patience).saturating_sub(self.now))
    }

    /// When something was last heard of a worker that is away, or since when it could have been.
    pub fn heard(&self, worker: WorkerId) -> Time {
        self.last_heard.get(&worker).copied().unwrap_or(self.started)
    }
}
