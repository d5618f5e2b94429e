//! Answers to orders: what they say, and what is done about failures.

use std::time::Duration;

use ziggurat_encoding::Tier;
use ziggurat_history::Kind;
use ziggurat_planning::{Order, Outcome};

use super::{
    BACKOFF, Counters, Machine, Note, SHORT_BACKOFF,
    attempt::{Attempt, Doing, Member},
    availability::Loss,
    line_of,
    message::{Answer, Failure, FailureKind, Refusal, Report},
    names::{SessionId, StepId, WorkerId},
    plan::StepPlan,
};

/// Of more positions than this, the first superstep changes some: those from which a move wins, or reads a step before.
const HANDFUL: u64 = 64;

/// What an answer means to an attempt.
enum Meaning {
    /// The member is done.
    Done,
    /// It is done, and this came of it.
    Came(Outcome),
    /// It makes no sense.
    Nonsense,
    /// It may make sense, but not from a worker that has done what it was asked to.
    Implausible(String),
}

impl Machine {
    /// A worker answers an order. Answers to what nobody asked, or asks no more, change nothing.
    pub(super) fn report(&mut self, session: SessionId, report: Report) {
        let now = self.now;
        let Some(connected) = self.sessions.get_mut(&session) else { return };
        connected.last_heard = now;
        let worker = connected.registration.worker;
        let Report { step, attempt: number, order, .. } = report;
        let Some(attempt) = self.attempts.get_mut(&step) else { return };
        let Some(place) = attempt.place_of(worker) else { return };
        let awaited = attempt.number == number && attempt.order == order;
        if !awaited || attempt.members[place].reported {
            return;
        }
        if let Answer::Failed(failure) = report.answer {
            return self.failed(step, place, failure);
        }
        let Some(plan) = self.plans.get(&step.job) else { return };
        match meaning(attempt, &plan.steps[&step.tier], place, &report) {
            Meaning::Nonsense => {
                let text = format!(
                    "its answer to order {order} of step {} makes no sense: {:?}",
                    step.tier, report.answer
                );
                return self.close(session, Refusal::Misbehaved(text));
            }
            Meaning::Implausible(message) => {
                return self.failed(step, place, Failure { message, kind: None });
            }
            Meaning::Done => attempt.has_written(place, report.checksums),
            Meaning::Came(outcome) => {
                let together = match attempt.outcome.take() {
                    Some(before) => before.and(outcome),
                    None => Some(outcome),
                };
                // They are of one kind, since the course expects both; but sums may be too large together.
                let Some(together) = together else {
                    return self
                        .inconsistent(step, "what the workers reported does not go together");
                };
                attempt.outcome = Some(together);
            }
        }
        let member = &mut attempt.members[place];
        member.reported = true;
        if let Answer::Ready { halo_positions } = report.answer {
            member.halo_positions = halo_positions;
        }
        let mut done = Counters { exchanged_bytes: report.sent_bytes, ..Counters::default() };
        let order = attempt.course.order().filter(|_| attempt.doing == Doing::Carrying);
        if let Some(Order::Sweep { .. } | Order::Prove(_)) = order {
            done.exchanged_positions = member.halo_positions;
        }
        if let Some(Order::Sweep { .. }) = order {
            done.swept_positions = report.positions;
            connected.measure(report.positions, report.seconds);
        }
        attempt.counters.add(done);
        if attempt.awaited().next().is_some() {
            return;
        }
        if let Some(Outcome::Measured(ranges)) = &attempt.outcome {
            let mut places: Vec<u32> = ranges.iter().map(|&(place, _)| place).collect();
            places.sort_unstable();
            if !places.into_iter().eq(0..plan.steps[&step.tier].ranges) {
                return self.inconsistent(step, "the workers did not measure every range once");
            }
        }
        let is_first = attempt.course.statistics().supersteps == 0;
        if let Some(Outcome::Swept(0.0)) = attempt.outcome
            && is_first
            && plan.steps[&step.tier].positions() > HANDFUL
        {
            let names = attempt.members.iter().map(|member| member.worker).collect::<Vec<_>>();
            let names = names.into_iter().map(|worker| self.name_of(worker)).collect::<Vec<_>>();
            let message = format!(
                "nothing changed in the first superstep, as {} reported: it was not carried out",
                names.join(", ")
            );
            return self.inconsistent(step, &message);
        }
        if let Some(Order::Sweep { .. } | Order::Prove(_)) = order
            && !self.unreached.is_empty()
        {
            let members = self.attempts[&step].members.iter();
            let members = members.map(|member| member.worker).collect();
            self.have_reached(&members);
        }
        self.advance(step);
    }

    /// Ends an attempt whose members, all of them together, reported what cannot be; they rest a little, lest they do so again at once.
    fn inconsistent(&mut self, step: StepId, message: &str) {
        let members = self.attempts.get(&step).into_iter().flat_map(|attempt| &attempt.members);
        for member in members.map(|member| member.worker).collect::<Vec<_>>() {
            self.back_off(step, member, SHORT_BACKOFF, message);
        }
        let number = self.attempts.get(&step).map_or(0, |attempt| attempt.number);
        self.note(Note { attempt: number, ..line_of(Kind::Failure, step, message) });
        self.count_failure(step, message.to_owned());
        self.end_attempt(step, message);
    }

