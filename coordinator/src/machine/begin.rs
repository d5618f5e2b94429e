//! Who takes part in an attempt, and its beginning.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ziggurat_encoding::Tier;
use ziggurat_history::Kind;
use ziggurat_planning::placement::positions_of;
use ziggurat_rpc::limits::SAME_SWEEPS;

use super::{
    Checkpoint, Counters, Machine, Note,
    attempt::{Attempt, Doing, Member},
    line_of,
    message::{Assignment, CheckpointAt, Message, Peer},
    names::{StepId, WorkerId},
    plan::StepPlan,
    record::{self, Run},
    split::{seconds, split},
};

/// An attempt is begun anew with other members or other shares if a superstep then takes at most this part of
/// the time.
const WORTH_IT: f64 = 0.75;

/// Why a step cannot be worked on.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Blocked {
    /// Nobody is there.
    Nobody,
    /// This worker, and all others that are there, could not take part in this step a moment ago.
    Resting(WorkerId, StepId),
    /// A worker is away that has what is needed of this step.
    Away(WorkerId, Tier),
    /// Only the checkpoint store has what is needed of this step, and nobody reads from it.
    Stored(Tier),
    /// Those that are there cannot reach this worker, which has what is needed of this step.
    Apart(WorkerId, Tier),
}

/// The steps that a step reads, by their first tiers.
pub(super) fn reads(tier: Tier) -> impl Iterator<Item = Tier> {
    tier.reads().map(Tier::first_of_step)
}

impl Machine {
    /// Whether all steps that a step reads are solved.
    pub(super) fn can_begin(&self, step: StepId) -> bool {
        reads(step.tier).all(|tier| self.solution(StepId { tier, ..step }).is_some())
    }

    /// The checkpoints that an attempt at a step needs.
    pub(super) fn needed(&self, step: StepId) -> impl Iterator<Item = (Tier, &Checkpoint)> {
        let own = self.checkpoint(step).map(|checkpoint| (step.tier, checkpoint));
        let read = reads(step.tier)
            .filter_map(move |tier| Some((tier, self.solution(StepId { tier, ..step })?)));
        own.into_iter().chain(read)
    }

    /// Those of some workers that can take part in an attempt together.
    pub(super) fn able(
        &self,
        step: StepId,
        workers: &[WorkerId],
    ) -> Result<Vec<WorkerId>, Blocked> {
        let mut able = workers.to_vec();
        able.retain(|&worker| !self.rests(step, worker));
        let rested = workers.iter().copied().find(|&worker| self.rests(step, worker));
        let mut blocked = rested.map_or(Blocked::Nobody, |worker| Blocked::Resting(worker, step));
        for (tier, checkpoint) in self.needed(step) {
            let reads_store = |worker: &WorkerId| self.reads_store_of(*worker, checkpoint);
            if let Some(away) = self.away(checkpoint).next() {
                if checkpoint.stored.is_none() {
                    return Err(Blocked::Away(away, tier));
                }
                if able.iter().any(|worker| !reads_store(worker)) {
                    blocked = Blocked::Stored(tier);
                    able.retain(reads_store);
                }
            }
            for &owner in checkpoint.owners.iter().filter(|_| !self.unreachable_pairs.is_empty()) {
                let reaches =
                    |worker: &WorkerId| reads_store(worker) || !self.are_apart(*worker, owner);
                if !able.iter().all(reaches) {
                    blocked = Blocked::Apart(owner, tier);
                    able.retain(reaches);
                }
            }
        }
        self.keep_one_version(&mut able);
        self.keep_larger_set(&mut able);
        if able.is_empty() { Err(blocked) } else { Ok(able) }
    }

    /// Drops the checkpoint of a step under way that members of another version wrote: those of this one would go on to
    /// other bytes.
    fn drop_of_another_version(&mut self, step: StepId, protocol: u32) {
        let does_the_same = |of: u32| of == protocol || of.min(protocol) >= SAME_SWEEPS;
        let of_another = |checkpoint: &&Checkpoint| {
            !does_the_same(checkpoint.protocol) && checkpoint.course.order().is_some()
        };
        let Some(checkpoint) = self.checkpoint(step).filter(of_another) else { return };
        let epoch = checkpoint.epoch.number;
        self.step_mut(step).checkpoint = None;
        let text = format!(
            "checkpoint {epoch} of step {} is of workers of another version: it is solved again",
            step.tier
        );
        self.note(Note { epoch, ..line_of(Kind::Lost, step, text) });
    }

