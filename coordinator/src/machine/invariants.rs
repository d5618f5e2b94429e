//! What is always true of the state.

use std::collections::BTreeMap;

use super::{
    BACKOFF, Doing, Machine, Phase,
    names::{JobId, StepId, WorkerId},
    storing::Behind,
};

impl Machine {
    /// Checks what must always be true, for tests.
    ///
    /// # Errors
    /// What is not.
    pub fn check(&self) -> Result<(), String> {
        let mut at = BTreeMap::new();
        for (&step, attempt) in &self.attempts {
            let name = format!("attempt {} at step {step:?}", attempt.number);
            let plan = self.plans.get(&step.job).ok_or(format!("{name} without a plan"))?;
            let shards: u32 = attempt.runs.iter().map(|run| run.count).sum();
            let dealt: u32 = attempt.members.iter().map(|member| member.shards).sum();
            let all = plan.steps[&step.tier].shards.len() as u32;
            expect(shards == all && dealt == all, || {
                format!("{name}: not every shard has one owner")
            })?;
            let record = self.records.steps.get(&step).ok_or(format!("{name} is not recorded"))?;
            expect(record.last_attempt == attempt.number, || format!("{name} is not the last"))?;
            if let Doing::Saving { epoch, .. } = attempt.doing {
                expect(record.last_epoch == epoch, || format!("{name} saves an older epoch"))?;
            }
            if let Some(Behind { checkpoint, stored }) = &attempt.behind {
                let committed = self.checkpoint(step).map_or(0, |it| it.epoch.number);
                let is_next = (committed + 1..=record.last_epoch).contains(&checkpoint.epoch);
                expect(is_next, || format!("{name} stores epoch {}", checkpoint.epoch))?;
                let all = attempt.members.iter().all(|member| stored.contains(&member.worker));
                expect(!all, || format!("{name}: all is stored, and does not count"))?;
            }
            let phase = self.records.jobs[&step.job].phase;
            let goes_on = phase == Phase::Active || phase == Phase::Paused && attempt.winding_down;
            expect(goes_on, || format!("{name} goes on, but the job is {phase:?}"))?;
            expect(attempt.awaited().next().is_some(), || format!("{name} waits for nobody"))?;
            let most = self.max_workers(step.job);
            expect(attempt.members.len() <= most, || {
                format!("{name} has more than {most} members")
            })?;
            for member in &attempt.members {
                let worker = member.worker;
                expect(member.shards > 0, || format!("{name}: {worker} has no shards"))?;
                let before = at.insert(worker, step);
                expect(before.is_none(), || format!("{worker} is at {before:?} and {step:?}"))?;
                let session = self.online.get(&worker);
                expect(session == Some(&member.session), || format!("{name}: {worker} is away"))?;
            }
        }
        expect(at == self.busy, || format!("{:?} are busy, not {at:?}", self.busy))?;
        let unwanted = self.plans.keys().filter(|job| self.attempted(**job).is_empty()).count();
        expect(unwanted <= 2 * super::PLANNED_JOBS, || format!("{unwanted} plans are kept"))?;
        let known = |job: &JobId| self.records.jobs.contains_key(job);
        let steps = self.backoff.keys().chain(self.needs.keys()).map(|(step, _)| step.job);
        let kept = self.plans.keys().copied().chain(steps).chain(self.busy_since.keys().copied());
        let mut left = kept.filter(|job| !known(job));
        expect(left.next().is_none(), || "something is kept of a job that is removed".to_owned())?;
        self.check_records()?;
        self.check_waiting()
    }

    /// Whether a failure of a step was counted lately, or has ended its job.
    pub fn has_counted(&self, step: StepId) -> bool {
        let streak = self.failure_streak.get(&step);
        let counted = streak.and_then(|streak| streak.counted);
        counted.is_some_and(|counted| self.now - counted < BACKOFF) || !self.is_active(step.job)
    }

