//! A worker in the simulation: it does what it is told, if it can.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    super::{
        Answer, Assignment, Checksums, Epoch, Failure, Report, Run, STORES_BEHIND, SessionId,
        StepId, Stored, Task, Time, WorkerId,
    },
    values::{Value, ranges_of},
};
use ziggurat_planning::Outcome;

/// Saved values, by step and epoch, then shard.
pub type Disk = BTreeMap<(StepId, Epoch), BTreeMap<u32, Value>>;

/// A worker.
pub struct Worker {
    pub id: WorkerId,
    pub name: String,
    /// The version of the protocol that it speaks.
    pub protocol: u32,
    /// Whether its process runs.
    pub up: bool,
    /// When it comes up again.
    pub returns: Option<Time>,
    /// Whether it was refused for good.
    pub refused: bool,
    /// Whether it says that it takes the place of the worker that had its name.
    pub replaces: bool,
    pub session: Option<SessionId>,
    /// That of the coordinator.
    pub incarnation: u64,
    pub disk: Disk,
    pub store: bool,
    /// How many times slower than the others.
    pub slow: u64,
    /// Whether it lives, and answers no order.
    pub is_stuck: bool,
    /// Whether it is to take long for its next save.
    pub saves_slowly: bool,
    /// Until when that goes on.
    pub saves_until: Time,
    /// What it has moved.
    pub moved_bytes: u64,
    /// When something last came from the coordinator.
    pub heard: Time,
    /// Whether it wants to leave.
    pub draining: bool,
    /// What it is to answer next, in place of the truth.
    pub trouble: Option<Failure>,
    /// What it says of every attempt that it is to take part in, in place of the truth.
    pub claim: Option<Failure>,
    /// Whether it is to say next that it has swept what it has not.
    pub pretends: bool,
    pub part: Option<Part>,
    /// What it puts into the store behind its sweeps, and is to say of it.
    pub storing: Option<Stored>,
    /// What it saved last and was to store, and does not know to count.
    pub saved_behind: Option<(StepId, Epoch)>,
}

/// What a worker has in an attempt.
pub struct Part {
    pub assignment: Arc<Assignment>,
    pub values: BTreeMap<u32, Value>,
    /// A digest of the finals that the step reads.
    pub finals: u64,
    /// Ranges of the whole step.
    pub ranges: u32,
    /// Positions of its own shards.
    pub positions: u64,
}

/// The shards that runs give to an owner.
pub fn shards_of(runs: &[Run], owner: u32) -> Vec<u32> {
    let mut first = 0;
    let mut shards = Vec::new();
    for run in runs {
        if run.owner == owner {
            shards.extend(first..first + run.count);
        }
        first += run.count;
    }
    shards
}

impl Worker {
    pub fn new(id: u64, name: String, store: bool, now: Time) -> Self {
        Self {
            id: WorkerId(id),
            name,
            protocol: STORES_BEHIND,
            up: true,
            returns: None,
            refused: false,
            replaces: false,
            session: None,
            incarnation: 0,
            disk: Disk::new(),
            store,
            slow: 1,
            is_stuck: false,
            saves_slowly: false,
            saves_until: Time::ZERO,
            moved_bytes: 0,
            heard: now,
            draining: false,
            trouble: None,
            claim: None,
            pretends: false,
            part: None,
            storing: None,
            saved_behind: None,
        }
    }

    /// The connection is over: what was not saved is gone.
    pub fn disconnected(&mut self) {
        (self.session, self.part, self.claim, self.storing) = (None, None, None, None);
        (self.is_stuck, self.saves_until, self.saved_behind) = (false, Time::ZERO, None);
    }

    /// Carries out an order; `None` if it is not of the attempt it is in.
    pub fn obey(
        &mut self,
        step: StepId,
        attempt: u32,
        order: u32,
        task: &Task,
        seconds: f64,
    ) -> Option<Report> {
        let part = self.part.as_mut()?;
        if (part.assignment.step, part.assignment.attempt) != (step, attempt) {
            return None;
        }
        let checksums: Vec<Checksums> = match task {
            Task::Save { .. } => part.values.values().map(|value| value.checksums()).collect(),
            Task::Carry(_) => Vec::new(),
        };
        let report = |positions, answer| {
            Some(Report {
                step,
                attempt,
                order,
                seconds,
                exchanging_seconds: seconds / 4.0,
                waited_seconds: 0.0,
                positions,
                sent_bytes: 10,
                answer,
                checksums,
            })
        };
        if let Some(trouble) = self.trouble.take() {
            self.part = None;
            let report = report(0, Answer::Failed(trouble));
            return report.map(|report| Report { checksums: Vec::new(), ..report });
        }
        match task {
            Task::Carry(carry) => {
                let shards: u32 = part.assignment.shares.iter().map(|run| run.count).sum();
                let Part { finals, ranges, positions, ref mut values, .. } = *part;
                let outcomes = values.iter_mut().map(|(&shard, value)| {
                    value.carry(carry, finals, step.tier, &ranges_of(shard, shards, ranges))
                });
                let outcome = outcomes.reduce(|a, b| a.and(b).expect("the same order"));
                let outcome = outcome.expect("a member has shards");
                let is_sweep = matches!(outcome, Outcome::Swept(_));
                let pretends = is_sweep && std::mem::take(&mut self.pretends);
                report(if pretends { 0 } else { positions }, Answer::Outcome(outcome))
            }
            &Task::Save { epoch: number, behind, .. } => {
                let failure = None;
                self.storing = behind.then_some(Stored { step, attempt, epoch: number, failure });
                let epoch = Epoch { number, incarnation: self.incarnation };
                let before = self.disk.insert((step, epoch), part.values.clone());
                assert!(before.is_none(), "{epoch:?} of {step:?} is saved twice");
                report(0, Answer::Outcome(Outcome::Done))
            }
        }
    }
}
