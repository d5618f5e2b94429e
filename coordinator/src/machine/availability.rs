//! Whether the values of checkpoints can be had, and giving up those that cannot.

use super::{
    Checkpoint, Machine, Note, line_of,
    names::{StepId, Time, WorkerId},
    record::Phase,
};

impl Machine {
    /// Whether all of a checkpoint can be had.
    pub(super) fn is_there(&self, checkpoint: &Checkpoint) -> bool {
        checkpoint.stored || self.away(checkpoint).next().is_none()
    }

    /// The owners of a checkpoint that are away or have lost it.
    pub(super) fn away<'a>(
        &'a self,
        checkpoint: &'a Checkpoint,
    ) -> impl Iterator<Item = WorkerId> + 'a {
        let owners = checkpoint.owners.iter().copied();
        owners.filter(|&owner| {
            checkpoint.shards_of(owner) > 0
                && (!self.online.contains_key(&owner) || checkpoint.lost.contains(&owner))
        })
    }

    /// A worker has lost what it had of a step's checkpoint.
    pub(super) fn lose(&mut self, step: StepId, worker: WorkerId) {
        let Some(checkpoint) = self.checkpoint(step) else { return };
        if checkpoint.shards_of(worker) == 0 || checkpoint.lost.contains(&worker) {
            return;
        }
        let checkpoint = self.step_mut(step).checkpoint.as_mut().expect("it was just there");
        checkpoint.lost.insert(worker);
        self.give_up_unless_whole(step);
    }

    /// The checkpoint store has lost a step's checkpoint.
    pub(super) fn lose_stored(&mut self, step: StepId) {
        let checkpoint = self.step_mut(step).checkpoint.as_mut();
        if let Some(checkpoint) = checkpoint {
            checkpoint.stored = false;
            self.give_up_unless_whole(step);
        }
    }

    /// Gives up a checkpoint of which a part is nowhere: the step starts again.
    fn give_up_unless_whole(&mut self, step: StepId) {
        let Some(checkpoint) = self.checkpoint(step) else { return };
        if checkpoint.stored || checkpoint.lost.is_empty() {
            return;
        }
        let epoch = checkpoint.epoch.number;
        self.step_mut(step).checkpoint = None;
        let text = format!(
            "parts of checkpoint {epoch} of step {} are lost: it is solved again",
            step.tier
        );
        self.note(Note { epoch, ..line_of(step, text) });
        if self.records.jobs[&step.job].phase == Phase::Solved {
            self.reopen(step.job);
        }
    }

    /// Gives up what workers have that have been away for too long, while somebody waits for it; what the checkpoint
    /// store has, too, if for as long nobody was there who reads it.
    pub(super) fn give_up_what_is_lost(&mut self) {
        if self.sessions.values().any(|connected| connected.registration.checkpoint_store.is_some())
        {
            self.store_reader_seen = self.now;
        }
        let mut lost = Vec::new();
        for (&step, record) in &self.records.steps {
            let Some(checkpoint) = &record.checkpoint else { continue };
            if !self.is_active(step.job) {
                continue;
            }
            let stored = checkpoint.stored;
            let long_gone = |&worker: &WorkerId| {
                let since = self.awaited_since(worker);
                let since = since.map(|since| match stored {
                    true => since.max(self.store_reader_seen),
                    false => since,
                });
                since.is_some_and(|since| self.now - since > self.limits.lost_after)
            };
            let away = self.away(checkpoint).filter(long_gone);
            lost.extend(away.map(|worker| (step, worker, stored)));
        }
        for (step, worker, stored) in lost {
            self.lose(step, worker);
            if stored {
                self.lose_stored(step);
            }
        }
    }

    /// Since when a worker that is away has been waited for; `None` if nobody waits.
    pub(super) fn awaited_since(&self, worker: WorkerId) -> Option<Time> {
        Some(self.heard(worker).max(self.somebody_since?))
    }

    /// When something was last heard of a worker that is away, or since when it could have been.
    pub fn heard(&self, worker: WorkerId) -> Time {
        self.last_heard.get(&worker).copied().unwrap_or(self.started)
    }
}
