//! Why a job does not go on, for people.

use ziggurat_encoding::Tier;

use super::{
    Machine, Phase, SLOW_AFTER,
    begin::Blocked,
    names::{JobId, StepId, WorkerId},
};

impl Machine {
    /// Why a job does not go on, or failed; empty if all is well.
    pub fn why_waiting(&self, id: JobId) -> String {
        let Some(job) = self.records.jobs.get(&id) else { return String::new() };
        let attempted = self.attempted(id);
        match job.phase {
            Phase::Paused if attempted.is_empty() => String::new(),
            Phase::Paused => "saving before the pause".to_owned(),
            Phase::Failed => job.message.clone(),
            Phase::Solved => self.why_incomplete(id),
            Phase::Cancelled => String::new(),
            Phase::Active if job.waits => {
                self.waits_for(id).map_or_else(String::new, |before| self.why_after(id, before))
            }
            Phase::Active if self.planning.contains(&id) => "working out the plan".to_owned(),
            Phase::Active if attempted.is_empty() => self.why_idle(id),
            Phase::Active => self.why_slow(&attempted),
        }
    }

    /// Why a job is not begun that comes after another.
    pub(super) fn why_after(&self, id: JobId, before: JobId) -> String {
        let how = match self.records.jobs.get(&before).map(|job| job.phase) {
            Some(Phase::Active | Phase::Solved) => ", which is to be solved first".to_owned(),
            Some(Phase::Paused) => {
                format!(", which is paused: `ziggurat resume {before}` goes on with it")
            }
            Some(Phase::Failed) => format!(
                ", which has failed: `ziggurat resume {before}` tries again, `ziggurat resume {id}` goes on without it"
            ),
            Some(Phase::Cancelled) | None => {
                format!(", which is cancelled: `ziggurat resume {id}` goes on without it")
            }
        };
        format!("waiting for job {before}{how}")
    }

    /// What a solved job has lost.
    fn why_incomplete(&self, id: JobId) -> String {
        let Some((worker, tier)) = self.missing(id) else { return String::new() };
        let solution = self.solution(StepId { job: id, tier });
        let returns = solution.is_some_and(|solution| solution.given_up.contains(&worker));
        let or =
            if returns { "; if it comes back with its directory, they count again" } else { "" };
        format!(
            "values are lost: worker {}, {}, is given up; `ziggurat resume {id}` solves that again{or}",
            self.name_of(worker),
            self.shards_of(id, worker, tier)
        )
    }

    /// Which shards of a step a worker has, for people.
    fn shards_of(&self, job: JobId, worker: WorkerId, tier: Tier) -> String {
        let checkpoint = self.checkpoint(StepId { job, tier });
        let shards = checkpoint.map_or(0, |checkpoint| checkpoint.shards_of(worker));
        let plural = if shards == 1 { "shard" } else { "shards" };
        format!("which has {shards} {plural} of step {tier}")
    }

    /// Who keeps the attempts at some steps waiting, if it has been a while.
    fn why_slow(&self, steps: &[StepId]) -> String {
        let mut slow = steps.iter().filter_map(|step| {
            let attempt = &self.attempts[step];
            let waited = self.now - attempt.since;
            let member = attempt.awaited().next().filter(|_| waited > SLOW_AFTER)?;
            let others = attempt.members.len() > 1 && attempt.awaited().count() == 1;
            let only = if others { "only " } else { "" };
            Some(format!(
                "step {}: waiting for {only}worker {}, which has been at {} for {} s",
                step.tier,
                self.name_of(member.worker),
                Self::task_of(attempt),
                waited.as_secs()
            ))
        });
        slow.next().unwrap_or_default()
    }

    /// Why no step of an active job is worked on.
    fn why_idle(&self, id: JobId) -> String {
        if self.sessions.is_empty() {
            let never = "waiting for workers: none has ever connected. Start some with `ziggurat worker`; if they \
                         run, their logs say why they cannot reach this coordinator";
            let now = "waiting for workers: none is connected";
            return if self.records.workers.is_empty() { never } else { now }.to_owned();
        }
        let usable: Vec<WorkerId> =
            self.online.keys().copied().filter(|&worker| self.is_usable(worker)).collect();
        if usable.is_empty() {
            return "waiting for workers: all that are connected are leaving".to_owned();
        }
        let blocked = self.steps_to_do(id).into_iter().map(|step| self.able(step, &usable));
        let mut why = blocked.map(|able| match able {
            Ok(_) if self.attempts.is_empty() => "waiting for what comes before".to_owned(),
            Ok(_) => "waiting for workers: all are busy with what comes before".to_owned(),
            Err(blocked) => self.describe(id, &blocked),
        });
        why.next().unwrap_or_else(|| self.why_unsolved(id))
    }

    /// Why a job is not solved of which nothing is left to do.
    fn why_unsolved(&self, id: JobId) -> String {
        let steps = self.records.jobs[&id].steps.iter();
        let mut away = steps.filter_map(|step| {
            let solution = self.solution(StepId { job: id, tier: step.tier })?;
            let away = self.away(solution).next().filter(|_| solution.stored.is_none())?;
            Some(self.describe(id, &Blocked::Away(away, step.tier)))
        });
        away.next().unwrap_or_else(|| "waiting for other steps".to_owned())
    }

    fn describe(&self, job: JobId, blocked: &Blocked) -> String {
        let has = |worker: WorkerId, tier| self.shards_of(job, worker, tier);
        match *blocked {
            Blocked::Nobody => "waiting for workers".to_owned(),
            Blocked::Resting(worker, step) => {
                let rest = self.backoff.get(&(step, worker));
                let (until, why) = rest.map_or((self.now, ""), |(until, why)| (*until, why));
                format!(
                    "trying again in {} s: worker {} cannot take part in step {}: {why}",
                    until.saturating_sub(self.now).as_secs(),
                    self.name_of(worker),
                    step.tier
                )
            }
            Blocked::Away(worker, tier) => {
                let silent = (self.now - self.heard(worker)).as_secs();
                let name = self.name_of(worker);
                let until = match self.given_up_in(StepId { job, tier }, worker) {
                    Some(left) => format!(
                        "in {} s that is given up, and computed again by those that are here",
                        left.as_secs()
                    ),
                    None => format!(
                        "that is not given up by time; if it is gone for good: `ziggurat worker forget {name}`"
                    ),
                };
                format!(
                    "waiting for worker {name} (last heard {silent} s ago), {}; {until}",
                    has(worker, tier)
                )
            }
            Blocked::Stored(tier) => format!(
                "only the checkpoint store has all of step {tier}: waiting for a worker that reads it"
            ),
            Blocked::Apart(worker, tier) => format!(
                "the workers that are here cannot reach worker {}, {}; trying again in a minute",
                self.name_of(worker),
                has(worker, tier)
            ),
        }
    }
}
