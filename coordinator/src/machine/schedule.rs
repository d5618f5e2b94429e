//! Which steps are worked on next, and by whom.
//!
//! The first job that can use workers gets them, and within it the first steps. Jobs that were solved before and lost values
//! since come after all others. A small step takes
//! one worker, so several go on side by side. A large one takes all; from when it is its turn until they
//! are free nothing else is begun, so small ones cannot keep it waiting for ever.

use super::{
    Machine,
    names::{JobId, StepId, WorkerId},
};

impl Machine {
    /// Gives idle workers something to do, ends jobs that are solved, and lets workers go.
    pub(super) fn schedule(&mut self) {
        let jobs = self.records.jobs.keys().copied();
        for job in jobs.filter(|&job| self.is_active(job)).collect::<Vec<_>>() {
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
        for job in self.queue() {
            if idle.is_empty() {
                return;
            }
            for step in self.steps_to_do(job) {
                let Ok(able) = self.able(step, &idle) else { continue };
                let plan = &self.plans[&job].steps[&step.tier];
                if self.is_large(plan) && self.able(step, &usable).as_ref() != Ok(&able) {
                    return;
                }
                let members = self.begin(step, &able);
                idle.retain(|worker| !members.contains(worker));
            }
        }
    }

    /// The jobs with plans, in the order in which workers are given to them: those that were solved before come last.
    pub(super) fn queue(&self) -> Vec<JobId> {
        let mut queue: Vec<JobId> = self.plans.keys().copied().collect();
        queue.sort_by_key(|job| (self.records.jobs[job].again, *job));
        queue
    }

    /// The steps of a job that could be begun if there were workers, in order.
    pub(super) fn steps_to_do(&self, job: JobId) -> Vec<StepId> {
        let Some(plan) = self.plans.get(&job).filter(|_| self.is_active(job)) else {
            return Vec::new();
        };
        let to_do = |step: &StepId| {
            !self.attempts.contains_key(step)
                && (self.solution(*step).is_none() || self.must_move(*step))
                && self.can_begin(*step)
        };
        plan.order.iter().map(|size| StepId { job, tier: size.tier }).filter(to_do).collect()
    }
}