    fn check_records(&self) -> Result<(), String> {
        for (step, record) in &self.records.steps {
            let name = format!("step {step:?}");
            let job = self.records.jobs.get(&step.job).ok_or(format!("{name} of no job"))?;
            expect(job.phase != Phase::Cancelled, || format!("{name} of a cancelled job"))?;
            if let Some(aside) = &record.put_aside {
                let is_solution = aside.course.order().is_none();
                let is_last =
                    record.solution().is_none() && aside.epoch.number <= record.last_epoch;
                expect(is_solution && is_last && aside.lost.is_empty(), || {
                    format!("{name}: what is put aside is nothing to go back to")
                })?;
                let are_here = aside.owners.iter().all(|owner| self.online.contains_key(owner));
                expect(!are_here, || format!("{name} is solved again, and its solution is here"))?;
            }
            let Some(checkpoint) = &record.checkpoint else {
                expect(job.phase != Phase::Solved, || format!("{name} of a solved job is not"))?;
                continue;
            };
            expect(checkpoint.epoch.number <= record.last_epoch, || {
                format!("{name}: epochs go back")
            })?;
            let owned: u32 =
                checkpoint.owners.iter().map(|&owner| checkpoint.shards_of(owner)).sum();
            expect(checkpoint.owners.iter().all(|&owner| checkpoint.shards_of(owner) > 0), || {
                format!("{name}: an owner of nothing")
            })?;
            let size = job.steps.iter().find(|size| size.tier == step.tier);
            expect(size.is_some_and(|size| size.shards == owned), || {
                format!("{name}: a checkpoint without all shards")
            })?;
            let mut given_up = checkpoint.given_up.iter();
            expect(given_up.all(|worker| !self.online.contains_key(worker)), || {
                format!("{name}: what a worker has that is here is given up")
            })?;
            let checksums = checkpoint.checksums.len() as u32;
            let is_solution = checkpoint.course.order().is_none();
            expect(checksums == 0 || is_solution && checksums == owned, || {
                format!("{name}: {checksums} checksums of {owned} shards")
            })?;
            let is_kept = job.phase == Phase::Solved;
            expect(is_kept || checkpoint.is_whole(), || {
                format!("{name}: parts of the checkpoint are nowhere")
            })?;
        }
        Ok(())
    }

    /// Nothing stands still without saying why.
    fn check_waiting(&self) -> Result<(), String> {
        for (&id, job) in &self.records.jobs {
            if let Some(before) = self.waits_for(id) {
                let begun = self.records.steps_of(id).next().is_some();
                expect(!begun, || format!("job {id} is begun before {before} is solved"))?;
                let solved = self.records.jobs.get(&before).map(|job| job.phase);
                let in_vain = solved == Some(Phase::Solved) && job.phase != Phase::Cancelled;
                expect(!in_vain, || format!("job {id} waits for {before}, which is solved"))?;
            }
            if job.phase == Phase::Active && self.attempted(id).is_empty() {
                let why = self.why_waiting(id);
                expect(!why.is_empty(), || format!("job {id} stands still and says nothing"))?;
                let busy = !self.attempts.is_empty() || !why.contains("all are busy");
                expect(busy, || format!("job {id} says {why}, but nobody is busy"))?;
                expect(why != "waiting for other steps", || format!("job {id} is stuck"))?;
            }
        }
        self.check_idle()
    }

    /// No job waits while there are workers for it, whatever they failed at elsewhere; but small steps may wait for a large
    /// one before them, which waits for all.
    fn check_idle(&self) -> Result<(), String> {
        if self.scheduled < self.now {
            return Ok(()); // time has passed, which the next tick says
        }
        let kept = self.kept_by_few();
        let stays = |worker: &&WorkerId| {
            let here = self.connection(**worker);
            here.is_some_and(|here| here.draining.is_none()) && !kept.contains(worker)
        };
        let here: Vec<WorkerId> = self.online.keys().filter(stays).copied().collect();
        let mut idle = here.clone();
        idle.retain(|&worker| self.step_of(worker).is_none());
        for step in self.queue().into_iter().flat_map(|job| self.steps_to_do(job)) {
            let Ok(able) = self.able(step, &idle) else { continue };
            let Some(plan) = self.plans.get(&step.job) else {
                // A few are worked out at a time.
                expect(!self.planning.is_empty(), || format!("{step:?} has no plan"))?;
                continue;
            };
            let waits = self.is_large(&plan.steps[&step.tier])
                && able.len() < self.max_workers(step.job)
                && self.able(step, &here).as_ref() != Ok(&able);
            return expect(waits, || format!("workers are free, and step {step:?} is not begun"));
        }
        Ok(())
    }
}

fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