    /// Leaves out workers that do not speak the version of the protocol that most cores do, the newer one among
    /// equals: members of an attempt do the same to what they exchange.
    fn keep_one_version(&self, able: &mut Vec<WorkerId>) {
        let here = |worker: &WorkerId| self.connection(*worker).map(|here| &here.registration);
        let mut cores: BTreeMap<u32, u64> = BTreeMap::new();
        for registration in able.iter().filter_map(here) {
            *cores.entry(registration.protocol).or_default() += u64::from(registration.cores);
        }
        let most = cores.into_iter().max_by_key(|&(protocol, cores)| (cores, protocol));
        if let Some((most, _)) = most {
            able.retain(|worker| here(worker).is_some_and(|its| its.protocol == most));
        }
    }

    /// Leaves out workers that others cannot reach, those first which most cannot.
    fn keep_larger_set(&self, able: &mut Vec<WorkerId>) {
        while !self.unreachable_pairs.is_empty() {
            let unreached = |&worker: &WorkerId| {
                able.iter().filter(|&&other| self.are_apart(worker, other)).count()
            };
            let Some(worst) = able.iter().copied().max_by_key(unreached) else { return };
            if unreached(&worst) == 0 {
                return;
            }
            able.retain(|&worker| worker != worst);
        }
    }

    /// Whether a step is for all workers together.
    pub(super) fn is_large(&self, plan: &StepPlan) -> bool {
        plan.positions() >= self.limits.whole_step_positions
    }

    /// Deals the shards of a step out to workers. Those that get none are not among the members.
    fn deal(&self, step: StepId, plan: &StepPlan, able: &[WorkerId]) -> (Vec<WorkerId>, Vec<Run>) {
        if !self.is_large(plan) {
            let one = self.best_for(step, able);
            return (vec![one], vec![Run { count: plan.shards.len() as u32, owner: 0 }]);
        }
        let able = &self.limited(step, able)[..];
        let mut runs = split(plan, &self.speeds(able));
        let has_shards = |place: usize| runs.iter().any(|run| run.owner as usize == place);
        let places: Vec<usize> = (0..able.len()).filter(|&place| has_shards(place)).collect();
        for run in &mut runs {
            let new = places.binary_search(&(run.owner as usize)).expect("it has shards");
            run.owner = new as u32;
        }
        (places.into_iter().map(|place| able[place]).collect(), runs)
    }

    /// The worker for a whole step.
    fn best_for(&self, step: StepId, able: &[WorkerId]) -> WorkerId {
        *self.ranked(step, able).last().expect("somebody is able")
    }

    /// As many workers as an attempt may have: the best.
    fn limited(&self, step: StepId, able: &[WorkerId]) -> Vec<WorkerId> {
        let most = self.max_workers(step.job);
        if able.len() <= most {
            return able.to_vec();
        }
        let mut best = self.ranked(step, able).split_off(able.len() - most);
        best.sort_unstable();
        best
    }

    /// Workers in order: the last one has most of what a step needs, and is the fastest of those that have as much.
    fn ranked(&self, step: StepId, able: &[WorkerId]) -> Vec<WorkerId> {
        let speeds = self.speeds(able);
        let mut shards: BTreeMap<WorkerId, u32> = BTreeMap::new();
        for (_, checkpoint) in self.needed(step) {
            for run in &checkpoint.runs {
                *shards.entry(checkpoint.owners[run.owner as usize]).or_default() += run.count;
            }
        }
        let shards = |worker| shards.get(&worker).copied().unwrap_or(0);
        let rank = |i: &usize| (shards(able[*i]), speeds[*i]);
        let better = |a: &usize, b: &usize| {
            let ((a_shards, a_speed), (b_shards, b_speed)) = (rank(a), rank(b));
            a_shards.cmp(&b_shards).then(a_speed.total_cmp(&b_speed))
        };
        let mut order: Vec<usize> = (0..able.len()).collect();
        order.sort_by(better);
        order.into_iter().map(|i| able[i]).collect()
    }

    /// Whether an attempt had better be begun anew with all that are free, or with other shares.
    pub(super) fn would_be_faster_with_others(&self, step: StepId) -> bool {
        let Some(plan) = self.plans.get(&step.job) else { return false };
        let plan = &plan.steps[&step.tier];
        if !self.is_large(plan) {
            return false;
        }
        let attempt = &self.attempts[&step];
        let members: Vec<_> = attempt.members.iter().map(|member| member.worker).collect();
        let free = |worker: &WorkerId| {
            self.is_usable(*worker) && (members.contains(worker) || self.step_of(*worker).is_none())
        };
        let free: Vec<_> = self.online.keys().copied().filter(free).collect();
        let Ok(able) = self.able(step, &free) else { return false };
        let (others, runs) = self.deal(step, plan, &able);
        let StepPlan { shards, .. } = plan;
        let now = seconds(shards, &attempt.runs, &self.speeds(&members));
        let then = seconds(shards, &runs, &self.speeds(&others));
        then < now * WORTH_IT
    }

