//! Checkpoints that go to the checkpoint store while their members sweep on.
//!
//! A checkpoint is complete when all members have written it, and where there is a store, when that has all of it. A store may take
//! minutes, so a step that goes on after a checkpoint does not wait for it: its members have their parts on their
//! disks, sweep on, and say when the store has them. Until all have said so, the checkpoint before counts.

use std::collections::BTreeSet;

use ziggurat_history::Kind;
use ziggurat_planning::StepController;

use super::{
    Machine, Note, STORES_BEHIND, line_of,
    message::Stored,
    names::{SessionId, StepId, Time, WorkerId},
};

/// A checkpoint that all members have written.
#[derive(Clone, PartialEq, Debug)]
pub struct Complete {
    /// Its number.
    pub epoch: u32,
    /// The checkpoint store that has all of it, too.
    pub stored: Option<u64>,
    /// How far the step was.
    pub course: StepController,
    /// When that was.
    pub since: Time,
}

/// A checkpoint that is on its way to the checkpoint store.
#[derive(Clone, PartialEq, Debug)]
pub struct Behind {
    /// What it will be.
    pub checkpoint: Complete,
    /// The members whose parts are there.
    pub stored: BTreeSet<WorkerId>,
}

impl Behind {
    pub(super) fn new(checkpoint: Complete) -> Self {
        Self { checkpoint, stored: BTreeSet::new() }
    }
}

impl Machine {
    /// Whether the members of an attempt can store its next checkpoint while they sweep on. One after which it may be
    /// better ended is waited for.
    pub(super) fn may_store_behind(&self, step: StepId) -> bool {
        let attempt = &self.attempts[&step];
        attempt.protocol >= STORES_BEHIND && !attempt.waits_for_store && !self.would_make_way(step)
    }

    /// A member says what became of its part of a checkpoint. Of one that nobody waits for any more, that changes nothing.
    ///
    /// What a store does not take is no reason to end the attempt: the next checkpoint is due at once, and is waited for. If that
    /// fails, too, the attempt is over.
    pub(super) fn stored(&mut self, session: SessionId, said: Stored) {
        let now = self.now;
        let Some(connected) = self.sessions.get_mut(&session) else { return };
        connected.last_heard = now;
        let worker = connected.registration.worker;
        let Stored { step, attempt: number, epoch, failure } = said;
        let Some(attempt) = self.attempts.get_mut(&step).filter(|it| it.number == number) else {
            return;
        };
        if attempt.place_of(worker).is_none() {
            return;
        }
        let members = attempt.members.len();
        let Some(mut behind) = attempt.behind.take_if(|it| it.checkpoint.epoch == epoch) else {
            return;
        };
        if let Some(message) = failure {
            attempt.waits_for_store = true;
            let name = self.name_of(worker);
            let text = format!(
                "worker {name} could not store checkpoint {epoch} of step {}: {message}",
                step.tier
            );
            let note = line_of(Kind::Failure, step, text);
            return self.note(Note { attempt: number, epoch, worker: Some(worker), ..note });
        }
        behind.stored.insert(worker);
        if behind.stored.len() < members {
            attempt.behind = Some(behind);
            return;
        }
        self.commit(step, behind.checkpoint);
    }
}
