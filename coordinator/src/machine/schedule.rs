//! Which steps are worked on next, and by whom.
//!
//! The first job that can use workers gets them, and within it the first steps. Jobs that were solved before and lost values
//! since come after all others. A small step takes
//! one worker, so several go on side by side. A large one takes all; from when it is its turn until they
//! are free nothing else is begun, so small ones cannot keep it waiting for ever.

use std::collections::BTreeSet;

use super::{
    Machine, Phase,
    message::Command,
    names::{JobId, StepId, WorkerId},
};

/// So many jobs that wait for workers have their plans at hand.
pub(super) const PLANNED_JOBS: usize = 4;

impl Machine {
    /// Gives idle workers something to do, ends jobs that are solved, and lets workers go.
    pub(super) fn schedule(&mut self) {
        self.scheduled = self.now;
        for job in self.queue() {
            self.end_if_solved(job);
        }
        self.hand_out_steps();
        self.release();
    }

    fn hand_out_steps(&mut self) {
        let usable: Vec<WorkerId> =
            self.online.keys().copied().filter(|&worker| self.is_usable(worker)).collect();
        let idle = |worker: &WorkerId| self.step_of(*worker).is_none();
        let mut idle: Vec<WorkerId> = usable.iter().copied().filter(idle).collect();
        let mut waits_for_all = false;
        let queue = self.queue();
        let first: BTreeSet<JobId> = queue.iter().copied().take(PLANNED_JOBS).collect();
        if usable.is_empty() {
            return self.keep_plans(&first, &first);
        }
        // The first jobs that have more to do than there are workers for now.
        let mut next = BTreeSet::new();
        for job in queue {
            if next.len() >= PLANNED_JOBS {
                break;
            }
            for step in self.steps_to_do(job) {
                let Ok(together) = self.able(step, &usable) else { continue };
                let plan = self.plans.get(&job).filter(|_| !waits_for_all && !idle.is_empty());
                let Some(plan) = plan else {
                    next.insert(job);
                    break;
                };
                let is_large = self.is_large(&plan.steps[&step.tier]);
                match self.able(step, &idle) {
                    Ok(able) if !is_large || able == together => {
                        let members = self.begin(step, &able);
                        idle.retain(|worker| !members.contains(worker));
                    }
                    able => {
                        waits_for_all |= able.is_ok();
                        next.insert(job);
                    }
                }
            }
        }
        self.keep_plans(&next, &first);
    }

    /// Asks for the plans of the jobs that come next. Those of the first jobs are kept, too, though they may wait for somebody,
    /// and those of jobs that are worked on; others are dropped: there may be thousands.
    fn keep_plans(&mut self, next: &BTreeSet<JobId>, first: &BTreeSet<JobId>) {
        let attempted: BTreeSet<JobId> = self.attempts.keys().map(|step| step.job).collect();
        let is_kept =
            |job: &JobId| next.contains(job) || first.contains(job) || attempted.contains(job);
        self.plans.retain(|job, _| is_kept(job));
        for &job in next {
            if !self.plans.contains_key(&job) && self.planning.insert(job) {
                self.output.commands.push(Command::Plan(job));
            }
        }
    }

    /// The active jobs in the order in which workers are given to them: those that were solved before come last.
    pub(super) fn queue(&self) -> Vec<JobId> {
        let active = self.records.jobs.iter().filter(|(_, job)| job.phase == Phase::Active);
        let mut queue: Vec<(bool, JobId)> = active.map(|(&id, job)| (job.again, id)).collect();
        queue.sort_unstable();
        queue.into_iter().map(|(_, job)| job).collect()
    }

    /// The steps of a job that could be begun if there were workers, in order.
    pub(super) fn steps_to_do(&self, job: JobId) -> Vec<StepId> {
        let to_do = |step: &StepId| {
            !self.attempts.contains_key(step)
                && (self.solution(*step).is_none() || self.must_move(*step))
                && self.can_begin(*step)
        };
        let Some(record) = self.records.jobs.get(&job).filter(|_| self.is_active(job)) else {
            return Vec::new();
        };
        record.steps.iter().map(|size| StepId { job, tier: size.tier }).filter(to_do).collect()
    }
}