    /// Whether a worker may be given work when it has none, of a step that it does not [rest](Self::rests) from.
    pub(super) fn is_usable(&self, worker: WorkerId) -> bool {
        self.connection(worker).is_some_and(|here| here.draining.is_none())
    }

    /// Begins an attempt with workers that are able. Returns those that take part.
    pub(super) fn begin(&mut self, step: StepId, able: &[WorkerId]) -> Vec<WorkerId> {
        let plan = self.plans[&step.job].clone();
        let (workers, runs) = self.deal(step, &plan.steps[&step.tier], able);
        let members = self.members(&plan.steps[&step.tier], &workers, &runs);
        let protocol = able.first().and_then(|&worker| self.connection(worker));
        let protocol = protocol.map_or(0, |here| here.registration.protocol);
        self.drop_of_another_version(step, protocol);
        let course = self.checkpoint(step).map_or_else(
            || {
                let bounds = reads(step.tier).filter_map(|tier| {
                    self.solution(StepId { tier, ..step }).map(Checkpoint::bound)
                });
                plan.course(step.tier, bounds.fold(0.0, f64::max))
            },
            |checkpoint| checkpoint.course.clone(),
        );
        let record = self.step_mut(step);
        record.last_attempt += 1;
        let number = record.last_attempt;
        let epochs = self.needed(step).map(|(tier, needed)| (tier, needed.epoch.number)).collect();
        let reads = reads(step.tier).map(|tier| {
            let solution = self.solution(StepId { tier, ..step }).expect("it can begin");
            (tier, self.place(solution), solution.bound())
        });
        let assignment = Arc::new(Assignment {
            step,
            attempt: number,
            members: workers.iter().map(|&worker| self.peer(worker)).collect(),
            shares: runs.clone(),
            checkpoint: self.checkpoint(step).map(|checkpoint| self.place(checkpoint)),
            precision: course.precision(),
            vectors: course.vectors() as u32,
            offsets: course.offsets(),
            reads: reads.collect(),
        });
        for (place, member) in members.iter().enumerate() {
            self.send(member.session, Message::Assign(assignment.clone(), place as u32));
        }
        let count = workers.len();
        let attempt = Attempt {
            number,
            protocol,
            members,
            runs,
            reads: epochs,
            course,
            doing: Doing::Preparing,
            order: 0,
            since: self.now,
            saved: self.now,
            clean: true,
            winding_down: false,
            behind: None,
            waits_for_store: false,
            save_took: Duration::ZERO,
            outcome: None,
            checksums: BTreeMap::new(),
            counters: Counters::default(),
        };
        self.busy.extend(workers.iter().map(|&worker| (worker, step)));
        self.attempts.insert(step, attempt);
        self.count_time(step.job);
        let text = format!("attempt {number} at step {} begins with {count} workers", step.tier);
        self.note(Note { attempt: number, ..line_of(Kind::Begun, step, text) });
        workers
    }

    fn members(&self, plan: &StepPlan, workers: &[WorkerId], runs: &[Run]) -> Vec<Member> {
        let member = |&worker: &WorkerId| Member {
            worker,
            session: self.online[&worker],
            shards: 0,
            positions: 0,
            halo_positions: 0,
            reported: false,
        };
        let mut members: Vec<Member> = workers.iter().map(member).collect();
        let mut shards = plan.shards.iter();
        for run in runs {
            let member = &mut members[run.owner as usize];
            member.shards += run.count;
            member.positions +=
                shards.by_ref().take(run.count as usize).map(positions_of).sum::<u64>();
        }
        members
    }

    /// Whether a worker reads the checkpoint store that has a checkpoint.
    pub(super) fn reads_store_of(&self, worker: WorkerId, checkpoint: &Checkpoint) -> bool {
        let read = self.connection(worker).and_then(|here| here.registration.checkpoint_store);
        checkpoint.stored.is_some_and(|stored| record::reads(read, stored))
    }

    /// Whether a worker that is connected reads a checkpoint store.
    pub(super) fn is_read(&self, store: u64) -> bool {
        let mut here = self.sessions.values();
        here.any(|here| record::reads(here.registration.checkpoint_store, store))
    }

    /// Where a checkpoint is to be had: of those who are away, where they were last.
    pub fn place(&self, checkpoint: &Checkpoint) -> CheckpointAt {
        CheckpointAt {
            epoch: checkpoint.epoch,
            peers: checkpoint.owners.iter().map(|&owner| self.peer(owner)).collect(),
            runs: checkpoint.runs.clone(),
            stored: checkpoint.stored.is_some_and(|store| self.is_read(store)),
        }
    }

    fn peer(&self, worker: WorkerId) -> Peer {
        let record = &self.records.workers[&worker];
        Peer { worker, address: record.address.clone(), name: record.name.clone() }
    }
}