    /// Keeps a worker from another that it could not reach, for a while or until that one is back. Whether there
    /// is such a one.
    fn part(&mut self, worker: WorkerId, other: Option<WorkerId>) -> bool {
        let known = |other: &WorkerId| *other != worker && self.records.workers.contains_key(other);
        let Some(other) = other.filter(known) else { return false };
        if self.online.contains_key(&other) {
            self.keep_apart(worker, other);
        }
        true
    }

    /// A worker could not fetch what another has that takes no part. Whether another attempt will be without it:
    /// unless that one is the only one to have it, the worker had no reason to ask.
    fn has_missed(&mut self, step: StepId, worker: WorkerId, other: WorkerId) -> bool {
        let is_needed = self.needed(step).any(|(_, checkpoint)| {
            checkpoint.owners.contains(&other) && !self.reads_store_of(worker, checkpoint)
        });
        is_needed && self.part(worker, Some(other))
    }

    /// What a worker has found damaged, or not found, is lost. Says how that comes about.
    fn found(
        &mut self,
        step: StepId,
        worker: WorkerId,
        (tier, epoch): (Tier, u32),
        owner: Option<WorkerId>,
    ) -> Found {
        let read = self.attempts[&step].reads.get(&tier);
        if read != Some(&epoch) {
            return Found::Nonsense; // nobody told it to read that
        }
        let damaged = StepId { tier, ..step };
        // What was dropped because there is a later one by now is nobody's fault.
        let Some(checkpoint) = self.checkpoint(damaged).filter(|it| it.epoch.number == epoch)
        else {
            return Found::Past;
        };
        let may_be = owner.map_or(self.reads_store_of(worker, checkpoint), |owner| {
            checkpoint.owners.contains(&owner) && !checkpoint.lost.contains(&owner)
        });
        match owner {
            _ if !may_be => return Found::Nonsense,
            Some(owner) => self.lose(damaged, owner, Loss::Proven),
            None => self.lose_stored(damaged),
        }
        match self.checkpoint(damaged) {
            Some(_) => Found::Elsewhere,
            None => Found::Nowhere,
        }
    }

    /// A member could not do what it was asked to: the attempt is over. Whatever is then tried again counts as a
    /// failure, unless it is another thing: with other members, or with values from elsewhere.
    fn failed(&mut self, step: StepId, place: usize, failure: Failure) {
        let attempt = &self.attempts[&step];
        let (number, worker) = (attempt.number, attempt.members[place].worker);
        let other = |place: u32| attempt.members.get(place as usize).map(|member| member.worker);
        let Failure { message, kind } = failure;
        let name = self.name_of(worker);
        let text = format!("worker {name} failed at step {}: {message}", step.tier);
        let (is_other, rest) = match kind {
            Some(FailureKind::Unreachable(place)) => (self.part(worker, other(place)), None),
            Some(FailureKind::OutOfReach(other)) => (self.has_missed(step, worker, other), None),
            Some(FailureKind::Damage { tier, epoch, worker: owner }) => {
                match self.found(step, worker, (tier, epoch), owner) {
                    Found::Past | Found::Elsewhere => (true, None),
                    // A disk that damages all it is given would have its steps solved for ever.
                    Found::Nowhere => (false, Some(Duration::ZERO)),
                    Found::Nonsense => (false, None),
                }
            }
            Some(FailureKind::Unable) => (false, Some(BACKOFF)),
            Some(FailureKind::Cancelled) | None => (false, None),
        };
        if !is_other {
            self.back_off(step, worker, rest.unwrap_or(SHORT_BACKOFF), &message);
        }
        let note = line_of(Kind::Failure, step, text);
        self.note(Note { attempt: number, worker: Some(worker), ..note });
        let why = format!("worker {name}: {message}");
        if !is_other {
            self.count_failure(step, why.clone());
        }
        self.end_attempt(step, &why);
    }
}

/// What a worker has found damaged, or not found.
enum Found {
    /// Something that was dropped meanwhile.
    Past,
    /// Something that is elsewhere, too.
    Elsewhere,
    /// Something that is nowhere any more: a step is solved again.
    Nowhere,
    /// Nothing that it was to look for.
    Nonsense,
}

/// What an answer means.
fn meaning(attempt: &Attempt, plan: &StepPlan, place: usize, report: &Report) -> Meaning {
    let Report { answer, checksums, .. } = report;
    let Member { shards, positions, .. } = attempt.members[place];
    let outcome = match (attempt.doing, answer) {
        (Doing::Preparing, Answer::Ready { .. }) if checksums.is_empty() => return Meaning::Done,
        (Doing::Saving { .. }, Answer::Outcome(Outcome::Done)) => {
            let count = checksums.len();
            return match count == 0 || count == shards as usize {
                true => Meaning::Done,
                false => Meaning::Implausible(format!("it saved {count} of its {shards} shards")),
            };
        }
        (Doing::Carrying, Answer::Outcome(outcome)) => outcome,
        _ => return Meaning::Nonsense,
    };
    let can_be = match outcome {
        Outcome::Swept(residual) => (0.0..=1.0).contains(residual),
        Outcome::Measured(products) => products.iter().all(|&(place, _)| place < plan.ranges),
        Outcome::Done | Outcome::Sampled(_) | Outcome::Proved(_) => true,
    };
    let is_sweep = matches!(outcome, Outcome::Swept(_));
    match can_be && attempt.course.expects(outcome) {
        false => Meaning::Nonsense,
        true if is_sweep && report.positions != positions => Meaning::Implausible(format!(
            "it swept {} of its {positions} positions",
            report.positions
        )),
        true => Meaning::Came(outcome.clone()),
    }
}
