//! Which steps are worked on next, and by whom.
//!
//! The first job that can use workers gets them, and within it the first steps. Jobs of higher priority go first, then the
//! oldest; those that were solved before and lost values since come after all others. A small step takes
//! one worker, so several go on side by side. A large one takes all, or as many as its job may have; from when it is its
//! turn until they are free nothing else is begun, so small ones cannot keep it waiting for ever. It does not wait for
//! those that a large step of a job with fewer workers has: that may take long.
//!
//! Attempts are not interrupted for a job that comes before, but for one of higher priority they end at the next checkpoint.

use std::{cmp::Reverse, collections::BTreeSet};

use super::{
    JobRecord, Machine, Phase,
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
        let kept = self.kept_by_few();
        let is_usable = |worker: &WorkerId| self.is_usable(*worker) && !kept.contains(worker);
        let mut usable: Vec<WorkerId> = self.online.keys().copied().filter(is_usable).collect();
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
                let most = self.max_workers(job);
                match self.able(step, &idle) {
                    Ok(able) if !is_large || able == together || able.len() >= most => {
                        let members = self.begin(step, &able);
                        idle.retain(|worker| !members.contains(worker));
                        if is_large && most < usize::MAX {
                            usable.retain(|worker| !members.contains(worker));
                        }
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

    /// The active jobs in the order in which workers are given to them, but for those that wait for another.
    pub(super) fn queue(&self) -> Vec<JobId> {
        let active = self.records.jobs.iter();
        let active = active.filter(|(_, job)| job.phase == Phase::Active && !job.waits);
        let mut queue: Vec<(Rank, JobId)> = active.map(|(&id, job)| (rank(job), id)).collect();
        queue.sort_unstable();
        queue.into_iter().map(|(_, job)| job).collect()
    }

    /// Whether a job of higher priority could use the members of an attempt.
    pub(super) fn is_outranked(&self, step: StepId) -> bool {
        let members: Vec<WorkerId> =
            self.attempts[&step].members.iter().map(|member| member.worker).collect();
        let own = rank(&self.records.jobs[&step.job]);
        let queue = self.queue().into_iter();
        let mut higher = queue.take_while(|job| rank(&self.records.jobs[job]) < own);
        higher.any(|job| {
            let steps = self.steps_to_do(job).into_iter();
            self.plans.contains_key(&job)
                && steps.map(|step| self.able(step, &members)).any(|able| able.is_ok())
        })
    }

    /// The most members of an attempt at a step of a job.
    pub(super) fn max_workers(&self, job: JobId) -> usize {
        let job = self.records.jobs.get(&job);
        let most = job.and_then(|job| job.scheduling.max_workers);
        most.map_or(usize::MAX, |most| most as usize)
    }

    /// The workers at large steps of jobs that may have only so many.
    pub(super) fn kept_by_few(&self) -> BTreeSet<WorkerId> {
        let mut kept = BTreeSet::new();
        for (step, attempt) in &self.attempts {
            let is_large = || self.is_large(&self.plans[&step.job].steps[&step.tier]);
            if self.max_workers(step.job) < usize::MAX && is_large() {
                kept.extend(attempt.members.iter().map(|member| member.worker));
            }
        }
        kept
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

/// Where a job is in the queue, among others of its age.
type Rank = (bool, Reverse<i32>);

fn rank(job: &JobRecord) -> Rank {
    (job.again, Reverse(job.scheduling.priority))
}
